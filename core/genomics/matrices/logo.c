/* Draws sequence logos with cairo. Glyphs differ in width and height, but readers compare the heights of letters. So
 * each letter is the outline of its glyph, scaled to fill its box exactly. */
#include "core/genomics/matrices/logo.h"

#include <cairo-svg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELL = 24, TALL = 96, LEFT = 44, RIGHT = 12, TITLE = 22, NUMBERS = 20, TICK = 4 };

static double most_bits(const struct logo_letters *letters)
{
    return log2(letters->count);
}

static void logo_font(cairo_t *c, double size, bool bold)
{
    cairo_select_font_face(c, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, size);
}

/* Draws a letter that fills the box whose lower left corner is (x, y). */
static void draw_letter(cairo_t *c, char letter, const double colour[3], double x, double y, double width,
                        double height)
{
    const char text[2] = {letter, '\0'};
    double x0, y0, x1, y1;
    logo_font(c, TALL, true);
    cairo_save(c);
    cairo_new_path(c);
    cairo_move_to(c, 0, 0);
    cairo_text_path(c, text);
    cairo_path_extents(c, &x0, &y0, &x1, &y1);
    cairo_path_t *path = cairo_copy_path(c);
    cairo_new_path(c);
    cairo_translate(c, x, y - height);
    cairo_scale(c, width / fmax(x1 - x0, 1e-6), height / fmax(y1 - y0, 1e-6));
    cairo_translate(c, -x0, -y0);
    cairo_append_path(c, path);
    cairo_path_destroy(path);
    cairo_set_source_rgb(c, colour[0], colour[1], colour[2]);
    cairo_fill(c);
    cairo_restore(c);
}

/* Writes text that ends at x; with `centre`, the middle of the text is at x. */
static void write_text(cairo_t *c, const char *text, double x, double y, bool centre)
{
    cairo_text_extents_t size;
    cairo_text_extents(c, text, &size);
    cairo_move_to(c, x - (centre ? size.x_advance / 2 : size.x_advance), y);
    cairo_show_text(c, text);
}

static void draw_axis(cairo_t *c, double top, int width, double most)
{
    cairo_set_source_rgb(c, 0.1, 0.13, 0.19);
    cairo_set_line_width(c, 1);
    logo_font(c, 11, false);
    for (int bits = 0; bits <= (int)most; bits++) {
        double y = top + TALL * (1 - bits / most);
        char text[16];
        snprintf(text, sizeof text, "%d", bits);
        write_text(c, text, LEFT - 2 * TICK, y + 4, false);
        cairo_move_to(c, LEFT - TICK, y + 0.5);
        cairo_line_to(c, LEFT, y + 0.5);
    }
    cairo_move_to(c, LEFT - 0.5, top);
    cairo_line_to(c, LEFT - 0.5, top + TALL + 0.5);
    cairo_line_to(c, LEFT + width * CELL, top + TALL + 0.5);
    cairo_stroke(c);
    for (int i = 0; i < width; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i + 1);
        if (i == 0 || (i + 1) % 5 == 0)
            write_text(c, text, LEFT + (i + 0.5) * CELL, top + TALL + 14, true);
    }
    write_text(c, "bits", LEFT - 5 * TICK, top + TALL / 2.0 + 4, false);
}

/* Draws the letters of a position, the largest on top. height: [letters] bits. */
static void draw_stack(cairo_t *c, const struct logo_letters *letters, const double *height, double x, double y)
{
    int order[LOGO_LETTERS];
    for (int i = 0; i < letters->count; i++) {
        order[i] = i;
        for (int j = i; j > 0 && height[order[j]] < height[order[j - 1]]; j--) {
            int kept = order[j];
            order[j] = order[j - 1];
            order[j - 1] = kept;
        }
    }
    for (int i = 0; i < letters->count; i++) {
        double tall = height[order[i]] / most_bits(letters) * TALL;
        if (!(tall > 0.2))
            continue;
        draw_letter(c, letters->letter[order[i]], hue_rgb[letters->hue[order[i]]], x + 1, y, CELL - 2, tall);
        y -= tall;
    }
}

