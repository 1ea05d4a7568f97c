/* What SPARLING knows of a domain: a constant table, as a method is one (core/methods/method.h).
 *
 * A domain draws samples: an input, a label for the whole of it, and where the symbols truly are (for measuring only).
 * Everything else of the method (networks, annealing, evaluation, queries, pictures) reads what it needs from
 * the table and from `struct domain_shape`.
 *
 * To add one, say `latex`:
 *
 *   core/data/latex/latex.h, .c                  the generator or loader, which knows nothing of methods
 *   core/methods/sparling/domains/domain_latex.h   struct latex_config, the domain's fields of the configuration, and
 * LATEX_FIELDS, their lines of the method's table core/methods/sparling/domains/domain_latex.c   const struct domain
 * latex_domain core/methods/sparling/domains/domains.h        #include "domain_latex.h", and D(latex, LATEX) in the
 * list
 *
 * The list gives the job's field `domain` its choice, struct sparling_config its member `latex`, and the method's table
 * the fields. Names of fields are unique in the whole table: begin them with the domain's name ("latex_rows");
 * DigitCircle's are older and bare. A field of another domain that is not at its default is a fault of the
 * configuration.
 *
 * Maps. An input is planes [channels][rows][cols], the motif map has the same rows and columns. A sequence has ONE ROW:
 * time or position runs along the columns, and what a spectrogram has at a time are channels ([64][1][642]). With one
 * row g's kernels are 1x3 and the head pools along the columns only; otherwise they are 3x3 and pooling is square.
 *
 * Labels are numbers 0 .. tokens-1; START, END and padding are the method's business (TOKEN_FIRST + number is what the
 * head reads). Or (`positions`) a sequence has a label at every column, one of `tokens` classes of which 0 is the
 * common one, or -1 where none is known; then the head is the dilated one (core/nn/dilated.h), accuracy is top-k
 * accuracy, and the end-to-end error what is missing from it. Boxes (core/data/box.h) are in the order in which the
 * metrics visit them, in positions of the map (a sequence's have rows [0, 1)), grown by whatever the domain's
 * evaluation grants (2 px around a formula's characters, say).
 *
 * Threads: a state is read-only once it is open; sample(), prepare() and grey() are called from several threads at a
 * time. Samples are pure functions of the configuration and the request, on every machine. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "core/data/box.h"
#include "core/methods/method.h"

struct sparling_config;

/* Sizes that a configuration gives. All are known without opening the domain. */
struct domain_shape {
    int channels, rows, cols; /* of an input: planes [channels][rows][cols]; rows 1: a sequence */
    int symbols;              /* what a box can hold: 0 .. symbols-1; at most 4096 */
    int tokens;               /* what a label can hold: 0 .. tokens-1 */
    int longest;              /* most tokens of a label; at most DOMAIN_LABEL, or with `positions` the columns */
    bool positions;           /* a label has a class for each column; one row */
    int margin;               /* columns at either end that motif errors leave out: no boxes stand there */
    int trivial;      /* so many symbols, the last, are trivial to find: motif errors are told without them too */
    int boxes;        /* most boxes of a sample */
    int picture_rows; /* rows of the grey picture of an input; 0: as the input */
};
enum { DOMAIN_LABEL = 64 };

enum domain_set {
    DOMAIN_SAMPLE, /* sample `index` of the set `seed`: a run's own seed trains, -1 validates, -2 tests */
    DOMAIN_LESSON, /* the same for training: the domain may begin with easier samples, as `seen` and the field
                      `curriculum` tell */
    DOMAIN_EXAMPLE /* sample `index` of the set that motif errors, queries and pictures use; `seed` is not read. Any
                      index in [0, 2^32) */
};
struct domain_request {
    enum domain_set set;
    int64_t seed, index;
    int64_t seen; /* DOMAIN_LESSON: samples trained on before this one's batch */
};

/* What is in a sample. The caller owns the arrays, which have room for what the shape says. */
struct domain_truth {
    int length;     /* of the label, at least 0 */
    int32_t *label; /* [longest] */
    int boxes;
    struct box *box; /* [boxes] */
};

/* How the symbols of a sample go together, for the theorem's alpha (theorem.c). */
enum domain_drawing {
    DOMAIN_BOUND,   /* by a grammar, say: symbols that cannot be deleted or exchanged alone */
    DOMAIN_FREE,    /* each drawn by itself, all alike */
    DOMAIN_DISTINCT /* all alike, and none twice */
};

struct domain_state; /* each domain defines its own */

struct domain {
    const char *name;    /* as in the list: "latex" */
    const char *meaning; /* one line */
    bool majority; /* CE takes a channel for the symbol that it marks most often, for several channels may mark one;
                      else channels and symbols are matched one to one */
    enum domain_drawing drawing;
    /* The domain's own lines of the method's table (offsets are into struct sparling_config). */
    const struct config_field *fields;
    size_t field_count;

    void (*shape)(const struct sparling_config *config, struct domain_shape *shape);
    /* Fills in fields that follow from a data set (method.h); may be NULL. */
    enum status (*resolve)(struct sparling_config *config, const char *data, struct error *err);
    /* Faults that concern several fields; may be NULL. */
    void (*check)(const struct sparling_config *config, const struct method_faults *faults);

    /* Reads and prepares whatever sampling needs. The configuration is copied as far as it is needed; so is `data`, the
     * folder of data sets (core/data/dataset.h), NULL when there is none. */
    enum status (*open)(const struct sparling_config *config, const char *data, struct domain_state **state,
                        struct error *err);
    void (*close)(struct domain_state *state); /* NULL is fine */
    /* Of the data that samples are drawn from: a checkpoint goes on with the same alone. NULL: there are none. */
    enum status (*digest)(const struct domain_state *state, unsigned char digest[HASH_BYTES], struct error *err);

