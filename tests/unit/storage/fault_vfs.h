/* An SQLite VFS that stands before the real one and can do what real disks do at bad moments.
 *
 * Failures: the n-th read, write or sync from now on fails, once or for ever, with a code of choice.
 * Loss of power: every file is followed twice, as it is and as it would be if the power went now:
 * what was written since its last sync may be there, or not, or in part (sectors of 512 bytes).
 * fault_power_loss() writes such files into another folder. */
#ifndef MOTIF_TESTS_UNIT_STORAGE_FAULT_VFS_H
#define MOTIF_TESTS_UNIT_STORAGE_FAULT_VFS_H

#include <stdint.h>

#define FAULT_VFS "fault"

/* Registers the VFS. follow: keep what loss of power would leave (costs memory). */
void fault_vfs_register(int follow);
void fault_vfs_unregister(void);

/* The operation after `after` more of its kind fails with `code`; forever: and all that follow.
 * code 0 ends it. */
void fault_on_read(int after, int code, int forever);
void fault_on_write(int after, int code, int forever);
void fault_on_sync(int after, int code, int forever);
/* How often each was called since registration. */
int fault_reads(void);
int fault_writes(void);
int fault_syncs(void);
int fault_failures(void); /* that were made */

/* Writes what the power would leave of database and log at this instant as `path` and `path`-wal.
 * Unsynced writes are kept by chance drawn from *seed. May be called while other threads write. */
void fault_power_loss(const char *path, uint64_t *seed);

#endif
