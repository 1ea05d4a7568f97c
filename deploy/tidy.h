/* Included before each file that deploy/tidy looks at: what clang's analyzer cannot know from a declaration. Nothing is built with it. */
#include "core/base/error.h"

/* Returns its code, so what follows a failure is not reached. */
#define error_set(err, code, ...) ((void)(error_set)((err), (code), __VA_ARGS__), (code))
