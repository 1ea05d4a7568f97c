/* The FASTA parser: one pass over the text, then an index of the names, which finds records for annotation files. */
#include "core/formats/fasta.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct fasta *fasta;
    struct plain_lines lines;
};

static enum status fault(const struct reader *r, enum status code, const char *detail, struct error *err)
{
    return error_set(err, code, NULL, "FASTA, line %lld: %s", (long long)r->lines.number, detail);
}

void fasta_close(struct fasta *fasta)
{
    free(fasta->record);
    free(fasta->letters);
    free(fasta->by_name);
    *fasta = (struct fasta){0};
}

static enum status begin_record(struct reader *r, struct plain_line line, struct error *err)
{
    struct fasta *f = r->fasta;
    struct plain_line rest = {line.at + 1, line.size - 1}, name;
    if (!plain_word(&rest, &name) || name.at != line.at + 1)
        return fault(r, STATUS_INVALID, "a record needs a name directly after its '>'", err);
    if (name.size >= FASTA_NAME)
        return fault(r, STATUS_LIMIT, "the name of the record is too long; at most 63 bytes are allowed", err);
    if (f->records == FASTA_RECORDS)
        return fault(r, STATUS_LIMIT, "too many records; at most 1048576 are allowed", err);
    if ((f->records & (f->records - 1)) == 0) { /* true when the number of records is 0 or a power of two: then the
                                                 * array is full and its capacity doubles */
        size_t capacity = f->records > 0 ? 2 * (size_t)f->records : 1;
        struct fasta_record *more = realloc(f->record, capacity * sizeof *more);
        if (more == NULL)
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the records of a FASTA file");
        f->record = more;
    }
    struct fasta_record *record = &f->record[f->records++];
    *record = (struct fasta_record){.first = f->count};
    memcpy(record->name, name.at, name.size);
    return STATUS_OK;
}

static enum status add_letters(struct reader *r, struct plain_line line, struct error *err)
{
    struct fasta *f = r->fasta;
    if (f->records == 0)
        return fault(r, STATUS_INVALID, "bases before the first record; a record begins with a line '>NAME'", err);
    for (size_t i = 0; i < line.size; i++) {
        if (line.at[i] == '\0' || strchr("ACGTUNRYSWKMBDHVacgtunryswkmbdhv", line.at[i]) == NULL)
            return fault(r, STATUS_INVALID, "a letter that is no IUPAC code of a base (A, C, G, T, U, N, R, Y, ...)",
                         err);
        f->letters[f->count++] = (unsigned char)line.at[i];
        f->record[f->records - 1].length++;
    }
    return STATUS_OK;
}

static enum status read_records(struct reader *r, size_t size, struct error *err)
{
    struct plain_line line;
    enum status status = STATUS_OK;
    r->fasta->letters = malloc(size + 1); /* a file has no more letters than bytes */
    if (r->fasta->letters == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the sequences");
    while (!status && plain_next(&r->lines, &line))
        if (line.size > 0)
            status = line.at[0] == '>' ? begin_record(r, line, err) : add_letters(r, line, err);
    if (status != STATUS_OK)
        return status;
    if (r->fasta->count == 0)
        return fault(r, STATUS_INVALID, "the file ends without a sequence; it needs at least one record with bases",
                     err);
    return STATUS_OK;
}

static int by_name(const void *a, const void *b, void *context)
{
    const struct fasta_record *record = context;
    return strcmp(record[*(const int *)a].name, record[*(const int *)b].name);
}

static enum status index_names(struct fasta *f, struct error *err)
{
    f->by_name = malloc((size_t)f->records * sizeof *f->by_name);
    if (f->by_name == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the names of FASTA records");
    for (int i = 0; i < f->records; i++)
        f->by_name[i] = i;
    qsort_r(f->by_name, (size_t)f->records, sizeof *f->by_name, by_name, f->record);
    for (int i = 1; i < f->records; i++)
        if (strcmp(f->record[f->by_name[i - 1]].name, f->record[f->by_name[i]].name) == 0)
            return error_set(err, STATUS_INVALID, NULL, "FASTA: two records are called %s; names must be unique",
                             f->record[f->by_name[i]].name);
    return STATUS_OK;
}

enum status fasta_parse(const char *text, size_t size, struct fasta *fasta, struct error *err)
{
    *fasta = (struct fasta){0};
    struct reader r = {.fasta = fasta, .lines = plain_lines(text, size)};
    enum status status = read_records(&r, size, err);
    if (!status)
        status = index_names(fasta, err);
    if (status)
        fasta_close(fasta);
    return status;
}

int fasta_find(const struct fasta *fasta, struct plain_line name)
{
    char key[FASTA_NAME];
    if (name.size >= sizeof key)
        return -1;
    memcpy(key, name.at, name.size);
    key[name.size] = '\0';
    int low = 0, high = fasta->records - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(key, fasta->record[fasta->by_name[middle]].name);
        if (order == 0)
            return fasta->by_name[middle];
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}
