/* Merges spellings of one name, and turns one name into the empty label (label_names.h). */
#include "core/data/uploads/labels/label_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/utf8.h"

/* ---- spellings --------------------------------------------------------------------------------------------- */

/* Writes what all spellings of a name have in common: the number, or the text in lower case, in one Unicode form and
 * without blanks. */
static void common_form(const char *name, char out[NAME_BYTES + 32])
{
    char *end;
    double number = strtod(name, &end);
    size_t used = 0;
    (void)utf8_folded(name, strlen(name), out);
    for (const char *at = out; *at; at++)
        if (!strchr(" \t", *at))
            out[used++] = *at;
    out[used] = '\0';
    if (end > name && end[strspn(end, " ")] == '\0' && isfinite(number))
        (void)snprintf(out, NAME_BYTES + 32, "%.17g", number);
}

/* The samples that have each name. */
static int64_t *uses_of(const struct builder *b, struct error *err)
{
    int64_t *uses = calloc((size_t)b->vocabulary.names.count + 1, sizeof *uses);
    for (int64_t i = 0; uses && i < b->labels; i++)
        if (b->c->label[i] >= 0)
            uses[b->c->label[i]]++;
    if (!uses)
        (void)error_memory(err, "names");
    return uses;
}

struct folding {
    int32_t *first; /* [names] the most frequent spelling of each name */
    int64_t merged; /* names that have another spelling than the most frequent one */
    struct collection_list shown;
};

static enum status find_spellings(struct builder *b, struct folding *f, struct error *err)
{
    const struct collection_names *names = &b->vocabulary.names;
    struct name_list forms = {.most = names->count + 1};
    int32_t *best = malloc(((size_t)names->count + 1) * sizeof *best),
            *form = calloc((size_t)names->count + 1, sizeof *form);
    int64_t *uses = uses_of(b, err);
    enum status status = best && form && uses ? STATUS_OK : error_memory(err, "names");
    for (int i = 0; !status && i < names->count; i++) {
        char common[NAME_BYTES + 32];
        int32_t before = forms.names.count;
        common_form(names->name[i], common);
        status = name_list_add(&forms, common, strlen(common), &form[i], err);
        if (!status && (form[i] == before || uses[i] > uses[best[form[i]]]))
            best[form[i]] = i;
    }
    for (int i = 0; !status && i < names->count; i++) {
        f->first[i] = best[form[i]];
        if (f->first[i] == i)
            continue;
        f->merged++;
        collection_list_add(&f->shown, names->name[i]);
        collection_list_add(&f->shown, names->name[f->first[i]]);
    }
    free(best);
    free(form);
    free(uses);
    name_list_close(&forms);
    return status;
}

/* ---- the empty label --------------------------------------------------------------------------------------- */

static int32_t find_absent(const struct builder *b, const char *absent)
{
    int32_t number = name_list_find(&b->vocabulary, absent, strlen(absent));
    for (int32_t i = 0; number < 0 && i < b->vocabulary.names.count; i++)
        if (strcasecmp(b->vocabulary.names.name[i], absent) == 0)
            number = i;
    return number;
}

static enum status refuse_absent(const struct builder *b, const char *absent, bool found, struct error *err)
{
    struct collection_list names = {0};
    for (int i = 0; i < b->vocabulary.names.count; i++)
        collection_list_add(&names, b->vocabulary.names.name[i]);
    return error_set(err, STATUS_INVALID, NULL, "absent=%.60s: %s; the names of the labels are %s", absent,
                     found ? "no other name is left" : "no label has this name", names.text);
}

/* ---- new numbers ------------------------------------------------------------------------------------------- */

/* Gives the names that are in use the numbers of a new list. to: [names] the name that stands for each name; -1: none.
 * On return it is the number in the new list. */
static enum status renumber(struct builder *b, int32_t *to, struct error *err)
{
    struct collection *c = b->c;
    struct name_list kept = {.most = b->vocabulary.most};
    enum status status = STATUS_OK;
    int32_t count = b->vocabulary.names.count, *number = malloc(((size_t)count + 1) * sizeof *number);
    if (!number)
        return error_memory(err, "names");
    for (int32_t i = 0; !status && i < count; i++)
        if (to[i] == i)
            status =
                name_list_add(&kept, b->vocabulary.names.name[i], strlen(b->vocabulary.names.name[i]), &number[i], err);
    for (int32_t i = 0; !status && i < count; i++)
        to[i] = to[i] < 0 ? -1 : number[to[i]];
    free(number);
    if (status) {
        name_list_close(&kept);
        return status;
    }
    name_list_close(&b->vocabulary);
    b->vocabulary = kept;
    int64_t used = 0, begin = 0;
    for (int64_t i = 0; i < c->count; i++) {
        int64_t end = c->label_start[i + 1];
        for (int64_t j = begin; j < end; j++)
            if (c->label[j] < 0 || to[c->label[j]] >= 0)
                c->label[used++] = c->label[j] < 0 ? -1 : to[c->label[j]];
        begin = end;
        c->label_start[i + 1] = used;
    }
    b->labels = used;
    return STATUS_OK;
}

