/* An assertion about calls that return enum status. */
#ifndef MOTIF_TESTS_SUPPORT_ASSERT_OK_H
#define MOTIF_TESTS_SUPPORT_ASSERT_OK_H

#include "core/base/error.h"
#include "tests/support/unit.h"

/* Fails the test with the error message unless `call`, which uses a pointer `err`, returns STATUS_OK. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        struct error err_ = {0}, *err = &err_;                                                                         \
        if ((call) != STATUS_OK)                                                                                       \
            fail_msg("%s: %s %s", #call, err->pointer, err->message);                                                  \
    } while (0)

#endif
