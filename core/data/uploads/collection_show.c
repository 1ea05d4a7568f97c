/* Describes a collection as JSON members and draws its preview picture. */
#include "core/data/uploads/collection_show.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/formats/audio_wave.h"
#include "core/genomics/genomics.h"

/* Upper limits of the samples in the list, of the letters of a sequence, of the columns of a table, and of the points
 * of a signal. */
enum { SAMPLES_SHOWN = 8, LETTERS_SHOWN = 200, COLUMNS_SHOWN = 32, CURVE_SHOWN = 60 };

const struct alphabet *collection_alphabet(const struct collection *c)
{
    bool letters = genomics.dna && c->rows == 1 && c->channels == (int)strlen(genomics.dna->symbols) &&
                   (c->kind == COLLECTION_MOTIFS || (c->kind == COLLECTION_SEQUENCES && collection_one_hot(c)));
    return !letters ? NULL : c->rna ? genomics.rna : genomics.dna;
}

/* Writes the consensus of a motif: at each position the most frequent symbol, as a lower-case letter if it has at
 * most half of the counts. Returns the number of letters. */
static size_t consensus(const struct alphabet *alphabet, const float *planes, size_t length, char *text)
{
    size_t symbols = strlen(alphabet->symbols);
    for (size_t i = 0; i < length; i++) {
        size_t best = 0;
        float sum = 0;
        for (size_t k = 0; k < symbols; k++) {
            sum += planes[k * length + i];
            best = planes[k * length + i] > planes[best * length + i] ? k : best;
        }
        text[i] = alphabet->symbols[best];
        if (2 * planes[best * length + i] <= sum)
            text[i] = (char)tolower((unsigned char)text[i]);
    }
    text[length] = '\0';
    return length;
}

size_t collection_spell(const struct collection *c, const struct alphabet *alphabet, int64_t sample, size_t most,
                        char *text)
{
    size_t length = (size_t)collection_length(c, sample), shown = length < most ? length : most;
    float *planes = malloc((size_t)c->channels * shown * sizeof *planes + 1);
    text[0] = '\0';
    if (planes == NULL)
        return 0;
    for (size_t k = 0; k < (size_t)c->channels; k++)
        collection_copy(c, collection_begin(c, sample) + (int64_t)(k * length), (int64_t)shown, planes + k * shown);
    size_t count = c->kind == COLLECTION_MOTIFS ? consensus(alphabet, planes, shown, text)
                                                : alphabet_spell(alphabet, planes, shown, text);
    free(planes);
    return count;
}

static void write_label(const struct collection *c, int64_t sample, const struct sink *out)
{
    const int32_t *label;
    int count = collection_labels(c, sample, &label);
    sink_begin_list(out, "label");
    for (int k = 0; c->target == TARGET_NUMBER && k < c->vocabulary.count && k < COLUMNS_SHOWN; k++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.9g", (double)c->number[sample * c->vocabulary.count + k]);
        sink_text(out, NULL, text);
    }
    for (int i = 0; i < count && i < COLUMNS_SHOWN && c->target != TARGET_POSITIONS; i++)
        sink_text(out, NULL, label[i] < 0 ? "?" : c->vocabulary.name[label[i]]);
    sink_end_list(out);
}

static void write_first_values(const struct collection *c, int64_t sample, const struct sink *out)
{
    sink_begin_list(out, "values");
    for (int j = 0; j < c->cols && j < COLUMNS_SHOWN; j++)
        sink_number(out, NULL, (double)collection_value(c, collection_begin(c, sample) + j));
    sink_end_list(out);
}

/* Writes the course of a signal as a list of at most CURVE_SHOWN numbers: of each part of its first channel, the value
 * that is farthest from the mean of the sample, with three digits. */
static void write_curve(const struct collection *c, int64_t sample, const struct sink *out)
{
    int64_t length = collection_length(c, sample), begin = collection_begin(c, sample);
    int points = length < CURVE_SHOWN ? (int)length : CURVE_SHOWN;
    double mean = 0;
    for (int64_t i = 0; i < length; i++)
        mean += (double)collection_value(c, begin + i) / (double)length;
    sink_begin_list(out, "curve");
    for (int k = 0; k < points; k++) {
        double far = mean;
        char text[32];
        for (int64_t i = k * length / points; i < (k + 1) * length / points; i++) {
            double value = (double)collection_value(c, begin + i);
            far = fabs(value - mean) >= fabs(far - mean) ? value : far;
        }
        (void)snprintf(text, sizeof text, "%.3g", far);
        sink_number(out, NULL, strtod(text, NULL));
    }
    sink_end_list(out);
}