    /* planes: [channels][rows][cols]. truth may be NULL. */
    enum status (*sample)(const struct domain_state *state, const struct domain_request *request, float *planes,
                          struct domain_truth *truth, struct error *err);
    /* Samples of one symbol in the middle and nothing else, for training motifs directly and for the single-motif
     * evaluation (Appendix K): their sizes, and one of them. label[0] is the SYMBOL. Both NULL: the domain has none. */
    void (*single_shape)(const struct sparling_config *config, struct domain_shape *shape);
    enum status (*single)(const struct domain_state *state, const struct domain_request *request, float *planes,
                          struct domain_truth *truth, struct error *err);
    /* What the label becomes when every `from` of a sample becomes a `to`, for the perturbation experiment; false where
     * that is no label of the domain. NULL: the domain has no such experiment. */
    bool (*replace)(const struct domain_state *state, const struct domain_truth *truth, int from, int to,
                    struct domain_truth *after);
    /* Mean number of symbols of a sample: with one active position a symbol, the least density is
     * mean / (rows * cols * motif channels). NaN: there is no memory to draw samples in. */
    double (*mean_symbols)(const struct domain_state *state);

    /* Names for people: of a box's symbol, and of a label's number. Valid as long as the state; NULL out of range. */
    const char *(*symbol)(const struct domain_state *state, int symbol);
    const char *(*token)(const struct domain_state *state, int token);

    /* An input that a client gave as an array, to planes. STATUS_INVALID with pointer "/array" when it does not fit.
     * domain_planes() does it for most. */
    enum status (*prepare)(const struct domain_state *state, const struct method_input *input, float *planes,
                           struct error *err);
    /* The input as a picture, 0 ground to 1 ink: grey [picture_rows][cols]. NULL: the first plane as it is. */
    void (*grey)(const struct domain_state *state, const float *planes, float *grey);
};

/* The domain a configuration names (its field `domain`). */
const struct domain *domain_of(const struct sparling_config *config);
const struct domain *const *domains_all(size_t *count); /* in the order of the field's choices */
struct domain_shape domain_shape(const struct sparling_config *config);
/* Elements of an input; positions of a map. */
size_t domain_inputs(const struct domain_shape *shape);
size_t domain_positions(const struct domain_shape *shape);

/* A domain with what it opened. */
struct open_domain {
    const struct domain *domain;
    struct domain_shape shape;
    struct domain_state *state;
    bool single; /* its samples are those of one symbol */
};
enum status domain_open(const struct sparling_config *config, const char *data, struct open_domain *domain,
                        struct error *err);
void domain_close(struct open_domain *domain);
/* The same domain, with samples of one symbol: a view that is not closed. Only of a domain that has them. */
struct open_domain domain_single(const struct sparling_config *config, const struct open_domain *domain);
/* sample() or single(), whichever the open domain is for. */
enum status domain_sample(const struct open_domain *domain, const struct domain_request *request, float *planes,
                          struct domain_truth *truth, struct error *err);

/* Room for the truths of `count` samples of a shape, in one block. */
enum status domain_truths_create(const struct domain_shape *shape, int count, struct domain_truth **truths,
                                 struct error *err);
void domain_truths_destroy(struct domain_truth *truths); /* NULL is fine */

/* An array of the shape's values, all within [low, high], to planes: [rows][cols] with one channel,
 * [rows][cols][channels], [channels][rows][cols]; a sequence may leave out its row, and with channels first end early
 * (zeros follow). `what` ends the message: "ink is 1". */
enum status domain_planes(const struct domain_shape *shape, const struct method_input *input, double low, double high,
                          const char *what, float *planes, struct error *err);

/* The tokens' names one after another, cut where `room` ends. */
void domain_label(const struct open_domain *domain, const int32_t *label, int length, char *out, size_t room);

/* Rows of a domain's part of the table. `member` is a member of the struct that carries the domain's name, LEVEL is
 * written without its prefix. Every row belongs to the group "data" and applies to its domain only. */
/* clang-format off */
#define DOMAIN_AT(domain, member)                                                                                      \
    offsetof(struct sparling_config, domain.member) /* NOLINT(bugprone-macro-parentheses): names */
#define DOMAIN_FIELD(domain, member, name, type, preset, low, high, names, unit, level, meaning)                       \
    {name, type, DOMAIN_AT(domain, member), preset, low, high, false, false, names, unit, meaning,                     \
     GROUP_DATA, LEVEL_##level, "domain=" #domain}
#define DOMAIN_INTEGER(domain, member, name, preset, low, high, unit, level, meaning)                                  \
    DOMAIN_FIELD(domain, member, name, FIELD_INT, preset, low, high, NULL, unit, level, meaning)
#define DOMAIN_REAL(domain, member, name, preset, low, high, unit, level, meaning)                                     \
    DOMAIN_FIELD(domain, member, name, FIELD_REAL, preset, low, high, NULL, unit, level, meaning)
#define DOMAIN_FLAG(domain, member, name, preset, level, meaning)                                                      \
    DOMAIN_FIELD(domain, member, name, FIELD_BOOL, preset, 0, 1, NULL, "", level, meaning)
#define DOMAIN_CHOICE(domain, member, name, preset, names, level, meaning)                                             \
    DOMAIN_FIELD(domain, member, name, FIELD_CHOICE, preset, 0, 0, names, "", level, meaning)
#define DOMAIN_TEXT(domain, member, name, preset, level, meaning)                                                      \
    DOMAIN_FIELD(domain, member, name, FIELD_TEXT, preset, 0, 0, NULL, "", level, meaning)
/* clang-format on */

#endif
