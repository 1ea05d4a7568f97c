/* deploy/tidy includes this header before each file that it checks. It gives clang's analyzer facts that declarations
 * do not express. No build uses it. */
#include <cjson/cJSON.h>

#include "core/base/error.h"

/* error_set returns `code`, so the analyzer does not follow the path of success after a failure. */
#define error_set(err, code, ...) ((void)(error_set)((err), (code), __VA_ARGS__), (code))

/* An item that has a type is not NULL. */
#define cJSON_IsString(item) ((item) != NULL && (cJSON_IsString)(item))
#define cJSON_IsNumber(item) ((item) != NULL && (cJSON_IsNumber)(item))
#define cJSON_IsArray(item) ((item) != NULL && (cJSON_IsArray)(item))
#define cJSON_IsObject(item) ((item) != NULL && (cJSON_IsObject)(item))
