/* Passes entries of the audit log on, as lines of JSON, to a file or to syslog. */
#ifndef MOTIF_SERVER_PROCESS_AUDIT_FILE_H
#define MOTIF_SERVER_PROCESS_AUDIT_FILE_H

#include <stddef.h>

#include "core/base/error.h"
#include "server/process/journal.h"

struct audit_file;

#define AUDIT_SYSLOG "syslog" /* the name that selects syslog (facility auth) */

/* `path` and `journal` are borrowed. A file that is missing is created with mode 0600. When another program renames the
 * file, as logrotate does, the next line goes to a new file of the old name. STATUS_IO: it cannot be opened. */
enum status audit_file_open(const char *path, struct journal *journal, struct audit_file **file, struct error *err);
void audit_file_close(struct audit_file *file); /* NULL is fine */

/* Writes a line, which includes its end. Logs the first failure in a row; the entry is in the database in any case. Any
 * thread. */
void audit_file_line(struct audit_file *file, const char *line, size_t bytes);

#endif
