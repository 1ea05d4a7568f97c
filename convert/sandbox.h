/* Removes from the process all rights that a conversion does not need. */
#ifndef MOTIF_CONVERT_SANDBOX_H
#define MOTIF_CONVERT_SANDBOX_H

#include <stdint.h>

#include "core/base/error.h"

enum {
    SANDBOX_MEMORY_MIB = 2048, /* address space */
    /* processor time: SANDBOX_SECONDS and one second for each MiB of the file, at most SANDBOX_SECONDS_MOST */
    SANDBOX_SECONDS = 30,
    SANDBOX_SECONDS_MOST = 300
};

/* bytes: size of the file that will be read.
 * Limits memory, processor time, files and processes, and ends the process when its parent ends.
 * From then on the kernel refuses every system call except those that read and write open descriptors, manage memory
 * and end the process: no file can be opened, no socket made, no program started. STATUS_UNAVAILABLE: the system does
 * not allow it. Call it before a byte of the upload is read. */
enum status sandbox_enter(int64_t bytes, struct error *err);

#endif
