/* How the samples of a data set are divided into training, validation and test.
 *
 * What stays together: the parts that the file states (column or member `part`) are taken as they are. Otherwise groups
 * stay whole if the samples have groups, else single samples are divided. The plan (plan.h) depends only on the labels,
 * the groups and the request, not on other fields of a job. It identifies a group by its name and a sample by its
 * index. */
#ifndef MOTIF_CORE_DATA_DIVISION_DIVISION_H
#define MOTIF_CORE_DATA_DIVISION_DIVISION_H

#include "core/base/sink.h"
#include "core/data/uploads/collection.h"

enum division_split { DIVIDE_SAMPLES, DIVIDE_GROUPS, DIVIDE_AUTO, DIVIDE_PARTS };
extern const char *const division_splits[]; /* "samples", "groups", "auto", "part"; NULL-terminated */

enum {
    DIVISION_LEAST = 6,    /* fewer samples cannot be divided */
    DIVISION_FEW = 200,    /* for fewer samples, a warning recommends folds */
    DIVISION_NAMES = 4096, /* most names of a vocabulary */
};

/* Where errors point: JSON pointers, whose last parts are the names by which messages call what a client can state.
 * NULL: the client cannot state it. */
struct division_fields {
    const char *data, *split, *test_group, *test, *validation, *folds, *fold;
};

struct division_request {
    const struct division_fields *fields;
    enum division_split split;
    double test, validation; /* requested shares of all samples */
    bool whole; /* there is no validation part: `validation` has no effect, and stated validation samples train */
    const char *test_group; /* names of the groups of the test part, separated by commas; "": the share decides */
    int64_t seed;
    /* folds > 1: the samples are divided into `folds` equal parts, and number `fold` is the test part; `test` has no
     * effect */
    int64_t folds, fold;
};
#define DIVISION_USUAL(fields) ((struct division_request){fields, DIVIDE_AUTO, 0.15, 0.1, false, "", 0, 0, 0})

struct division {
    enum division_split by; /* DIVIDE_SAMPLES, DIVIDE_GROUPS or DIVIDE_PARTS */
    bool whole;             /* as in the request */
    bool named;             /* the request names the groups of the test part */
    bool drawn; /* only one group was left for training and validation, so the samples of this group were divided */
    double asked[COLLECTION_PARTS]; /* requested shares; NaN: the file or test_group states the part */
    int64_t count[COLLECTION_PARTS];
    int64_t folds, fold;
    unsigned char *part; /* [samples] enum collection_part */
};

/* Divides the samples; the caller calls division_close(), after an error too. Any thread. STATUS_INVALID: they cannot
 * be divided so; the message has the counts and says what to do, and the pointer is one of request->fields.
 * STATUS_NO_MEMORY. */
enum status division_make(const struct collection *c, const struct division_request *request, struct division *out,
                          struct error *err);
void division_close(struct division *d); /* a zeroed struct is allowed */
/* Writes the members `by`, `text`, `folds`, `fold`, `parts` and `warnings` of an object that the caller has opened. A
 * part has its samples, its share, the requested share, and its groups and names with the numbers of their samples, at
 * most `most` of each. STATUS_NO_MEMORY. */
enum status division_write(const struct collection *c, const struct division *d, int most, const struct sink *out,
                           struct error *err);

#endif
