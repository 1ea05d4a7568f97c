/* Included before each file that deploy/tidy looks at: what clang's analyzer cannot know from a declaration. Nothing is
 * built with it. */
#include <cjson/cJSON.h>

#include "core/base/error.h"

/* Returns its code, so what follows a failure is not reached. */
#define error_set(err, code, ...) ((void)(error_set)((err), (code), __VA_ARGS__), (code))

/* What is of a kind is there. */
#define cJSON_IsString(item) ((item) != NULL && (cJSON_IsString)(item))
#define cJSON_IsNumber(item) ((item) != NULL && (cJSON_IsNumber)(item))
#define cJSON_IsArray(item) ((item) != NULL && (cJSON_IsArray)(item))
#define cJSON_IsObject(item) ((item) != NULL && (cJSON_IsObject)(item))
