/* Reads and draws the answer of a motif query. */
#include "api/client/motif_answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/term.h"
#include "core/base/utf8.h"

#define SIDE_MAX 4096
#define CHANNELS_MAX 4096
#define TEXT_MAX 65536 /* characters of a text that are drawn */
/* If an image has fewer than CROWD pixels per motif, only maximal motifs are drawn (those without a stronger motif
 * within five positions), because all motifs together would hide the input. */
#define CROWD 20

static double number_at(const cJSON *list, int index)
{
    const cJSON *value = cJSON_GetArrayItem(list, index);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static enum status malformed(struct error *err)
{
    return error_set(err, STATUS_CORRUPT, NULL, "the server's answer is not a motif map");
}

static bool motif_answer_whole(double value, double max)
{
    return value >= 1 && value <= max && value == floor(value);
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *value = member(object, name);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

/* Reads the extent and the error rates of a motif. */
static void read_extent(const cJSON *motif, struct motif_extent *extent)
{
    const cJSON *list = member(motif, "extent");
    *extent =
        (struct motif_extent){cJSON_IsArray(list), number_at(list, 0),    number_at(list, 1),   number_at(list, 2),
                              number_at(list, 3),  number_of(motif, "p"), number_of(motif, "q")};
    extent->known = extent->known && fabs(extent->row0) <= SIDE_MAX && fabs(extent->row1) <= SIDE_MAX &&
                    fabs(extent->column0) <= SIDE_MAX && fabs(extent->column1) <= SIDE_MAX;
}

/* Reads the words of a motif: the first to the last character, and the words themselves. */
static void read_words(const cJSON *list, struct motif_words *words)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, list) {
        const char *word = cJSON_GetStringValue(member(item, "word"));
        const cJSON *from = member(item, "start"), *to = member(item, "end");
        double start = cJSON_IsNumber(from) ? from->valuedouble : -1, end = cJSON_IsNumber(to) ? to->valuedouble : -1;
        if (!word || !(start >= 0 && start <= end && end <= TEXT_MAX))
            continue;
        size_t used = strlen(words->text);
        words->first = used > 0 ? words->first : (int)start;
        words->last = (int)end;
        (void)snprintf(words->text + used, sizeof words->text - used, "%s%s", used > 0 ? " " : "", word);
        words->text[utf8_cut(words->text, strlen(words->text), sizeof words->text - 1)] = '\0';
    }
}

static enum status read_motifs(const cJSON *list, struct motif_answer *answer, struct error *err)
{
    const cJSON *item = NULL;
    answer->motifs = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*answer->motifs));
    answer->extents = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*answer->extents));
    answer->strands = calloc((size_t)cJSON_GetArraySize(list) + 1, 1);
    answer->words = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*answer->words));
    if (!answer->motifs || !answer->extents || !answer->strands || !answer->words)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    cJSON_ArrayForEach (item, list) {
        const char *strand = cJSON_GetStringValue(member(item, "strand"));
        answer->strands[answer->motif_count] = strand && (*strand == '+' || *strand == '-') ? *strand : ' ';
        read_extent(item, &answer->extents[answer->motif_count]);
        read_words(member(item, "words"), &answer->words[answer->motif_count]);
        struct draw_motif *motif = &answer->motifs[answer->motif_count++];
        const cJSON *channel = member(item, "channel"), *value = member(item, "value");
        motif->row = number_at(member(item, "position"), 0);
        motif->column = number_at(member(item, "position"), 1);
        if (!(fabs(motif->row) <= SIDE_MAX) || !(fabs(motif->column) <= SIDE_MAX) || !cJSON_IsNumber(channel) ||
            !(channel->valuedouble >= 0 && channel->valuedouble < CHANNELS_MAX))
            return malformed(err);
        motif->channel = (int)channel->valuedouble;
        const char *name = cJSON_GetStringValue(member(item, "name"));
        if (name && motif->channel < answer->channels)
            snprintf(answer->names[motif->channel].text, sizeof answer->names[0].text, "%s", name);
        motif->value = cJSON_IsNumber(value) ? value->valuedouble : 0;
        motif->maximal = cJSON_IsTrue(member(item, "maximal"));
    }
    return STATUS_OK;
}

