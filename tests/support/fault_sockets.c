/* Makes lseek() and the calls for sockets, pipes and signals fail (fault_calls.h). */
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "tests/support/fault_calls.h"

#define CALL(type, call, parameters, arguments)                                                                        \
    type __real_##call parameters;                                                                                     \
    type __wrap_##call parameters;                                                                                     \
    type __wrap_##call parameters                                                                                      \
    {                                                                                                                  \
        return fault_call_now(#call) ? -1 : __real_##call arguments;                                                   \
    }

CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol))
CALL(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t bytes),
     (fd, level, name, value, bytes))
CALL(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *bytes), (fd, level, name, value, bytes))
CALL(int, bind, (int fd, const struct sockaddr *address, socklen_t bytes), (fd, address, bytes))
CALL(int, listen, (int fd, int backlog), (fd, backlog))
CALL(int, getsockname, (int fd, struct sockaddr *address, socklen_t *bytes), (fd, address, bytes))
CALL(ssize_t, send, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags))
CALL(int, pipe2, (int ends[2], int flags), (ends, flags))
CALL(int, eventfd, (unsigned value, int flags), (value, flags))
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode))
CALL(int, sigaction, (int number, const struct sigaction *action, struct sigaction *before), (number, action, before))
CALL(off_t, lseek64, (int fd, off_t offset, int whence), (fd, offset, whence))
