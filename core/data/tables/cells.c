/* Reads counts of molecules from the layouts that cells.h describes into one table, cells as rows and genes as columns;
 * genes.c filters it. */
#include "core/data/tables/cells.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection.h"
#include "core/formats/delimited.h"
#include "core/data/tables/genes.h"

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a table");
}

/* ---- reading ---------------------------------------------------------------------------------------- */

/* A table as the file contains it: `lines` rows of `width` numbers, and the names beside them. */
struct raw {
    float *x;
    char **names;  /* [lines] names of genes, or classes of cells; entries may be NULL */
    char **header; /* [width] */
    int lines, room, width;
};

static void raw_close(struct raw *r)
{
    for (int i = 0; r->names && i < r->lines; i++)
        free(r->names[i]);
    for (int j = 0; r->header && j < r->width; j++)
        free(r->header[j]);
    free(r->x);
    free(r->names);
    free(r->header);
}

static enum status grow(struct raw *r, struct error *err)
{
    if (r->lines < r->room)
        return STATUS_OK;
    int room = r->room ? 2 * r->room : 256;
    float *x = realloc(r->x, (size_t)room * (size_t)r->width * sizeof *x);
    if (x)
        r->x = x;
    char **names = x ? realloc(r->names, (size_t)room * sizeof *names) : NULL;
    if (!names)
        return no_memory(err);
    r->names = names;
    r->room = room;
    return STATUS_OK;
}

/* Reads lines of numbers. Column `name` is text (NOTHING: no column is), column `drop` is skipped. */
static enum status read_lines(struct delimited *d, struct raw *r, int name, int drop, struct error *err)
{
    bool more = true;
    enum status status = STATUS_OK;
    while (!status) {
        status = delimited_next(d, &more, err);
        if (status || !more)
            break;
        status = grow(r, err);
        if (status)
            break;
        r->names[r->lines] = name >= 0 && (size_t)name < d->count ? strdup(d->fields[name]) : NULL;
        float *x = r->x + (ptrdiff_t)r->lines++ * r->width;
        int at = 0;
        for (int i = 0; !status && i < (int)d->count; i++) {
            double value = 0;
            if (i == name || i == drop)
                continue;
            status = delimited_number(d, (size_t)i, &value, err);
            if (!status && at < r->width)
                x[at] = (float)value;
            at++;
        }
        if (!status && at != r->width)
            status = error_set(err, STATUS_INVALID, NULL, "line %ld of %s has %d numbers, but the lines before have %d",
                               d->number, d->name, at, r->width);
    }
    return status;
}

static enum status read_header(struct delimited *d, struct raw *r, int name, int drop, struct error *err)
{
    r->width = (int)d->count - (name >= 0) - (drop >= 0);
    if (r->width < 2)
        return error_set(err, STATUS_INVALID, NULL, "%s has fewer than two columns of numbers", d->name);
    r->header = calloc((size_t)r->width, sizeof *r->header);
    int at = 0;
    for (int i = 0; r->header && i < (int)d->count; i++)
        if (i != name && i != drop && !(r->header[at++] = strdup(d->fields[i])))
            return no_memory(err);
    return r->header ? STATUS_OK : no_memory(err);
}

/* ---- classes ---------------------------------------------------------------------------------------- */

static enum status add_class(struct features *f, int row, const char *name, struct error *err)
{
    int at = 0;
    while (at < f->classes && strcmp(f->class_names[at], name) != 0)
        at++;
    if (at == f->classes) {
        char **names = realloc(f->class_names, (size_t)(at + 1) * sizeof *names);
        if (names)
            f->class_names = names;
        if (!names || !(names[at] = strdup(name)))
            return no_memory(err);
        f->classes++;
    }
    f->label[row] = at;
    return STATUS_OK;
}

static enum status start_classes(struct features *f, struct error *err)
{
    f->label = calloc((size_t)f->rows, sizeof *f->label);
    return f->label ? STATUS_OK : no_memory(err);
}

/* Reads cells.tsv, whose lines must be in the order of the cells in the header of counts.tsv. */
static enum status read_classes(const char *folder, struct raw *r, struct features *f, struct thread_pool *pool,
                                struct error *err)
{
    struct delimited d;
    bool more = true;
    struct error missing = {0};
    if (delimited_open(&d, folder, "cells.tsv", '\t', pool, &missing)) {
        delimited_close(&d);
        return STATUS_OK;
    }
    enum status status = delimited_next(&d, &more, err);
    int column = status ? -1 : delimited_find(&d, "level1class");
    column = column < 0 ? 1 : column;
    if (!status)
        status = start_classes(f, err);
    for (int i = 0; !status && i < f->rows; i++) {
        status = delimited_next(&d, &more, err);
        if (!status && (!more || (size_t)column >= d.count || strcmp(d.fields[0], r->header[i]) != 0))
            status = error_set(err, STATUS_INVALID, NULL,
                               "cells.tsv and counts.tsv have different ids at cell %d; their orders must be the same",
                               i + 1);
        if (!status)
            status = add_class(f, i, d.fields[column], err);
    }
    delimited_close(&d);
    return status;
}