static enum status read_truth(const cJSON *list, struct motif_answer *answer, struct error *err)
{
    const cJSON *item = NULL;
    answer->has_truth = cJSON_IsArray(list);
    answer->boxes = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*answer->boxes));
    if (!answer->boxes)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    cJSON_ArrayForEach (item, list) {
        struct motif_box *box = &answer->boxes[answer->box_count++];
        const char *symbol = cJSON_GetStringValue(member(item, "symbol"));
        const cJSON *sides = member(item, "box");
        if (!symbol)
            return malformed(err);
        snprintf(box->symbol, sizeof(box->symbol), "%s", symbol);
        box->row0 = number_at(sides, 0);
        box->row1 = number_at(sides, 1);
        box->column0 = number_at(sides, 2);
        box->column1 = number_at(sides, 3);
    }
    return STATUS_OK;
}

/* Joins the symbols of a list with spaces. */
static void read_symbols(const cJSON *list, char *out, size_t bytes)
{
    const cJSON *item = NULL;
    out[0] = 0;
    cJSON_ArrayForEach (item, list) {
        size_t used = strlen(out);
        const char *symbol = cJSON_GetStringValue(item);
        snprintf(out + used, bytes - used, "%s%s", used ? " " : "", symbol ? symbol : "?");
    }
}

/* Reads "input": {"shape": [rows, columns], "values": [...]}, in row-major order. Values of any range are stretched to
 * [0, 1]. */
static void read_image(const cJSON *input, struct motif_answer *answer)
{
    const cJSON *values = member(input, "values"), *value = NULL;
    size_t count = (size_t)answer->rows * (size_t)answer->columns, i = 0;
    double low = INFINITY, high = -INFINITY;
    if ((size_t)cJSON_GetArraySize(values) != count)
        return;
    cJSON_ArrayForEach (value, values) {
        answer->grey[i++] = (float)value->valuedouble;
        low = fmin(low, value->valuedouble);
        high = fmax(high, value->valuedouble);
    }
    for (i = 0; i < count; i++)
        answer->grey[i] = high > low ? (float)(((double)answer->grey[i] - low) / (high - low)) : 0;
}

enum status motif_answer_read(const cJSON *document, struct motif_answer *answer, struct error *err)
{
    const cJSON *list = member(document, "answers");
    const cJSON *first = cJSON_IsArray(list) ? cJSON_GetArrayItem(list, 0) : document;
    const cJSON *shape = member(first, "shape");
    const char *letters = cJSON_GetStringValue(member(first, "letters")),
               *text = cJSON_GetStringValue(member(first, "text"));
    double rows = number_at(shape, 0), columns = number_at(shape, 1), channels = number_at(shape, 2);
    memset(answer, 0, sizeof(*answer));
    if (!cJSON_IsArray(member(first, "motifs")) || !motif_answer_whole(rows, SIDE_MAX) ||
        !motif_answer_whole(columns, SIDE_MAX) || !motif_answer_whole(channels, CHANNELS_MAX))
        return malformed(err);
    answer->rows = (int)rows;
    answer->columns = (int)columns;
    answer->channels = (int)channels;
    answer->grey = calloc((size_t)answer->rows * (size_t)answer->columns, sizeof(*answer->grey));
    answer->names = calloc((size_t)answer->channels, sizeof(*answer->names));
    enum status status =
        answer->grey && answer->names ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    if (!status)
        status = read_motifs(member(first, "motifs"), answer, err);
    letters = text ? text : letters;
    answer->text = text != NULL;
    if (!status && letters && answer->rows == 1 &&
        !(answer->letters = strndup(letters, utf8_cut(letters, strlen(letters), text ? TEXT_MAX : SIDE_MAX))))
        status = error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory");
    if (!status)
        status = read_truth(member(first, "truth"), answer, err);
    if (status) {
        motif_answer_close(answer);
        return status;
    }
    read_symbols(member(first, "prediction"), answer->prediction, sizeof(answer->prediction));
    read_symbols(member(first, "label"), answer->label, sizeof(answer->label));
    const char *absent = cJSON_GetStringValue(member(document, "absent"));
    (void)snprintf(answer->absent, sizeof answer->absent, "%s", absent ? absent : "");
    answer->numbers = cJSON_IsArray(member(first, "numbers"));
    read_image(member(first, "input"), answer);
    return STATUS_OK;
}

void motif_answer_close(struct motif_answer *answer)
{
    free(answer->grey);
    free(answer->motifs);
    free(answer->extents);
    free(answer->boxes);
    free(answer->names);
    free(answer->strands);
    free(answer->letters);
    free(answer->words);
    memset(answer, 0, sizeof(*answer));
}

/* Returns the box that contains the position of motif number `index`, the first one if boxes overlap; NULL: no box
 * contains it. */
