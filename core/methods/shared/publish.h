/* Artifacts that several methods make in the same way, and the findings about those that could not be made. */
#ifndef MOTIF_CORE_METHODS_SHARED_PUBLISH_H
#define MOTIF_CORE_METHODS_SHARED_PUBLISH_H

#include "core/draw/chart.h"
#include "core/draw/picture.h"
#include "core/methods/method.h"

/* Publishes a chart as the artifact NAME.png and its numbers as NAME.csv. env->artifact must be set. STATUS_NO_MEMORY.
 */
enum status publish_chart(const struct method_env *env, const char *name, const struct chart *chart, struct error *err);

/* Publishes a picture as the artifact NAME.png. env->artifact must be set. STATUS_NO_MEMORY. */
enum status publish_picture(const struct method_env *env, const char *name, const struct picture *picture,
                            struct error *err);

enum { ARTIFACT_FINDINGS = 8 };

/* Artifacts of a run that could not be made. A run has one, zero at first; its checkpoints do not contain it. */
struct artifact_findings {
    int count;
    struct artifact_finding {
        char name[32], reason[256];
    } list[ARTIFACT_FINDINGS];
};

/* Call after an attempt to make artifacts. If `status` is an error, logs a warning and adds a finding; the run
 * continues without these artifacts. name: of the artifact, or of the group that was attempted. err: of the attempt. */
void publish_attempted(struct artifact_findings *findings, const struct method_env *env, const char *name,
                       enum status status, const struct error *err);

/* Writes the findings as the member "findings" of a result; nothing if every artifact was made. */
void publish_findings(const struct artifact_findings *findings, const struct sink *out);

#endif
