/* The marks of a review, in the order from which they are drawn, with the newest answers about them. Private to this
 * folder. */
#ifndef MOTIF_API_REVIEW_REVIEW_SET_H
#define MOTIF_API_REVIEW_REVIEW_SET_H

#include "api/http/exchange.h"
#include "core/metrics/review.h"
#include "storage/jobs/answer.h"
#include "storage/storage.h"

enum { REVIEW_ID = 64, REVIEW_DRAWS = 500 };

struct review_mark {
    const cJSON *row; /* the mark as the query wrote it */
    char id[REVIEW_ID];
    char name[80]; /* its name, or "channel N" */
    double q, value;
    int64_t sample, channel, place[2];   /* place: row and column */
    const struct storage_answer *answer; /* the newest version; NULL: none */
};

struct review_set {
    struct storage_job job;
    struct storage_checkpoint checkpoint;
    cJSON *document;          /* the answer of the query */
    int64_t samples;          /* number of samples that were read */
    int64_t rows, cols;       /* shape of a sample */
    const char *unit;         /* of the columns: "s", the name of a letter, or "" */
    struct review_mark *mark; /* [count] by name, q, value */
    int64_t count;
    int32_t *by_id;        /* [count] indices of the marks in the order of their ids */
    unsigned char *answer; /* [count] enum review_answer */
    struct storage_answer *answers;
    size_t answer_count; /* number of all answers of the job, with all versions */
    /* what the request asks for */
    int64_t draws;
    uint64_t seed;
    double wanted; /* false share that the offered threshold should have */
};

/* Reads the parameters, the job and the marks of a checkpoint; computes the marks if the cache does not have them.
 * Returns false after it has responded. The caller calls review_set_close() in both cases. */
bool review_set_open(struct exchange *x, struct review_set *set);
void review_set_close(struct review_set *set);
/* Reads the answers again. Returns false after it has responded. */
bool review_set_answers(struct exchange *x, struct review_set *set);
/* The index of a mark; -1: there is none with this id. */
int64_t review_set_find(const struct review_set *set, const char *id);
/* The index of the mark with the same name in the same sample of the data set whose extent overlaps `place` most, by at
 * least half of their union; -1: there is none. place: an object with number, name and extent. */
int64_t review_set_match(const struct review_set *set, const cJSON *place);
/* Reads four integers, a box as [row0, row1, col0, col1] with exclusive ends inside a sample. */
bool review_box_read(const struct review_set *set, const cJSON *value, int64_t box[4]);
/* The drawn marks, each once, in the order of their first draw: writes their indices to out[REVIEW_DRAWS] and returns
 * their number. */
int review_set_draw(const struct review_set *set, int64_t out[REVIEW_DRAWS]);
struct review review_set_review(const struct review_set *set);

/* review_write.c: writes the members estimate and threshold. STATUS_NO_MEMORY. */
enum status review_write_estimate(struct exchange *x, const struct review_set *set, struct error *err);
/* review_files.c: respond with the drawn marks as files of other programs. */
void review_label_studio(struct exchange *x, const struct review_set *set);
void review_coco(struct exchange *x, const struct review_set *set);
void review_raven(struct exchange *x, const struct review_set *set);
/* Copies a JSON value as compact text into the exchange's arena; NULL: no memory. */
const char *review_json(struct exchange *x, const cJSON *value);
/* review_read.c: reads the answers of the body into *out, in the exchange's arena. Returns false after it has
 * responded. */
bool review_read(struct exchange *x, const struct review_set *set, struct storage_answer **out, size_t *count);

#endif
