/* Reads sequences of bases, one record at a time. The words after a record's name are its label. With a GFF3 file (in a
 * tar, collection_tar.c) each base has a class instead: donor, acceptor or neither. Records are then cut into windows
 * of GENE_PIECE bases with GENE_FLANK bases of context on either side (splicing_genes.h); all windows of a record have
 * the same group. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/genomics/uploads/dinucleotides.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/genomics/uploads/sequence_label.h"
#include "core/formats/fasta.h"
#include "core/genomics/uploads/uploads.h"

enum { GENE_PIECE = 1000, GENE_FLANK = 200 };
enum { STREAM_SHUFFLED = 0x5348 }; /* stream of the random numbers that shuffle records */

static enum status add_bases(struct builder *b, const uint8_t *bases, int64_t count, struct error *err)
{
    float *planes;
    enum status status = builder_sample(b, count, &planes, err);
    if (!status)
        splicing_planes(bases, (int)count, planes);
    return status;
}

/* Adds a window. Each labelled base has a class; the classes of context bases and of positions beyond the record's end
 * are unknown. */
static enum status add_window(struct builder *b, const struct genes *genes, const struct genes_windows *windows,
                              int64_t index, struct error *err)
{
    enum { WHOLE = GENE_PIECE + 2 * GENE_FLANK };
    const struct genes_window *window = &windows->window[index];
    const struct fasta_record *locus = &genes->locus[window->locus];
    uint8_t bases[WHOLE], classes[WHOLE];
    genes_window(genes, windows, index, bases, classes);
    enum status status = add_bases(b, bases, WHOLE, err);
    for (int i = 0; !status && i < WHOLE; i++) {
        bool own = i >= GENE_FLANK && i < GENE_FLANK + GENE_PIECE && window->at + i - GENE_FLANK < locus->length;
        status = builder_number(b, own ? classes[i] : -1, err);
    }
    return status ? status : builder_group(b, locus->name, err);
}

static enum status add_genes(struct builder *b, const struct genes *genes, struct error *err)
{
    struct genes_windows windows = {0};
    enum status status = genes_windows(genes, GENES_ALL, GENE_PIECE, GENE_FLANK, &windows, err);
    for (int64_t i = 0; !status && i < windows.count; i++)
        status = add_window(b, genes, &windows, i, err);
    genes_windows_close(&windows);
    return status;
}

static enum status name_classes(struct collection *c, struct error *err)
{
    static const char *const classes[] = {"-", "acceptor", "donor"};
    c->vocabulary.name = calloc(3, sizeof(char *));
    for (int i = 0; c->vocabulary.name && i < 3 && (c->vocabulary.name[i] = strdup(classes[i])); i++)
        c->vocabulary.count++;
    return c->vocabulary.count == 3 ? STATUS_OK : error_memory(err, "names");
}

/* Keeps the names of the records, one for each sample. */
static enum status name_records(struct collection *c, const struct genes *genes, struct error *err)
{
    c->records.name = calloc((size_t)genes->loci, sizeof *c->records.name);
    for (int i = 0; c->records.name && i < genes->loci && (c->records.name[i] = strdup(genes->locus[i].name)); i++)
        c->records.count++;
    return c->records.count == genes->loci ? STATUS_OK : error_memory(err, "names");
}

/* Decides between DNA and RNA, and warns of letters that do not keep their meaning. */
static enum status take_alphabet(struct collection *c, const struct fasta_letters *seen, struct error *err)
{
    enum { OFTEN = 4 };
    enum status status = STATUS_OK;
    c->rna = seen->uracil && !seen->thymine;
    if (seen->uracil && seen->thymine)
        status = collection_warn(c, err, "mixed-alphabet",
                                 "the file contains both T and U; its sequences are read as DNA, with T for each U");
    if (status || seen->ambiguous == 0)
        return status;
    return collection_warn(c, err, "ambiguous-bases",
                           "%lld of %lld letters are codes of several bases (R, Y, S, ...); "
                           "each was read as an unknown base, as N is%s",
                           (long long)seen->ambiguous, (long long)(seen->ambiguous + seen->bases),
                           fasta_letters_odd(seen, OFTEN)
                               ? ". If they are amino acids, upload a one-hot x of [n][1][cols][letters] as .npz"
                               : "");
}

enum status fasta_add(struct builder *b, const struct genes *genes, bool sites, struct error *err)
{
    struct collection *c = b->c;
    c->kind = COLLECTION_SEQUENCES;
    c->channels = SPLICING_BASES;
    c->rows = 1;
    c->target = sites ? TARGET_POSITIONS : TARGET_NONE;
    enum status status = sites ? name_classes(c, err) : STATUS_OK;
    for (int i = 0; !status && i < genes->loci; i++) {
        const struct fasta_record *locus = &genes->locus[i];
        if (locus->length == 0)
            return error_set(err, STATUS_INVALID, NULL, "record '%s' has no bases; remove it or add its sequence",
                             locus->name);
        if (!sites)
            status = add_bases(b, genes->bases + locus->first, locus->length, err);
    }
    if (status)
        return status;
    status = take_alphabet(c, &genes->seen, err);
    if (status)
        return status;
    return sites ? add_genes(b, genes, err) : name_records(c, genes, err);
}

/* ---- files --------------------------------------------------------------------------------------------------- */

/* A FASTA file that is read record by record. */
struct reader {
    struct builder b;
    const struct collection_options *options;
    struct fasta_stream in;
    struct name_list names; /* of the records */
};

/* Finds the text of the label: the words after the name, or the word that the user has selected by its position
 * (position 1 is the name). */