/* Replaces the symbols of boxes by the numbers of names. to: as renumber() has left it; NULL: the names have kept their
 * numbers. number_of: the numbers that the names of all symbols had before. */
static enum status name_boxes(struct builder *b, const int32_t *number_of, const int32_t *to, struct error *err)
{
    for (int64_t i = 0; i < b->c->boxes; i++) {
        int32_t symbol = b->c->box[i][0], name = number_of[symbol];
        name = name >= 0 && to ? to[name] : name;
        if (name < 0)
            return error_set(err, STATUS_INVALID, NULL, "box %lld has the symbol '%.60s', which occurs in no label",
                             (long long)i, b->symbols.names.name[symbol]);
        b->c->box[i][0] = name;
    }
    return STATUS_OK;
}

static enum status apply_absent(struct builder *b, const char *absent, int32_t *to, bool *set, struct error *err)
{
    struct collection *c = b->c;
    int32_t number = find_absent(b, absent);
    bool one = b->wanted == TARGET_NONE || b->wanted == TARGET_CLASS, other = false;
    int64_t samples = 0;
    if (number < 0 || c->target == TARGET_POSITIONS)
        return refuse_absent(b, absent, false, err);
    number = to[number];
    for (int64_t i = 0; i < c->count; i++) {
        bool has = false;
        one = one && c->label_start[i + 1] - c->label_start[i] == 1;
        for (int64_t j = c->label_start[i]; j < c->label_start[i + 1]; j++) {
            has = has || to[c->label[j]] == number;
            other = other || to[c->label[j]] != number;
        }
        samples += has;
    }
    if (!other)
        return refuse_absent(b, absent, true, err);
    if (one) {
        b->wanted = TARGET_LABELS;
        *set = true;
    }
    enum status status = collection_warn(c, err, "absent-name",
                                         "%lld of %lld samples have the label '%.60s', which is now the empty label",
                                         (long long)samples, (long long)c->count, b->vocabulary.names.name[number]);
    for (int32_t i = 0; i < b->vocabulary.names.count; i++)
        to[i] = to[i] == number ? -1 : to[i];
    return status;
}

/* Whether names may be compared: the labels are classes or sets, and not the letters of sequences. */
static bool are_classes(const struct builder *b, bool set)
{
    bool classes = b->wanted != TARGET_SEQUENCE && b->c->target == TARGET_NONE && b->c->kind != COLLECTION_MOTIFS;
    for (int64_t i = 0; !set && b->wanted == TARGET_NONE && classes && i < b->c->count; i++)
        classes = b->c->label_start[i + 1] - b->c->label_start[i] <= 1;
    return classes;
}

static enum status settle(struct builder *b, struct folding *f, const int32_t *number_of, bool *set, struct error *err)
{
    const char *absent = b->options->absent ? b->options->absent : "";
    bool compared = b->options->fold_names || are_classes(b, *set);
    enum status status = compared ? find_spellings(b, f, err) : STATUS_OK;
    if (status)
        return status;
    bool fold = b->options->fold_names && f->merged > 0;
    if (f->merged > 0)
        status = collection_warn(b->c, err, fold ? "folded-names" : "similar-names",
                                 fold ? "%lld names became the most frequent spelling of the same name: %s"
                                      : "%lld names differ from another one only in case, blanks or the form of "
                                        "characters or numbers: %s; fold_names=1 (motifctl: --fold-names) merges them",
                                 (long long)f->merged, f->shown.text);
    if (!fold)
        b->c->implied |= OPTION_FOLD_NAMES;
    for (int32_t i = 0; !fold && i < b->vocabulary.names.count; i++)
        f->first[i] = i;
    if (!status && absent[0] != '\0')
        status = apply_absent(b, absent, f->first, set, err);
    bool changed = fold || absent[0] != '\0';
    if (!status && changed)
        status = renumber(b, f->first, err);
    return status ? status : name_boxes(b, number_of, changed ? f->first : NULL, err);
}

enum status label_names_settle(struct builder *b, bool *set, struct error *err)
{
    const struct collection_names *symbols = &b->symbols.names;
    struct folding f = {.first = calloc((size_t)b->vocabulary.names.count + 1, sizeof *f.first)};
    int32_t *number_of = malloc(((size_t)symbols->count + 1) * sizeof *number_of);
    for (int i = 0; number_of && i < symbols->count; i++)
        number_of[i] = name_list_find(&b->vocabulary, symbols->name[i], strlen(symbols->name[i]));
    enum status status = f.first && number_of ? settle(b, &f, number_of, set, err) : error_memory(err, "names");
    free(f.first);
    free(number_of);
    return status;
}
