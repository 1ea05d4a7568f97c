#include "core/formats/gene_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/formats/text_lines.h"

struct exon {
    int locus;
    struct plain_line parent;
    int64_t from, to, line;
};

struct reader {
    struct genes *genes;
    struct plain_lines lines;
    const char *file;  /* "FASTA" or "GFF3" */
    int *by_name;      /* loci, sorted by name */
    struct exon *exon; /* of the source, in case there is no intron */
    size_t exons, exon_room;
    bool has_introns;
    const char *source;
};

static enum status fault(const struct reader *r, enum status code, const char *detail, struct error *err)
{
    return error_set(err, code, NULL, "%s, line %lld: %s", r->file, (long long)r->lines.number, detail);
}

void genes_close(struct genes *genes)
{
    free(genes->locus);
    free(genes->bases);
    free(genes->classes);
    *genes = (struct genes){0};
}

/* ---- FASTA ------------------------------------------------------------------------------------------ */

static enum status begin_locus(struct reader *r, struct plain_line line, struct error *err)
{
    struct genes *g = r->genes;
    struct plain_line rest = {line.at + 1, line.size - 1}, name;
    if (!plain_word(&rest, &name) || name.at != line.at + 1)
        return fault(r, STATUS_INVALID, "a record needs a name right behind its >", err);
    if (name.size >= GENES_NAME)
        return fault(r, STATUS_LIMIT, "the name is too long", err);
    if (g->loci == GENES_LOCI)
        return fault(r, STATUS_LIMIT, "too many records", err);
    if ((g->loci & (g->loci - 1)) == 0) { /* room for twice as many at 0, 1, 2, 4, ... */
        size_t room = g->loci > 0 ? 2 * (size_t)g->loci : 1;
        struct genes_locus *more = realloc(g->locus, room * sizeof *more);
        if (more == NULL)
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the loci");
        g->locus = more;
    }
    struct genes_locus *locus = &g->locus[g->loci++];
    *locus = (struct genes_locus){.first = g->count};
    memcpy(locus->name, name.at, name.size);
    return STATUS_OK;
}

static enum status add_bases(struct reader *r, struct plain_line line, struct error *err)
{
    struct genes *g = r->genes;
    if (g->loci == 0)
        return fault(r, STATUS_INVALID, "bases before the first record", err);
    for (size_t i = 0; i < line.size; i++) {
        if (line.at[i] == '\0' || strchr("ACGTUNRYSWKMBDHVacgtunryswkmbdhv", line.at[i]) == NULL)
            return fault(r, STATUS_INVALID, "a letter that is no code for bases", err);
        g->bases[g->count++] = splicing_base(line.at[i]);
        g->locus[g->loci - 1].length++;
    }
    return STATUS_OK;
}

