/* Reads motifs (motif_text_parse()), and writes them for other programs. Simple readers take the width of a motif from
 * the sixth word of the line "letter-probability matrix:". So the words of this line have a fixed order. These readers
 * store a motif when they read the line after its last row. So an empty line ends each motif. */
#include "core/genomics/files/motif_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/formats/text_lines.h"

/* Parses motif files, line by line. Programs write many variants of these formats, so the reader accepts
 * what it can understand and refuses only what it would misread: other alphabets, rows of other lengths, and sums that
 * are far from 1. */

enum { LETTERS = 4 };
static const double SUM_TOLERANCE =
    0.1; /* the sum of a row of probabilities may differ from 1 by this much, as in the MEME Suite */
static const double SITES_MOST = 1e9;

struct reader {
    struct motif_text *out;
    struct plain_lines lines;
    int rows_left; /* number of rows that the current MEME matrix still needs; -1: its width is unknown */
    bool in_matrix;
    /* The current JASPAR matrix: number of rows that have been read, of `width` counts each; the letter of each row (an
     * index into "ACGT"), if `lettered`. */
    int counts, width, letter[LETTERS];
    bool lettered;
    double count[LETTERS * MOTIF_TEXT_WIDTH];
};

static enum status motif_text_fault(const struct reader *r, enum status code, const char *detail, struct error *err)
{
    return error_set(err, code, NULL, "motifs, line %lld: %s", (long long)r->lines.number, detail);
}

void motif_text_close(struct motif_text *motifs)
{
    free(motifs->motif);
    free(motifs->row);
    *motifs = (struct motif_text){0};
}

static struct motif_text_entry *last(const struct reader *r)
{
    return &r->out->motif[r->out->motifs - 1];
}

static enum status add_row(struct reader *r, const double value[LETTERS], struct error *err)
{
    struct motif_text *out = r->out;
    if (last(r)->width == MOTIF_TEXT_WIDTH)
        return motif_text_fault(r, STATUS_LIMIT, "a motif has more than 100 positions", err);
    double(*more)[LETTERS] = grown(out->row, (size_t)out->rows, sizeof *out->row);
    if (!more)
        return error_memory(err, "motifs");
    out->row = more;
    memcpy(out->row[out->rows++], value, sizeof *out->row);
    last(r)->width++;
    return STATUS_OK;
}

static void note(struct motif_text_notice *notice, const struct motif_text_entry *motif)
{
    if (notice->motifs++ == 0)
        memcpy(notice->first, motif->id, sizeof notice->first);
}

/* Whether the sums of the rows or the columns of four rows of four counts are equal, within 1 %. */
static bool equal_sums(const struct reader *r, bool rows)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < LETTERS; i++) {
        double sum = 0;
        for (int j = 0; j < LETTERS; j++)
            sum += r->count[rows ? i * LETTERS + j : j * LETTERS + i];
        least = fmin(least, sum);
        most = fmax(most, sum);
    }
    return most - least <= 0.01 * most;
}

/* Adds the counts of a matrix of JASPAR as the rows of the last motif. Adds nothing if the matrix is not complete. */
static enum status end_counts(struct reader *r, struct error *err)
{
    bool turned = r->counts > LETTERS || (r->counts == LETTERS && r->width == LETTERS && !r->lettered &&
                                          equal_sums(r, true) && !equal_sums(r, false));
    enum status status = STATUS_OK;
    for (int i = 0; !status && r->counts >= LETTERS && i < (turned ? r->counts : r->width); i++) {
        double value[LETTERS];
        for (int b = 0; b < LETTERS; b++)
            value[r->lettered ? r->letter[b] : b] = r->count[turned ? i * LETTERS + b : b * r->width + i];
        status = add_row(r, value, err);
    }
    if (turned)
        note(&r->out->turned, last(r));
    r->counts = 0;
    return status;
}

/* Ends the last motif. It is an error if the motif is not complete. */
static enum status end_motif(struct reader *r, struct error *err)
{
    struct motif_text *out = r->out;
    r->in_matrix = false;
    if (out->motifs == 0)
        return STATUS_OK;
    enum status status = end_counts(r, err);
    if (status)
        return status;
    if (last(r)->width == 0 || r->rows_left > 0)
        return error_set(err, STATUS_INVALID, NULL, "motifs, line %lld: the matrix of %s is not complete",
                         (long long)r->lines.number, last(r)->id);
    return STATUS_OK;
}

