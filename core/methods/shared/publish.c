/* Encodes charts and pictures and passes them to the environment as artifacts. */
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