static enum status read_fasta(struct reader *r, const char *text, size_t size, struct error *err)
{
    struct plain_line line;
    enum status status = STATUS_OK;
    r->lines = plain_lines(text, size);
    r->file = "FASTA";
    r->genes->bases = malloc(size + 1); /* no more bases than bytes */
    if (r->genes->bases == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the sequences");
    while (!status && plain_next(&r->lines, &line))
        if (line.size > 0)
            status = line.at[0] == '>' ? begin_locus(r, line, err) : add_bases(r, line, err);
    if (!status && r->genes->count == 0)
        status = fault(r, STATUS_INVALID, "the file ends without a sequence", err);
    return status;
}

static int by_name(const void *a, const void *b, void *context)
{
    const struct genes_locus *locus = context;
    return strcmp(locus[*(const int *)a].name, locus[*(const int *)b].name);
}

static enum status sort_names(struct reader *r, struct error *err)
{
    struct genes *g = r->genes;
    r->by_name = malloc((size_t)g->loci * sizeof *r->by_name);
    if (r->by_name == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the names");
    for (int i = 0; i < g->loci; i++)
        r->by_name[i] = i;
    qsort_r(r->by_name, (size_t)g->loci, sizeof *r->by_name, by_name, g->locus);
    for (int i = 1; i < g->loci; i++)
        if (strcmp(g->locus[r->by_name[i - 1]].name, g->locus[r->by_name[i]].name) == 0)
            return error_set(err, STATUS_INVALID, NULL, "FASTA: two records are called %s",
                             g->locus[r->by_name[i]].name);
    return STATUS_OK;
}

static int find_locus(const struct reader *r, struct plain_line name)
{
    char key[GENES_NAME];
    if (name.size >= sizeof key)
        return -1;
    memcpy(key, name.at, name.size);
    key[name.size] = '\0';
    int low = 0, high = r->genes->loci - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(key, r->genes->locus[r->by_name[middle]].name);
        if (order == 0)
            return r->by_name[middle];
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

/* ---- GFF3 ------------------------------------------------------------------------------------------- */

/* from, to: of the intron in its locus, from 0, inclusive. */
static enum status mark_intron(struct reader *r, int locus, int64_t from, int64_t to, struct error *err)
{
    uint8_t *classes = r->genes->classes + r->genes->locus[locus].first;
    if (from == to || classes[from] == SITE_ACCEPTOR || classes[to] == SITE_DONOR)
        return fault(r, STATUS_INVALID, "a base would be both donor and acceptor", err);
    r->genes->introns++;
    classes[from] = SITE_DONOR;
    classes[to] = SITE_ACCEPTOR;
    return STATUS_OK;
}

static enum status keep_exon(struct reader *r, const struct exon *exon, struct error *err)
{
    if (r->exons == r->exon_room) {
        size_t room = r->exon_room > 0 ? 2 * r->exon_room : 1024;
        struct exon *more = realloc(r->exon, room * sizeof *more);
        if (more == NULL)
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the exons");
        r->exon = more;
        r->exon_room = room;
    }
    r->exon[r->exons++] = *exon;
    return STATUS_OK;
}

/* The value of Parent among the attributes; of size 0 if there is none. */
static struct plain_line parent_of(struct plain_line attributes)
{
    struct plain_line field;
    while (plain_field(&attributes, ';', &field))
        if (field.size > 7 && memcmp(field.at, "Parent=", 7) == 0)
            return (struct plain_line){field.at + 7, field.size - 7};
    return (struct plain_line){attributes.at, 0};
}

static enum status read_feature(struct reader *r, struct plain_line line, struct error *err)
{
    struct plain_line field[9];
    for (int i = 0; i < 9; i++)
        if (!plain_field(&line, '\t', &field[i]))
            return fault(r, STATUS_INVALID, "a feature has nine fields between tabs", err);
    bool intron = plain_is(field[2], "intron"), exon = plain_is(field[2], "exon");
    if ((!intron && !exon) || (r->source != NULL && !plain_is(field[1], r->source)))
        return STATUS_OK;
    int locus = find_locus(r, field[0]);
    if (locus < 0)
        return fault(r, STATUS_INVALID, "the FASTA file has no sequence of that name", err);
    int64_t from = plain_integer(field[3], INT64_MAX / 2), to = plain_integer(field[4], INT64_MAX / 2);
    if (from < 1 || to < from || to > r->genes->locus[locus].length)
        return fault(r, STATUS_INVALID, "the coordinates are not within the sequence", err);
    if (!plain_is(field[6], "+"))
        return fault(r, STATUS_INVALID, "not on the strand of the sequence (+)", err);
    r->has_introns |= intron;
    if (intron)
        return mark_intron(r, locus, from - 1, to - 1, err);
    return keep_exon(r, &(struct exon){locus, parent_of(field[8]), from - 1, to - 1, r->lines.number}, err);
}

static int by_parent(const void *a, const void *b)
{
    const struct exon *x = a, *y = b;
    if (x->locus != y->locus)
        return x->locus < y->locus ? -1 : 1;
    size_t both = x->parent.size < y->parent.size ? x->parent.size : y->parent.size;
    int order = both > 0 ? memcmp(x->parent.at, y->parent.at, both) : 0;
    if (order != 0)
        return order;
    if (x->parent.size != y->parent.size)
        return x->parent.size < y->parent.size ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

static bool one_transcript(const struct exon *a, const struct exon *b)
{
    return a->locus == b->locus && a->parent.size > 0 && a->parent.size == b->parent.size &&
           memcmp(a->parent.at, b->parent.at, a->parent.size) == 0;
}

static enum status introns_between(struct reader *r, struct error *err)
{
    enum status status = STATUS_OK;
    if (r->exons > 0)
        qsort(r->exon, r->exons, sizeof *r->exon, by_parent);
    for (size_t i = 1; !status && i < r->exons; i++) {
        const struct exon *before = &r->exon[i - 1], *after = &r->exon[i];
        if (!one_transcript(before, after) || before->to + 1 >= after->from)
            continue;
        r->lines.number = after->line;
        status = mark_intron(r, after->locus, before->to + 1, after->from - 1, err);
    }
    return status;
}

static enum status read_gff(struct reader *r, const char *text, size_t size, struct error *err)
{
    struct plain_line line;
    enum status status = STATUS_OK;
    r->lines = plain_lines(text, size);
    r->file = "GFF3";
    while (!status && plain_next(&r->lines, &line)) {
        if (plain_is(line, "##FASTA")) /* sequences may follow; ours are elsewhere */
            break;
        if (line.size > 0 && line.at[0] != '#')
            status = read_feature(r, line, err);
    }
    if (!status && !r->has_introns)
        status = introns_between(r, err);
    return status;
}

enum status genes_parse(const char *fasta, size_t fasta_size, const char *gff, size_t gff_size, const char *source,
                        struct genes *genes, struct error *err)
{
    *genes = (struct genes){0};
    struct reader r = {.genes = genes, .source = source};
    enum status status = read_fasta(&r, fasta, fasta_size, err);
    if (!status)
        status = sort_names(&r, err);
    if (!status && (genes->classes = calloc((size_t)genes->count, 1)) == NULL)
        status = error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the labels");
    if (!status)
        status = read_gff(&r, gff, gff_size, err);
    free(r.by_name);
    free(r.exon);
    if (status)
        genes_close(genes);
    return status;
}

enum status genes_load(const char *fasta_path, const char *gff_path, const char *source, struct genes *genes,
                       struct error *err)
{
    char *fasta = NULL, *gff = NULL;
    size_t fasta_size, gff_size;
    *genes = (struct genes){0};
    enum status status = plain_load(fasta_path, "the FASTA file", GENES_FILE_BYTES, &fasta, &fasta_size, err);
    if (!status)
        status = plain_load(gff_path, "the GFF3 file", GENES_FILE_BYTES, &gff, &gff_size, err);
    if (!status)
        status = genes_parse(fasta, fasta_size, gff, gff_size, source, genes, err);
    free(fasta);
    free(gff);
    return status;
}

/* ---- windows ---------------------------------------------------------------------------------------- */

static bool in_set(const struct genes_locus *locus, enum genes_set set)
{
    unsigned char digest[HASH_BYTES];
    if (set == GENES_ALL)
        return true;
    hash_bytes(locus->name, strlen(locus->name), digest);
    return (digest[0] < 26) == (set == GENES_TEST);
}

enum status genes_windows(const struct genes *genes, enum genes_set set, int length, int flank,
                          struct genes_windows *windows, struct error *err)
{
    *windows = (struct genes_windows){.length = length, .flank = flank};
    if (length < 1 || flank < 0)
        return error_set(err, STATUS_INVALID, NULL, "windows of %d bases with flanks of %d", length, flank);
    int64_t most = genes->loci + genes->count / length;
    windows->window = malloc((size_t)(most + 1) * sizeof *windows->window);
    if (windows->window == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for the windows");
    for (int i = 0; i < genes->loci; i++)
        for (int64_t at = 0; in_set(&genes->locus[i], set) && at < genes->locus[i].length; at += length)
            windows->window[windows->count++] = (struct genes_window){i, at};
    return STATUS_OK;
}

void genes_windows_close(struct genes_windows *windows)
{
    free(windows->window);
    *windows = (struct genes_windows){0};
}

void genes_window(const struct genes *genes, const struct genes_windows *windows, int64_t index, uint8_t *bases,
                  uint8_t *classes)
{
    const struct genes_window *w = &windows->window[index];
    const struct genes_locus *locus = &genes->locus[w->locus];
    int whole = windows->length + 2 * windows->flank;
    for (int i = 0; i < whole; i++) {
        int64_t at = w->at - windows->flank + i;
        bool inside = at >= 0 && at < locus->length;
        bool labelled = inside && i >= windows->flank && i < windows->flank + windows->length;
        bases[i] = inside ? genes->bases[locus->first + at] : BASE_N;
        if (classes != NULL)
            classes[i] = labelled ? genes->classes[locus->first + at] : SITE_NONE;
    }
}
