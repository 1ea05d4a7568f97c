/* Parses FASTA in one of two ways: a whole text in one pass, with an index in which fasta_find() looks up names; or a
 * stream, one record after another. */
#include "core/formats/fasta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"

struct reader {
    struct fasta *fasta;
    struct plain_lines lines;
};

static enum status fault(int64_t line, enum status code, const char *detail, struct error *err)
{
    return error_set(err, code, NULL, "FASTA, line %lld: %s", (long long)line, detail);
}

/* Reads the name of a header line; *rest is the text behind it. */
static enum status read_name(struct plain_line line, int64_t number, char out[FASTA_NAME], struct plain_line *rest,
                             struct error *err)
{
    struct plain_line name;
    *rest = (struct plain_line){line.at + 1, line.size - 1};
    if (!plain_word(rest, &name) || name.at != line.at + 1)
        return fault(number, STATUS_INVALID, "a record needs a name directly after its '>'", err);
    if (name.size >= FASTA_NAME)
        return fault(number, STATUS_LIMIT, "the name of the record is too long; at most 63 bytes are allowed", err);
    memcpy(out, name.at, name.size);
    out[name.size] = '\0';
    return STATUS_OK;
}

enum status fasta_letter_fault(int64_t line, int64_t column, char letter, struct error *err)
{
    char shown[8];
    bool printed = letter > ' ' && letter < 0x7F;
    (void)snprintf(shown, sizeof shown, printed ? "'%c'" : "0x%02X", (unsigned char)letter);
    return error_set(err, STATUS_INVALID, NULL,
                     "FASTA, line %lld, column %lld: %s is no letter of a base (A, C, G, T, U, N and the other IUPAC "
                     "codes); %s",
                     (long long)line, (long long)column, letter == ' ' || letter == '\t' ? "a blank" : shown,
                     letter == '-' || letter == '.' ? "remove the gaps of an alignment"
                     : letter && strchr("EFIJLOPQXZefijlopqxz*", letter)
                         ? "write N for an unknown base; amino acids: upload a one-hot x of [n][1][cols][letters] as "
                           ".npz"
                         : "remove it, or write N for an unknown base");
}

const char fasta_no_bases[] = "most letters are codes of several bases (R, Y, S, ...), so these are probably amino "
                              "acids; the model reads DNA or RNA";

/* Copies the letters of a line, and counts them in *seen; `to` has room for all of them. */
static enum status read_letters(struct plain_line line, int64_t number, unsigned char *to, struct fasta_letters *seen,
                                struct error *err)
{
    enum { BASE = 1, UNKNOWN, AMBIGUOUS };
    static const unsigned char kinds[256] = {
        ['A'] = BASE,      ['C'] = BASE,      ['G'] = BASE,      ['T'] = BASE,
        ['U'] = BASE,      ['N'] = UNKNOWN,   ['R'] = AMBIGUOUS, ['Y'] = AMBIGUOUS,
        ['S'] = AMBIGUOUS, ['W'] = AMBIGUOUS, ['K'] = AMBIGUOUS, ['M'] = AMBIGUOUS,
        ['B'] = AMBIGUOUS, ['D'] = AMBIGUOUS, ['H'] = AMBIGUOUS, ['V'] = AMBIGUOUS};
    for (size_t i = 0; i < line.size; i++) {
        unsigned char letter = (unsigned char)line.at[i];
        unsigned char upper = letter >= 'a' && letter <= 'z' ? (unsigned char)(letter - 32) : letter;
        if (!kinds[upper])
            return fasta_letter_fault(number, (int64_t)i + 1, line.at[i], err);
        seen->bases += kinds[upper] == BASE;
        seen->ambiguous += kinds[upper] == AMBIGUOUS;
        seen->uracil |= upper == 'U';
        seen->thymine |= upper == 'T';
        to[i] = letter;
    }
    return STATUS_OK;
}

static const char headless[] =
    "bases before the first record; a record begins with a line '>NAME' (of FASTQ: seqtk seq -a FILE)",
                  baseless[] = "the file ends without a sequence; it needs at least one record with bases";

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
    struct plain_line rest;
    if (f->records == FASTA_RECORDS)
        return fault(r->lines.number, STATUS_LIMIT, "too many records; at most 1048576 are allowed", err);
    struct fasta_record *more = grown(f->record, (size_t)f->records, sizeof *f->record);
    if (more == NULL)
        return error_memory(err, "the records of a FASTA file");
    f->record = more;
    struct fasta_record *record = &f->record[f->records];
    *record = (struct fasta_record){.first = f->count};
    enum status status = read_name(line, r->lines.number, record->name, &rest, err);
    f->records += !status;
    return status;
}