static void draw_sheet(cairo_t *c, const struct logo *logos, int count, const struct logo_letters *letters)
{
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    for (int n = 0; n < count; n++) {
        double top = n * (TITLE + TALL + NUMBERS) + TITLE;
        draw_axis(c, top, logos[n].width, most_bits(letters));
        logo_font(c, 13, true);
        cairo_move_to(c, LEFT, top - 6);
        if (logos[n].title)
            cairo_show_text(c, logos[n].title);
        for (int i = 0; i < logos[n].width; i++)
            draw_stack(c, letters, logos[n].height + (size_t)i * (size_t)letters->count, LEFT + i * CELL, top + TALL);
    }
}

static enum status logo_check(const struct logo *logos, int count, const struct logo_letters *letters,
                              struct error *err)
{
    if (letters->count < 2 || letters->count > LOGO_LETTERS)
        return error_set(err, STATUS_INVALID, NULL, "a logo has 2 to %d letters; got %d", LOGO_LETTERS, letters->count);
    if (count < 1 || count > LOGO_SHEET)
        return error_set(err, STATUS_INVALID, NULL, "a sheet has 1 to %d logos; got %d", LOGO_SHEET, count);
    for (int i = 0; i < count; i++)
        if (logos[i].width < 0 || logos[i].width > LOGO_WIDTH)
            return error_set(err, STATUS_INVALID, NULL, "a logo has 0 to %d positions; got %d", LOGO_WIDTH,
                             logos[i].width);
    return STATUS_OK;
}

static void logo_measure(const struct logo *logos, int count, double *width, double *height)
{
    int most = 12; /* room for a title */
    for (int i = 0; i < count; i++)
        most = logos[i].width > most ? logos[i].width : most;
    *width = LEFT + most * CELL + RIGHT;
    *height = count * (TITLE + TALL + NUMBERS) + 8;
}

static cairo_status_t logo_append(void *context, const unsigned char *bytes, unsigned count)
{
    struct buf *out = context;
    buf_append(out, bytes, count);
    return out->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static enum status outcome(cairo_status_t failed, const struct buf *out, struct error *err)
{
    if (out->failed)
        return buf_status(out, "the logo's file", err);
    if (failed)
        return error_set(err, failed == CAIRO_STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_INTERNAL, NULL, "logo: %s",
                         cairo_status_to_string(failed));
    return STATUS_OK;
}

enum status logo_png(const struct logo *logos, int count, const struct logo_letters *letters, struct buf *out,
                     struct error *err)
{
    double width, height;
    enum status status = logo_check(logos, count, letters, err);
    if (status)
        return status;
    logo_measure(logos, count, &width, &height);
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    cairo_t *c = cairo_create(surface);
    draw_sheet(c, logos, count, letters);
    cairo_status_t failed = cairo_status(c);
    cairo_destroy(c);
    if (!failed)
        failed = cairo_surface_write_to_png_stream(surface, logo_append, out);
    cairo_surface_destroy(surface);
    return outcome(failed, out, err);
}

enum status logo_svg(const struct logo *logos, int count, const struct logo_letters *letters, struct buf *out,
                     struct error *err)
{
    double width, height;
    enum status status = logo_check(logos, count, letters, err);
    if (status)
        return status;
    logo_measure(logos, count, &width, &height);
    cairo_surface_t *surface = cairo_svg_surface_create_for_stream(logo_append, out, width, height);
    cairo_t *c = cairo_create(surface);
    draw_sheet(c, logos, count, letters);
    cairo_status_t failed = cairo_status(c);
    cairo_destroy(c);
    cairo_surface_finish(surface);
    failed = failed ? failed : cairo_surface_status(surface);
    cairo_surface_destroy(surface);
    return outcome(failed, out, err);
}
