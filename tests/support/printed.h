/* Collects what the program prints on one of its descriptors, in memory. */
#ifndef MOTIF_TESTS_SUPPORT_PRINTED_H
#define MOTIF_TESTS_SUPPORT_PRINTED_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct printed {
    int fd, before; /* fd: the redirected descriptor; before: a copy of `fd` from before the redirection */
};

static inline struct printed printed_begin(int fd)
{
    (void)fflush(fd == STDOUT_FILENO ? stdout : stderr);
    struct printed printed = {fd, dup(fd)};
    int file = memfd_create("printed", MFD_CLOEXEC);
    (void)dup2(file, fd);
    (void)close(file);
    return printed;
}

/* Ends the redirection. `text` receives the beginning of what was printed. */
static inline void printed_end(const struct printed *printed, char *text, size_t room)
{
    (void)fflush(printed->fd == STDOUT_FILENO ? stdout : stderr);
    ssize_t got = pread(printed->fd, text, room - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    (void)dup2(printed->before, printed->fd);
    (void)close(printed->before);
}

#endif
