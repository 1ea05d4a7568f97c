/* Reads sequences of bases. The words after a record's name are its label. With a GFF3 file (in a tar,
 * collection_tar.c) each base has a class instead: donor, acceptor or neither. Records are then cut into windows of
 * GENE_PIECE bases with GENE_FLANK bases of context on either side, grouped by record (splicing_genes.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/uploads/collection_fasta.h"
#include "core/data/uploads/dinucleotides.h"
#include "core/formats/text_lines.h"

enum { GENE_PIECE = 1000, GENE_FLANK = 200 };
enum { STREAM_SHUFFLED = 0x5348 }; /* random numbers of shuffled records */

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
    return c->vocabulary.count == 3 ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for names");
}

/* Keeps the names of the records, one for each sample. */
static enum status name_records(struct collection *c, const struct genes *genes, struct error *err)
{
    c->records.name = calloc((size_t)genes->loci, sizeof *c->records.name);
    for (int i = 0; c->records.name && i < genes->loci && (c->records.name[i] = strdup(genes->locus[i].name)); i++)
        c->records.count++;
    return c->records.count == genes->loci ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for names");
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
    return sites ? add_genes(b, genes, err) : name_records(c, genes, err);
}

/* Adds the labels of all records in order, from the words after their names. */
static enum status add_labels(struct builder *b, const char *text, size_t size, struct error *err)
{
    struct plain_lines lines = plain_lines(text, size);
    struct plain_line line, word;
    enum status status = STATUS_OK;
    for (int64_t record = 0; !status && plain_next(&lines, &line);) {
        if (line.size == 0 || line.at[0] != '>')
            continue;
        builder_turn_to(b, record++);
        (void)plain_word(&line, &word);
        while (!status && plain_word(&line, &word))
            status = utf8_valid(word.at, word.size) && !memchr(word.at, '\0', word.size)
                         ? builder_token(b, word.at, word.size, err)
                         : error_set(err, STATUS_INVALID, NULL, "line %lld: a label is not UTF-8 text",
                                     (long long)lines.number);
    }
    return status;
}

/* Adds a shuffled copy of a record as a sample without a label. */
static enum status add_shuffled(struct builder *b, const struct genes *genes, int record, uint8_t *out,
                                struct error *err)
{
    const struct fasta_record *locus = &genes->locus[record];
    struct collection_names *names = &b->c->records;
    struct philox from = philox_stream(0, STREAM_SHUFFLED, (uint64_t)record);
    uint64_t at = 0;
    char name[FASTA_NAME + 16];
    dinucleotides_shuffle(genes->bases + locus->first, locus->length, &from, &at, out);
    int64_t sample = b->c->count;
    enum status status = add_bases(b, out, locus->length, err);
    if (status)
        return status;
    builder_turn_to(b, sample);
    snprintf(name, sizeof name, "%s_shuffled", locus->name);
    names->name[names->count] = strdup(name);
    if (!names->name[names->count])
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for names");
    names->count++;
    return STATUS_OK;
}

/* Adds a negative sample for each record that has a label. */
static enum status add_negatives(struct builder *b, const struct genes *genes, struct error *err)
{
    struct collection *c = b->c;
    int64_t longest = 0, labelled = 0;
    for (int i = 0; i < genes->loci; i++) {
        longest = genes->locus[i].length > longest ? genes->locus[i].length : longest;
        labelled += c->label_start[i + 1] > c->label_start[i];
    }
    if (labelled == 0)
        return error_set(err, STATUS_INVALID, NULL, "negatives=shuffle: no record has a label, so all are negatives");
    char **names = realloc(c->records.name, (size_t)(genes->loci + labelled) * sizeof *names);
    uint8_t *out = malloc((size_t)longest);
    c->records.name = names ? names : c->records.name;
    enum status status =
        names && out ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for shuffled sequences");
    for (int i = 0; !status && i < genes->loci; i++)
        if (c->label_start[i + 1] > c->label_start[i])
            status = add_shuffled(b, genes, i, out, err);
    free(out);
    return status;
}

/* Notes whether the sequences are RNA: their text contains U and no T. */
static enum status note_alphabet(struct collection *c, const char *text, size_t size, struct error *err)
{
    struct plain_lines lines = plain_lines(text, size);
    struct plain_line line;
    bool uracil = false, thymine = false;
    while (plain_next(&lines, &line))
        for (size_t i = 0; i < line.size && line.at[0] != '>'; i++) {
            uracil = uracil || line.at[i] == 'U' || line.at[i] == 'u';
            thymine = thymine || line.at[i] == 'T' || line.at[i] == 't';
        }
    c->rna = uracil && !thymine;
    if (!uracil || !thymine)
        return STATUS_OK;
    return collection_warn(c, err, "mixed-alphabet",
                           "the file contains both T and U; its sequences are read as DNA, with T for each U");
}

static enum status read_fasta(const struct byte_source *from, const struct collection_options *options,
                              const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct genes genes = {0};
    struct builder b;
    char *text = NULL;
    size_t size = 0;
    builder_init(&b, c, options, limits);
    enum status status = byte_source_all(from, FASTA_BYTES, &text, &size, err);
    if (!status)
        status = genes_parse(text, size, "", 0, NULL, &genes, err);
    if (!status)
        status = fasta_add(&b, &genes, false, err);
    if (!status)
        status = note_alphabet(c, text, size, err);
    if (!status)
        status = add_labels(&b, text, size, err);
    if (!status && options->negatives == NEGATIVES_SHUFFLE)
        status = add_negatives(&b, &genes, err);
    if (!status)
        status = builder_finish(&b, false, err);
    builder_close(&b);
    genes_close(&genes);
    free(text);
    return status;
}

const struct collection_format fasta_format = {"fasta", "text/x-fasta", true, false, read_fasta};
