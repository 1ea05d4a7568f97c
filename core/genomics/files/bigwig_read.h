/* Reads bigWig files. Damaged files give errors. One thread at a time may use an open file. */
#ifndef MOTIF_CORE_GENOMICS_FILES_BIGWIG_READ_H
#define MOTIF_CORE_GENOMICS_FILES_BIGWIG_READ_H

#include <stdint.h>

#include "core/base/error.h"

struct bigwig;

/* Opens a file. Messages call it `shown`, a text that must outlive the file. STATUS_NOT_FOUND: there is no such file.
 * STATUS_CORRUPT: it is no bigWig file. STATUS_NO_MEMORY. */
enum status bigwig_open(const char *path, const char *shown, struct bigwig **file, struct error *err);
void bigwig_close(struct bigwig *file); /* NULL is fine */
/* Length of a chromosome; -1: the file has no chromosome of this name. */
int64_t bigwig_length(const struct bigwig *file, const char *chromosome);
/* Divides [start, end) into `bins` parts of equal length and computes the mean of the values in each part. [start, end)
 * must lie inside the chromosome and have at least `bins` positions. A position without a value counts as 0. mean:
 * [bins]. STATUS_CORRUPT: the file cannot be read there, or a value is not finite. */
enum status bigwig_means(struct bigwig *file, const char *chromosome, int64_t start, int64_t end, int bins,
                         double *mean, struct error *err);

#endif
