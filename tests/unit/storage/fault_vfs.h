/* An SQLite VFS on top of the real one that simulates failures of the disk and of the power.
 *
 * Failures of the disk: the n-th read, write or sync fails with a chosen code, once or permanently.
 *
 * Failures of the power: the VFS keeps two versions of each file, the current one and the one that a power failure
 * would leave. The second version contains a random part of the writes since the last sync, in units of sectors of
 * 512 bytes. fault_power_loss() writes the second versions to another folder. */
#ifndef MOTIF_TESTS_UNIT_STORAGE_FAULT_VFS_H
#define MOTIF_TESTS_UNIT_STORAGE_FAULT_VFS_H

#include <stdint.h>

#define FAULT_VFS "fault"

/* Registers the VFS. `follow`: also keeps what a power failure would leave, which costs memory. */
void fault_vfs_register(int follow);
void fault_vfs_unregister(void);

/* The next `after` operations of this kind succeed, and the one after them fails with `code`. With `forever`, all later
 * ones fail too. Code 0 ends the failures. */
void fault_on_read(int after, int code, int forever);
void fault_on_write(int after, int code, int forever);
void fault_on_sync(int after, int code, int forever);
/* Return the number of reads, of writes and of syncs since the VFS was registered. */
int fault_reads(void);
int fault_writes(void);
int fault_syncs(void);
int fault_failures(void); /* number of operations that failed so far */

/* Writes what a power failure at this moment would leave of the database and its log, as `path` and `path`-wal.
 * *seed determines which unsynced writes are kept. Other threads may write meanwhile. */
void fault_power_loss(const char *path, uint64_t *seed);

#endif
