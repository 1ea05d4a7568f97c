/* Queries of a SPARLING model: members of struct method, documented in core/methods/method.h. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_H

#include "core/methods/method.h"
#include "core/methods/shared/fields.h"

enum status sparling_open(const void *config, const struct kernels *kernels, const char *data,
                          const struct snapshot_reader *from, struct method_model **model, struct error *err);
void sparling_close(struct method_model *model);
uint64_t sparling_model_bytes(const struct method_model *model);
void sparling_warn(const struct method_model *model, const struct method_input *input, const struct sink *out);
enum status sparling_graph(const struct method_model *model, const struct graph_writer *out, struct error *err);
size_t sparling_convolutions(const struct method_model *model, struct method_convolution *out, size_t room);

/* The tensors of a model; see struct method_tensor. */
enum { SPARLING_OUTPUTS = 4 };
extern const struct method_tensor sparling_input, sparling_outputs[SPARLING_OUTPUTS];
enum status sparling_infer(const struct method_question *question, struct buf *const outputs[], struct error *err);

/* The queries of SPARLING: table, parameters and schemas (table.c). */
enum { SPARLING_QUERIES = 19, SPARLING_SCHEMAS = 50 };
extern const struct method_query sparling_queries[SPARLING_QUERIES];
extern const struct method_schema sparling_schemas[SPARLING_SCHEMAS];

/* Where the inputs of the channel queries come from. The parameter `set` has its choices in this order. */
enum channel_set { CHANNELS_EXAMPLES, CHANNELS_TEST, CHANNELS_VALIDATION, CHANNELS_TRAINING };
extern const char *const channel_sets[]; /* names of the sets; NULL ends the list */

/* Parameters of the queries about channels. */
/* clang-format off */
#define CHANNEL_ROWS(default_top, most_top, top_meaning)                                                               \
    CHOICE_OF(set, channel_sets, "examples", EVALUATION, BASIC, NULL,                                                  \
            "Inputs to use: the samples of the test, validation or training set, or examples, which are the "          \
            "samples that other queries select by a seed.")                                                            \
    INTEGER(samples, "100", 1, 1000, "inputs", EVALUATION, BASIC, NULL,                                                \
            "Number of inputs; more inputs give more reliable counts and take longer.")                                \
    INTEGER(first, "0", 0, 4294966295.0, "", EVALUATION, BASIC, NULL,                                                  \
            "Index of the first input in the set.")                                                                    \
    INTEGER(top, default_top, 1, most_top, "inputs", EVALUATION, BASIC, NULL,                                          \
            top_meaning)                                                                                               \
    TEXT(against, "", "", EVALUATION, BASIC, NULL,                                                                     \
            "Name of a data set of motifs, such as JASPAR; the answer then names the motifs of this set that are "     \
            "most similar to each channel. T and U count as one letter, so a model of RNA can be compared with "       \
            "motifs of DNA, on one strand.")
#define CHANNEL_LIST                                                                                                   \
    CHANNEL_ROWS("16", 64,                                                                                             \
            "Number of inputs that the answer lists or draws, the strongest activation first; a larger number also"    \
            " shows weaker activations.")
#define CHANNELS_LIST                                                                                                  \
    CHANNEL_ROWS("8", 16,                                                                                              \
            "Number of inputs that the answer lists or draws for each channel, the strongest activation first; a "     \
            "larger number also shows weaker activations.")                                                            \
    FLAG(merge, "false", EVALUATION, BASIC, NULL,                                                                      \
            "For DNA and RNA: channels that show one motif become one matrix, that of the channel with the most "      \
            "sites; its same_as lists the others, which have no matrix.")
