/* The parts of a report, which report.c calls one after another. Each function appends one part as HTML. All are pure
 * functions except report_pictures(), which asks the model. */
#ifndef MOTIF_API_REPORT_REPORT_PARTS_H
#define MOTIF_API_REPORT_REPORT_PARTS_H

#include "api/http/exchange.h"
#include "protocol/json.h"
#include "storage/storage.h"

/* A report has less than 5 MB: pictures are left out from here on. */
#define REPORT_PICTURES ((size_t)4400 << 10)

/* Test inputs that come first in the gallery, by their seeds. */
enum { REPORT_PINS = 32 };
struct report_pins {
    int64_t seed[REPORT_PINS];
    int count;
};

/* What a report is about. Documents are those that the routes of the job send. */
struct report {
    const cJSON *job;         /* GET /v1/jobs/{id} */
    const cJSON *attestation; /* GET /v1/jobs/{id}/attestation; NULL: the job has none */
    const cJSON *preset;      /* configuration of the job's preset, all fields; NULL: not known */
    struct buf *out;
};

/* Appends the verdict and the findings, each with what to do next. */
void report_verdict(const struct report *r);
/* Appends the most important figures of the result, with intervals, and its error rates by name. */
void report_figures(const struct report *r);
/* Appends all other numbers and lists of the result. */
void report_tables(const struct report *r);
/* Appends how the samples were divided, and the settings. */
void report_settings(const struct report *r);
/* Appends the version of motifd, the machine that trained, and the hashes of data, weights and checkpoints. */
void report_origin(const struct report *r);
/* Appends the commands that repeat the job. */
void report_commands(const struct report *r);
/* Appends a gallery of test inputs with their motifs, the pinned ones and the most doubtful answers first, the logos
 * and the stored pictures of the job. Computes with the latest checkpoint, and so belongs between queries_enter() and
 * queries_leave(). A model that cannot draw has no gallery. STATUS_CANCELLED: the query must stop. */
enum status report_pictures(struct exchange *x, const struct storage_job *job, const struct report_pins *pins,
                            struct buf *out, struct error *err);
/* Appends the gallery alone; a model that refuses gives its status. */
enum status report_gallery(struct exchange *x, const struct method *method, const struct method_model *model,
                           const struct report_pins *pins, struct buf *out, struct error *err);
/* Returns the query of a method that draws an input and also answers it as a document; NULL: there is none. */
const struct method_query *report_drawing_query(const struct method *method);
/* Sets *parameters to the query's usual parameters, or to NULL if it has none. STATUS_NO_MEMORY. */
enum status report_usual_parameters(struct exchange *x, const struct method_query *query, const void **parameters,
                                    struct error *err);

/* Returns the member of an object, or NULL. */
const cJSON *report_member(const cJSON *object, const char *name);
/* Returns the text of a member, or "". */
const char *report_text(const cJSON *object, const char *name);

#endif
