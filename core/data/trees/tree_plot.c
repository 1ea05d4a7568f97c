/* Draws trees with cairo: places the nodes in rows and columns, then draws edges, marks, title, legend and note. */
#include "core/data/trees/tree_plot.h"

#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/draw/chart.h"

enum {
    TOP = 52,
    LEFT = 28,
    ROW = 20,
    STEP_MOST = 130,
    SPAN = 620,
    NAMES = 190,
    NOTE_ROW = 16,
    MARGIN = 16,
    LEGEND_ROW = 26
};
static const double TAU = 6.28318530717958647692;

struct laid_out {
    double *x, *y; /* [nodes] */
    bool *leaf;    /* [nodes] */
    int leaves, depth;
    double width, height, bottom;
};

static void tree_plot_place(const struct tree *t, struct laid_out *l)
{
    for (int v = 0; v < t->nodes; v++)
        l->leaf[v] = true;
    for (int v = 1; v < t->nodes; v++) {
        l->leaf[t->parent[v]] = false;
        l->x[v] = l->x[t->parent[v]] + 1;
        l->depth = (int)l->x[v] > l->depth ? (int)l->x[v] : l->depth;
    }
}

/* Places nodes depth first: leaves get consecutive rows, an inner node gets the middle of its children's rows. */
static void place_rows(const struct tree *t, struct laid_out *l, int node)
{
    double low = INFINITY, high = -INFINITY;
    if (l->leaf[node]) {
        l->y[node] = TOP + ROW * (l->leaves++ + 0.5);
        return;
    }
    for (int v = node + 1; v < t->nodes; v++)
        if (t->parent[v] == node) {
            place_rows(t, l, v);
            low = fmin(low, l->y[v]);
            high = fmax(high, l->y[v]);
        }
    l->y[node] = 0.5 * (low + high);
}

static void scale(const struct tree_plot *p, struct laid_out *l)
{
    double step = fmin(STEP_MOST, (double)SPAN / (l->depth ? l->depth : 1));
    int lines = 0;
    for (const char *c = p->note; c && *c; c++)
        lines += *c == '\n' || !c[1];
    for (int v = 0; v < p->tree->nodes; v++)
        l->x[v] = LEFT + step * l->x[v];
    l->width = LEFT + step * l->depth + NAMES;
    l->width = l->width < 690 ? 690 : l->width; /* wide enough for a note below the tree */
    l->bottom = TOP + ROW * l->leaves + MARGIN;
    l->height = l->bottom + LEGEND_ROW * (p->legend_count > 0) + NOTE_ROW * lines + MARGIN;
}

