/* Encodes charts and pictures and passes them to the environment as artifacts. If this fails, the run continues and its
 * result gets a finding, because training must not fail for lack of a picture. */
#include "core/methods/shared/publish.h"

#include <stdio.h>

#include "core/base/buf.h"
#include "core/draw/png.h"

enum { PICTURE_BYTES = 16 << 20 };

enum status publish_chart(const struct method_env *env, const char *name, const struct chart *chart, struct error *err)
{
    struct buf bytes;
    char file[64];
    buf_init(&bytes, CHART_BYTES);
    enum status status = chart_png(chart, &bytes, err);
    if (!status) {
        snprintf(file, sizeof file, "%s.png", name);
        env->artifact(env->context, file, "image/png", bytes.data, bytes.size);
        buf_clear(&bytes);
        status = chart_csv(chart, &bytes, err);
    }
    if (!status) {
        snprintf(file, sizeof file, "%s.csv", name);
        env->artifact(env->context, file, "text/csv", bytes.data, bytes.size);
    }
    buf_close(&bytes);
    return status;
}

enum status publish_picture(const struct method_env *env, const char *name, const struct picture *picture,
                            struct error *err)
{
    struct buf bytes;
    char file[64];
    buf_init(&bytes, PICTURE_BYTES);
    enum status status = png_encode(picture, &bytes, err);
    snprintf(file, sizeof file, "%s.png", name);
    if (!status && bytes.failed)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %s", file);
    if (!status)
        env->artifact(env->context, file, "image/png", bytes.data, bytes.size);
    buf_close(&bytes);
    return status;
}

void publish_attempted(struct artifact_findings *findings, const struct method_env *env, const char *name,
                       enum status status, const struct error *err)
{
    if (!status)
        return;
    log_line(&env->log, LOG_LEVEL_WARN, "the artifact %s was not made: %s", name, err->message);
    if (findings->count == ARTIFACT_FINDINGS)
        return;
    struct artifact_finding *one = &findings->list[findings->count++];
    snprintf(one->name, sizeof one->name, "%s", name);
    snprintf(one->reason, sizeof one->reason, "%s", err->message);
}

void publish_findings(const struct artifact_findings *findings, const struct sink *out)
{
    char text[sizeof(struct artifact_finding) + 64];
    if (findings->count == 0)
        return;
    sink_begin_list(out, "findings");
    for (int i = 0; i < findings->count; i++) {
        const struct artifact_finding *one = &findings->list[i];
        snprintf(text, sizeof text, "The artifact %s was not made: %s.", one->name, one->reason);
        sink_begin_object(out, NULL);
        sink_text(out, "code", "artifact-failed");
        sink_text(out, "severity", "warning");
        sink_text(out, "text", text);
        sink_text(out, "try",
                  "Read the numbers in this result, which is complete, or train a model of fewer channels.");
        sink_end_object(out);
    }
    sink_end_list(out);
}
