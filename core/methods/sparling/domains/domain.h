/* Domains of SPARLING. A domain is a constant table, like a method (core/methods/method.h).
 *
 * A domain draws samples: an input, a label for the whole input, and the boxes of the true symbols, which are used for
 * measurements only. The rest of the method (networks, annealing, evaluation, queries, pictures) reads what it needs
 * from the table and from `struct domain_shape`.
 *
 * To add a domain, say `latex`, write:
 *
 * - core/data/latex/latex.h, .c: the generator or loader, which does not depend on methods;
 * - core/methods/sparling/domains/fields_latex.inc: the fields, of which struct latex_config and the rows of the
 *   method's table are made;
 * - core/methods/sparling/domains/domain_latex.c: const struct domain latex_domain;
 * - core/methods/sparling/domains/domains.h: D(latex) in the list; core/methods/sparling/fields.inc: #include
 *   "fields_latex.inc", at the same place of the order.
 *
 * The list defines the choices of the field `domain`, the member `latex` of struct sparling_config and the rows of the
 * method's table. Names of fields are unique in the whole table, so they begin with the domain's name ("latex_rows");
 * those of DigitCircle have no prefix. A configuration that sets a field of another domain is refused.
 *
 * Maps. An input is an array of planes [channels][rows][cols], and the motif map has the same rows and columns. A
 * sequence has ONE ROW: time or position runs along the columns, and the values at one time are channels (a
 * spectrogram: [64][1][642]). With one row the kernels of g are 1x3 and the head pools along columns; otherwise kernels
 * are 3x3 and pooling is square.
 *
 * Labels are numbers 0 .. tokens-1. The method adds START, END and padding (the head reads TOKEN_FIRST + number). With
 * `positions`, a sequence has a label at every column instead: one of `tokens` classes, of which 0 is the common one,
 * or -1 where no label is known. Then the head is the dilated one (core/nn/dilated.h), the accuracy is top-k accuracy,
 * and the end-to-end error is 1 - accuracy. With `numbers`, a sample has numbers instead of a label, the accuracy is
 * the share of their variance that the head explains (R squared), and the end-to-end error is 1 - R squared. Boxes
 * (core/data/box.h) are in the order in which the metrics visit them. Their units are positions of the map (rows [0, 1)
 * in a sequence). They include the tolerance of the domain's evaluation, for instance 2 px around a character of a
 * formula.
 *
 * Threads: an open state is read-only, and several threads may call sample(), prepare() and grey() at the same time.
 * Samples are pure functions of the configuration and the request on every machine. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "core/data/box.h"
#include "core/methods/method.h"
#include "core/data/alphabet.h"
#include "core/formats/words.h"

struct sparling_config;

/* Sizes that follow from a configuration, without opening the domain. */
struct domain_shape {
    int channels, rows, cols; /* shape of an input: planes [channels][rows][cols]; with one row it is a sequence */
    bool unordered;           /* the columns of an input are items of a bag, whose order means nothing */
    int words;   /* > 0: an input is a text, of one channel: at each position the number of a word, from 1 to `words`; 0
                    is   none */
    int symbols; /* kinds of symbols in boxes, numbered from 0; at most 4096 */
    int tokens;  /* kinds of tokens in labels, numbered from 0 */
    int longest; /* most tokens of a label, at most DOMAIN_LABEL; with `positions`, the number of columns */
    bool positions; /* a label has a class for each column; needs one row */
    int numbers; /* > 0: the target is this many numbers, which token() names, and labels are empty; 0: the target is a
                    label */
    int margin;  /* number of columns at each end that contain no boxes; motif errors ignore these columns */
    int trivial; /* the last `trivial` symbols are trivial to find; the errors of chance are also reported without them
                  */
    int boxes;   /* upper limit of the boxes of a sample */
    int picture_rows; /* rows of the grey picture of an input; 0: as many as the input has */
    bool ink; /* large values of an image are dark, as ink on paper; false: they are bright, as in a photograph */
};
enum { DOMAIN_LABEL = 64 };

