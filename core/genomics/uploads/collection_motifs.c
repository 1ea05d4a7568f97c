/* Reads a file of motifs (core/genomics/files/motif_file.h) as a data set: a sample for each motif. The values of the
 * sample are the numbers of sites with A, C, G and T at each position. Its label is the identifier of the motif,
 * followed by the name of the motif if there is one. Jobs do not train on such a data set; queries compare channels
 * with it. */
#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/data/uploads/collection_build.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/formats/text_source.h"
#include "core/genomics/files/motif_file.h"
#include "core/genomics/uploads/uploads.h"

enum { MOTIF_BYTES = 64 << 20, BASES_OF_MOTIF = 4 };

static enum status add_motif(struct builder *b, const struct motif_text *motifs, const struct motif_text_entry *motif,
                             struct error *err)
{
    float *planes;
    enum status status = builder_sample(b, motif->width, &planes, err);
    if (status)
        return status;
    for (int i = 0; i < motif->width; i++)
        for (int base = 0; base < BASES_OF_MOTIF; base++)
            planes[base * motif->width + i] = (float)(motif->sites * motifs->row[motif->first + i][base]);
    status = builder_token(b, motif->id, strlen(motif->id), err);
    if (status || motif->name[0] == '\0')
        return status;
    return builder_token(b, motif->name, strlen(motif->name), err);
}

enum status upload_motifs(const struct byte_source *from, const struct collection_options *options,
                          const struct collection_limits *limits, struct collection *c, struct error *err)
{
    const struct collection_options plain = {.store = options->store};
    struct motif_text motifs = {0};
    struct builder b;
    char *text = NULL;
    size_t size = 0;
    builder_init(&b, c, &plain, limits);
    c->kind = COLLECTION_MOTIFS;
    c->channels = BASES_OF_MOTIF;
    c->rows = 1;
    c->target = TARGET_SEQUENCE;
    enum status status = text_source_all(from, MOTIF_BYTES, &text, &size, err);
    if (!status && !utf8_valid(text, size))
        status = error_set(err, STATUS_INVALID, NULL, "a file of motifs must be UTF-8 text");
    if (!status)
        status = motif_text_parse(text, size, &motifs, err);
    for (int i = 0; !status && i < motifs.motifs; i++)
        status = add_motif(&b, &motifs, &motifs.motif[i], err);
    if (!status && motifs.empty.motifs > 0)
        status = collection_warn(c, err, "motifs-left-out",
                                 "%d motifs were left out, because a column of their matrix is empty (the first: %s)",
                                 motifs.empty.motifs, motifs.empty.first);
    if (!status && motifs.turned.motifs > 0)
        status = collection_warn(c, err, "motifs-transposed",
                                 "%d matrices (the first: %s) have a row for each position, as in HOCOMOCO's files; "
                                 "their columns were read as A, C, G and T",
                                 motifs.turned.motifs, motifs.turned.first);
    if (!status)
        status = builder_finish(&b, false, err);
    builder_close(&b);
    motif_text_close(&motifs);
    free(text);
    return status;
}
