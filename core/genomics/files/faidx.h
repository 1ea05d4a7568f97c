/* Random access to a FASTA file by its index (FILE.fai, as `samtools faidx` writes it). The index has a line for each
 * sequence: its name, its length, the offset of its first base, the number of bases on a line, and the number of bytes
 * of a line with its end. bgzip may have compressed the file: it is then called FILE.gz, and a second index is
 * FILE.gz.gzi. One thread at a time. */
#ifndef MOTIF_CORE_GENOMICS_FILES_FAIDX_H
#define MOTIF_CORE_GENOMICS_FILES_FAIDX_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/fasta.h"

struct faidx_sequence {
    char name[FASTA_NAME];
    int64_t length, offset, line_bases, line_bytes;
};
struct faidx {
    int file;
    struct bgzf *packed; /* NULL: the file is not compressed */
    int count;
    struct faidx_sequence *sequence; /* [count] in ascending order of the names */
    int64_t length;                  /* bases of all sequences together */
};

/* Opens the FASTA file `path`, or else `path`.gz, and its indexes. Messages call it `shown`, a text that must outlive
 * *out. STATUS_NOT_FOUND: the file or an index does not exist. STATUS_CORRUPT: an index has a fault. After an error
 * *out is closed. */
enum status faidx_open(const char *path, const char *shown, struct faidx *out, struct error *err);
void faidx_close(struct faidx *index);

/* Returns the sequence with this name; NULL: there is none. */
const struct faidx_sequence *faidx_find(const struct faidx *index, const char *name);
/* Reads the letters [start, end) of a sequence, which must lie inside. letters: [end - start]. STATUS_CORRUPT: the file
 * does not fit its index. STATUS_IO. */
enum status faidx_read(const struct faidx *index, const struct faidx_sequence *sequence, int64_t start, int64_t end,
                       char *letters, struct error *err);

#endif