static enum status take_name(const struct reader *r, struct plain_line word, char to[MOTIF_TEXT_NAME],
                             struct error *err)
{
    if (word.size >= MOTIF_TEXT_NAME)
        return motif_text_fault(r, STATUS_LIMIT, "the name of a motif is too long; at most 63 bytes are allowed", err);
    memcpy(to, word.at, word.size);
    to[word.size] = '\0';
    return STATUS_OK;
}

/* Begins a motif with the id and the name in `rest`, the part of the line after MOTIF or '>'. */
static enum status begin_motif(struct reader *r, struct plain_line rest, struct error *err)
{
    struct motif_text *out = r->out;
    struct plain_line word;
    enum status status = end_motif(r, err);
    if (status)
        return status;
    if (out->motifs == MOTIF_TEXT_MOTIFS)
        return motif_text_fault(r, STATUS_LIMIT, "too many motifs; at most 65536 are allowed", err);
    struct motif_text_entry *more = grown(out->motif, (size_t)out->motifs, sizeof *more);
    if (!more)
        return error_memory(err, "motifs");
    out->motif = more;
    out->motif[out->motifs++] = (struct motif_text_entry){.first = out->rows, .sites = 20};
    r->rows_left = 0;
    if (!plain_word(&rest, &word))
        return motif_text_fault(r, STATUS_INVALID, "a motif needs an identifier", err);
    status = take_name(r, word, last(r)->id, err);
    if (status || !plain_word(&rest, &word))
        return status;
    return take_name(r, word, last(r)->name, err);
}

/* ---- MEME --------------------------------------------------------------------------------------------------- */

/* Reads "key= value" pairs; a key may be joined with its value ("w=8"). */
static enum status begin_matrix(struct reader *r, struct plain_line rest, struct error *err)
{
    struct plain_line word, value;
    r->rows_left = -1;
    r->in_matrix = true;
    if (r->out->motifs == 0 || last(r)->width > 0)
        return motif_text_fault(r, STATUS_INVALID, "a letter-probability matrix needs a line MOTIF before it", err);
    while (plain_word(&rest, &word)) {
        const char *equals = memchr(word.at, '=', word.size);
        if (!equals)
            continue;
        size_t key = (size_t)(equals - word.at);
        value = (struct plain_line){equals + 1, word.size - key - 1};
        if (value.size == 0 && !plain_word(&rest, &value))
            return motif_text_fault(r, STATUS_INVALID, "a key of the matrix has no value", err);
        double number = plain_number(value);
        struct plain_line name = {word.at, key};
        if (plain_is(name, "alength") && !(number >= LETTERS && number <= LETTERS))
            return motif_text_fault(r, STATUS_INVALID, "alength must be 4: only motifs of DNA and RNA can be read",
                                    err);
        if (plain_is(name, "w") && !(number >= 1 && number <= MOTIF_TEXT_WIDTH))
            return motif_text_fault(r, STATUS_LIMIT, "w must be between 1 and 100", err);
        if (plain_is(name, "w"))
            r->rows_left = (int)number;
        if (plain_is(name, "nsites") && number > 0 && number <= SITES_MOST)
            last(r)->sites = number;
    }
    return STATUS_OK;
}

/* Reads a row of probabilities; *is_row is false if the line is none. */
static enum status read_row(struct reader *r, struct plain_line line, bool *is_row, struct error *err)
{
    struct plain_line word;
    double value[LETTERS], sum = 0;
    int count = 0;
    *is_row = false;
    for (; plain_word(&line, &word); count++) {
        double number = plain_number(word);
        if (isnan(number) && count == 0)
            return STATUS_OK;
        if (count == LETTERS || !(number >= 0 && number <= 1 + SUM_TOLERANCE))
            return motif_text_fault(r, STATUS_INVALID, "a row of a matrix needs four probabilities, of A, C, G and T",
                                    err);
        value[count] = number;
        sum += number;
    }
    if (count == 0)
        return STATUS_OK;
    if (count < LETTERS || (fabs(sum - 1) > SUM_TOLERANCE && sum != 0))
        return motif_text_fault(r, STATUS_INVALID, "a row of a matrix needs four probabilities whose sum is 1", err);
    for (int i = 0; i < LETTERS; i++)
        value[i] /= sum > 0 ? sum : 1;
    *is_row = true;
    return add_row(r, value, err);
}