static enum status find_label(const struct reader *r, struct plain_line *text, struct error *err)
{
    const struct fasta_stream *in = &r->in;
    int column = r->options->label_column;
    *text = column == 1 ? (struct plain_line){in->name, strlen(in->name)} : in->words;
    if (column > 1 && !sequence_label_column(in->words, column - 1, true, text))
        return error_set(err, STATUS_INVALID, NULL,
                         "record '%s' has no word %d, which should be the label; the name of a record is word 1",
                         in->name, column);
    return sequence_label_good(*text)
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL, "record '%s': a label is not UTF-8 text", in->name);
}

static enum status add_record(struct reader *r, struct error *err)
{
    const struct fasta_stream *in = &r->in;
    struct plain_line text = {0};
    int32_t number;
    if (in->length == 0)
        return error_set(err, STATUS_INVALID, NULL, "record '%s' has no bases; remove it or add its sequence",
                         in->name);
    enum status status = name_list_add(&r->names, in->name, strlen(in->name), &number, err);
    if (!status && number < r->b.c->count)
        return error_set(err, STATUS_INVALID, NULL, "FASTA: two records are called %s; names must be unique", in->name);
    if (!status)
        status = find_label(r, &text, err);
    for (int64_t i = 0; i < in->length; i++)
        in->letters[i] = splicing_base((char)in->letters[i]);
    if (!status)
        status = add_bases(&r->b, in->letters, in->length, err);
    if (status)
        return status;
    text = plain_trimmed(text);
    return builder_label(&r->b, text.at, text.size, "record", r->b.c->count, err);
}

static enum status read_records(struct reader *r, struct error *err)
{
    bool more = true;
    enum status status = STATUS_OK;
    r->b.c->kind = COLLECTION_SEQUENCES;
    r->b.c->channels = SPLICING_BASES;
    r->b.c->rows = 1;
    while (!status) {
        status = fasta_stream_next(&r->in, &more, err);
        if (status || !more)
            break;
        status = add_record(r, err);
    }
    if (status)
        return status;
    r->b.c->records = r->names.names; /* from here on, the collection owns the names */
    r->names.names = (struct collection_names){0};
    return take_alphabet(r->b.c, &r->in.seen, err);
}

/* ---- negatives ----------------------------------------------------------------------------------------------- */

struct shuffle {
    uint8_t *planes, *bases, *out; /* room for the longest record */
};

/* Reads the bases of a sample back from the stored values. */
static enum status read_again(struct builder *b, int64_t sample, const struct shuffle *room, struct error *err)
{
    int64_t length = collection_length(b->c, sample);
    enum status status =
        value_store_again(&b->store, collection_begin(b->c, sample), SPLICING_BASES * length, room->planes, err);
    for (int64_t i = 0; !status && i < length; i++) {
        int base = 0;
        while (base < SPLICING_BASES && room->planes[base * length + i] == 0)
            base++;
        room->bases[i] = (uint8_t)base;
    }
    return status;
}

/* Adds a shuffled copy of a record as a sample without a label. */
static enum status add_shuffled(struct builder *b, int64_t record, const struct shuffle *room, struct error *err)
{
    struct collection_names *names = &b->c->records;
    struct philox from = philox_stream(0, STREAM_SHUFFLED, (uint64_t)record);
    uint64_t at = 0;
    char name[FASTA_NAME + 16];
    int64_t length = collection_length(b->c, record);
    enum status status = read_again(b, record, room, err);
    if (status)
        return status;
    dinucleotides_shuffle(room->bases, length, &from, &at, room->out);
    status = add_bases(b, room->out, length, err);
    if (status)
        return status;
    snprintf(name, sizeof name, "%s_shuffled", names->name[record]);
    names->name[names->count] = strdup(name);
    if (!names->name[names->count])
        return error_memory(err, "names");
    names->count++;
    return STATUS_OK;
}

/* Adds a negative sample for each record that has a label. */
static enum status add_negatives(struct builder *b, struct error *err)
{
    struct collection *c = b->c;
    int64_t count = c->count, labelled = 0;
    for (int64_t i = 0; i < count; i++)
        labelled += builder_has_label(b, i);
    if (labelled == 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "negatives=shuffle needs records with a label, but no record has one");
    char **names = realloc(c->records.name, (size_t)(count + labelled) * sizeof *names);
    size_t longest = (size_t)c->cols;
    struct shuffle room = {malloc(SPLICING_BASES * longest), malloc(longest), malloc(longest)};
    c->records.name = names ? names : c->records.name;
    enum status status =
        names && room.planes && room.bases && room.out ? STATUS_OK : error_memory(err, "shuffled sequences");
    for (int64_t i = 0; !status && i < count; i++)
        if (builder_has_label(b, i))
            status = add_shuffled(b, i, &room, err);
    free(room.planes);
    free(room.bases);
    free(room.out);
    return status;
}

enum status upload_fasta(const struct byte_source *from, const struct collection_options *options,
                         const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct reader r = {.options = options, .names = {.most = (int)limits->samples}};
    builder_init(&r.b, c, options, limits);
    r.b.headers = options->label_column == 0;
    r.b.empties = r.b.once = true;
    fasta_stream_open(&r.in, from);
    enum status status = read_records(&r, err);
    if (!status && options->negatives == NEGATIVES_SHUFFLE)
        status = add_negatives(&r.b, err);
    if (!status)
        status = builder_finish(&r.b, false, err);
    fasta_stream_close(&r.in);
    name_list_close(&r.names);
    builder_close(&r.b);
    return status;
}