enum domain_set {
    DOMAIN_SAMPLE, /* sample `index` of the set `seed`: -1 for validation, -2 for tests, the run's seed for training */
    DOMAIN_LESSON, /* as DOMAIN_SAMPLE, for training: with a `curriculum`, samples are easier while `seen` is small */
    DOMAIN_TRAINING, /* sample `index` of the training part of a data set: each one once, in an order that `seed`
                        decides, then again. Only with frequencies(), which returns their number */
    DOMAIN_RECORD,   /* sample `index` of the whole data set, in the order of the upload; only with record() */
    DOMAIN_EXAMPLE /* sample `index`, in [0, 2^32), of the set for motif errors, queries and pictures; `seed` is unused
                    */
};
struct domain_request {
    enum domain_set set;
    int64_t seed, index;
    int64_t seen; /* DOMAIN_LESSON: number of training samples before the batch of this sample */
    bool turned;  /* read the sample from the other strand; only if turns() is true */
};

/* The truth about a sample. The caller owns the arrays, whose sizes follow from the shape. */
struct domain_truth {
    int length;     /* length of the label, at least 0 */
    int32_t *label; /* [longest] */
    float *number;  /* [numbers] in the units of the data set */
    int boxes;
    struct box *box; /* [boxes] */
};

/* The record of a sequence. */
struct domain_record {
    const char *name;  /* name of the record in the upload, valid as long as the state; NULL: unknown */
    int64_t number;    /* index of the record in the upload */
    const char *group; /* name of the group of the record, valid as long as the state; NULL: records have no groups */
    int length; /* number of columns of the sample that belong to the record (frames, if it is a recording), at most
                   shape.cols; the rest of the sample is padding */
};

/* How the symbols of a sample depend on each other. result.c computes the alpha of the Motif Identifiability Theorem
 * from this dependence. */
enum domain_drawing {
    DOMAIN_BOUND,   /* a symbol cannot be deleted or exchanged alone, as in a grammar */
    DOMAIN_FREE,    /* symbols are drawn independently from one distribution */
    DOMAIN_DISTINCT /* like DOMAIN_FREE, but no symbol occurs twice */
};

struct domain_state; /* each domain defines its own */

#define DOMAIN_PART(name)                                                                                              \
    .place = offsetof(struct sparling_config, name), .bytes = sizeof(((struct sparling_config *)NULL)->name)

struct domain {
    const char *name;    /* name in the list of domains, for instance "latex" */
    const char *meaning; /* one line */
    /* true: for the confusion error (CE), each channel stands for the symbol that it marks most often, because several
     * channels may mark one symbol. false: channels and symbols are matched one to one. */
    bool majority;
    enum domain_drawing drawing;
    size_t place, bytes; /* the domain's part of struct sparling_config, which contains its fields (DOMAIN_PART) */

    void (*shape)(const struct sparling_config *config, struct domain_shape *shape);
    /* resolve() fills in the fields that follow from a stored data set, and adapt() those that follow from a data set
     * that is not stored yet (method.h). Both may be NULL. */
    enum status (*adapt)(struct sparling_config *config, const struct method_given *given,
                         const struct collection *data, struct error *err);
    enum status (*resolve)(struct sparling_config *config, const struct method_given *given, const char *data,
                           struct error *err);
    /* Reports faults that concern several fields; may be NULL. */
    void (*check)(const struct sparling_config *config, const struct method_faults *faults);

    /* Prepares sampling. `data` is the folder of data sets (core/data/dataset.h), NULL if there is none. The state
     * keeps copies of what it needs from `config` and `data`. Errors have the pointer of a field. */
    enum status (*open)(const struct sparling_config *config, const char *data, struct domain_state **state,
                        struct error *err);
    void (*close)(struct domain_state *state); /* NULL is fine */
    /* Hash of the data set behind the samples. A run continues from a checkpoint only if the hash is the same. NULL:
     * the domain has no data set. */
    enum status (*digest)(const struct domain_state *state, unsigned char digest[HASH_BYTES], struct error *err);

