/* Queries of a SPARLING model: members of struct method, documented in core/methods/method.h. */
#ifndef MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_H
#define MOTIF_CORE_METHODS_SPARLING_QUERIES_QUERY_H

#include "core/methods/method.h"

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
enum { SPARLING_QUERIES = 14, SPARLING_SCHEMAS = 34 };
extern const struct method_query sparling_queries[SPARLING_QUERIES];
extern const struct method_schema sparling_schemas[SPARLING_SCHEMAS];

/* Where the inputs of the channel queries come from. The parameter `set` has its choices in this order. */
enum channel_set { CHANNELS_EXAMPLES, CHANNELS_TEST, CHANNELS_VALIDATION, CHANNELS_TRAINING };
extern const char *const channel_sets[]; /* names of the sets; NULL ends the list */
struct channels_parameters {
    int set;                /* enum channel_set; EXAMPLES: the samples that other queries draw by seed */
    int64_t samples, first; /* the inputs are `samples` samples of the set, from index `first` on */
    int64_t top; /* number of inputs to list or draw for each channel, 1 to 64; the strongest activation comes first */
    char against[CONFIG_TEXT]; /* data set of motifs with which channels are compared; "": none */
    bool merge;                /* channels that show one motif become one matrix */
};
/* Parameters of the queries "sites" and "signal". With GET, `set` (an enum sites_set), `samples` and `first` select
 * records of the job's data set. */
enum sites_set { SITES_ALL, SITES_TEST, SITES_VALIDATION };
extern const char *const sites_sets[]; /* names of the sets; NULL ends the list */
struct sites_parameters {
    int set; /* enum sites_set */
    int64_t samples, first;
    int coordinates;          /* enum coordinates (core/genomics/sites/region.h) */
    int64_t channel;          /* -1: all channels */
    char genome[CONFIG_TEXT]; /* for regions in the body: name of the genome */
    /* For regions in the body: length of the window around each summit or middle; 0: the whole region. */
    int64_t window;
};
/* Parameters of the query "rules". */
struct rules_parameters {
    int64_t samples;        /* samples of the test set */
    int64_t support;        /* a rule is about arrangements that at least so many samples of the data set contain */
    int64_t trials;         /* most trials, a trial being one sample of one pair */
    int64_t channel, other; /* only pairs with these channels are tried; -1: any channel */
};
struct compare_parameters {
    int64_t samples; /* number of samples, drawn from the first model's domain */
};

/* Answers, pictures and arrays of the queries; see struct method_query. */
enum status sparling_motifs(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_draw_motifs(const struct method_question *question, struct picture **out, struct error *err);
enum status sparling_motif_map(const struct method_question *question, struct buf *values, int *rank, int64_t dim[4],
                               struct error *err);
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
enum status sparling_pairs(const struct method_question *question, const struct sink *out, struct error *err);
enum status sparling_sites_bed(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_sites_narrow_peak(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_sites_gff3(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_signal_bedgraph(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_signal_bigwig(const struct method_question *question, struct buf *out, struct error *err);
enum status sparling_channels_jaspar(const struct method_question *question, struct buf *out, struct error *err);

#endif
