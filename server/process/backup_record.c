/* The record of the last backup, replaced by a rename. */
#include "server/process/backup_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH = 4200 };

bool backup_record_read(const char *db, struct backup_record *out)
{
    char path[PATH], text[64] = "";
    int failed = 0;
    if (snprintf(path, sizeof path, "%s-backup", db) >= PATH)
        return false;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool read = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    char *end = text;
    *out = (struct backup_record){.succeeded_at = (int64_t)strtoll(text, &end, 10)};
    failed = (int)strtol(end, NULL, 10);
    out->failed = failed != 0;
    return read && end != text;
}

void backup_record_write(const char *db, const struct backup_record *record)
{
    char path[PATH], part[PATH + 8];
    if (snprintf(path, sizeof path, "%s-backup", db) >= PATH)
        return;
    (void)snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "we");
    if (file == NULL)
        return;
    bool good = fprintf(file, "%" PRId64 " %d\n", record->succeeded_at, record->failed) > 0;
    good = fclose(file) == 0 && good;
    if (!good || rename(part, path) != 0)
        (void)unlink(part);
}
