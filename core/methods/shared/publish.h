/* Makes artifacts that several methods have in common, and the findings about artifacts that could not be made. */
#ifndef MOTIF_CORE_METHODS_SHARED_PUBLISH_H
#define MOTIF_CORE_METHODS_SHARED_PUBLISH_H

#include "core/base/buf.h"
#include "core/draw/chart.h"
#include "core/draw/picture.h"
#include "core/methods/findings.h"
#include "core/methods/method.h"

/* Publishes a chart as the artifact NAME.png and its numbers as NAME.csv. env->artifact must be set. Error:
 * STATUS_NO_MEMORY. */
enum status publish_chart(const struct method_env *env, const char *name, const struct chart *chart, struct error *err);

/* Appends a text as a field of a CSV, in quotation marks. */
void publish_quoted(struct buf *out, const char *text);

/* Publishes a picture as the artifact NAME.png. env->artifact must be set. Error: STATUS_NO_MEMORY. */
enum status publish_picture(const struct method_env *env, const char *name, const struct picture *picture,
                            struct error *err);

enum { ARTIFACT_FINDINGS = 8 };

/* Lists the artifacts of a run that could not be made. Each run has one such list, which is empty (all zero) at first
 * and is saved in checkpoints. */
struct artifact_findings {
    int64_t count;
    struct artifact_finding {
        char name[32], reason[256];
    } list[ARTIFACT_FINDINGS];
};

/* The finding about an artifact that could not be made. It does not change the verdict. Every method that makes
 * artifacts has this row in its table of findings. */
#define FINDING_ARTIFACT_FAILED                                                                                        \
    {                                                                                                                  \
        "artifact-failed", FINDING_WARNING, VERDICT_LEARNED, "A picture or table of the result could not be made.",    \
            "Read the numbers in this result, which is complete, or train a model of fewer channels."                  \
    }

/* Call after an attempt to make artifacts. If `status` is an error, logs a warning and adds a finding; the run
 * continues without these artifacts. name: name of the artifact or of the group of artifacts. err: the error of the
 * attempt. */
void publish_attempted(struct artifact_findings *findings, const struct method_env *env, const char *name,
                       enum status status, const struct error *err);

/* Declares the list as entries of a checkpoint, so that a run which is loaded after its last step still has its
 * findings. */
enum status publish_snapshot(struct artifact_findings *findings, struct snapshot *snapshot, struct error *err);

/* For judge(): adds a finding for each artifact that could not be made. code: the method's row
 * FINDING_ARTIFACT_FAILED. */
void publish_findings(const struct artifact_findings *failed, const struct finding_code *code,
                      struct findings *findings);

#endif