static enum status read_alphabet(const struct reader *r, struct plain_line rest, struct error *err)
{
    struct plain_line word;
    if (plain_word(&rest, &word) && !plain_is(word, "ACGT") && !plain_is(word, "ACGU"))
        return motif_text_fault(r, STATUS_INVALID,
                                "the alphabet must be ACGT or ACGU: only motifs of DNA and RNA can be read", err);
    return STATUS_OK;
}

static enum status read_meme_line(struct reader *r, struct plain_line line, struct error *err)
{
    struct plain_line rest = line, word;
    if (r->in_matrix && r->rows_left != 0) {
        bool is_row;
        enum status status = read_row(r, line, &is_row, err);
        if (status || is_row) {
            r->rows_left -= r->rows_left > 0;
            return status;
        }
        if (r->rows_left < 0 && last(r)->width > 0)
            r->rows_left = 0;
    }
    if (!plain_word(&rest, &word))
        return STATUS_OK;
    if (plain_is(word, "MOTIF"))
        return begin_motif(r, rest, err);
    if (plain_is(word, "letter-probability"))
        return begin_matrix(r, rest, err);
    if (plain_is(word, "ALPHABET="))
        return read_alphabet(r, rest, err);
    return STATUS_OK;
}

/* ---- JASPAR ------------------------------------------------------------------------------------------------- */

/* Removes the letter of a row of counts from its beginning, with the sign behind it ("A [", "A|"). Returns the index of
 * the letter, or -1 if there is none. */
static int remove_letter(struct plain_line *line)
{
    static const char letters[] = "ACGTUacgtu", marks[] = " \t[]:|=";
    struct plain_line rest = *line;
    while (rest.size > 0 && strchr(" \t[", rest.at[0])) {
        rest.at++;
        rest.size--;
    }
    const char *letter = rest.size > 0 && rest.at[0] ? strchr(letters, rest.at[0]) : NULL;
    if (!letter)
        return -1;
    for (rest.at++, rest.size--; rest.size > 0 && rest.at[0] && strchr(marks, rest.at[0]); rest.size--)
        rest.at++;
    *line = rest;
    int index = (int)(letter - letters) % 5;
    return index == LETTERS ? LETTERS - 1 : index; /* U is T */
}

/* Reads one row of counts; brackets and the letter are optional. */
static enum status read_counts(struct reader *r, struct plain_line line, struct error *err)
{
    struct plain_line word;
    int position = 0, letter = remove_letter(&line);
    bool first = r->counts == 0;
    r->lettered = first ? letter >= 0 : r->lettered;
    r->width = first ? 0 : r->width;
    if (r->counts >= LETTERS && (r->lettered || r->width != LETTERS))
        return motif_text_fault(r, STATUS_INVALID, "a matrix of counts has four rows, of A, C, G and T", err);
    if (r->counts == MOTIF_TEXT_WIDTH)
        return motif_text_fault(r, STATUS_LIMIT, "a motif has more than 100 positions", err);
    if (r->lettered != (letter >= 0))
        return motif_text_fault(r, STATUS_INVALID, "either all rows of a matrix begin with their letter, or none", err);
    for (int i = 0; r->lettered && i < r->counts; i++)
        if (r->letter[i] == letter)
            return motif_text_fault(r, STATUS_INVALID, "two rows of a matrix have the same letter", err);
    if (r->lettered)
        r->letter[r->counts] = letter;
    for (; plain_word(&line, &word); position++) {
        while (word.size > 0 && *word.at == '[') {
            word.at++;
            word.size--;
        }
        while (word.size > 0 && word.at[word.size - 1] == ']')
            word.size--;
        if (word.size == 0) {
            position--;
            continue;
        }
        double count = plain_number(word);
        if (!(count >= 0 && count <= SITES_MOST))
            return error_set(err, STATUS_INVALID, NULL,
                             "motifs, line %lld: a count must be a number in [0, 1e9]; got '%.*s'%s",
                             (long long)r->lines.number, plain_shown(word, 30), word.at,
                             count < 0 ? ", as in a matrix of weights; upload the counts" : "");
        if (first && position == MOTIF_TEXT_WIDTH)
            return motif_text_fault(r, STATUS_LIMIT, "a motif has more than 100 positions", err);
        r->width += first;
        if (position < r->width)
            r->count[r->counts * r->width + position] = count;
    }
    if (position != r->width || position == 0)
        return motif_text_fault(r, STATUS_INVALID,
                                "all rows of a matrix must have the same number of counts, at least one", err);
    r->counts++;
    return STATUS_OK;
}

