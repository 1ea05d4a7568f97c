/* Divides the samples of a data set as a job requests (division.h), and describes the result. */
#include "core/data/division/division.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/division/units.h"

const char *const division_splits[] = {"samples", "groups", "auto", "part", NULL};
enum { LISTED = 12 /* names in a message */ };

/* The name of a field: the last part of its pointer. */
static const char *name_of(const char *pointer)
{
    return strrchr(pointer, '/') + 1;
}

/* ---- planning ------------------------------------------------------------------------------------------------- */

/* Explains that there are fewer units than parts. */
static enum status too_few(const struct collection *c, const struct division_request *r, int64_t units, bool groups,
                           int parts, struct error *err)
{
    const struct division_fields *f = r->fields;
    char names[240] = "";
    size_t used = 0;
    for (int i = 0; groups && i < c->groups.count && i < LISTED && used < sizeof names - 64; i++) {
        int64_t samples = 0;
        for (int64_t s = 0; s < c->count; s++)
            samples += c->group[s] == i;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s: %lld", i > 0 ? ", " : " (",
                                 c->groups.name[i], (long long)samples);
    }
    if (groups && units >= parts)
        return error_set(
            err, STATUS_INVALID, f->split,
            "does not say which of %lld groups is the test part; name it with %s, or divide single samples "
            "with %s=samples%s%s",
            (long long)units, name_of(f->test_group), name_of(f->split), names, names[0] ? ")" : "");
    if (groups)
        return error_set(err, STATUS_INVALID, f->split,
                         "cannot divide %lld group%s into %d parts; name the group that tests with %s, or divide "
                         "single samples with %s=samples%s%s",
                         (long long)units, units == 1 ? "" : "s", parts, name_of(f->test_group), name_of(f->split),
                         names, names[0] ? ")" : "");
    return error_set(err, STATUS_INVALID, f->data,
                     "has %lld samples, of which %lld are left to divide into %d parts; add samples",
                     (long long)c->count, (long long)units, parts);
}

/* Plans the open samples: plan part i has the size share[i] / sum, and its samples get the part to[i] (DIVISION_OPEN:
 * they stay open). */
static enum status plan_open(const struct collection *c, const struct division_request *r, struct division *d,
                             bool groups, const unsigned char *to, const double *share, int parts, struct error *err)
{
    struct division_units u = {0};
    struct plan_request request = {.parts = parts, .whole = -1, .names_first = groups, .seed = (uint64_t)r->seed};
    double sum = 0;
    for (int i = 0; i < parts; i++) {
        sum += share[i];
        request.whole = to[i] == PART_OF_TRAINING ? i : request.whole;
    }
    for (int i = 0; i < parts; i++)
        request.share[i] = share[i] / sum;
    enum status status = division_units(c, d->part, groups, &u, err);
    if (!status && u.plan.count < parts)
        status = too_few(c, r, u.plan.count, groups, parts, err);
    if (!status)
        status = plan_make(&u.plan, &request, u.part, err);
    for (int64_t i = 0; !status && i < c->count; i++)
        if (u.sample_unit[i] >= 0)
            d->part[i] = to[u.part[u.sample_unit[i]]];
    division_units_close(&u);
    return status;
}

/* Returns how many groups have open samples: 0, 1, or 2 for two or more. */
static int64_t open_groups(const struct collection *c, const struct division *d)
{
    int64_t first = -1;
    for (int64_t i = 0; i < c->count; i++) {
        if (d->part[i] != DIVISION_OPEN)
            continue;
        if (first >= 0 && c->group[i] != first)
            return 2; /* or more */
        first = c->group[i];
    }
    return first >= 0;
}

/* Divides the samples that are still open into training and validation. tested: share of all samples in the test part.
 */
