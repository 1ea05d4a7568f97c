/* Whether the marked extents of a name are sufficient and necessary to read the name.
 *
 * An input counts for a name if its label has the name, the judge reads it, and a channel of the name has a mark in it.
 * The judge then reads four changed inputs:
 *   sufficient   only the marked extents stay; the rest comes from another input, whose label lacks the name
 *   necessary    the marked extents come from that input; the rest stays
 * and the same two with random extents of the same sizes, as a control. The share of `sufficient` counts the inputs in
 * which the judge still reads the name, that of `necessary` those in which it does not.
 *
 * There are two judges. One is the model, which made the marks. The other is the reference
 * (core/reference/reference.h), which knows nothing of them: it tells whether the extents contain evidence at all, not
 * only what this model uses.
 *
 * Background comes from the same positions of the other input, so it has the statistics of the data, also at edges and
 * in padding. The random numbers follow from the seed, the input and the name, and do not depend on the number of
 * threads, so the same inputs, counts and seed give the same bits. */
#ifndef MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_SUFFICIENCY_H
#define MOTIF_CORE_METHODS_SPARLING_ERROR_RATE_SUFFICIENCY_H

#include "core/base/work.h"
#include "core/methods/method.h"
#include "core/methods/sparling/queries/annotation.h"
#include "core/reference/reference.h"

/* The defaults of the query "evidence" and of the evaluation. */
#define SUFFICIENCY_SAMPLES 200
#define SUFFICIENCY_PER_NAME 50

enum changed_input { KEEP_MARKED, FILL_MARKED, KEEP_RANDOM, FILL_RANDOM, CHANGED_INPUTS };

/* What a judge reads. All members of these two structs are counts of inputs. */
struct sufficiency_judge {
    int64_t inputs;                  /* inputs that count */
    int64_t changed[CHANGED_INPUTS]; /* those in which a change has the effect that its share counts */
};
struct sufficiency_name {
    int64_t unread,
        unmarked; /* inputs with the name that the model does not read; those that it reads without a mark */
    struct sufficiency_judge model, reference;
};
enum { SUFFICIENCY_COUNTS = sizeof(struct sufficiency_name) / sizeof(int64_t) };

/* What is measured. The caller sets all members but the last. */
struct sufficiency_request {
    const struct open_domain *domain;
    struct network *network;
    struct channel_report report;
    struct reference *reference; /* NULL: only the model judges */
    int64_t samples, per_name;   /* largest number of inputs, and of inputs that are changed for a name */
    int64_t seed;
};
struct sufficiency; /* a measurement in progress */

/* Why nothing can be measured; NULL: it can. */
const char *sufficiency_refuse(const struct open_domain *domain);
/* Chooses the inputs of the test part and reads their labels. request, and name [tokens], to whose counts the
 * measurement adds, must outlive it. *samples: number of inputs. sufficiency_close() frees it (NULL is allowed).
 * Errors: STATUS_NO_MEMORY, and those of the domain. */
enum status sufficiency_open(const struct sufficiency_request *request, struct sufficiency_name *name,
                             struct sufficiency **out, int64_t *samples, struct error *err);
void sufficiency_close(struct sufficiency *sufficiency);
/* Measures one input: 0 <= index < samples, in ascending order, because a name takes its first inputs. exec: for the
 * computations of this call. work: what may end the call between two names, with STATUS_CANCELLED; NULL: nothing. */
enum status sufficiency_add(struct sufficiency *sufficiency, int64_t index, struct exec *exec, struct work *work,
                            struct error *err);
/* Writes the member "names": the shares of each name with intervals and findings. */
void sufficiency_write(const struct open_domain *domain, const struct sufficiency_name *name, const struct sink *out);

/* Whether the marks of a name are certainly insufficient, unnecessary, or no better than random extents, by a judge. */
struct sufficiency_findings {
    bool insufficient, unneeded, beside;
};
struct sufficiency_findings sufficiency_judge(const struct sufficiency_judge *judge);

#endif