    /* Draws a sample. planes: [channels][rows][cols]. truth may be NULL. */
    enum status (*sample)(const struct domain_state *state, const struct domain_request *request, float *planes,
                          struct domain_truth *truth, struct error *err);
    /* Samples with one symbol in the middle and nothing else, for training g directly and for the single-motif error
     * (Appendix K): single_shape() writes their shape, and single() draws such a sample and writes the index of its
     * symbol, not of a token, to label[0]. Both NULL: the domain has no such samples. */
    void (*single_shape)(const struct sparling_config *config, struct domain_shape *shape);
    enum status (*single)(const struct domain_state *state, const struct domain_request *request, float *planes,
                          struct domain_truth *truth, struct error *err);
    /* Writes the label that a sample would have if every symbol `from` were a `to`, for the perturbation experiment.
     * Returns false if the domain has no such label. NULL: the domain has no such experiment. */
    bool (*replace)(const struct domain_state *state, const struct domain_truth *truth, int from, int to,
                    struct domain_truth *after);
    /* Mean number of symbols of a sample. The lowest useful density is mean / (rows * cols * motif channels): a map
     * then has one active position for each symbol. NaN: not enough memory. */
    double (*mean_symbols)(const struct domain_state *state);

    /* How often each token occurs in the labels of training samples, without the curriculum. count: [tokens] mean
     * number of occurrences in a label. share: [tokens] share of the labels that contain the token. Returns the number
     * of training samples. NULL: samples are generated, and all tokens are equally frequent. */
    int64_t (*frequencies)(const struct domain_state *state, double *count, double *share);

    /* Writes how the samples of the data set are divided, as members of an object that the caller has opened. NULL:
     * samples are not divided. */
    enum status (*division)(const struct domain_state *state, const struct sink *out, struct error *err);

    /* Mean and standard deviation of each number over the training samples: [numbers]. NULL: targets are not
     * numbers. */
    void (*spread)(const struct domain_state *state, double *mean, double *deviation);

    /* Names of a box's symbol and of a label's token. With `numbers`, token() names the numbers. The texts live as long
     * as the state; NULL if the index is out of range. */
    const char *(*symbol)(const struct domain_state *state, int symbol);
    const char *(*token)(const struct domain_state *state, int token);

    /* Returns the alphabet of samples that are sequences of symbols, one-hot with a channel for each symbol. NULL, or a
     * function that returns NULL: the samples are not such sequences. */
    const struct alphabet *(*alphabet)(const struct domain_state *state);
    /* Returns the duration of a sample in seconds, if columns are points in time. NULL, or a function that returns NaN:
     * columns are not points in time. */
    double (*duration)(const struct domain_state *state);
    /* Returns the samples per second of recordings, which prepare() expects in one dimension. NULL, or a function that
     * returns 0: samples are not recordings. */
    int (*rate)(const struct domain_state *state);

    /* Writes from which record of the data set a sample of a sequence comes. Returns false if the set has fewer
     * samples; sample() then repeats the set. NULL: samples have no records. */
    bool (*record)(const struct domain_state *state, const struct domain_request *request, struct domain_record *out);
    /* cluster() returns the cluster, below CLUSTERS (core/metrics/clusters.h), of the group of a sample within its
     * part; 0 without groups. test_groups() returns the number of groups in the test part; 0: samples have no groups.
     * Both NULL: as without groups. */
    int (*cluster)(const struct domain_state *state, const struct domain_request *request);
    int64_t (*test_groups)(const struct domain_state *state);
    /* The number that a token stands for if labels are counts of motifs, else -1. NULL: labels are not counts. */
    int64_t (*counts)(const struct domain_state *state, int token);

    /* Returns whether samples can be read from the other strand (reverse complement): the bases in reverse order,
     * each replaced by its complement. A label whose order follows positions is then reversed too. NULL: no. */
    bool (*turns)(const struct domain_state *state);