/* Divides the counts of a matrix by the sums of their columns. */
static void divide(struct motif_text *out, struct motif_text_entry *motif)
{
    motif->sites = 0;
    for (int i = motif->first; i < motif->first + motif->width; i++) {
        double *row = out->row[i], sum = row[0] + row[1] + row[2] + row[3];
        motif->sites = fmax(motif->sites, sum);
        for (int b = 0; sum > 0 && b < LETTERS; b++)
            row[b] /= sum;
    }
}

/* Removes the motifs of which a column is empty. STATUS_INVALID: no motif is left. */
static enum status leave_out_empty(struct motif_text *out, struct error *err)
{
    int kept = 0;
    for (int i = 0; i < out->motifs; i++) {
        const struct motif_text_entry *motif = &out->motif[i];
        bool empty = false;
        for (int k = motif->first; k < motif->first + motif->width; k++)
            empty = empty || out->row[k][0] + out->row[k][1] + out->row[k][2] + out->row[k][3] <= 0;
        if (empty)
            note(&out->empty, motif);
        else
            out->motif[kept++] = *motif;
    }
    out->motifs = kept;
    return kept > 0 ? STATUS_OK
                    : error_set(err, STATUS_INVALID, NULL, "motifs: a column of the matrix of %s has no counts%s",
                                out->empty.first, out->empty.motifs > 1 ? ", and so in all other matrices" : "");
}

static enum status read_jaspar_line(struct reader *r, struct plain_line line, struct error *err)
{
    struct plain_line rest = line, word;
    if (line.size > 0 && line.at[0] == '>') {
        rest = (struct plain_line){line.at + 1, line.size - 1};
        return begin_motif(r, rest, err);
    }
    return plain_word(&rest, &word) ? read_counts(r, line, err) : STATUS_OK;
}

/* ---- files -------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum status check_ids(const struct motif_text *out, struct error *err)
{
    const char **id = malloc((size_t)out->motifs * sizeof *id);
    enum status status = STATUS_OK;
    if (!id)
        return error_memory(err, "the names of motifs");
    for (int i = 0; i < out->motifs; i++)
        id[i] = out->motif[i].id;
    qsort(id, (size_t)out->motifs, sizeof *id, by_id);
    for (int i = 1; !status && i < out->motifs; i++)
        if (strcmp(id[i - 1], id[i]) == 0)
            status = error_set(err, STATUS_INVALID, NULL, "motifs: two motifs have the identifier %s", id[i]);
    free(id);
    return status;
}

static enum status read_all(struct reader *r, bool jaspar, struct error *err)
{
    struct plain_line line;
    enum status status = STATUS_OK;
    while (!status && plain_next(&r->lines, &line))
        status = jaspar ? read_jaspar_line(r, line, err) : read_meme_line(r, line, err);
    if (!status && r->rows_left < 0 && r->out->motifs > 0 && last(r)->width > 0)
        r->rows_left = 0;
    if (!status)
        status = end_motif(r, err);
    if (!status && r->out->motifs == 0)
        status = error_set(err, STATUS_INVALID, NULL,
                           "the file has no motif; before each matrix, write a line '>NAME' (counts, JASPAR) or a line "
                           "MOTIF NAME (probabilities, MEME)");
    for (int i = 0; !status && jaspar && i < r->out->motifs; i++)
        divide(r->out, &r->out->motif[i]);
    if (!status)
        status = leave_out_empty(r->out, err);
    return status ? status : check_ids(r->out, err);
}

enum status motif_text_parse(const char *text, size_t size, struct motif_text *out, struct error *err)
{
    struct reader r = {.out = out, .lines = plain_lines(text, size)};
    size_t blank = 0;
    *out = (struct motif_text){0};
    while (blank < size && strchr(" \t\r\n", text[blank]))
        blank++;
    enum status status = read_all(&r, blank < size && text[blank] == '>', err);
    if (status)
        motif_text_close(out);
    return status;
}

/* Readers of JASPAR's format know only these letters, so a matrix of RNA has the row T too. */
static const char jaspar_letters[BASES] = {'A', 'C', 'G', 'T'};