static enum status plan_rest(const struct collection *c, const struct division_request *r, struct division *d,
                             double tested, struct error *err)
{
    const unsigned char to[] = {PART_OF_TRAINING, PART_OF_VALIDATION};
    double share[] = {1 - tested - r->validation, r->validation};
    for (int64_t i = 0; r->whole && i < c->count; i++)
        d->part[i] = d->part[i] == DIVISION_OPEN ? PART_OF_TRAINING : d->part[i];
    if (r->whole)
        return STATUS_OK;
    d->asked[PART_OF_VALIDATION] = r->validation;
    if (share[0] < 0.05) /* the test part is so large that validation becomes a share of the rest */
        share[0] = 1 - r->validation;
    bool groups = d->by == DIVIDE_GROUPS;
    if (groups && open_groups(c, d) == 1) {
        groups = false;
        d->drawn = true;
    }
    return plan_open(c, r, d, groups, to, share, 2, err);
}

/* ---- stated parts ----------------------------------------------------------------------------------------------- */

static int group_named(const struct collection *c, const char *name, size_t bytes)
{
    for (int i = 0; i < c->groups.count; i++)
        if (strlen(c->groups.name[i]) == bytes && memcmp(c->groups.name[i], name, bytes) == 0)
            return i;
    return -1;
}

