/* FASTA files: named records of letters.
 *
 * A record is a line '>NAME anything' and the lines of letters below it. Letters are the IUPAC codes of nucleotides
 * (A, C, G, T, U, N, R, Y, ...) in either case; the caller decides what they stand for. Read-only once parsed: any
 * number of threads. */
#ifndef MOTIF_CORE_FORMATS_FASTA_H
#define MOTIF_CORE_FORMATS_FASTA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/formats/text_lines.h"

enum { FASTA_NAME = 64, FASTA_RECORDS = 1 << 20 };

/* What the letters of a file are. bases: A, C, G, T or U; ambiguous: codes of several bases except N. */
struct fasta_letters {
    int64_t bases, ambiguous;
    bool uracil, thymine; /* whether U and T occur */
};
/* Whether so many letters are ambiguous that they are probably amino acids: one in `share` of those that are not N. */
static inline bool fasta_letters_odd(const struct fasta_letters *letters, int share)
{
    return letters->ambiguous > 0 && letters->ambiguous * share >= letters->ambiguous + letters->bases;
}
extern const char fasta_no_bases[]; /* the message about a query for which this is so with a share of 2 */
/* Refuses a letter that is no code of a base. line, column: its place, from 1. Returns STATUS_INVALID. */
enum status fasta_letter_fault(int64_t line, int64_t column, char letter, struct error *err);

struct fasta_record {
    char name[FASTA_NAME]; /* the header line between '>' and its first blank; NUL-terminated */
    int64_t first;         /* the record's letters are letters[first ... first + length) */
    int64_t length;
};
struct fasta {
    int records;
    struct fasta_record *record; /* [records] in the order of the file */
    int64_t count;               /* letters of all records together */
    unsigned char *letters;      /* [count] */
    struct fasta_letters seen;   /* of all records */
    int *by_name;                /* [records] indices of the records, sorted by name */
};

/* Parses a whole file. The arrays of `fasta` belong to the caller; after an error it is zeroed.
 * STATUS_INVALID: letters before the first record, a record without a name, a character that is no IUPAC code, two
 * records of one name, no letter at all. STATUS_LIMIT: a name of FASTA_NAME bytes or more, more than FASTA_RECORDS
 * records. Messages name the line. */
enum status fasta_parse(const char *text, size_t size, struct fasta *fasta, struct error *err);
void fasta_close(struct fasta *fasta); /* a zeroed struct is allowed */

/* Reads records one after another, so that memory contains only one of them. Several records may have the same name. */
struct fasta_stream {
    struct text_stream lines;
    char *header[2]; /* header lines of the current and of the next record */
    size_t header_bytes[2];
    bool ahead; /* whether the header line of the next record has been read */
    char name[FASTA_NAME];
    struct plain_line words; /* the current record's header line after the name */
    unsigned char *letters;
    int64_t length, room;      /* length: letters of the current record; room: capacity of `letters` */
    struct fasta_letters seen; /* of all records so far */
};
void fasta_stream_open(struct fasta_stream *s, const struct byte_source *from);
void fasta_stream_close(struct fasta_stream *s); /* a zeroed struct is allowed */
/* fasta_stream_next() reads the next record into the members name, words, letters and length, which are valid until the
 * next call; *more is false at the end. It returns the errors of fasta_parse() that concern a single record.
 * STATUS_LIMIT: also a record of more than FASTA_LETTERS letters. */
enum { FASTA_LETTERS = 1 << 26 };
enum status fasta_stream_next(struct fasta_stream *s, bool *more, struct error *err);

/* Returns the index of the record with this name; -1 if no record has it. */
int fasta_find(const struct fasta *fasta, struct plain_line name);

#endif
