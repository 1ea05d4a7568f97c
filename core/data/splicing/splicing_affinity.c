/* Affinity models of proteins: the reader of RBNS files, models from consensus words, scores and thresholds. */
#include "core/data/splicing/splicing_affinity.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/sorted.h"
#include "core/formats/text_lines.h"

static const double SCALE = 0.2; /* divisor of the affinity */

void affinity_close(struct affinity_set *set)
{
    for (int i = 0; i < set->proteins; i++)
        free(set->protein[i].matrix);
    free(set->protein);
    *set = (struct affinity_set){0};
}

void affinity_keep(struct affinity_set *set, int proteins)
{
    while (set->proteins > proteins)
        free(set->protein[--set->proteins].matrix);
}

static enum status splicing_affinity_add(struct affinity_set *set, const struct affinity_protein *protein,
                                         struct error *err)
{
    if (set->proteins == AFFINITY_PROTEINS)
        return error_set(err, STATUS_LIMIT, NULL, "more than %d proteins", AFFINITY_PROTEINS);
    struct affinity_protein *room = grown(set->protein, (size_t)set->proteins, sizeof *room);
    if (room == NULL)
        return error_memory(err, "a protein");
    set->protein = room;
    room[set->proteins++] = *protein;
    return STATUS_OK;
}

static enum status set_name(struct affinity_protein *protein, const char *name, struct error *err)
{
    size_t length = strlen(name);
    bool plain = length > 0 && length < AFFINITY_NAME;
    for (size_t i = 0; plain && i < length; i++)
        plain = name[i] > ' ' && name[i] < 127;
    if (!plain)
        return error_set(err, STATUS_INVALID, NULL, "a protein's name has 1 to %d printable characters",
                         AFFINITY_NAME - 1);
    memcpy(protein->name, name, length + 1);
    return STATUS_OK;
}

/* ---- text ---------------------------------------------------------------------------------------- */

struct reading {
    struct plain_lines lines;
    const char *name;
    struct affinity_protein protein;
    int columns[AFFINITY_MATRICES]; /* number of columns of each matrix */
    int left;                       /* number of rows of the current matrix that have not been read yet */
    double most;                    /* largest A0 of the file */
};

static enum status splicing_affinity_fault(const struct reading *r, enum status code, const char *detail,
                                           struct error *err)
{
    return error_set(err, code, NULL, "affinity file %s, line %lld: %s", r->name, (long long)r->lines.number, detail);
}

/* Reads "A0=... n=..." after the word PSAM. */
static enum status read_header(struct reading *r, struct plain_line line, struct error *err)
{
    double weight = NAN, columns = NAN;
    struct plain_line word;
    while (plain_word(&line, &word))
        if (word.size > 3 && memcmp(word.at, "A0=", 3) == 0)
            weight = plain_number((struct plain_line){word.at + 3, word.size - 3});
        else if (word.size > 2 && memcmp(word.at, "n=", 2) == 0)
            columns = plain_number((struct plain_line){word.at + 2, word.size - 2});
    if (!(weight > 0 && weight < 1e30))
        return splicing_affinity_fault(r, STATUS_INVALID, "a PSAM needs A0, a positive number", err);
    if (!(columns >= 1 && columns == floor(columns)))
        return splicing_affinity_fault(r, STATUS_INVALID, "a PSAM needs n, its number of columns", err);
    if (columns > AFFINITY_COLUMNS || r->protein.matrices == AFFINITY_MATRICES)
        return splicing_affinity_fault(r, STATUS_LIMIT,
                                       "too many columns or matrices; a protein has at most 64 of each", err);
    struct affinity_matrix *room = grown(r->protein.matrix, (size_t)r->protein.matrices, sizeof *room);
    if (room == NULL)
        return error_memory(err, "a matrix");
    r->protein.matrix = room;
    r->columns[r->protein.matrices] = r->left = (int)columns;
    room[r->protein.matrices++] = (struct affinity_matrix){.weight = weight};
    r->most = fmax(r->most, weight);
    return STATUS_OK;
}