static const struct motif_box *box_of(const struct motif_answer *answer, size_t index)
{
    double row = answer->motifs[index].row, column = answer->motifs[index].column;
    for (size_t i = 0; i < answer->box_count; i++) {
        const struct motif_box *box = &answer->boxes[i];
        if (row >= box->row0 && row < box->row1 && column >= box->column0 && column < box->column1)
            return box;
    }
    return NULL;
}

/* Appends the extents of a channel's maximal motifs (draw.h): "  at rows 3-9, columns 20-26; ...". */
static void append_extents(const struct motif_answer *answer, int channel, struct buf *out)
{
    enum { LISTED = 8 };
    int count = 0;
    for (size_t i = 0; i < answer->motif_count; i++) {
        const struct motif_extent *extent = &answer->extents[i];
        bool known = answer->text ? answer->words[i].last > 0 : extent->known;
        if (answer->motifs[i].channel != channel || !answer->motifs[i].maximal || !known)
            continue;
        if (count++ >= LISTED)
            continue;
        buf_text(out, count == 1 ? "  at " : "; ");
        if (answer->text)
            buf_format(out, "'%s'", answer->words[i].text);
        else if (answer->rows > 1)
            buf_format(out, "rows %.0f-%.0f, columns ", extent->row0, extent->row1 - 1);
        if (!answer->text)
            buf_format(out, "%.0f-%.0f", extent->column0, extent->column1 - 1);
        if (isfinite(extent->p) && isfinite(extent->q))
            buf_format(out, " (p %.2g, q %.2g)", extent->p, extent->q);
    }
    if (count > LISTED)
        buf_format(out, "; and %d more", count - LISTED);
}

static void legend_line(const struct motif_answer *answer, int channel, bool colour, struct buf *out)
{
    unsigned rgb = term_channel_colour(channel);
    int count = 0, maximal = 0;
    for (size_t i = 0; i < answer->motif_count; i++) {
        count += answer->motifs[i].channel == channel;
        maximal += answer->motifs[i].channel == channel && answer->motifs[i].maximal;
    }
    if (count == 0)
        return;
    buf_text(out, "  ");
    if (colour)
        buf_format(out, "\033[1;38;2;%u;%u;%um", rgb >> 16, rgb >> 8 & 255, rgb & 255);
    buf_format(out, "%c", term_channel_letter(channel));
    if (colour)
        buf_text(out, "\033[0m");
    buf_format(out, "  channel %-3d %2d motif%s", channel, maximal, maximal == 1 ? " " : "s");
    if (count > maximal)
        buf_format(out, " and %d weaker", count - maximal);
    if (answer->names[channel].text[0])
        buf_format(out, "  %s", answer->names[channel].text);
    append_extents(answer, channel, out);
    if (answer->box_count > 0 && maximal > 0) {
        int nowhere = 0;
        const char *join = "  on ";
        for (size_t i = 0; i < answer->motif_count; i++) {
            const struct draw_motif *motif = &answer->motifs[i];
            if (motif->channel != channel || !motif->maximal)
                continue;
            const struct motif_box *box = box_of(answer, i);
            if (box)
                buf_format(out, "%s%s", join, box->symbol);
            else
                nowhere++;
            join = box ? ", " : join;
        }
        if (nowhere > 0)
            buf_format(out, "%s%d on no symbol", join[0] == ',' ? ", " : "  ", nowhere);
    }
    buf_text(out, "\n");
}

/* ---- letters with marks --------------------------------------------------------------------------------- */

enum { MARK_LINES = 4 };

/* Marks the part of a motif that lies in [first, end): the channel's letter at the motif's position, '=' along its
 * extent, and an arrow at its end in the direction of its strand. The marks go to the first line on which they hide no
 * other mark. */
static void motif_answer_mark(const struct motif_answer *answer, size_t index, int first, int end,
                              int (*line)[SIDE_MAX])
{
    const struct draw_motif *motif = &answer->motifs[index];
    const struct motif_extent *extent = &answer->extents[index];
    int column = (int)motif->column, from = extent->known ? (int)extent->column0 : column;
    int to = extent->known ? (int)extent->column1 : column + 1;
    if (answer->text) {
        column = from = answer->words[index].first;
        to = answer->words[index].last;
        if (to <= from)
            return;
    }
    from = column < from ? column : from;
    to = column >= to ? column + 1 : to;
    for (int n = 0; n < MARK_LINES; n++) {
        bool free_line = true;
        for (int i = from < first ? first : from; i < to && i < end; i++)
            free_line = free_line && line[n][i - first] == 0;
        if (!free_line)
            continue;
        for (int i = from < first ? first : from; i < to && i < end; i++) {
            int sign = i == to - 1 && answer->strands[index] == '+' ? '>' : '=';
            sign = i == from && answer->strands[index] == '-' ? '<' : sign;
            line[n][i - first] = (motif->channel + 1) << 8 | (i == column ? term_channel_letter(motif->channel) : sign);
        }
        return;
    }
}

