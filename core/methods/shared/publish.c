/* Encodes charts and pictures and passes them to the environment as artifacts. If this fails, the run continues and its
 * result gets a finding, because training must not fail for lack of a picture. */
#include "core/methods/shared/publish.h"

#include <stdio.h>

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
    if (findings->count < 0 || findings->count >= ARTIFACT_FINDINGS)
        return;
    struct artifact_finding *one = &findings->list[findings->count++];
    snprintf(one->name, sizeof one->name, "%s", name);
    snprintf(one->reason, sizeof one->reason, "%s", err->message);
}

enum status publish_snapshot(struct artifact_findings *findings, struct snapshot *snapshot, struct error *err)
{
    const struct snapshot_row rows[] = {SNAPSHOT_NUMBER("artifacts.failures", &findings->count),
                                        SNAPSHOT_ARRAY("artifacts.reasons", (unsigned char *)findings->list,
                                                       ARTIFACT_FINDINGS, sizeof(struct artifact_finding))};
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

/* In a damaged checkpoint the count may be too large and texts may lack the final NUL. The loop's limit and the
 * precisions in the format keep reads inside the arrays. */
void publish_findings(const struct artifact_findings *failed, const struct finding_code *code,
                      struct findings *findings)
{
    for (int i = 0; i < ARTIFACT_FINDINGS && i < failed->count; i++)
        findings_add(findings, code, "The artifact %.31s was not made: %.255s.", failed->list[i].name,
                     failed->list[i].reason);
}

void publish_quoted(struct buf *out, const char *text)
{
    buf_text(out, "\"");
    for (; *text; text++)
        buf_format(out, *text == '"' ? "\"\"" : "%c", *text);
    buf_text(out, "\"");
}