static enum status read_column(struct reading *r, struct plain_line line, struct error *err)
{
    if (r->left == 0)
        return splicing_affinity_fault(r, STATUS_INVALID,
                                       "a row beyond the n rows of its PSAM, or before the first PSAM", err);
    int at = r->protein.matrices - 1, column = r->columns[at] - r->left;
    double largest = 0;
    for (int base = 0; base < SPLICING_BASES; base++) {
        struct plain_line word;
        double value = plain_word(&line, &word) ? plain_number(word) : NAN;
        if (!(value >= 0 && value <= 1e6))
            return splicing_affinity_fault(r, STATUS_INVALID, "a row has four affinities (A, C, G, U), none below 0",
                                           err);
        r->protein.matrix[at].entry[column][base] = value;
        largest = fmax(largest, value);
    }
    if (largest == 0)
        return splicing_affinity_fault(r, STATUS_INVALID,
                                       "a row binds nothing: one of its four affinities must be above 0", err);
    r->left--;
    return STATUS_OK;
}

static enum status read_line(struct reading *r, struct plain_line line, struct error *err)
{
    struct plain_line word, rest = line;
    if (!plain_word(&rest, &word) || word.at[0] == '#')
        return STATUS_OK;
    if (word.size != 4 || memcmp(word.at, "PSAM", 4) != 0)
        return read_column(r, line, err);
    if (r->left > 0)
        return splicing_affinity_fault(
            r, STATUS_INVALID, "the matrix before has too few rows; n in its PSAM line states how many it needs", err);
    return read_header(r, rest, err);
}

/* Pads narrower matrices with ones on both sides, and divides the weights by the largest. */
static void even_out(struct affinity_protein *protein, const int *columns, double most)
{
    for (int m = 0; m < protein->matrices; m++)
        protein->columns = columns[m] > protein->columns ? columns[m] : protein->columns;
    for (int m = 0; m < protein->matrices; m++) {
        struct affinity_matrix *matrix = &protein->matrix[m];
        struct affinity_matrix wide = {.weight = matrix->weight / most};
        int before = (protein->columns - columns[m]) / 2;
        for (int c = 0; c < protein->columns; c++)
            for (int base = 0; base < SPLICING_BASES; base++)
                wide.entry[c][base] = c < before || c >= before + columns[m] ? 1 : matrix->entry[c - before][base];
        *matrix = wide;
    }
}

enum status affinity_add_text(struct affinity_set *set, const char *name, const char *text, size_t size,
                              struct error *err)
{
    struct reading r = {.lines = plain_lines(text, size), .name = name, .protein.threshold = 1};
    struct plain_line line;
    enum status status = set_name(&r.protein, name, err);
    while (!status && plain_next(&r.lines, &line))
        status = read_line(&r, line, err);
    if (!status && r.protein.matrices == 0)
        status = splicing_affinity_fault(&r, STATUS_INVALID, "the file ends without a PSAM", err);
    if (!status && r.left > 0)
        status = splicing_affinity_fault(&r, STATUS_INVALID, "the file ends inside a matrix", err);
    if (!status) {
        even_out(&r.protein, r.columns, r.most);
        status = splicing_affinity_add(set, &r.protein, err);
    }
    if (status)
        free(r.protein.matrix);
    return status;
}