static enum status no_group(const struct collection *c, const char *pointer, const char *name, size_t bytes,
                            struct error *err)
{
    char names[240] = "";
    size_t used = 0;
    for (int i = 0; i < c->groups.count && i < LISTED && used < sizeof names - 48; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", i > 0 ? ", " : "", c->groups.name[i]);
    return error_set(err, STATUS_INVALID, pointer, "names no group '%.*s' of the data set; its %d groups are %s%s",
                     (int)(bytes < 60 ? bytes : 60), name, c->groups.count, names,
                     c->groups.count > LISTED ? ", ..." : "");
}

/* Makes the named groups the test part. If the whole text is the name of a group, it is that name, even with commas in
 * it; otherwise commas separate names. */
static enum status state_groups(const struct collection *c, const struct division_request *r, struct division *d,
                                struct error *err)
{
    const char *names = r->test_group, *pointer = r->fields->test_group;
    if (c->group == NULL && c->part)
        return error_set(err, STATUS_INVALID, pointer, "needs groups; the file states parts, which %s=part uses",
                         name_of(r->fields->split));
    if (c->group == NULL)
        return error_set(err, STATUS_INVALID, pointer, "needs groups, which this data set does not have");
    bool *tests = calloc((size_t)c->groups.count + 1, sizeof *tests);
    if (tests == NULL)
        return error_memory(err, "a division");
    enum status status = STATUS_OK;
    int whole = group_named(c, names, strlen(names));
    if (whole >= 0)
        tests[whole] = true;
    for (const char *at = names; whole < 0 && !status && *at; at += *at == ',') {
        at += strspn(at, " ");
        size_t bytes = strcspn(at, ","), shown = bytes;
        while (shown > 0 && at[shown - 1] == ' ')
            shown--;
        int group = group_named(c, at, shown);
        if (group < 0)
            status = no_group(c, pointer, at, shown, err);
        else
            tests[group] = true;
        at += bytes;
    }
    int64_t tested = 0;
    for (int64_t i = 0; !status && i < c->count; i++)
        if (tests[c->group[i]]) {
            d->part[i] = PART_OF_TEST;
            tested++;
        }
    free(tests);
    if (!status && tested == c->count)
        status = error_set(err, STATUS_INVALID, pointer, "names all %d groups; training needs at least one",
                           c->groups.count);
    d->named = true;
    return status;
}

/* Takes the parts that the file states. If it states no validation or no test part, takes that part from the stated
 * training samples. */
static enum status take_parts(const struct collection *c, const struct division_request *r, struct division *d,
                              struct error *err)
{
    int64_t stated[COLLECTION_PARTS] = {0};
    for (int64_t i = 0; i < c->count; i++)
        stated[c->part[i]]++;
    if (stated[PART_OF_TRAINING] == 0)
        return error_set(err, STATUS_INVALID, r->fields->split,
                         "cannot use the parts of the file: 0 training, %lld validation and %lld test samples; divide "
                         "them with %s=samples",
                         (long long)stated[PART_OF_VALIDATION], (long long)stated[PART_OF_TEST],
                         name_of(r->fields->split));
    for (int64_t i = 0; i < c->count; i++)
        d->part[i] = c->part[i] == PART_OF_TRAINING || (r->whole && c->part[i] == PART_OF_VALIDATION) ? DIVISION_OPEN
                                                                                                      : c->part[i];
    unsigned char to[COLLECTION_PARTS] = {PART_OF_TRAINING};
    double share[COLLECTION_PARTS] = {1};
    int parts = 1;
    for (int p = PART_OF_VALIDATION; p < COLLECTION_PARTS; p++) {
        double asked = p == PART_OF_TEST ? r->test : r->validation;
        if (stated[p] > 0 || (r->whole && p == PART_OF_VALIDATION))
            continue;
        if (!(asked > 0))
            return error_set(err, STATUS_INVALID, p == PART_OF_TEST ? r->fields->test : r->fields->validation,
                             "must be above 0, because the file states no %s part", collection_parts[p]);
        d->asked[p] = asked;
        share[0] -= asked * (double)c->count / (double)stated[PART_OF_TRAINING];
        share[parts] = asked * (double)c->count / (double)stated[PART_OF_TRAINING];
        to[parts++] = (unsigned char)p;
    }
    double others = 1 - share[0];
    for (int i = 1; others > 0.5 && i < parts; i++) /* at least half of the stated training part stays */
        share[i] *= 0.5 / others;
    share[0] = others > 0.5 ? 0.5 : share[0];
    if (parts > 1) {
        bool groups = c->group != NULL && open_groups(c, d) > parts - 1;
        return plan_open(c, r, d, groups, to, share, parts, err);
    }
    for (int64_t i = 0; i < c->count; i++)
        d->part[i] = d->part[i] == DIVISION_OPEN ? PART_OF_TRAINING : d->part[i];
    return STATUS_OK;
}

/* ---- the division ----------------------------------------------------------------------------------------------- */

/* Returns whether dataset_test_group calls the file's own test part by its name ("test"), in data without groups. */
static bool names_part(const struct collection *c, const struct division_request *r)
{
    return !c->group && c->part && collection_part_named(r->test_group) == PART_OF_TEST;
}

/* Chooses what stays together (division.h), and refuses requests that contradict each other or the data. */
static enum status choose_split(const struct collection *c, const struct division_request *r, struct division *d,
                                struct error *err)
{
    bool named = r->test_group[0] != '\0' && !names_part(c, r), folds = r->folds > 1;
    d->by = r->split;
    if (r->split == DIVIDE_AUTO)
        d->by = c->part && !named && !folds ? DIVIDE_PARTS : c->group ? DIVIDE_GROUPS : DIVIDE_SAMPLES;
    if (named && c->group)
        d->by = DIVIDE_GROUPS;
    if (d->by == DIVIDE_GROUPS && !c->group)
        return error_set(err, STATUS_INVALID, r->fields->split, "needs groups, which this data set does not have");
    if (d->by == DIVIDE_PARTS && !c->part)
        return error_set(err, STATUS_INVALID, r->fields->split,
                         "needs the parts of the samples, which this data set does not have: a column or member `part` "
                         "with train, validation and test");
    if (folds && (named || d->by == DIVIDE_PARTS))
        return error_set(err, STATUS_INVALID, r->fields->folds,
                         "divides all samples into test parts, so %s%s must be left out",
                         name_of(named ? r->fields->test_group : r->fields->split), named ? "" : "=part");
    return STATUS_OK;
}

static enum status check_shares(const struct collection *c, const struct division_request *r, struct division *d,
                                struct error *err)
{
    bool tests = d->by != DIVIDE_PARTS && !d->named && r->folds <= 1;
    if (division_names(c) > DIVISION_NAMES + 1)
        return error_set(err, STATUS_INVALID, r->fields->data,
                         "has a vocabulary of %d names; samples with more than %d names cannot be divided",
                         c->vocabulary.count, DIVISION_NAMES);
    if (c->count < DIVISION_LEAST)
        return error_set(err, STATUS_INVALID, r->fields->data,
                         "has %lld sample%s; %s need at least %d, and hundreds for a useful result",
                         (long long)c->count, c->count == 1 ? "" : "s",
                         r->whole ? "training and test" : "training, validation and test", DIVISION_LEAST);
    if ((tests && !(r->test > 0)) || (d->by != DIVIDE_PARTS && !r->whole && !(r->validation > 0)))
        return error_set(err, STATUS_INVALID, tests && !(r->test > 0) ? r->fields->test : r->fields->validation,
                         "must be above 0: 0 leaves no samples for this part");
    return STATUS_OK;
}

/* Divides the samples into `folds` equal parts, makes one of them the test part, and divides the others into training
 * and validation. */
static enum status take_fold(const struct collection *c, const struct division_request *r, struct division *d,
                             struct error *err)
{
    unsigned char to[PLAN_PARTS];
    double share[PLAN_PARTS];
    if (r->folds > PLAN_PARTS || r->fold < 0 || r->fold >= r->folds)
        return error_set(err, STATUS_INVALID, r->fields->fold, "must be below folds (%lld)", (long long)r->folds);
    d->folds = r->folds;
    d->fold = r->fold;
    d->asked[PART_OF_TEST] = 1 / (double)r->folds;
    for (int i = 0; i < (int)r->folds; i++) {
        to[i] = i == r->fold ? PART_OF_TEST : DIVISION_OPEN;
        share[i] = 1;
    }
    enum status status = plan_open(c, r, d, d->by == DIVIDE_GROUPS, to, share, (int)r->folds, err);
    return status ? status : plan_rest(c, r, d, d->asked[PART_OF_TEST], err);
}

static enum status take_shares(const struct collection *c, const struct division_request *r, struct division *d,
                               struct error *err)
{
    const unsigned char to[] = {PART_OF_TRAINING, r->whole ? PART_OF_TEST : PART_OF_VALIDATION, PART_OF_TEST};
    const double rest = r->whole ? 0 : r->validation,
                 share[] = {1 - r->test - rest, r->whole ? r->test : rest, r->test};
    d->asked[PART_OF_TRAINING] = share[0];
    d->asked[PART_OF_VALIDATION] = rest;
    d->asked[PART_OF_TEST] = r->test;
    if (d->by == DIVIDE_GROUPS && r->whole && c->groups.count == 2)
        return too_few(c, r, 2, true, 2, err);
    return plan_open(c, r, d, d->by == DIVIDE_GROUPS, to, share, r->whole ? 2 : COLLECTION_PARTS, err);
}

enum status division_make(const struct collection *c, const struct division_request *request, struct division *out,
                          struct error *err)
{
    *out = (struct division){.whole = request->whole, .asked = {NAN, NAN, NAN}};
    enum status status = choose_split(c, request, out, err);
    out->part = status ? NULL : malloc((size_t)c->count);
    if (!status && out->part == NULL)
        status = error_memory(err, "a division");
    if (status)
        return status;
    memset(out->part, DIVISION_OPEN, (size_t)c->count);
    if (request->test_group[0] != '\0' && !names_part(c, request))
        status = state_groups(c, request, out, err);
    if (!status)
        status = check_shares(c, request, out, err);
    if (status)
        return status;
    if (out->by == DIVIDE_PARTS) {
        status = take_parts(c, request, out, err);
    } else if (request->folds > 1) {
        status = take_fold(c, request, out, err);
    } else if (out->named) {
        int64_t tested = 0;
        for (int64_t i = 0; i < c->count; i++)
            tested += out->part[i] == PART_OF_TEST;
        status = plan_rest(c, request, out, (double)tested / (double)c->count, err);
    } else {
        status = take_shares(c, request, out, err);
    }
    for (int64_t i = 0; !status && i < c->count; i++)
        out->count[out->part[i]]++;
    return status;
}

void division_close(struct division *d)
{
    free(d->part);
    *d = (struct division){.part = NULL};
}

/* ---- description ------------------------------------------------------------------------------------------------ */

/* Counts for the description: names[name][part] and groups[group][part] are samples; groups_of[name] is how many groups
 * have the name. */
struct tally {
    const struct division *d;
    int64_t (*names)[COLLECTION_PARTS], (*groups)[COLLECTION_PARTS], *groups_of; /* groups_of: [name] its groups */
};

static void count_sample(void *context, int64_t sample, int32_t name)
{
    struct tally *t = context;
    t->names[name][t->d->part[sample]]++;
}

static void write_part(const struct collection *c, const struct tally *t, int part, int most, const struct sink *out)
{
    const struct division *d = t->d;
    int64_t groups = 0;
    sink_begin_object(out, collection_parts[part]);
    sink_integer(out, "samples", d->count[part]);
    sink_number(out, "share", (double)d->count[part] / (double)c->count);
    sink_number(out, "requested", d->asked[part]);
    if (c->group) {
        for (int i = 0; i < c->groups.count; i++)
            groups += t->groups[i][part] > 0;
        sink_integer(out, "group_count", groups);
        sink_begin_list(out, "groups");
        for (int i = 0, shown = 0; i < c->groups.count && shown < most; i++) {
            if (t->groups[i][part] == 0)
                continue;
            shown++;
            sink_begin_object(out, NULL);
            sink_text(out, "name", c->groups.name[i]);
            sink_integer(out, "samples", t->groups[i][part]);
            sink_end_object(out);
        }
        sink_end_list(out);
    }
    if (division_names(c) > 0) {
        sink_begin_list(out, "names");
        for (int i = 0; i < c->vocabulary.count && i < most; i++) {
            sink_begin_object(out, NULL);
            sink_text(out, "name", c->vocabulary.name[i]);
            sink_integer(out, "samples", t->names[i][part]);
            sink_end_object(out);
        }
        sink_end_list(out);
        sink_integer(out, "without_names", t->names[c->vocabulary.count][part]);
    }
    sink_end_object(out);
}

static void write_warning(const char *code, const char *text, const struct sink *out)
{
    sink_begin_object(out, NULL);
    sink_text(out, "code", code);
    sink_text(out, "text", text);
    sink_end_object(out);
}

struct listed {
    int count;
    size_t used;
    char text[240];
};

static void list_name(struct listed *l, const char *name)
{
    if (l->count++ < LISTED && l->used < sizeof l->text - 48)
        l->used +=
            (size_t)snprintf(l->text + l->used, sizeof l->text - l->used, "%s%.40s", l->used > 0 ? ", " : "", name);
}

static void warn_about_names(const struct collection *c, const struct tally *t, const struct sink *out)
{
    struct listed single = {0}, missing = {0};
    char text[480];
    for (int i = 0; i < c->vocabulary.count && division_names(c) > 0; i++) {
        const int64_t *in = t->names[i];
        int64_t all = in[0] + in[1] + in[2];
        if (all > 0 && c->group && t->groups_of[i] == 1 && t->d->by == DIVIDE_GROUPS)
            list_name(&single, c->vocabulary.name[i]);
        else if (all > 0 && (in[PART_OF_TRAINING] == 0 || in[PART_OF_TEST] == 0))
            list_name(&missing, c->vocabulary.name[i]);
    }
    snprintf(text, sizeof text,
             "%d name%s in one group only, so either training or test lacks %s: %s%s. Samples of further groups would "
             "show whether the model reads the name or knows the group.",
             single.count, single.count == 1 ? " occurs" : "s occur", single.count == 1 ? "it" : "them", single.text,
             single.count > LISTED ? ", ..." : "");
    if (single.count > 0)
        write_warning("name-in-one-group", text, out);
    snprintf(text, sizeof text, "%d name%s no sample in the training part or in the test part: %s%s.", missing.count,
             missing.count == 1 ? " has" : "s have", missing.text, missing.count > LISTED ? ", ..." : "");
    if (missing.count > 0)
        write_warning("name-not-divided", text, out);
}

static void warn_about_sizes(const struct collection *c, const struct division *d, const struct sink *out)
{
    char text[240];
    for (int p = 0; p < COLLECTION_PARTS; p++) {
        double share = (double)d->count[p] / (double)c->count;
        if (isnan(d->asked[p]) || (d->whole && p == PART_OF_VALIDATION) ||
            fabs(share - d->asked[p]) <= PLAN_TOLERANCE + 1e-9)
            continue;
        snprintf(text, sizeof text, "the %s part has %.1f %% of the samples instead of %.1f %%, because %s",
                 collection_parts[p], 100 * share, 100 * d->asked[p],
                 d->by == DIVIDE_GROUPS ? "groups stay whole and each part needs every name" : "there are few samples");
        write_warning("sizes-differ", text, out);
    }
    bool grouped = d->by == DIVIDE_GROUPS && c->groups.count < 5;
    int folds = grouped ? c->groups.count : 5;
    if (c->count < DIVISION_FEW && d->folds <= 1 && !d->whole && folds > 1) {
        snprintf(
            text, sizeof text,
            "%lld samples leave %lld for the test, so chance decides much of the result; folds=%d trains and tests "
            "%d times, so that every sample is tested once",
            (long long)c->count, (long long)d->count[PART_OF_TEST], folds, folds);
        write_warning("few-samples", text, out);
    }
}

static void write_text(const struct collection *c, const struct division *d, const struct sink *out)
{
    char text[200];
    if (d->by == DIVIDE_PARTS)
        snprintf(text, sizeof text, "by the parts that the file states%s",
                 isnan(d->asked[PART_OF_VALIDATION]) && isnan(d->asked[PART_OF_TEST])
                     ? ""
                     : "; the parts that it does not state are planned");
    else
        snprintf(text, sizeof text, "by %s%s%s", d->by == DIVIDE_GROUPS ? "group" : "sample",
                 d->named ? "; the request names the groups of the test part" : "",
                 d->drawn ? "; validation by sample, because one group is left for it and training"
                 : d->by == DIVIDE_GROUPS || !c->group ? ""
                                                       : ", although the samples have groups");
    sink_text(out, "text", text);
}

enum status division_write(const struct collection *c, const struct division *d, int most, const struct sink *out,
                           struct error *err)
{
    const size_t names = (size_t)c->vocabulary.count + 1, groups = (size_t)c->groups.count;
    struct tally t = {d, calloc(names, sizeof *t.names), calloc(groups + 1, sizeof *t.groups),
                      calloc(names, sizeof *t.groups_of)};
    struct division_units u = {0};
    int64_t *seen = calloc(names, sizeof *seen);
    enum status status = t.names && t.groups && t.groups_of && seen ? STATUS_OK : error_memory(err, "a division");
    for (int64_t i = 0; !status && i < c->count; i++) {
        division_each_name(c, i, seen, count_sample, &t);
        if (c->group)
            t.groups[c->group[i]][d->part[i]]++;
    }
    unsigned char *open = status || !c->group ? NULL : malloc((size_t)c->count);
    if (open != NULL)
        memset(open, DIVISION_OPEN, (size_t)c->count);
    if (!status && c->group)
        status = open ? division_units(c, open, true, &u, err) : error_memory(err, "a division");
    for (int64_t i = 0; !status && c->group && i < u.start[u.plan.count]; i++)
        t.groups_of[u.name[i]]++;
    if (!status) {
        sink_text(out, "by", d->by == DIVIDE_GROUPS ? "group" : d->by == DIVIDE_PARTS ? "part" : "sample");
        write_text(c, d, out);
        if (d->folds > 1) {
            sink_integer(out, "folds", d->folds);
            sink_integer(out, "fold", d->fold);
        }
        sink_begin_object(out, "parts");
        for (int p = 0; p < COLLECTION_PARTS; p++)
            if (p != PART_OF_VALIDATION || !d->whole)
                write_part(c, &t, p, most, out);
        sink_end_object(out);
        sink_begin_list(out, "warnings");
        warn_about_names(c, &t, out);
        warn_about_sizes(c, d, out);
        sink_end_list(out);
    }
    division_units_close(&u);
    free(open);
    free(seen);
    free(t.names);
    free(t.groups);
    free(t.groups_of);
    return status;
}
