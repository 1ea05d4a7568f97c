/* Artifacts that several methods make in the same way. */
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

#endif
