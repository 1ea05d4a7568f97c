/* The parser of Matrix Market files: one pass over the lines. */
#include "core/formats/table/matrix_market.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

#include "core/formats/text_lines.h"

struct reader {
    struct plain_lines lines;
    size_t size;
    bool pattern;
};

static enum status matrix_market_fault(const struct reader *r, const char *detail, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "Matrix Market, line %lld: %s", (long long)r->lines.number, detail);
}

/* Whether a word of the header equals `text`; upper and lower case count as the same. */
static bool is_word(struct plain_line word, const char *text)
{
    size_t size = 0;
    while (text[size] != '\0')
        size++;
    return word.size == size && strncasecmp(word.at, text, size) == 0;
}

static enum status read_header(struct reader *r, struct error *err)
{
    struct plain_line line, word[5];
    int count = 0;
    if (!plain_next(&r->lines, &line))
        return matrix_market_fault(r, "the file is empty", err);
    while (count < 5 && plain_word(&line, &word[count]))
        count++;
    if (count < 5 || !is_word(word[0], "%%MatrixMarket") || !is_word(word[1], "matrix"))
        return matrix_market_fault(r, "must be %%MatrixMarket matrix coordinate real|integer|pattern general", err);
    if (!is_word(word[2], "coordinate"))
        return matrix_market_fault(r, "only coordinate matrices can be read; write a dense one as .npy or .csv", err);
    if (!is_word(word[4], "general"))
        return matrix_market_fault(r, "only general matrices can be read", err);
    r->pattern = is_word(word[3], "pattern");
    return r->pattern || is_word(word[3], "real") || is_word(word[3], "integer")
               ? STATUS_OK
               : matrix_market_fault(r, "the field must be real, integer or pattern", err);
}

/* Returns the next line that is neither empty nor a comment; false at the end. */
static bool next_line(struct reader *r, struct plain_line *line)
{
    while (plain_next(&r->lines, line))
        if (line->size > 0 && line->at[0] != '%')
            return true;
    return false;
}

static int64_t next_integer(struct plain_line *line, int64_t most)
{
    struct plain_line word;
    return plain_word(line, &word) ? plain_integer(word, most) : -1;
}

static enum status read_sizes(struct reader *r, struct matrix_market *m, struct error *err)
{
    struct plain_line line, word;
    if (!next_line(r, &line))
        return matrix_market_fault(r, "the file ends before the line with the numbers of rows, columns and entries",
                                   err);
    int64_t rows = next_integer(&line, MATRIX_MARKET_SIDE), cols = next_integer(&line, MATRIX_MARKET_SIDE);
    m->count = next_integer(&line, INT64_MAX / 64);
    if (rows < 1 || cols < 1 || m->count < 0 || plain_word(&line, &word))
        return matrix_market_fault(
            r, "must be the numbers of rows, columns and entries, with 1 to 4194304 rows and columns", err);
    if (m->count > rows * cols || (uint64_t)m->count > r->size / 4) /* an entry has at least four bytes */
        return matrix_market_fault(r, "has more entries than the matrix or the file can have", err);
    m->rows = (int32_t)rows;
    m->cols = (int32_t)cols;
    m->entry = malloc(((size_t)m->count + 1) * sizeof *m->entry);
    return m->entry ? STATUS_OK : error_memory(err, "a matrix");
}

static enum status read_entry(struct reader *r, const struct matrix_market *m, struct matrix_entry *entry,
                              struct error *err)
{
    struct plain_line line, word;
    if (!next_line(r, &line))
        return matrix_market_fault(r, "the file ends before its last entry", err);
    int64_t row = next_integer(&line, m->rows), col = next_integer(&line, m->cols);
    double value = r->pattern ? 1 : plain_word(&line, &word) ? plain_number(word) : NAN;
    if (row < 1 || col < 1)
        return matrix_market_fault(r, "the row or the column is outside of the matrix; both are counted from 1", err);
    if (!(fabs(value) <= 3e38) || plain_word(&line, &word))
        return matrix_market_fault(
            r, r->pattern ? "must have a row and a column" : "must have a row, a column and a finite number", err);
    *entry = (struct matrix_entry){(int32_t)row - 1, (int32_t)col - 1, (float)value};
    return STATUS_OK;
}

enum status matrix_market_parse(const char *text, size_t size, struct matrix_market *out, struct error *err)
{
    struct reader r = {.lines = plain_lines(text, size), .size = size};
    struct plain_line line;
    *out = (struct matrix_market){.rows = 0};
    enum status status = read_header(&r, err);
    if (status)
        return status;
    status = read_sizes(&r, out, err);
    for (int64_t i = 0; !status && i < out->count; i++)
        status = read_entry(&r, out, &out->entry[i], err);
    return !status && next_line(&r, &line)
               ? matrix_market_fault(&r, "there are more entries than the line of sizes states", err)
               : status;
}

void matrix_market_close(struct matrix_market *matrix)
{
    free(matrix->entry);
    *matrix = (struct matrix_market){.rows = 0};
}
