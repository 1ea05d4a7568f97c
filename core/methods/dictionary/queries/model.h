/* The queries of a dictionary job, and the model that they read. Private to core/methods/dictionary.
 *
 * Codes in questions and answers are in the units of the data and belong to rows of norm 1:
 *
 *   reconstruction = bias / scale + sum over j of code_j row_j / |row_j|
 *
 * If columns are scaled (core/data/scale.h), this is the reconstruction of the scaled columns, and codes are in their
 * units; reconstructions in answers are in the units of the file.
 *
 * So a code of 2 in one job means the same as in another. */
#ifndef MOTIF_CORE_METHODS_DICTIONARY_QUERIES_MODEL_H
#define MOTIF_CORE_METHODS_DICTIONARY_QUERIES_MODEL_H

#include "core/formats/byte_source.h"
#include "core/methods/dictionary/config.h"
#include "core/methods/shared/rows.h"
#include "core/methods/dictionary/evaluation/gallery.h"
#include "core/methods/dictionary/model/infer.h"

struct method_model {
    const struct kernels *kernels;
    struct dictionary_config config;
    struct dictionary_setup c;
    struct scale columns; /* of the columns, applied before `scale`; its columns are 0 if there is none */
    double scale;
    int seeds;
    struct sae *sae[DICTIONARY_SEEDS];
    float *norm[DICTIONARY_SEEDS]; /* [width] the norms of the decoder's rows */
    struct infer infer[DICTIONARY_SEEDS];
    int64_t tested;  /* number of test samples that were measured; 0: the tables below are empty */
    double *latents; /* [width][LATENT_COLUMNS] */
    struct gallery gallery;
    struct rows rows;       /* rows of the data set; rows.file is -1 if there is no data set, or if it has changed */
    struct planted planted; /* generator of samples by their index; its directions are NULL if they are unknown or would
                               take long to create */
};

enum status dictionary_open_model(const void *config, const struct kernels *kernels, const char *data,
                                  const struct snapshot_reader *from, struct method_model **model, struct error *err);
void dictionary_close_model(struct method_model *model);
uint64_t dictionary_model_bytes(const struct method_model *model);

/* Describes the first dictionary as a convolution with kernels of one position: a sample is a signal that has one
 * position and `inputs` channels. POST /v1/pathways/recover uses this
 * description to tell under which guarantee a code can be recovered. */
size_t dictionary_convolutions(const struct method_model *model, struct method_convolution *out, size_t room);

enum { DICTIONARY_QUERIES = 7, DICTIONARY_SCHEMAS = 5 };
extern const struct method_query dictionary_queries[DICTIONARY_QUERIES];
extern const struct method_schema dictionary_schemas[DICTIONARY_SCHEMAS];

/* Parameters of several queries. */
/* clang-format off */
#define SEED_LIST                                                                                                      \
    INTEGER(dictionary, "0", 0, DICTIONARY_SEEDS - 1, "", EVALUATION, BASIC, NULL,                                     \
            "Index of the seed whose dictionary answers.")
#define STEER_LIST                                                                                                     \
    SEED_LIST                                                                                                          \
    TEXT(set, "", "", EVALUATION, BASIC, NULL,                                                                         \
            "New codes of latents, separated by commas: \"12=3.5,40=0\" gives latent 12 the code 3.5 and removes "     \
            "latent 40.")
#define LATENTS_LIST                                                                                                   \
    INTEGER(first, "0", 0, 65535, "latents", EVALUATION, BASIC, NULL,                                                  \
            "Place in the list from which latents are returned.")                                                      \
    INTEGER(count, "64", 1, 1024, "latents", EVALUATION, BASIC, NULL,                                                  \
            "Largest number of latents that are returned.")                                                            \
    CHOICE(sort, "number", EVALUATION, BASIC, NULL,                                                                    \
            "Order of the list: by number, by the share of samples in which a latent is active, or by its "            \
            "strongest activation; the largest first.")
#define COMPARE_LIST                                                                                                   \
    CLOSED(shared, "0.7", 0, 1, "", EVALUATION, BASIC, NULL,                                                           \
            "Minimum |cosine| of two latents that count as shared; a larger one counts fewer.")
/* clang-format on */
struct dictionary_question {
#define FIELDS_LIST STEER_LIST LATENTS_LIST COMPARE_LIST
#include "core/methods/shared/field_members.inc"
};

/* codes.c */
void dictionary_warn(const struct method_model *model, const struct method_input *input, const struct sink *out);
enum status dictionary_encode(const struct method_question *question, const struct sink *out, struct error *err);
enum status dictionary_encode_array(const struct method_question *question, struct buf *values, int *rank,
                                    int64_t dim[4], struct error *err);
enum status dictionary_encode_rows(const struct method_question *question, const float *in, int count, float *out,
                                   struct error *err);
void dictionary_encode_widths(const struct method_model *model, int *from, int *to);
enum status dictionary_decode(const struct method_question *question, const struct sink *out, struct error *err);
enum status dictionary_decode_array(const struct method_question *question, struct buf *values, int *rank,
                                    int64_t dim[4], struct error *err);
enum status dictionary_decode_rows(const struct method_question *question, const float *in, int count, float *out,
                                   struct error *err);
void dictionary_decode_widths(const struct method_model *model, int *from, int *to);
enum status dictionary_steer(const struct method_question *question, const struct sink *out, struct error *err);
enum status dictionary_steer_array(const struct method_question *question, struct buf *values, int *rank,
                                   int64_t dim[4], struct error *err);
/* The tensors of a model; see struct method_tensor. */
enum { DICTIONARY_OUTPUTS = 2 };
extern const struct method_tensor dictionary_input, dictionary_outputs[DICTIONARY_OUTPUTS];
enum status dictionary_infer(const struct method_question *question, struct buf *const outputs[], struct error *err);
/* saelens.c */
enum status dictionary_saelens(const struct method_question *question, struct buf *out, struct error *err);
/* Imports a folder of SAELens (saelens_import.c). The contract is that of `adopt` in struct method. */
enum status dictionary_adopt(const struct byte_source *from, struct buf *config, struct buf *checkpoint,
                             struct error *err);
/* latents.c, compare.c */
enum status dictionary_latents(const struct method_question *question, const struct sink *out, struct error *err);
enum status dictionary_compare(const struct method_question *question, const struct sink *out, struct error *err);

/* model.c: finds the seed that a question asks for. STATUS_INVALID: there are fewer seeds. */
enum status dictionary_seed(const struct method_question *question, int *seed, struct error *err);

#endif