static int is_text(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum status add_file(struct affinity_set *set, const char *folder, const char *file, struct error *err)
{
    char path[4096], name[AFFINITY_NAME] = "";
    size_t length = strlen(file) - 4, size;
    if (length >= sizeof name || (size_t)snprintf(path, sizeof path, "%s/%s", folder, file) >= sizeof path)
        return error_set(err, STATUS_LIMIT, NULL, "the name of an affinity file is too long");
    memcpy(name, file, length);
    char *text;
    enum status status = plain_load(path, file, AFFINITY_FILE_BYTES, &text, &size, err);
    if (status)
        return status;
    status = affinity_add_text(set, name, text, size, err);
    free(text);
    return status;
}

enum status affinity_add_folder(struct affinity_set *set, const char *folder, struct error *err)
{
    struct dirent **list;
    int count = scandir(folder, &list, is_text, by_bytes);
    if (count < 0)
        return error_set(err, STATUS_IO, NULL, "the folder of affinity files cannot be read: %s", strerror(errno));
    enum status status = STATUS_OK;
    if (count == 0)
        status = error_set(err, STATUS_NOT_FOUND, NULL,
                           "the folder of affinity files contains no .txt file; it needs one for each protein");
    for (int i = 0; i < count; i++) {
        if (!status)
            status = add_file(set, folder, list[i]->d_name, err);
        free(list[i]);
    }
    free(list);
    return status;
}

/* ---- words --------------------------------------------------------------------------------------- */

static void word_column(char letter, double entry[SPLICING_BASES])
{
    bool soft = letter >= 'a';
    uint8_t best = splicing_base(letter), partner = best ^ 2; /* the exclusive-or with 2 swaps A with G, and C with T */
    for (int base = 0; base < SPLICING_BASES; base++)
        entry[base] = base == best ? 1 : base == partner ? (soft ? 0.6 : 0.1) : (soft ? 0.1 : 0.02);
}

enum status affinity_add_words(struct affinity_set *set, const char *name, const char *const *words, int count,
                               double threshold, struct error *err)
{
    struct affinity_protein protein = {.threshold = threshold, .matrices = count, .columns = (int)strlen(words[0])};
    protein.matrix = calloc((size_t)count, sizeof *protein.matrix);
    if (protein.matrix == NULL)
        return error_memory(err, "a protein");
    enum status status = set_name(&protein, name, err);
    double weight = 1;
    for (int m = 0; !status && m < count; m++) {
        protein.matrix[m].weight = weight;
        weight *= 0.6;
        bool fits = (int)strlen(words[m]) == protein.columns && protein.columns <= AFFINITY_COLUMNS;
        for (int c = 0; fits && c < protein.columns; c++) {
            fits = splicing_base(words[m][c]) != BASE_N;
            if (fits)
                word_column(words[m][c], protein.matrix[m].entry[c]);
        }
        if (!fits)
            status =
                error_set(err, STATUS_INVALID, NULL,
                          "words of %s differ in length or contain letters other than A, C, G, U and a, c, g, u", name);
    }
    if (!status)
        status = splicing_affinity_add(set, &protein, err);
    if (status)
        free(protein.matrix);
    return status;
}

/* ---- scores -------------------------------------------------------------------------------------- */

/* Product of the entries of one matrix over the window that begins at base `from`. Stops early at a product too small
 * to change the affinity. */
static double product(const struct affinity_matrix *matrix, int columns, const uint8_t *bases, int length, int from)
{
    double value = matrix->weight;
    for (int c = 0; c < columns && value > 0; c++) {
        int at = from + c;
        if (at >= 0 && at < length && bases[at] < SPLICING_BASES)
            value *= matrix->entry[c][bases[at]];
    }
    return value;
}

void affinity_score(const struct affinity_protein *protein, const uint8_t *bases, int length, int first, int count,
                    double *out)
{
    int before = (protein->columns - 1) / 2;
    for (int i = 0; i < count; i++) {
        double sum = 0;
        int at = first + i;
        bool known = at >= 0 && at < length && bases[at] < SPLICING_BASES;
        for (int m = 0; known && m < protein->matrices; m++)
            sum += product(&protein->matrix[m], protein->columns, bases, length, at - before);
        out[i] = sum / SCALE;
    }
}

int affinity_scan(const struct affinity_set *set, const uint8_t *bases, int length, int first, int count,
                  struct affinity_hit *out, int room)
{
    int found = 0;
    for (int at = first; at < first + count; at++)
        for (int p = 0; p < set->proteins; p++) {
            double affinity;
            affinity_score(&set->protein[p], bases, length, at, 1, &affinity);
            if (affinity <= set->protein[p].threshold)
                continue;
            if (found < room)
                out[found] = (struct affinity_hit){at, p, affinity};
            found++;
        }
    return found;
}

enum status affinity_calibrate(struct affinity_set *set, const struct splicing_sequence *sequences, int count,
                               int flank, double share, struct error *err)
{
    size_t positions = 0;
    for (int i = 0; i < count; i++)
        positions += sequences[i].length > 2 * flank ? (size_t)(sequences[i].length - 2 * flank) : 0;
    if (positions == 0 || !(share >= 0 && share <= 1))
        return error_set(
            err, STATUS_INVALID, NULL,
            "there are no positions to compute a threshold from; the sequences must be longer than both flanks");
    double *values = malloc(positions * sizeof *values);
    if (values == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %zu affinities", positions);
    for (int p = 0; p < set->proteins; p++) {
        size_t at = 0;
        for (int i = 0; i < count; i++) {
            int inside = sequences[i].length - 2 * flank;
            if (inside > 0) {
                affinity_score(&set->protein[p], sequences[i].bases, sequences[i].length, flank, inside, values + at);
                at += (size_t)inside;
            }
        }
        sorted_make(values, positions);
        set->protein[p].threshold = sorted_quantile(values, positions, 1 - share);
    }
    free(values);
    return STATUS_OK;
}