    /* Both NULL, or text() returns NULL: samples are no texts. text() returns the text of a sample. split() splits a
     * text into the words at the positions of an input; only words->work is set before. */
    const char *(*text)(const struct domain_state *state, const struct domain_request *request);
    enum status (*split)(const struct domain_state *state, const char *text, struct word_list *words,
                         struct error *err);

    /* Converts the array, or the text, of a client to planes. STATUS_INVALID with the pointer "/array" when it does not
     * fit. Most domains call domain_planes(). */
    enum status (*prepare)(const struct domain_state *state, const struct method_input *input, float *planes,
                           struct error *err);
    /* Adds warnings about an array of a client, as `warn` of method.h does. NULL: there are none. */
    void (*warn)(const struct domain_state *state, const struct method_input *input, const struct sink *out);
    /* How prepare() scales the values of a client: with one column for all channels, or one for each. NULL: it leaves
     * them unchanged. */
    const struct scale *(*scale)(const struct domain_state *state);
    /* Draws the input as a picture. grey: [picture_rows][cols], from 0 (background) to 1 (ink). NULL: the picture is
     * the first plane. */
    void (*grey)(const struct domain_state *state, const float *planes, float *grey);
};

/* The domain that the field `domain` of a configuration selects. */
const struct domain *domain_of(const struct sparling_config *config);
const struct domain *const *domains_all(size_t *count); /* domains in the order of the field's choices */
struct domain_shape domain_shape(const struct sparling_config *config);
/* domain_inputs() returns the number of values in an input, domain_positions() the number of positions in a map. */
size_t domain_inputs(const struct domain_shape *shape);
size_t domain_positions(const struct domain_shape *shape);
/* The number of planes of the first convolution: the channels of an input, or one for each word. */
int domain_planes_read(const struct domain_shape *shape);

/* An open domain. */
struct open_domain {
    const struct domain *domain;
    struct domain_shape shape;
    struct domain_state *state;
    bool single; /* samples have one symbol */
};
/* Opens the domain of a configuration. data: folder of data sets, NULL if there is none. Errors are those of the
 * domain's open(). */
enum status domain_open(const struct sparling_config *config, const char *data, struct open_domain *domain,
                        struct error *err);
void domain_close(struct open_domain *domain);
/* Returns the same domain with samples of a single symbol. The result shares the state and must not be closed. The
 * domain must have single(). */
struct open_domain domain_single(const struct sparling_config *config, const struct open_domain *domain);
/* Draws a sample with the domain's sample(), or with its single() if `domain` comes from domain_single(). */
enum status domain_sample(const struct open_domain *domain, const struct domain_request *request, float *planes,
                          struct domain_truth *truth, struct error *err);

/* domain_cluster() and domain_groups() call cluster() and test_groups(), and return 0 without them. */
int domain_cluster(const struct open_domain *domain, const struct domain_request *request);
int64_t domain_groups(const struct open_domain *domain);

/* Allocates the truths of `count` samples in one block. Error: STATUS_NO_MEMORY. */
enum status domain_truths_create(const struct domain_shape *shape, int count, struct domain_truth **truths,
                                 struct error *err);
void domain_truths_destroy(struct domain_truth *truths); /* NULL is fine */

/* Converts an array to planes and checks that all values are in [low, high]. The array may be [rows][cols] for one
 * channel, [rows][cols][channels] or [channels][rows][cols]. A sequence may omit its row, and with channels first it
 * may be shorter (zeros follow). A colour picture [3][rows][cols] becomes grey for one channel, and a grey picture
 * [rows][cols] becomes three equal channels. `what` explains the range in the message: "ink is 1". Error:
 * STATUS_INVALID with the pointer "/array". */
enum status domain_planes(const struct domain_shape *shape, const struct method_input *input, double low, double high,
                          const char *what, float *planes, struct error *err);

/* Returns the alphabet of the samples; NULL: they are not sequences of symbols. */
const struct alphabet *domain_alphabet(const struct open_domain *domain);

/* Writes the names of the tokens one after another, cut to `room` bytes. */
void domain_label(const struct open_domain *domain, const int32_t *label, int length, char *out, size_t room);

#endif