/* Writes the list "first" of at most 8 samples, each with its text, values or curve, its label and its group. Writes
 * nothing for images. */
static void collection_write_first(const struct collection *c, const struct sink *out)
{
    const struct alphabet *alphabet = collection_alphabet(c);
    char text[LETTERS_SHOWN + 1];
    if (alphabet == NULL && c->kind != COLLECTION_TABLE && c->kind != COLLECTION_TEXTS && c->rows > 1)
        return;
    sink_begin_list(out, "first");
    for (int64_t i = 0; i < c->count && i < SAMPLES_SHOWN; i++) {
        sink_begin_object(out, NULL);
        if (alphabet != NULL) {
            (void)collection_spell(c, alphabet, i, LETTERS_SHOWN, text);
            sink_text(out, "text", text);
        } else if (c->kind == COLLECTION_TEXTS) {
            size_t bytes = utf8_cut(c->texts.name[i], strlen(c->texts.name[i]), LETTERS_SHOWN);
            (void)snprintf(text, sizeof text, "%.*s", (int)bytes, c->texts.name[i]);
            sink_text(out, "text", text);
        } else if (c->kind == COLLECTION_TABLE) {
            write_first_values(c, i, out);
        } else {
            write_curve(c, i, out);
        }
        if (c->target != TARGET_NONE)
            write_label(c, i, out);
        if (c->group != NULL)
            sink_text(out, "group", c->groups.name[c->group[i]]);
        sink_end_object(out);
    }
    sink_end_list(out);
}

enum { LISTED = 4096 }; /* largest number of names that a list shows */

struct moments {
    double min, max, sum, squares, count;
};

static void add_value(struct moments *m, double value)
{
    m->min = m->count > 0 ? fmin(m->min, value) : value;
    m->max = m->count > 0 ? fmax(m->max, value) : value;
    m->sum += value;
    m->squares += value * value;
    m->count++;
}

static double mean_of(const struct moments *m)
{
    return m->sum / m->count;
}

static double deviation_of(const struct moments *m)
{
    return sqrt(fmax(0, m->squares / m->count - mean_of(m) * mean_of(m)));
}

static void write_moments(const struct moments *m, const struct sink *out)
{
    sink_number(out, "min", m->min);
    sink_number(out, "max", m->max);
    sink_number(out, "mean", mean_of(m));
    sink_number(out, "deviation", deviation_of(m));
}

static void write_values(const struct collection *c, const struct sink *out)
{
    struct collection_moments m = collection_measure(c);
    struct moments all = {m.min, m.max, m.sum, m.squares, (double)m.count};
    sink_begin_object(out, "values");
    write_moments(&all, out);
    sink_end_object(out);
}

static struct moments column_moments(const struct collection *c, int column)
{
    struct moments m = {0};
    for (int64_t i = 0; i < c->count; i++)
        add_value(&m, (double)collection_value(c, collection_begin(c, i) + column));
    return m;
}