/* clang-format on */
struct channels_parameters {
#define FIELDS_LIST CHANNELS_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the queries "sites" and "signal". With GET, `set` (an enum sites_set), `samples` and `first` select
 * records of the job's data set. */
enum sites_set { SITES_ALL, SITES_TEST, SITES_VALIDATION };
extern const char *const sites_sets[]; /* names of the sets; NULL ends the list */
/* clang-format off */
#define RECORDS_LIST                                                                                                   \
    CHOICE_OF(set, sites_sets, "all", EVALUATION, BASIC, NULL,                                                         \
            "The records of the data set: all in the order of the upload, or those of the test or validation set.")    \
    INTEGER(samples, "4194304", 1, 4194304, "inputs", EVALUATION, BASIC, NULL,                                         \
            "Largest number of records; more records give more sites and take longer.")                                \
    INTEGER(first, "0", 0, 4294966295.0, "", EVALUATION, BASIC, NULL,                                                  \
            "Index of the first record in the set.")
#define WHERE_LIST                                                                                                     \
    CHOICE_OF(coordinates, coordinates_names, "record", EVALUATION, BASIC, NULL,                                       \
            "What the names of records mean: record counts positions in each record from 0; bedtools reads "           \
            "chr1:100-200 as positions of a genome counted from 0, ucsc as positions counted from 1. A name that "     \
            "contains no place has positions of the record in each case.")                                             \
    INTEGER(channel, "-1", -1, 4095, "", EVALUATION, BASIC, NULL,                                                      \
            "Channel of the sites or of the signal; -1: the sites of all channels, or their largest activation.")
#define RATED_LIST                                                                                                     \
    REAL_IN(false_marks, "0", 0, 1, false, true, "", EVALUATION, BASIC, NULL,                                          \
            "Largest expected share of false sites: the answer has only sites whose q is at most this, and takes "     \
            "twice as long; a larger share keeps more sites, and 0 keeps all without q.")
#define REGIONS_LIST                                                                                                   \
    TEXT(genome, "", "", EVALUATION, BASIC, NULL,                                                                      \
            "For a body of regions in BED: name of the genome, a folder of the operator with genome.fa and its "       \
            "index.")                                                                                                  \
    INTEGER(window, "0", 0, 1000000, "bases", EVALUATION, BASIC, NULL,                                                 \
            "For a body of regions: length of the window around each summit or middle; a larger window gives the "     \
            "model more bases, and 0 takes the whole region.")
/* clang-format on */
struct sites_parameters {
#define FIELDS_LIST RECORDS_LIST WHERE_LIST RATED_LIST REGIONS_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the query "rules". */
/* clang-format off */
#define RULES_LIST                                                                                                     \
    INTEGER(samples, "60", 1, 1000, "inputs", EVALUATION, BASIC, NULL,                                                 \
            "Number of samples of the test set; more samples give narrower intervals and take longer.")                \
    INTEGER(support, "22", 1, 10000, "inputs", EVALUATION, BASIC, NULL,                                                \
            "Least number of samples that must contain two motifs in an order and a range of gaps, of the samples "    \
            "of the data set that are read (searched, at most 10,000); about rarer arrangements there is no rule. "    \
            "With fewer than 22 samples, even the data could not show a difference of 15 %.")                          \
    INTEGER(trials, "20000", 1, 1000000, "trials", EVALUATION, BASIC, NULL,                                            \
            "Largest number of trials, a trial being one sample of one pair. If there are more, the most frequent "    \
            "pairs are tried, and the answer lists the others as left_out; ask for them with channel and other, "      \
            "with fewer samples, or with more trials and a larger --query-seconds. The same limit holds for the "      \
            "controls of pairs that seem to have a rule, together with the trials of single motifs. It does not "      \
            "count the samples that are searched, and for DNA one reading of each sample for each motif.")             \
    INTEGER(channel, "-1", -1, 4095, "", EVALUATION, BASIC, NULL,                                                      \
            "Channel that every pair must contain; -1 allows all channels.")                                           \
    INTEGER(other, "-1", -1, 4095, "", EVALUATION, BASIC, NULL,                                                        \
            "Second channel that every pair must contain, so that the answer is about one pair and lists all "         \
            "names; -1 allows all channels.")
/* clang-format on */
struct rules_parameters {
#define FIELDS_LIST RULES_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the query "motifs". */
/* clang-format off */
#define MOTIFS_LIST                                                                                                    \
    REAL_IN(false_marks, "0", 0, 1, false, true, "", EVALUATION, BASIC, NULL,                                          \
            "Largest expected share of false marks: the answer has only motifs whose q is at most this, and a bound "  \
            "of the false ones among them; a larger share keeps more motifs, and 0 keeps all.")
/* clang-format on */
struct motifs_parameters {
#define FIELDS_LIST MOTIFS_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the query "scores". */
extern const char *const scores_forms[]; /* names of the forms; NULL ends the list */
/* clang-format off */
#define SCORES_LIST                                                                                                    \
    CHOICE_OF(as, scores_forms, "score", EVALUATION, BASIC, NULL,                                                      \
            "What is answered for each position: the channel's score, which is above 0 at a motif (score), or its "    \
            "p-value, the share of inputs without the channel's name that score as much anywhere (p); null or NaN "    \
            "for a channel without an error rate.")
/* clang-format on */
struct scores_parameters {
#define FIELDS_LIST SCORES_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the queries "marks" and "marks/{sample}". */
/* clang-format off */
#define MARKS_LIST                                                                                                     \
    INTEGER(samples, "200", 1, 1000, "inputs", EVALUATION, BASIC, NULL,                                                \
            "Number of inputs of the test part; more inputs have more marks, whose q is more precise, and take "       \
            "longer. If the part has more, they are drawn at random, always the same ones.")
#define MARK_LIST                                                                                                      \
    INTEGER(channel, "-1", -1, 4095, "", EVALUATION, BASIC, NULL,                                                      \
            "Channel of the mark to draw; -1 draws all marks.")                                                        \
    INTEGER(row, "0", 0, 16384, "", EVALUATION, BASIC, NULL,                                                           \
            "Row of the mark, as in its position; a larger one is further down.")                                      \
    INTEGER(col, "0", 0, 4194304, "", EVALUATION, BASIC, NULL,                                                         \
            "Column of the mark, as in its position; a larger one is further to the right.")                           \
    FLAG(plain, "false", EVALUATION, BASIC, NULL,                                                                      \
            "The picture is the input alone, with one pixel for each position, as programs for annotation need it.")
/* clang-format on */
struct marks_parameters {
#define FIELDS_LIST MARKS_LIST
#include "core/methods/shared/field_members.inc"
};
struct mark_parameters {
#define FIELDS_LIST MARK_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the query "evidence". */
/* clang-format off */
#define EVIDENCE_LIST                                                                                                  \
    INTEGER(samples, "200", 1, 1000, "inputs", EVALUATION, BASIC, NULL,                                                \
            "Number of inputs of the test part; more inputs give narrower intervals and take longer.")                 \
    INTEGER(per_name, "50", 1, 1000, "inputs", EVALUATION, BASIC, NULL,                                                \
            "Largest number of inputs that are changed for each name; more give narrower intervals and take longer.")  \
    INTEGER(seed, "0", 0, 9007199254740991.0, "", EVALUATION, BASIC, NULL,                                             \
            "Seed of the backgrounds and of the random extents.")
/* clang-format on */
struct evidence_parameters {
#define FIELDS_LIST EVIDENCE_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the query "name-rules". */
/* clang-format off */
#define NAME_RULES_LIST                                                                                                \
    INTEGER(samples, "1000", 10, 10000, "inputs", EVALUATION, BASIC, NULL,                                             \
            "Largest number of inputs of the validation part, which choose the rules, and of the test part, which "    \
            "measure them; more inputs let a rule have more channels, and take longer.")
/* clang-format on */
struct name_rules_parameters {
#define FIELDS_LIST NAME_RULES_LIST
#include "core/methods/shared/field_members.inc"
};
/* Parameters of the query "compare". */
/* clang-format off */
#define COMPARE_LIST                                                                                                   \
    INTEGER(samples, "100", 1, 1000, "inputs", EVALUATION, BASIC, NULL,                                                \
            "Number of inputs; more inputs give a more reliable agreement and take longer.")
/* clang-format on */
struct compare_parameters {
#define FIELDS_LIST COMPARE_LIST
#include "core/methods/shared/field_members.inc"
};

/* Answers, pictures and arrays of the queries; see struct method_query. */
enum status sparling_motifs(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_draw_motifs(const struct method_question *question, struct picture **out, struct error *err);
enum status sparling_motif_map(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                               struct error *err);
enum status sparling_scores(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_scores_array(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                                  struct error *err);
enum status sparling_marks(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_mark(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_draw_mark(const struct method_question *question, struct picture **out, struct error *err);
enum status sparling_evidence(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_predict(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_predict_array(const struct method_question *question, struct buf *values, int *rank,
                                   int64_t dim[4], struct error *err);
enum status sparling_interventions(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_compare(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_channels(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_draw_channels(const struct method_question *question, struct picture **out, struct error *err);
enum status sparling_channels_meme(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_logos_png(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_logos_svg(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_sites(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_rules(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_name_rules(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_pairs(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_sites_bed(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_sites_narrow_peak(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_sites_gff3(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_signal_bedgraph(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_signal_bigwig(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_channels_jaspar(const struct method_question *question, struct buf *out, struct error *err);

#endif