/* ---- tables ----------------------------------------------------------------------------------------- */

/* Transposes a table of one gene a line into rows of cells. */
static enum status turn(struct raw *r, struct thread_pool *pool, struct features **features, struct error *err)
{
    struct features *f;
    enum status status = features_create(r->width, r->lines, 0, &f, err);
    if (status)
        return status;
    *features = f;
    for (int i = 0; i < f->rows && !thread_pool_stopped(pool); i++)
        for (int j = 0; j < f->columns; j++)
            f->x[(ptrdiff_t)i * f->columns + j] = r->x[(ptrdiff_t)j * r->width + i];
    f->names = r->names;
    r->names = NULL;
    return thread_pool_check(pool, err);
}

static enum status take(struct raw *r, bool classes, struct thread_pool *pool, struct features **features,
                        struct error *err)
{
    struct features *f;
    enum status status = features_create(r->lines, r->width, 0, &f, err);
    if (status)
        return status;
    *features = f;
    memcpy(f->x, r->x, (size_t)f->rows * (size_t)f->columns * sizeof *f->x);
    f->names = r->header;
    r->header = NULL;
    if (classes)
        status = start_classes(f, err);
    for (int i = 0; classes && !status && i < f->rows && !thread_pool_stopped(pool); i++)
        status = r->names[i] ? add_class(f, i, r->names[i], err) : no_memory(err);
    return status ? status : thread_pool_check(pool, err);
}

/* Loads one file. `genes`: whether the lines of the file may be genes. */
static enum status load(const char *folder, const char *name, bool genes, struct thread_pool *pool,
                        struct features **features, struct error *err)
{
    static const char *const classes[] = {"cell_type", "class", "label"};
    struct delimited d;
    struct raw r = {0};
    bool more = false;
    int text = -1;
    enum status status = delimited_open(&d, folder, name, 0, pool, err);
    if (!status)
        status = delimited_next(&d, &more, err);
    if (!status && !more)
        status = error_set(err, STATUS_INVALID, NULL, "%s is empty", name);
    bool across = !status && genes && d.count > 0 && d.fields[0][0] == '\0';
    for (int i = 0; !status && i < 3 && text < 0; i++)
        text = delimited_find(&d, classes[i]);
    text = across ? 0 : text;
    int drop = !across && genes && text > 0 ? 0 : -1; /* column of the cells' ids */
    if (!status)
        status = read_header(&d, &r, text, drop, err);
    if (!status)
        status = read_lines(&d, &r, text, drop, err);
    if (!status && r.lines < 2)
        status = error_set(err, STATUS_INVALID, NULL, "%s has fewer than two lines", name);
    if (!status)
        status = across ? turn(&r, pool, features, err) : take(&r, text >= 0, pool, features, err);
    if (!status && across)
        status = read_classes(folder, &r, *features, pool, err);
    raw_close(&r);
    delimited_close(&d);
    return status;
}

/* ---- the published file ------------------------------------------------------------------------------- */

/* The published table begins with ten lines about the cells; the second field of each is the name of the line. After an
 * empty line there is one line for each gene: its name, its cluster, and a count for each cell. So the first two fields
 * of every line belong to no cell. */
enum { ABOUT_LINES = 10, BESIDE = 2 };

static enum status keep_header(struct delimited *d, struct raw *r, struct error *err)
{
    if ((int)d->count <= BESIDE + 1 || (r->width && r->width != (int)d->count - BESIDE))
        return error_set(err, STATUS_INVALID, NULL, "line %ld of %s has %zu fields", d->number, d->name, d->count);
    r->width = (int)d->count - BESIDE;
    if (strcmp(d->fields[1], "level1class") != 0 || r->header)
        return STATUS_OK;
    r->header = calloc((size_t)r->width, sizeof *r->header);
    for (int i = 0; r->header && i < r->width; i++)
        if (!(r->header[i] = strdup(d->fields[i + BESIDE])))
            return no_memory(err);
    return r->header ? STATUS_OK : no_memory(err);
}

