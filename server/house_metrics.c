/* Metrics of free space, backups and the certificate. */
#include "server/house_metrics.h"

#include <math.h>
#include <sys/statvfs.h>
#include <time.h>

#include "api/documents/prometheus.h"
#include "server/process/backup_record.h"

static void gauge(struct buf *out, const char *name, const char *help, double value)
{
    prometheus_family(out, name, "gauge", help);
    if (isinf(value))
        buf_format(out, "%s +Inf\n", name);
    else
        prometheus_value(out, name, value);
}

/* Of the file system of the database and, if it is another one, of that of the data sets: what has less space counts.
 */
static void disk_metrics(const struct house_options *o, struct buf *out)
{
    struct statvfs fs;
    double free_bytes = INFINITY, size = 0;
    const char *const paths[] = {o->db, o->data};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (statvfs(paths[i], &fs) != 0)
            continue;
        double left = (double)fs.f_bavail * (double)fs.f_frsize;
        size = left < free_bytes ? (double)fs.f_blocks * (double)fs.f_frsize : size;
        free_bytes = left < free_bytes ? left : free_bytes;
    }
    if (isinf(free_bytes))
        return;
    gauge(out, "motifd_disk_free_bytes",
          "Free space of the file system of the database or of the data sets, whichever has less.", free_bytes);
    gauge(out, "motifd_disk_size_bytes", "Size of the same file system.", size);
}

static void backup_metrics(const struct house_options *o, struct buf *out)
{
    struct backup_record record;
    if (!backup_record_read(o->db, &record))
        record = (struct backup_record){.succeeded_at = 0};
    double age = record.succeeded_at > 0 ? (double)((int64_t)time(NULL) - record.succeeded_at) : INFINITY;
    gauge(out, "motifd_backup_age_seconds", "Time since the last complete backup began; +Inf: there was none.", age);
    gauge(out, "motifd_backup_failed", "1: the last backup failed.", record.failed ? 1 : 0);
}

void house_metrics(const struct house_options *options, struct buf *out)
{
    disk_metrics(options, out);
    backup_metrics(options, out);
    if (options->certificate_expires > 0)
        gauge(out, "motifd_certificate_expires_seconds", "Time until the TLS certificate expires.",
              (double)(options->certificate_expires - (int64_t)time(NULL)));
}
