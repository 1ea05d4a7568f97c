/* What every test may demand of a call. */
#ifndef MOTIF_TESTS_SUPPORT_ASSERT_OK_H
#define MOTIF_TESTS_SUPPORT_ASSERT_OK_H

#include "core/base/error.h"

/* `call` uses a pointer `err`. Where cmocka.h is included. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        struct error err_ = {0}, *err = &err_;                                                                         \
        if ((call) != STATUS_OK)                                                                                       \
            fail_msg("%s: %s %s", #call, err->pointer, err->message);                                                  \
    } while (0)

#endif