static enum status keep_gene(struct delimited *d, struct raw *r, struct error *err)
{
    if ((int)d->count != r->width + BESIDE)
        return error_set(err, STATUS_INVALID, NULL, "line %ld of %s has %zu fields, but the lines before have %d",
                         d->number, d->name, d->count, r->width + BESIDE);
    enum status status = grow(r, err);
    for (int i = 0; !status && i < r->width; i++) {
        double value;
        status = delimited_number(d, (size_t)i + BESIDE, &value, err);
        if (!status)
            r->x[(ptrdiff_t)r->lines * r->width + i] = (float)value;
    }
    if (status)
        return status;
    r->names[r->lines] = strdup(d->fields[0]);
    return r->names[r->lines++] ? STATUS_OK : no_memory(err);
}

static enum status load_published(const char *folder, struct thread_pool *pool, struct features **features,
                                  struct error *err)
{
    struct delimited d;
    struct raw r = {0};
    bool more = true;
    enum status status = delimited_open(&d, folder, "expression.txt", '\t', pool, err);
    for (int line = 0; !status && more; line++) {
        status = delimited_next(&d, &more, err);
        if (!status && more && line < ABOUT_LINES)
            status = keep_header(&d, &r, err);
        else if (!status && more && line > ABOUT_LINES)
            status = keep_gene(&d, &r, err);
    }
    if (!status && (!r.header || r.lines < 2))
        status = error_set(err, STATUS_INVALID, NULL, "%s has no line level1class, or fewer than two genes", d.name);
    if (!status)
        status = turn(&r, pool, features, err);
    if (!status)
        status = start_classes(*features, err);
    for (int i = 0; !status && i < r.width; i++)
        status = add_class(*features, i, r.header[i], err);
    raw_close(&r);
    delimited_close(&d);
    return status;
}

/* ---- a table that was uploaded ---------------------------------------------------------------------- */

static enum status copy_names(char ***names, const struct collection_names *from, struct error *err)
{
    *names = calloc((size_t)from->count + 1, sizeof **names);
    for (int i = 0; *names && i < from->count; i++)
        if (!((*names)[i] = strdup(from->name[i])))
            return no_memory(err);
    return *names ? STATUS_OK : no_memory(err);
}

static enum status take_collection(const struct collection *c, struct features **features, struct error *err)
{
    if (c->kind != COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL, "the data set contains %s; this method needs a table",
                         collection_kinds[c->kind]);
    if (c->count < 2 || c->count > 1 << 30)
        return error_set(err, STATUS_INVALID, NULL, "the table has fewer than two rows");
    enum status status = features_create((int)c->count, c->cols, 0, features, err);
    if (status)
        return status;
    struct features *f = *features;
    collection_copy(c, 0, (int64_t)f->rows * f->columns, f->x);
    status = copy_names(&f->names, &c->columns, err);
    if (status || c->target != TARGET_CLASS)
        return status;
    f->classes = c->vocabulary.count;
    f->label = malloc((size_t)f->rows * sizeof *f->label);
    status = f->label ? copy_names(&f->class_names, &c->vocabulary, err) : no_memory(err);
    for (int i = 0; !status && i < f->rows; i++)
        f->label[i] = c->label[i];
    return status;
}

static enum status load_stored(const char *folder, const struct cells_filter *filter, struct features **features,
                               struct error *err)
{
    char path[4400];
    struct collection c;
    snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    enum status status = collection_open(path, &c, err);
    if (status)
        return status;
    status = take_collection(&c, features, err);
    collection_close(&c);
    return status ? status : genes_keep_varied(*features, filter->genes, err);
}

enum status cells_load(const char *folder, const struct cells_filter *filter, struct features **features,
                       struct error *err)
{
    static const char *const plain[] = {"features.tsv", "features.csv"};
    struct cells_filter without = *filter;
    struct features *made = NULL;
    struct error first = {0};
    enum status status = load_stored(folder, filter, &made, &first);
    if (status == STATUS_NOT_FOUND) {
        error_clear(&first);
        status = load_published(folder, filter->pool, &made, &first);
        status = status ? status : genes_choose(made, filter, &first);
    }
    if (status == STATUS_NOT_FOUND) {
        without.neighbours = without.noisiest = 0;
        error_clear(&first);
        status = load(folder, "counts.tsv", true, filter->pool, &made, &first);
        status = status ? status : genes_choose(made, &without, &first);
    }
    for (int i = 0; i < 2 && status == STATUS_NOT_FOUND; i++) {
        error_clear(&first);
        status = load(folder, plain[i], false, filter->pool, &made, &first);
    }
    if (status) {
        features_destroy(made);
        return error_set(err, status, NULL, "%s", first.message);
    }
    *features = made;
    return STATUS_OK;
}