/* Writes the name and the moments of each number that is a target. */
static void write_numbers(const struct collection *c, const struct sink *out)
{
    int width = c->vocabulary.count;
    sink_begin_list(out, "numbers");
    for (int k = 0; k < width && k < LISTED; k++) {
        struct moments m = {0};
        for (int64_t i = 0; i < c->count; i++)
            add_value(&m, (double)c->number[i * width + k]);
        sink_begin_object(out, NULL);
        sink_text(out, "name", c->vocabulary.name[k]);
        write_moments(&m, out);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_columns(const struct collection *c, const struct sink *out)
{
    sink_begin_list(out, "columns");
    for (int j = 0; j < c->columns.count && j < LISTED; j++) {
        struct moments m = column_moments(c, j);
        sink_begin_object(out, NULL);
        sink_text(out, "name", c->columns.name[j]);
        write_moments(&m, out);
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Writes names with the number of times each occurs. */
static void write_counts(const char *list, const struct collection_names *names, const int32_t *number, int64_t count,
                         const struct sink *out)
{
    int64_t *times = calloc((size_t)names->count + 1, sizeof *times);
    for (int64_t i = 0; times && i < count; i++)
        times[number[i] < 0 ? names->count : number[i]]++;
    sink_begin_list(out, list);
    for (int i = 0; times && i < names->count && i < LISTED; i++) {
        sink_begin_object(out, NULL);
        sink_text(out, "name", names->name[i]);
        sink_integer(out, "count", times[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
    free(times);
}

/* Writes each motif once, by its identifier, with its other name if it has one. */
static void write_motifs(const struct collection *c, const struct sink *out)
{
    sink_begin_list(out, "vocabulary");
    for (int64_t i = 0; i < c->count && i < LISTED; i++) {
        const int32_t *label;
        int labels = collection_labels(c, i, &label);
        if (labels == 0)
            continue;
        sink_begin_object(out, NULL);
        sink_text(out, "name", c->vocabulary.name[label[0]]);
        if (labels > 1)
            sink_text(out, "alternative", c->vocabulary.name[label[1]]);
        sink_integer(out, "count", 1);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_lengths(const struct collection *c, const struct sink *out)
{
    struct moments columns = {0}, labels = {0};
    for (int64_t i = 0; i < c->count; i++) {
        add_value(&columns, (double)collection_length(c, i));
        add_value(&labels, (double)(c->label_start[i + 1] - c->label_start[i]));
    }
    sink_begin_object(out, "lengths");
    write_moments(&columns, out);
    sink_end_object(out);
    if (c->target != TARGET_NONE && c->target != TARGET_NUMBER) {
        sink_begin_object(out, "label_lengths");
        write_moments(&labels, out);
        sink_end_object(out);
    }
}

enum { NAMES_SHOWN = 20 }; /* largest number of names in `recognised` */

static void write_some(const char *member, const struct collection_names *names, const struct sink *out)
{
    sink_begin_object(out, member);
    sink_integer(out, "count", names->count);
    sink_begin_list(out, "names");
    for (int i = 0; i < names->count && i < NAMES_SHOWN; i++)
        sink_text(out, NULL, names->name[i]);
    sink_end_list(out);
}

/* Writes the object "recognised": how the reader understood the file, in a few lines for people and programs. */
static void write_recognised(const struct collection *c, const struct sink *out)
{
    static const char *const roles[] = {"label",      "group", "part", "id",      "ignored",
                                        "identifier", "text",  "time", "left_out"};
    const struct collection_recognised *r = &c->recognised;
    struct collection_moments m = collection_measure(c);
    sink_begin_object(out, "recognised");
    sink_text(out, "kind", collection_kinds[c->kind]);
    write_some("labels", &c->vocabulary, out);
    sink_text(out, "target", collection_targets[c->target]);
    if (r->labels[0] != '\0')
        sink_text(out, "read_as", r->labels);
    sink_end_object(out);
    if (c->kind == COLLECTION_TABLE || r->columns > 0) {
        sink_begin_object(out, "columns");
        sink_integer(out, "features", c->columns.count);
        for (size_t k = 0; k < sizeof roles / sizeof roles[0]; k++) {
            sink_begin_list(out, roles[k]);
            for (int i = 0, shown = 0; i < r->columns && shown < NAMES_SHOWN; i++)
                if (strcmp(r->column[i].role, roles[k]) == 0 && ++shown)
                    sink_text(out, NULL, r->column[i].name);
            sink_end_list(out);
        }
        sink_end_object(out);
    }
    if (r->table[0] != '\0')
        sink_text(out, "table", r->table);
    if (r->words[0] != '\0')
        sink_text(out, "words", r->words);
    if (c->group) {
        write_some("groups", &c->groups, out);
        sink_end_object(out);
    }
    if (c->kind == COLLECTION_RECORDINGS)
        sink_integer(out, "rate", c->rate);
    sink_begin_list(out, "range");
    sink_number(out, NULL, m.min);
    sink_number(out, NULL, m.max);
    sink_end_list(out);
    sink_end_object(out);
}

void collection_describe(const struct collection *c, const struct sink *out)
{
    sink_text(out, "kind", collection_kinds[c->kind]);
    sink_text(out, "target", collection_targets[c->target]);
    sink_integer(out, "samples", c->count);
    sink_begin_object(out, "shape");
    sink_integer(out, "channels", c->channels);
    sink_integer(out, "rows", c->rows);
    sink_integer(out, "cols", c->cols);
    sink_end_object(out);
    if (c->kind == COLLECTION_RECORDINGS)
        sink_integer(out, "rate", c->rate);
    write_values(c, out);
    if (c->kind == COLLECTION_TABLE)
        write_columns(c, out);
    else
        write_lengths(c, out);
    sink_integer(out, "longest", c->longest);
    const struct collection_names none = {0};
    if (c->kind == COLLECTION_MOTIFS)
        write_motifs(c, out);
    else
        write_counts("vocabulary", c->target == TARGET_NUMBER ? &none : &c->vocabulary, c->label,
                     c->label_start[c->count], out);
    if (c->target == TARGET_NUMBER)
        write_numbers(c, out);
    if (c->group)
        write_counts("groups", &c->groups, c->group, c->count, out);
    sink_integer(out, "boxes", c->boxes);
    write_recognised(c, out);
    sink_begin_list(out, "warnings");
    for (int i = 0; i < c->warnings; i++) {
        sink_begin_object(out, NULL);
        sink_text(out, "code", c->warning[i].code);
        sink_text(out, "text", c->warning[i].text);
        sink_end_object(out);
    }
    sink_end_list(out);
    collection_write_first(c, out);
}

/* ---- the picture ------------------------------------------------------------------------------------------- */

static const struct colour PAPER = {255, 255, 255}, INK = {24, 32, 48}, QUIET = {120, 128, 140},
                           FRAME = {214, 218, 226};
static const struct colour LOW = {33, 102, 172}, MIDDLE = {247, 247, 247}, HIGH = {178, 24, 43};
enum { EDGE = 8, LINE = 12, WIDTH = 640 };

static void label_text(const struct collection *c, int64_t sample, char *out, size_t room)
{
    const int32_t *label;
    int count = collection_labels(c, sample, &label), used = 0;
    out[0] = '\0';
    for (int k = 0; c->target == TARGET_NUMBER && k < c->vocabulary.count && used < (int)room - 1; k++)
        used += snprintf(out + used, room - (size_t)used, "%s%.6g", k ? " " : "",
                         (double)c->number[sample * c->vocabulary.count + k]);
    for (int i = 0; i < count && c->target != TARGET_POSITIONS && used < (int)room - 1; i++)
        used += snprintf(out + used, room - (size_t)used, "%s%s", i ? " " : "",
                         label[i] < 0 ? "?" : c->vocabulary.name[label[i]]);
}

/* Writes as much of a text as fits into `width` pixels. */
static void write_text(struct picture *p, int row, int col, char *text, int width)
{
    int most = width / PICTURE_ADVANCE, shown = 0;
    for (char *at = text; *at; at++) /* the bytes 0x80 to 0xBF continue a character */
        if ((*at & 0xC0) != 0x80 && shown++ == most)
            *at = '\0';
    picture_text(p, row, col, text, 1, QUIET);
}

/* Copies the values of a sample; the caller frees *values. */
static enum status copy_sample(const struct collection *c, int64_t sample, float **values, struct error *err)
{
    int64_t count = collection_length(c, sample) * c->channels * c->rows;
    *values = malloc((size_t)count * sizeof **values);
    if (!*values)
        return error_memory(err, "a preview");
    collection_copy(c, collection_begin(c, sample), count, *values);
    return STATUS_OK;
}

static struct moments sample_moments(const float *values, int64_t count)
{
    struct moments m = {0};
    for (int64_t i = 0; i < count; i++)
        add_value(&m, (double)values[i]);
    return m;
}

static void draw_plane(struct picture *p, int row, int col, const float *values, int rows, int cols, int scale,
                       int step)
{
    struct moments m = sample_moments(values, (int64_t)rows * cols);
    double range = m.max > m.min ? m.max - m.min : 1;
    for (int r = 0; r * step < rows; r++)
        for (int k = 0; k * step < cols; k++) {
            double v = ((double)values[(int64_t)r * step * cols + k * step] - m.min) / range;
            uint8_t g = (uint8_t)lrint(255 * v);
            picture_fill(p, row + r * scale, col + k * scale, scale, scale, (struct colour){g, g, g});
        }
}

static enum status preview_images(const struct collection *c, struct picture **out, struct error *err)
{
    int side = c->rows > c->cols ? c->rows : c->cols, step = (side + 255) / 256, shown = (side + step - 1) / step;
    int scale = shown >= 120 ? 1 : 120 / shown, width = (c->cols + step - 1) / step * scale,
        height = (c->rows + step - 1) / step * scale;
    int across = 960 / (width + EDGE) > 6   ? 6
                 : 960 / (width + EDGE) > 0 ? 960 / (width + EDGE)
                                            : 1,
        down = width > 200 ? 2 : 3;
    int64_t tiles = c->count < across * down ? c->count : across * down;
    across = tiles < across ? (int)tiles : across;
    down = (int)(tiles + across - 1) / across;
    enum status status =
        picture_create(down * (height + LINE + EDGE) + EDGE, across * (width + EDGE) + EDGE, PAPER, out, err);
    for (int64_t i = 0; !status && i < tiles; i++) {
        int64_t sample = i * c->count / tiles;
        int row = EDGE + (int)(i / across) * (height + LINE + EDGE), col = EDGE + (int)(i % across) * (width + EDGE);
        char text[160];
        float *values;
        status = copy_sample(c, sample, &values, err);
        if (status)
            break;
        draw_plane(*out, row, col, values, c->rows, c->cols, scale, step);
        free(values);
        picture_outline(*out, row - 1, col - 1, height + 2, width + 2, 1, FRAME);
        label_text(c, sample, text, sizeof text);
        write_text(*out, row + height + 4, col, text, width);
    }
    return status;
}

/* Draws one row of a sample as a curve: each pixel column is a line from the smallest to the largest value at that
 * place. */
static void draw_curve(struct picture *p, int row, const float *values, int64_t length, int height)
{
    struct moments m = sample_moments(values, length);
    double range = m.max > m.min ? m.max - m.min : 1;
    for (int k = 0; k < WIDTH; k++) {
        int64_t from = k * length / WIDTH, to = (k + 1) * length / WIDTH;
        struct moments part = sample_moments(values + from, to > from ? to - from : 1);
        int top = (int)lrint((m.max - part.max) / range * (height - 1)),
            low = (int)lrint((m.max - part.min) / range * (height - 1));
        picture_fill(p, row + top, EDGE + k, low - top + 1, 1, INK);
    }
}

/* Draws the first letters of sequences in the colours of the alphabet. */
static enum status preview_letters(const struct collection *c, const struct alphabet *alphabet, struct picture **out,
                                   struct error *err)
{
    enum {
        LINES = 10,
        SCALE = 2,
        HEIGHT = SCALE * PICTURE_GLYPH_ROWS,
        STEP = SCALE * PICTURE_ADVANCE,
        LETTERS = WIDTH / STEP
    };
    int lines = c->count < LINES ? (int)c->count : LINES;
    char text[LETTERS + 1], label[160];
    enum status status = picture_create(lines * (HEIGHT + 4 + LINE + EDGE) + EDGE, WIDTH + 2 * EDGE, PAPER, out, err);
    for (int i = 0; !status && i < lines; i++) {
        int64_t sample = i * c->count / lines;
        int row = EDGE + i * (HEIGHT + 4 + LINE + EDGE);
        size_t count = collection_spell(c, alphabet, sample, LETTERS, text);
        for (size_t k = 0; k < count; k++) {
            const char *symbol = strchr(alphabet->symbols, text[k]);
            const double *rgb = hue_rgb[symbol ? alphabet->hues[symbol - alphabet->symbols] : HUE_GREY];
            (void)picture_text(*out, row, EDGE + (int)k * STEP, (const char[]){text[k], '\0'}, SCALE,
                               (struct colour){(uint8_t)lrint(255 * rgb[0]), (uint8_t)lrint(255 * rgb[1]),
                                               (uint8_t)lrint(255 * rgb[2])});
        }
        label_text(c, sample, label, sizeof label);
        write_text(*out, row + HEIGHT + 4, EDGE, label, WIDTH);
    }
    return status;
}

static enum status preview_lines(const struct collection *c, struct picture **out, struct error *err)
{
    enum { LINES = 8, HEIGHT = 48 };
    int lines = c->count < LINES ? (int)c->count : LINES;
    enum status status = picture_create(lines * (HEIGHT + LINE + EDGE) + EDGE, WIDTH + 2 * EDGE, PAPER, out, err);
    for (int i = 0; !status && i < lines; i++) {
        int64_t sample = i * c->count / lines, length = collection_length(c, sample);
        float *values;
        status = copy_sample(c, sample, &values, err);
        if (status)
            break;
        int row = EDGE + i * (HEIGHT + LINE + EDGE), share = HEIGHT / c->channels > 1 ? HEIGHT / c->channels : 1;
        char text[160];
        for (int k = 0; k < c->channels && k * share < HEIGHT; k++) {
            if (c->channels == 1)
                draw_curve(*out, row, values, length, HEIGHT);
            for (int x = 0; c->channels > 1 && x < WIDTH; x++) {
                uint8_t g = (uint8_t)(255 - 231 * fminf(1, fmaxf(0, values[k * length + x * length / WIDTH])));
                picture_fill(*out, row + k * share, EDGE + x, share, 1, (struct colour){g, g, g});
            }
        }
        free(values);
        label_text(c, sample, text, sizeof text);
        write_text(*out, row + HEIGHT + 4, EDGE, text, WIDTH);
    }
    return status;
}

static uint8_t between(uint8_t a, uint8_t b, double share)
{
    return (uint8_t)lrint(a + (b - a) * share);
}

static struct colour diverging(double z)
{
    double share = fmin(1, fabs(z) / 2.5);
    struct colour end = z < 0 ? LOW : HIGH;
    return (struct colour){between(MIDDLE.red, end.red, share), between(MIDDLE.green, end.green, share),
                           between(MIDDLE.blue, end.blue, share)};
}

static enum status preview_table(const struct collection *c, struct picture **out, struct error *err)
{
    enum { ROWS = 60, COLUMNS = 100 };
    int rows = c->count < ROWS ? (int)c->count : ROWS, columns = c->cols < COLUMNS ? c->cols : COLUMNS;
    int width = WIDTH / columns > 40 ? 40 : WIDTH / columns, height = 8;
    char text[160];
    enum status status = picture_create(rows * height + LINE + 2 * EDGE,
                                        (columns * width > 420 ? columns * width : 420) + 2 * EDGE, PAPER, out, err);
    for (int j = 0; !status && j < columns; j++) {
        int column = (int)((int64_t)j * c->cols / columns);
        struct moments m = column_moments(c, column);
        double deviation = deviation_of(&m) > 0 ? deviation_of(&m) : 1;
        for (int i = 0; i < rows; i++) {
            int64_t at = collection_begin(c, i * c->count / rows) + column;
            double z = ((double)collection_value(c, at) - mean_of(&m)) / deviation;
            picture_fill(*out, EDGE + i * height, EDGE + j * width, height, width, diverging(z));
        }
    }
    if (!status) {
        snprintf(text, sizeof text, "%d of %lld rows, %d of %d columns; colours: deviation from the mean", rows,
                 (long long)c->count, columns, c->cols);
        write_text(*out, EDGE + rows * height + 4, EDGE, text, WIDTH);
    }
    return status;
}

/* Writes the first texts, each with its label below. */
static enum status preview_texts(const struct collection *c, struct picture **out, struct error *err)
{
    enum { LINES = 10 };
    int lines = c->count < LINES ? (int)c->count : LINES;
    char label[160];
    enum status status = picture_create(lines * (2 * LINE + EDGE) + EDGE, WIDTH + 2 * EDGE, PAPER, out, err);
    for (int i = 0; !status && i < lines; i++) {
        int64_t sample = i * c->count / lines;
        int row = EDGE + i * (2 * LINE + EDGE);
        (void)picture_text(*out, row, EDGE, c->texts.name[sample], 1, INK);
        label_text(c, sample, label, sizeof label);
        write_text(*out, row + LINE, EDGE, label, WIDTH);
    }
    return status;
}

static enum status preview(const struct collection *c, struct picture **picture, struct error *err)
{
    const struct alphabet *alphabet = collection_alphabet(c);
    if (alphabet != NULL)
        return preview_letters(c, alphabet, picture, err);
    switch (c->kind) {
    case COLLECTION_TABLE:
        return preview_table(c, picture, err);
    case COLLECTION_IMAGES:
        return preview_images(c, picture, err);
    case COLLECTION_SEQUENCES:
    case COLLECTION_RECORDINGS:
    case COLLECTION_MOTIFS:
        break;
    case COLLECTION_TEXTS:
        return preview_texts(c, picture, err);
    }
    return preview_lines(c, picture, err);
}

enum status collection_preview(const struct collection *c, struct picture **picture, struct error *err)
{
    *picture = NULL;
    enum status status = preview(c, picture, err);
    if (status) {
        picture_destroy(*picture);
        *picture = NULL;
    }
    return status;
}
