/* Tests on the test part whether the marks of a run's own model are sufficient and necessary for the names of labels
 * (error_rate/sufficiency.h): PART_MARKED of the evaluation. It follows PART_REFERENCE, whose model is the second
 * judge. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_MARKED_EVIDENCE_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_MARKED_EVIDENCE_H

#include "core/base/snapshot.h"
#include "core/methods/sparling/error_rate/sufficiency.h"

struct method_run;

struct marked_evidence {
    struct sufficiency_name *names; /* [tokens] */
    int64_t samples;                /* number of inputs of the test part; 0: not measured */
    /* Not saved: a loaded run repeats the part, and PART_REFERENCE before it. */
    struct channel_places places;
    struct sufficiency_request request;
    struct sufficiency *pass; /* NULL: not begun */
};

/* Allocates `names`; call it once in create(). marked_evidence_close() accepts a zeroed struct. STATUS_NO_MEMORY. */
enum status marked_evidence_open(struct method_run *run, struct error *err);
void marked_evidence_close(struct marked_evidence *evidence);
/* Forgets the counts; call it when an evaluation begins. */
void marked_evidence_clear(struct method_run *run);
enum status marked_evidence_declare(struct method_run *run, struct snapshot *snapshot, struct error *err);
/* Whether the counts that were read from a checkpoint are possible. */
bool marked_evidence_sound(const struct method_run *run);

/* Largest number of inputs of the part; 0: it is skipped. */
int64_t marked_evidence_samples(const struct method_run *run);
/* Measures the next input; *position becomes the number of inputs that were measured. *last: it was the last one. */
enum status marked_evidence_piece(struct method_run *run, int64_t *position, bool *last, struct error *err);
/* Frees what the part holds. */
void marked_evidence_drop(struct method_run *run);
/* Writes the member "names" of the result's evidence. */
void marked_evidence_result(const struct method_run *run, const struct sink *out);

#endif