static enum status add_letters(struct reader *r, struct plain_line line, struct error *err)
{
    struct fasta *f = r->fasta;
    if (f->records == 0)
        return fault(r->lines.number, STATUS_INVALID, headless, err);
    enum status status = read_letters(line, r->lines.number, f->letters + f->count, &f->seen, err);
    if (status)
        return status;
    f->count += (int64_t)line.size;
    f->record[f->records - 1].length += (int64_t)line.size;
    return STATUS_OK;
}

static enum status read_records(struct reader *r, size_t size, struct error *err)
{
    struct plain_line line;
    enum status status = STATUS_OK;
    r->fasta->letters = malloc(size + 1); /* a file has no more letters than bytes */
    if (r->fasta->letters == NULL)
        return error_memory(err, "the sequences");
    while (!status && plain_next(&r->lines, &line))
        if (line.size > 0)
            status = line.at[0] == '>' ? begin_record(r, line, err) : add_letters(r, line, err);
    if (status)
        return status;
    if (r->fasta->count == 0)
        return fault(r->lines.number, STATUS_INVALID, baseless, err);
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
        return error_memory(err, "the names of FASTA records");
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

/* ---- streams ----------------------------------------------------------------------------------------------- */

void fasta_stream_open(struct fasta_stream *s, const struct byte_source *from)
{
    *s = (struct fasta_stream){0};
    text_stream_open(&s->lines, from, FASTA_LETTERS);
}

void fasta_stream_close(struct fasta_stream *s)
{
    text_stream_close(&s->lines);
    free(s->header[0]);
    free(s->header[1]);
    free(s->letters);
    *s = (struct fasta_stream){0};
}

/* Stores the header line of the next record. */
static enum status keep_header(struct fasta_stream *s, struct plain_line line, struct error *err)
{
    char *larger = realloc(s->header[1], line.size + 1);
    if (larger == NULL)
        return error_memory(err, "the header of a FASTA record");
    memcpy(larger, line.at, line.size);
    s->header[1] = larger;
    s->header_bytes[1] = line.size;
    s->ahead = true;
    return STATUS_OK;
}

static enum status append_letters(struct fasta_stream *s, struct plain_line line, struct error *err)
{
    if (s->length + (int64_t)line.size > FASTA_LETTERS)
        return fault(s->lines.number, STATUS_LIMIT, "the record has more than 67108864 bases", err);
    if (s->length + (int64_t)line.size > s->room) {
        int64_t room = 2 * (s->length + (int64_t)line.size);
        unsigned char *larger = realloc(s->letters, (size_t)room);
        if (larger == NULL)
            return error_memory(err, "the sequences");
        s->letters = larger;
        s->room = room;
    }
    enum status status =
        line.size > 0 ? read_letters(line, s->lines.number, s->letters + s->length, &s->seen, err) : STATUS_OK;
    s->length += status ? 0 : (int64_t)line.size;
    return status;
}

/* Reads lines up to the next header, and stores that header. own: whether a record has begun; only then letters are
 * allowed. */
static enum status read_lines(struct fasta_stream *s, bool own, struct error *err)
{
    struct plain_line line;
    bool more = true;
    while (more && !s->ahead) {
        enum status status = text_stream_next(&s->lines, &line, &more, err);
        if (!status && more && line.size > 0)
            status = line.at[0] == '>' ? keep_header(s, line, err)
                     : own             ? append_letters(s, line, err)
                                       : fault(s->lines.number, STATUS_INVALID, headless, err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

enum status fasta_stream_next(struct fasta_stream *s, bool *more, struct error *err)
{
    enum status status = s->ahead ? STATUS_OK : read_lines(s, false, err);
    *more = !status && s->ahead;
    s->length = 0;
    if (status || !s->ahead)
        return status;
    char *kept = s->header[0];
    s->header[0] = s->header[1];
    s->header_bytes[0] = s->header_bytes[1];
    s->header[1] = kept;
    s->ahead = false;
    status = read_name((struct plain_line){s->header[0], s->header_bytes[0]}, s->lines.number, s->name, &s->words, err);
    return status ? status : read_lines(s, true, err);
}
