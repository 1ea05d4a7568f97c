/* Writes numbers, bars, tables and colours as text. */
#include "api/client/term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/grown.h"

void term_init(struct term *term, FILE *stream)
{
    const char *no_colour = getenv("NO_COLOR"), *type = getenv("TERM");
    struct winsize size;
    term->stream = stream;
    term->live = isatty(fileno(stream)) == 1 && !(type && strcmp(type, "dumb") == 0);
    term->colour = term->live && !(no_colour && no_colour[0]);
    term->columns = 100;
    if (term->live && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        term->columns = size.ws_col;
}

void term_flush(struct term *term, struct buf *out)
{
    term->failed |= out->failed;
    if (out->size > 0 && fwrite(out->data, 1, out->size, term->stream) != out->size)
        term->failed = true;
    term->failed |= fflush(term->stream) != 0;
    buf_clear(out);
}

void term_style(struct buf *out, bool colour, enum term_style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "\033[0m",  [STYLE_BOLD] = "\033[1m",    [STYLE_DIM] = "\033[2m",   [STYLE_RED] = "\033[31m",
        [STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m", [STYLE_BLUE] = "\033[34m", [STYLE_CYAN] = "\033[36m",
    };
    if (colour)
        buf_text(out, codes[style]);
}

enum term_style term_state_style(const char *state)
{
    static const struct {
        const char *state;
        enum term_style style;
    } styles[] = {
        {"queued", STYLE_DIM},      {"running", STYLE_BLUE}, {"paused", STYLE_YELLOW},
        {"succeeded", STYLE_GREEN}, {"failed", STYLE_RED},   {"cancelled", STYLE_YELLOW},
    };
    for (size_t i = 0; state && i < sizeof(styles) / sizeof(styles[0]); i++)
        if (strcmp(styles[i].state, state) == 0)
            return styles[i].style;
    return STYLE_PLAIN;
}

unsigned term_channel_colour(int channel)
{
    /* These colours are distinguishable on black; most colour-blind people can also distinguish the first eight. */
    static const unsigned colours[TERM_CHANNEL_COLOURS] = {
        0xe69f00, 0x56b4e9, 0x2fd19b, 0xf0e442, 0x5c8df6, 0xff6b3d,
        0xf08fd0, 0xb9e05b, 0xc49cff, 0xff5c7a, 0x39d5d5, 0xd9b38c,
    };
    return colours[(unsigned)channel % TERM_CHANNEL_COLOURS];
}

char term_channel_letter(int channel)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return channel >= 0 && channel < (int)sizeof(letters) - 1 ? letters[channel] : '*';
}

/* Returns the width of a character. The ranges are those of East Asian wide and of combining characters. */
static int character_width(unsigned c)
{
    static const struct {
        unsigned first, last;
        int width;
    } ranges[] = {{0x0300, 0x036F, 0},  {0x1100, 0x115F, 2},   {0x1AB0, 0x1AFF, 0},   {0x200B, 0x200F, 0},
                  {0x20D0, 0x20FF, 0},  {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},
                  {0xF900, 0xFAFF, 2},  {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},
                  {0xFFE0, 0xFFE6, 2},  {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1FAFF, 2},
                  {0x20000, 0x3FFFD, 2}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

/* Returns the character that begins at a byte of UTF-8. */
static unsigned character_at(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    int more = at[0] >= 0xF0 ? 3 : at[0] >= 0xE0 ? 2 : at[0] >= 0xC0 ? 1 : 0;
    unsigned c = more == 3 ? at[0] & 7u : more == 2 ? at[0] & 15u : more == 1 ? at[0] & 31u : at[0];
    for (int i = 1; i <= more && (at[i] & 0xC0) == 0x80; i++)
        c = c << 6 | (at[i] & 63u);
    return c;
}

int term_width(const char *text)
{
    int width = 0;
    for (const char *at = text; *at; at++) {
        if (at[0] == '\033' && at[1] == '[') {
            while (*at && *at != 'm')
                at++;
            if (!*at)
                break;
        } else if (((unsigned char)*at & 0xc0) != 0x80) {
            width += character_width(character_at(at));
        }
    }
    return width;
}

void term_bar(struct buf *out, double fraction, int cells)
{
    static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (!(fraction > 0))
        fraction = 0;
    if (fraction > 1)
        fraction = 1;
    int filled = (int)floor(fraction * cells * 8 + 0.5);
    for (int cell = 0; cell < cells; cell++) {
        int part = filled - cell * 8;
        buf_text(out, part >= 8 ? "█" : part > 0 ? eighths[part] : " ");
    }
}

void term_duration(char *out, size_t bytes, double seconds)
{
    if (!isfinite(seconds) || seconds < 0) {
        snprintf(out, bytes, "-");
        return;
    }
    long long whole = seconds < 1e15 ? (long long)(seconds + 0.5) : (long long)1e15;
    long long days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
    if (days > 0)
        snprintf(out, bytes, "%lld d %lld:%02lld", days, hours, minutes);
    else if (hours > 0)
        snprintf(out, bytes, "%lld:%02lld:%02lld", hours, minutes, whole % 60);
    else if (minutes > 0)
        snprintf(out, bytes, "%lld:%02lld", minutes, whole % 60);
    else
        snprintf(out, bytes, "%lld s", whole);
}

static void scaled(char *out, size_t bytes, double value, double base, const char *const *units, size_t count)
{
    size_t unit = 0;
    if (!isfinite(value)) {
        snprintf(out, bytes, "-");
        return;
    }
    while (unit + 1 < count && fabs(value) >= base * (unit == 0 ? 1.0 : 0.9995)) {
        value /= base;
        unit++;
    }
    if (unit == 0)
        snprintf(out, bytes, "%.0f%s", value, units[unit]);
    else
        snprintf(out, bytes, "%.*f%s", fabs(value) < 99.95 ? 1 : 0, value, units[unit]);
}

void term_count(char *out, size_t bytes, double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P"};
    scaled(out, bytes, count, 1000, units, sizeof(units) / sizeof(units[0]));
}

void term_bytes(char *out, size_t bytes, double count)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    scaled(out, bytes, count, 1024, units, sizeof(units) / sizeof(units[0]));
}

void term_percent(char *out, size_t bytes, double fraction)
{
    double percent = fraction * 100;
    if (!isfinite(percent))
        snprintf(out, bytes, "-");
    else if (percent == 0 || fabs(percent) >= 0.1)
        snprintf(out, bytes, "%.*f %%", fabs(percent) < 9.995 ? 2 : 1, percent);
    else
        snprintf(out, bytes, "%.2g %%", percent);
}

void term_number(char *out, size_t bytes, double value)
{
    if (!isfinite(value))
        snprintf(out, bytes, "-");
    else
        snprintf(out, bytes, "%.4g", value);
}

/* --- tables --- */

void table_init(struct table *table, const char *head)
{
    memset(table, 0, sizeof(*table));
    for (const char *at = head;; at++) {
        const char *end = strchrnul(at, '|');
        char name[64];
        bool right = *at == '>';
        if (right)
            at++;
        snprintf(name, sizeof(name), "%.*s", (int)(end - at), at);
        if (table->columns < TABLE_COLUMNS) {
            table->right[table->columns++] = right;
            table_add_styled(table, name, STYLE_BOLD);
        }
        if (!*end)
            break;
        at = end;
    }
}

void table_close(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->styles);
    memset(table, 0, sizeof(*table));
}

void table_add(struct table *table, const char *text)
{
    table_add_styled(table, text, STYLE_PLAIN);
}

void table_add_styled(struct table *table, const char *text, enum term_style style)
{
    char **cells = grown(table->cells, table->count, sizeof *cells);
    table->cells = cells ? cells : table->cells;
    enum term_style *styles = cells ? grown(table->styles, table->count, sizeof *styles) : NULL;
    table->styles = styles ? styles : table->styles;
    char *copy = styles ? strdup(text ? text : "-") : NULL;
    if (!copy) {
        table->failed = true;
        return;
    }
    table->cells[table->count] = copy;
    table->styles[table->count] = style;
    table->count++;
}

static void term_pad(struct buf *out, int count)
{
    for (int i = 0; i < count; i++)
        buf_append(out, " ", 1);
}

/* Appends a text from column `indent` on, and wraps it at column `columns`. Further lines begin at column `indent`
 * too. If less than half of the terminal's width is left and the text does not fit there, the text begins on a new
 * line and is indented by four spaces. */
static void write_wrapped(struct buf *out, const char *text, int indent, int columns)
{
    bool below = indent > columns / 2 && indent + term_width(text) > columns;
    int from = below ? 4 : indent;
    if (below) {
        buf_text(out, "\n");
        term_pad(out, from);
    }
    buf_wrap(out, text, strlen(text), from, from, columns);
}

void table_write(const struct table *table, bool colour, struct buf *out)
{
    int widths[TABLE_COLUMNS] = {0};
    size_t columns = (size_t)table->columns;
    out->failed |= table->failed;
    if (out->failed || columns == 0)
        return;
    for (size_t i = 0; i < table->count; i++) {
        int width = term_width(table->cells[i]);
        if (width > widths[i % columns])
            widths[i % columns] = width;
    }
    int indent = 0; /* where the last column begins */
    for (size_t column = 0; column + 1 < columns; column++)
        indent += widths[column] + 2;
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % columns;
        int space = widths[column] - term_width(table->cells[i]);
        bool last = column + 1 == columns, styled = table->styles[i] != STYLE_PLAIN;
        if (table->right[column])
            term_pad(out, space);
        if (styled)
            term_style(out, colour, table->styles[i]);
        if (last && i > column && table->wrap > 0 && !table->right[column])
            write_wrapped(out, table->cells[i], indent, table->wrap);
        else
            buf_text(out, table->cells[i]);
        if (styled)
            term_style(out, colour, STYLE_PLAIN);
        if (!table->right[column] && !last)
            term_pad(out, space);
        buf_text(out, last ? "\n" : "  ");
    }
    if (table->count % columns != 0)
        buf_text(out, "\n");
}

/* Writes the first cell of each row, without the titles. */
static void write_first_column(const struct table *table, struct buf *out)
{
    out->failed |= table->failed;
    for (size_t i = (size_t)table->columns; i < table->count; i += (size_t)table->columns) {
        buf_text(out, table->cells[i]);
        buf_text(out, "\n");
    }
}

void term_table(struct term *term, struct table *table)
{
    struct buf out;
    buf_init(&out, 4u << 20);
    table->wrap = term->live ? term->columns : 0;
    if (term->bare)
        write_first_column(table, &out);
    else
        table_write(table, term->colour, &out);
    term_flush(term, &out);
    buf_close(&out);
    table_close(table);
}

void table_write_markdown(const struct table *table, struct buf *out)
{
    size_t columns = (size_t)table->columns;
    out->failed |= table->failed;
    if (out->failed || columns == 0)
        return;
    for (size_t i = 0; i < table->count; i++) {
        buf_text(out, i % columns == 0 ? "| " : " | ");
        for (const char *at = table->cells[i]; *at; at++) {
            if (*at == '|')
                buf_text(out, "\\");
            buf_append(out, at, 1);
        }
        if (i % columns + 1 == columns)
            buf_text(out, " |\n");
        if (i + 1 == columns) {
            for (size_t column = 0; column < columns; column++)
                buf_text(out, table->right[column] ? "| ---: " : "| --- ");
            buf_text(out, "|\n");
        }
    }
}