static void tree_plot_font(cairo_t *c, double size, bool bold)
{
    cairo_select_font_face(c, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(c, size);
}

static void tree_plot_put(cairo_t *c, double x, double y, const char *text)
{
    cairo_move_to(c, x, y);
    cairo_show_text(c, text);
}

static void draw_edges(cairo_t *c, const struct tree_plot *p, const struct laid_out *l)
{
    const struct tree *t = p->tree;
    cairo_set_line_width(c, 1.3);
    cairo_set_source_rgb(c, 0.55, 0.55, 0.55);
    for (int v = 1; v < t->nodes; v++) {
        int above = t->parent[v];
        cairo_move_to(c, l->x[above], l->y[above]);
        cairo_line_to(c, l->x[above], l->y[v]);
        cairo_line_to(c, l->x[v], l->y[v]);
        cairo_stroke(c);
    }
    tree_plot_font(c, 11.5, false);
    for (int v = 0; v < t->nodes; v++) {
        bool pale = p->pale && p->pale[v];
        if (!l->leaf[v])
            continue;
        cairo_set_source_rgb(c, pale ? 0.6 : 0.1, pale ? 0.6 : 0.1, pale ? 0.6 : 0.1);
        tree_plot_put(c, l->x[v] + 12, l->y[v] + 4, t->names[v]);
        if (pale)
            tree_plot_put(c, l->x[v] + 130, l->y[v] + 4, "held out");
    }
}

static void draw_mark(cairo_t *c, double x, double y, const struct tree_mark *m)
{
    struct chart_colour colour = chart_colour(m->colour);
    double radius = fmin(2.2 + 3.2 * sqrt(fabs(m->size)), 8.5);
    cairo_new_path(c);
    cairo_arc(c, x, y, m->open ? radius + 1.5 : radius, 0, TAU);
    cairo_set_source_rgba(c, colour.red, colour.green, colour.blue, m->open ? 1 : 0.85);
    cairo_set_line_width(c, 1.6);
    if (m->open)
        cairo_stroke(c);
    else
        cairo_fill(c);
}

/* Draws the marks of an edge side by side. If an edge has a ring and a disc of the same colour, the ring is drawn
 * around the disc. */
static void draw_marks(cairo_t *c, const struct tree_plot *p, const struct laid_out *l)
{
    for (int v = 1; v < p->tree->nodes; v++) {
        int colours = 0, seen[64], length = 0;
        for (int i = 0; i < p->mark_count; i++) {
            int at = 0;
            if (p->marks[i].node != v)
                continue;
            while (at < colours && seen[at] != p->marks[i].colour)
                at++;
            if (at == colours && colours < 64)
                seen[colours++] = p->marks[i].colour;
            length = colours;
        }
        double from = l->x[p->tree->parent[v]], step = (l->x[v] - from) / (length + 1);
        for (int i = 0; i < p->mark_count; i++)
            for (int at = 0; at < colours && p->marks[i].node == v; at++)
                if (seen[at] == p->marks[i].colour)
                    draw_mark(c, from + step * (at + 1), l->y[v], &p->marks[i]);
    }
}

static void draw_words(cairo_t *c, const struct tree_plot *p, const struct laid_out *l)
{
    double x = LEFT, y = l->bottom + 12;
    cairo_set_source_rgb(c, 0.1, 0.1, 0.1);
    tree_plot_font(c, 15, true);
    tree_plot_put(c, LEFT, 30, p->title ? p->title : "");
    tree_plot_font(c, 11.5, false);
    for (int i = 0; i < p->legend_count; i++) {
        const struct tree_mark m = {0, i, 1, false};
        cairo_text_extents_t size;
        draw_mark(c, x + 6, y - 4, &m);
        cairo_set_source_rgb(c, 0.1, 0.1, 0.1);
        tree_plot_put(c, x + 17, y, p->legend[i]);
        cairo_text_extents(c, p->legend[i], &size);
        x += 17 + size.x_advance + 18;
    }
    y += p->legend_count > 0 ? LEGEND_ROW : 0;
    for (const char *at = p->note; at && *at;) {
        char line[256];
        size_t bytes = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(bytes < 255 ? bytes : 255), at);
        cairo_set_source_rgb(c, 0.35, 0.35, 0.35);
        tree_plot_put(c, LEFT, y, line);
        y += NOTE_ROW;
        at += bytes + (at[bytes] != 0);
    }
}

static cairo_status_t tree_plot_append(void *context, const unsigned char *bytes, unsigned int count)
{
    struct buf *out = context;
    buf_append(out, bytes, count);
    return out->failed ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static enum status render(const struct tree_plot *p, const struct laid_out *l, struct buf *out, struct error *err)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)l->width, (int)l->height);
    cairo_t *c = cairo_create(surface);
    cairo_set_source_rgb(c, 1, 1, 1);
    cairo_paint(c);
    draw_edges(c, p, l);
    draw_marks(c, p, l);
    draw_words(c, p, l);
    cairo_status_t failed = cairo_status(c);
    cairo_destroy(c);
    if (!failed)
        failed = cairo_surface_write_to_png_stream(surface, tree_plot_append, out);
    cairo_surface_destroy(surface);
    if (out->failed)
        return buf_status(out, "the picture of a tree", err);
    return failed ? error_set(err, failed == CAIRO_STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_INTERNAL, NULL,
                              "tree: %s", cairo_status_to_string(failed))
                  : STATUS_OK;
}

enum status tree_plot_png(const struct tree_plot *plot, struct buf *out, struct error *err)
{
    size_t n = (size_t)plot->tree->nodes;
    struct laid_out l = {.x = calloc(2 * n, sizeof *l.x), .leaf = calloc(n, sizeof *l.leaf)};
    l.y = l.x ? l.x + n : NULL;
    enum status status = l.x && l.leaf ? STATUS_OK : error_memory(err, "a picture");
    if (!status && tree_leaves(plot->tree, NULL) > TREE_PLOT_LEAVES)
        status = error_set(err, STATUS_LIMIT, NULL, "the tree has more than %d leaves, the most that can be drawn",
                           TREE_PLOT_LEAVES);
    if (!status) {
        tree_plot_place(plot->tree, &l);
        place_rows(plot->tree, &l, 0);
        scale(plot, &l);
        status = render(plot, &l, out, err);
    }
    free(l.x);
    free(l.leaf);
    return status;
}