/* Writes a name. White space, control characters, '=' and '>', which have a meaning in these formats, become '_'. */
static void write_name(struct buf *out, const char *name)
{
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;
        buf_format(out, "%c", c <= ' ' || c == 0x7F || c == '=' || c == '>' ? '_' : *name);
    }
}

static void write_header(struct buf *out, const double background[BASES], const struct alphabet *alphabet)
{
    buf_format(out, "MEME version 4\n\nALPHABET= %s\n\n", alphabet->symbols);
    buf_text(out, alphabet->strands == 2 ? "strands: + -\n\n" : "strands: +\n\n");
    buf_text(out, "Background letter frequencies\n");
    /* The last frequency is chosen so that the sum of the rounded frequencies is 1. */
    double rest = 1;
    for (int b = 0; b < BASES - 1; b++) {
        double rounded = round(background[b] * 1e6) / 1e6;
        buf_format(out, "%c %.6f ", alphabet->symbols[b], rounded);
        rest -= rounded;
    }
    buf_format(out, "%c %.6f\n\n", alphabet->symbols[BASES - 1], rest);
}

/* Writes the probabilities of a position, rounded so that their sum is 1: the rounding error of the sum is added to the
 * largest probability. */
static void write_row(struct buf *out, const struct position_matrix *m, int position)
{
    static const double none[BASES] = {0.25, 0.25, 0.25, 0.25};
    double p[BASES], rest = 1;
    int largest = 0;
    position_matrix_column(m, position, none, 0, p);
    for (int b = 0; b < BASES; b++) {
        p[b] = round(p[b] * 1e6) / 1e6;
        rest -= p[b];
        largest = p[b] > p[largest] ? b : largest;
    }
    p[largest] += rest;
    buf_format(out, " %.6f  %.6f  %.6f  %.6f\n", p[0], p[1], p[2], p[3]);
}

void motif_file_meme(const struct named_motif *motifs, int count, const double background[BASES],
                     const struct alphabet *alphabet, struct buf *out)
{
    write_header(out, background, alphabet);
    for (int i = 0; i < count; i++) {
        const struct named_motif *m = &motifs[i];
        if (m->matrix.width == 0)
            continue;
        buf_text(out, "MOTIF ");
        write_name(out, m->id);
        buf_text(out, m->name[0] != '\0' ? " " : "");
        write_name(out, m->name);
        buf_format(out, "\nletter-probability matrix: alength= %d w= %d nsites= %d E= %.3g\n", BASES, m->matrix.width,
                   m->matrix.sites, isnan(m->evalue) ? 0 : m->evalue);
        for (int position = 0; position < m->matrix.width; position++)
            write_row(out, &m->matrix, position);
        buf_text(out, "\n");
    }
}

void motif_file_jaspar(const struct named_motif *motifs, int count, struct buf *out)
{
    for (int i = 0; i < count; i++) {
        const struct named_motif *m = &motifs[i];
        if (m->matrix.width == 0)
            continue;
        buf_text(out, ">");
        write_name(out, m->id);
        buf_text(out, m->name[0] != '\0' ? "\t" : "");
        write_name(out, m->name);
        for (int b = 0; b < BASES; b++) {
            buf_format(out, "\n%c  [", jaspar_letters[b]);
            for (int position = 0; position < m->matrix.width; position++)
                buf_format(out, " %6.0f", m->matrix.count[position][b]);
            buf_text(out, " ]");
        }
        buf_text(out, "\n");
    }
}
