/* The function that all parts of the program call to close a file descriptor (descriptor.h). */
#include "core/base/descriptor.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

void descriptor_close(int *descriptor)
{
    if (*descriptor < 0)
        return;
    int before = errno;
    int failed = close(*descriptor);
    assert(failed == 0 || errno != EBADF);
    (void)failed;
    *descriptor = -1;
    errno = before;
}