static void draw_marks(const int *line, int count, bool colour, struct buf *out)
{
    while (count > 0 && line[count - 1] == 0)
        count--;
    if (count == 0)
        return;
    buf_text(out, "        ");
    for (int i = 0; i < count; i++) {
        unsigned rgb = line[i] ? term_channel_colour((line[i] >> 8) - 1) : 0;
        if (colour && line[i])
            buf_format(out, "\033[1;38;2;%u;%u;%um%c\033[0m", rgb >> 16, rgb >> 8 & 255, rgb & 255, line[i] & 255);
        else
            buf_format(out, "%c", line[i] ? line[i] & 255 : ' ');
    }
    buf_text(out, "\n");
}

/* Appends the next `count` characters of a text, from byte *at on, with blanks for control characters. Moves *at behind
 * them. */
static void append_characters(const char *text, size_t *at, int count, struct buf *out)
{
    for (int i = 0; i < count && text[*at]; i++) {
        size_t bytes = utf8_char(text + *at, strlen(text + *at));
        bytes = bytes > 0 ? bytes : 1;
        if (utf8_printable(text + *at, bytes))
            buf_append(out, text + *at, bytes);
        else
            buf_text(out, " ");
        *at += bytes;
    }
}

/* Prints the sequence in lines. A line has a multiple of ten letters, and begins with the position of its first
 * letter. */
static void draw_letters(const struct motif_answer *answer, int columns, bool colour, struct buf *out)
{
    static int line[MARK_LINES][SIDE_MAX];
    int length = 0, wide = columns > 28 ? (columns - 8) / 10 * 10 : 20;
    size_t at = 0;
    for (const char *c = answer->letters; *c; c++)
        length += (*c & 0xC0) != 0x80;
    wide = wide < SIDE_MAX ? wide : SIDE_MAX;
    for (int first = 0; first < length; first += wide) {
        int end = first + wide < length ? first + wide : length;
        memset(line, 0, sizeof line);
        for (size_t i = 0; i < answer->motif_count; i++)
            if (answer->motifs[i].maximal)
                motif_answer_mark(answer, i, first, end, line);
        buf_format(out, "  %5d ", first);
        append_characters(answer->letters, &at, end - first, out);
        buf_text(out, "\n");
        for (int n = 0; n < MARK_LINES; n++)
            draw_marks(line[n], end - first, colour, out);
    }
}

static void draw_map(const struct motif_answer *answer, int columns, bool colour, struct buf *out)
{
    struct draw_image image = {answer->rows, answer->columns, answer->grey};
    int shrink = draw_shrink(answer->columns, columns);
    struct draw_motif *shown = calloc(answer->motif_count + 1, sizeof(*shown));
    size_t count = 0, room = (size_t)answer->rows * (size_t)answer->columns / CROWD;
    if (!shown)
        return;
    for (size_t i = 0; i < answer->motif_count; i++)
        if (answer->motifs[i].maximal || answer->motif_count <= room)
            shown[count++] = answer->motifs[i];
    draw_motif_map(out, &image, shown, count, columns, colour);
    free(shown);
    if (count < answer->motif_count)
        buf_format(out, "  (%zu weaker motifs are not drawn)\n", answer->motif_count - count);
    if (shrink > 1)
        buf_format(out, "  (shrunk %d times to fit %d columns)\n", shrink, columns);
}

void motif_answer_draw(const struct motif_answer *answer, int columns, bool colour, struct buf *out)
{
    if (answer->letters)
        draw_letters(answer, columns, colour, out);
    else
        draw_map(answer, columns, colour, out);
    for (int channel = 0; channel < answer->channels; channel++)
        legend_line(answer, channel, colour, out);
    if (answer->motif_count == 0)
        buf_text(out, "  no motif\n");
    buf_format(out, "  prediction  %s\n",
               answer->prediction[0] ? answer->prediction
               : answer->absent[0]   ? answer->absent
                                     : "(empty)");
    if (!answer->label[0])
        return;
    bool right = strcmp(answer->prediction, answer->label) == 0;
    buf_format(out, "  truth       %s%s", answer->label, answer->numbers ? "\n" : "  ");
    if (answer->numbers)
        return;
    term_style(out, colour, right ? STYLE_GREEN : STYLE_RED);
    buf_text(out, right ? "right" : "wrong");
    term_style(out, colour, STYLE_PLAIN);
    buf_text(out, "\n");
}
