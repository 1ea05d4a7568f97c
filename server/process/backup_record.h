/* When the last backups of a database were made: `motifd backup` writes it to a file beside the database, and the
 * daemon shows it in its metrics. The file is text: "SUCCEEDED_AT FAILED", the first in seconds since 1970. */
#ifndef MOTIF_SERVER_PROCESS_BACKUP_RECORD_H
#define MOTIF_SERVER_PROCESS_BACKUP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

struct backup_record {
    int64_t succeeded_at; /* begin of the last backup that succeeded; 0: none did */
    bool failed;          /* whether the last backup failed */
};

/* Reads the record of a database. False: there is none. */
bool backup_record_read(const char *db, struct backup_record *out);
/* Writes it; failures are ignored, because the folder of the database may be read-only for the backup. */
void backup_record_write(const char *db, const struct backup_record *record);

#endif
