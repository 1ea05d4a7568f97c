/* Reads what an .npz file states about itself (collection_stated.h). */
#include "core/data/uploads/collection_stated.h"

#include <stdio.h>
#include <string.h>

#include "core/genomics/genomics.h"

enum { BASES_OF_RNA = 4 };

/* Returns the index of a name in a list that ends with NULL; -1: it is not there. */
static int place_of(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static bool collection_stated_take(struct stated *out, const char *name, const char *value)
{
    int target = place_of(collection_targets, value), layout = place_of(collection_layouts, value);
    int kind = place_of(collection_kinds, value);
    if (strcmp(name, "target") == 0 && target > TARGET_NONE && target != TARGET_POSITIONS)
        out->target = (enum collection_target)target;
    else if (strcmp(name, "layout") == 0 && layout > LAYOUT_AUTO)
        out->layout = (enum collection_layout)layout;
    else if (strcmp(name, "kind") == 0 &&
             (kind == COLLECTION_RECORDINGS || kind == COLLECTION_MOTIFS || kind == COLLECTION_IMAGES))
        out->kind = (enum collection_kind)kind;
    else if (strcmp(name, "y") == 0 && strcmp(value, "index") == 0)
        out->y_index = true;
    else if (strcmp(name, "boxes") == 0 && strcmp(value, "index") == 0)
        out->boxes_index = true;
    else if (strcmp(name, "alphabet") == 0 && strcmp(value, "rna") == 0)
        out->rna = true;
    else if (strcmp(name, "profile") == 0 && strcmp(value, "yes") == 0)
        out->profile = true;
    else
        return false;
    return true;
}

enum status stated_read(const struct npy *options, struct stated *out, struct error *err)
{
    *out = (struct stated){.target = TARGET_NONE};
    if (!options->texts)
        return error_set(err, STATUS_INVALID, NULL, "must be text, such as \"target=count\"");
    for (size_t i = 0; i < options->count; i++) {
        char name[NPY_TEXT];
        snprintf(name, sizeof name, "%s", options->texts[i]);
        char *value = strchr(name, '=');
        if (value)
            *value++ = '\0';
        if (!value || !collection_stated_take(out, name, value))
            return error_set(err, STATUS_INVALID, NULL,
                             "'%.40s' is unknown; allowed are target=, layout=, kind=recordings, kind=motifs, "
                             "kind=images, y=index, boxes=index, alphabet=rna and profile=yes",
                             options->texts[i]);
    }
    return STATUS_OK;
}

bool stated_same(const struct stated *a, const struct stated *b)
{
    return a->target == b->target && a->layout == b->layout && a->kind == b->kind && a->y_index == b->y_index &&
           a->boxes_index == b->boxes_index && a->rna == b->rna && a->profile == b->profile;
}

enum status stated_apply(const struct stated *stated, struct collection *c, struct error *err)
{
    bool sequences = c->kind == COLLECTION_SEQUENCES;
    if (stated->kind == COLLECTION_RECORDINGS && (!sequences || c->channels != 1))
        return error_set(err, STATUS_INVALID, NULL, "kind=recordings needs samples of one row and one channel");
    if ((stated->kind == COLLECTION_MOTIFS || stated->rna) && (!sequences || c->channels != BASES_OF_RNA))
        return error_set(err, STATUS_INVALID, NULL, "%s needs samples of one row and four channels",
                         stated->rna ? "alphabet=rna" : "kind=motifs");
    if (stated->kind == COLLECTION_IMAGES && c->kind == COLLECTION_TABLE)
        return error_set(err, STATUS_INVALID, NULL, "kind=images needs x in three or four dimensions");
    if (stated->kind != COLLECTION_TABLE)
        c->kind = stated->kind;
    c->rna = stated->rna;
    return STATUS_OK;
}

static enum status check_motif(const struct collection *c, int64_t motif, struct error *err)
{
    const int32_t *label;
    int labels = collection_labels(c, motif, &label);
    int64_t width = collection_length(c, motif), begin = collection_begin(c, motif);
    bool good = labels >= 1 && labels <= 2 && width <= MOTIF_TEXT_WIDTH;
    for (int i = 0; good && i < labels; i++)
        good = strlen(c->vocabulary.name[label[i]]) < MOTIF_TEXT_NAME;
    for (int64_t i = 0; good && i < width * c->channels; i++)
        good = collection_value(c, begin + i) >= 0;
    return good ? STATUS_OK
                : error_set(err, STATUS_INVALID, NULL,
                            "kind=motifs: motif %lld needs one or two names of fewer than %d bytes, at most %d "
                            "positions, and no negative value",
                            (long long)motif, MOTIF_TEXT_NAME, MOTIF_TEXT_WIDTH);
}

enum status stated_check(const struct stated *stated, struct collection *c, struct error *err)
{
    enum status status = STATUS_OK;
    if (stated->profile && c->target != TARGET_NUMBER)
        return error_set(err, STATUS_INVALID, NULL, "profile=yes needs target=number");
    c->profile = stated->profile;
    if (c->kind != COLLECTION_MOTIFS)
        return STATUS_OK;
    if (c->target != TARGET_SEQUENCE || c->count > MOTIF_TEXT_MOTIFS)
        return error_set(err, STATUS_INVALID, NULL, "kind=motifs needs target=sequence and at most %d motifs",
                         MOTIF_TEXT_MOTIFS);
    for (int64_t i = 0; !status && i < c->count; i++)
        status = check_motif(c, i, err);
    return status;
}
