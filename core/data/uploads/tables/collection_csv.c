/* Reads tables, in CSV and in JSON Lines. The header and the options say which columns are features (table_columns.h).
 * Every row must have a number in each of these columns. A text column without a role is left out as an identifier if
 * its texts all differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/data/uploads/collection_build.h"
#include "core/data/uploads/labels/builder_finish.h"
#include "core/data/uploads/texts/event_build.h"
#include "core/formats/json/json_rows.h"
#include "core/formats/table/table_columns.h"

struct table {
    struct builder b;
    struct csv csv;
    struct json_rows json; /* with JSON Lines */
    struct buf tokens;     /* of a text that is a list */
    struct table_columns columns;
    int part;                     /* index of the column that states parts; -1: there is none */
    int text;                     /* index of the column with texts; -1: the rows are no texts */
    int time;                     /* index of the column with the times of events; -1: the rows are no events */
    struct event_builder events;  /* with `time` */
    struct text_builder texts_of; /* with `text` */
    struct name_list *texts;      /* [columns] the texts of identifiers so far */
    int64_t identifiers;          /* bytes that they take */
    const struct collection_options *options;
    bool several;    /* several columns have labels, which make a set */
    bool indicators; /* of these, the cells say whether the row has the name of the column */
};

/* Notes which of the columns that the user has named are those that the reader would have used. */
static enum status note_columns(struct table *t, struct error *err)
{
    const struct table_wanted none = {0};
    const struct table_columns *named = &t->columns;
    struct table_columns usual;
    enum status status = table_columns_find(&t->csv, &none, &usual, err);
    if (usual.label == named->label && named->labels < 2)
        t->b.c->implied |= OPTION_LABEL;
    if (usual.group == named->group)
        t->b.c->implied |= OPTION_GROUP;
    if (usual.id == named->id)
        t->b.c->implied |= OPTION_ID;
    table_columns_close(&usual);
    return status;
}

static enum status find_roles(struct table *t, struct error *err)
{
    const struct collection_options *o = t->options;
    const struct table_wanted wanted = {.label = o->label, .group = o->group, .id = o->id, .ignore = o->ignore};
    enum status status = table_columns_find(&t->csv, &wanted, &t->columns, err);
    if (!status)
        status = note_columns(t, err);
    if (!status && o->target == TARGET_NUMBER && t->columns.labels == 0)
        status = error_set(err, STATUS_INVALID, NULL,
                           "%s 1: target=number needs a column of numbers, which label names; several names have "
                           "commas between them",
                           t->csv.what);
    for (int i = 0; !status && o->target == TARGET_NUMBER && i < t->columns.labels; i++)
        status = builder_value_name(&t->b, t->csv.name[t->columns.label_column[i]], err);
    t->several = t->columns.labels > 1 && o->target != TARGET_NUMBER;
    if (status || !t->several || o->target == TARGET_NONE || o->target == TARGET_LABELS)
        return status;
    return error_set(err, STATUS_INVALID, NULL,
                     "several columns of labels make a set of names; leave target out, or name one column");
}

/* Finds the column that states the parts: it is called part or split, and the first row has the name of a part there.
 */
static void find_part(struct table *t)
{
    static const char *const names[] = {"part", "split"};
    for (int i = 0; t->part < 0 && i < 2; i++) {
        int column = csv_find(&t->csv, names[i]);
        bool free = column >= 0 && t->columns.role[column] == TABLE_FEATURE;
        if (free && collection_part_named(t->csv.field[column]) >= 0)
            t->columns.role[t->part = column] = TABLE_PART;
    }
}

static bool is_list(const struct table *t, int column)
{
    return column >= 0 && t->csv.list && t->csv.list[column];
}

/* Finds the columns of a table of events: the time as the user says, or called time or timestamp, if a column is called
 * event and the first row has no number there; the event as `text` says, or called event; and the sample, the id. */
static enum status find_events(struct table *t, struct error *err)
{
    static const char *const times[] = {"time", "timestamp"}, *const samples[] = {"sample", "sample_id"};
    const struct collection_options *o = t->options;
    const bool stated = o->time && o->time[0] != '\0', named = o->text && o->text[0] != '\0';
    int event = csv_find(&t->csv, named ? o->text : "event"), time = stated ? csv_find(&t->csv, o->time) : -1;
    float number;
    for (int i = 0; !stated && time < 0 && i < 2; i++)
        time = csv_find(&t->csv, times[i]);
    for (int i = 0; t->columns.id < 0 && i < 2; i++)
        if ((t->columns.id = csv_find(&t->csv, samples[i])) >= 0)
            t->columns.role[t->columns.id] = TABLE_ID;
    if (!stated && (named || event < 0 || time < 0 || t->columns.id < 0 || csv_number(t->csv.field[event], &number)))
        return STATUS_OK;
    if (event < 0 || time < 0 || t->columns.id < 0)
        return error_set(err, STATUS_INVALID, NULL,
                         "%s 1: a table of events needs columns with the sample (id), the time (time) and the event "
                         "(text); no column is %s",
                         t->csv.what,
                         time < 0    ? "called as time says"
                         : event < 0 ? "the event"
                                     : "the sample");
    if (t->columns.labels > 1)
        return error_set(err, STATUS_INVALID, NULL, "a table of events has one column of labels; name it with label");
    if (event == time || t->columns.role[event] != TABLE_FEATURE || t->columns.role[time] != TABLE_FEATURE)
        return error_set(err, STATUS_INVALID, NULL, "%s 1: the event and its time must be columns without another role",
                         t->csv.what);
    t->columns.role[t->time = time] = TABLE_TIME;
    t->text = event;
    t->texts_of.order = "events in the order of their times, separated by";
    return STATUS_OK;
}

/* Finds the column with texts: as the user says, or called text, if the first row has no number there, or called
 * tokens, if the first row has a list there. The columns without a role are then left out. */
static enum status find_text(struct table *t, struct error *err)
{
    const struct collection_options *o = t->options;
    bool named = o->text && o->text[0] != '\0';
    float value;
    int column = csv_find(&t->csv, named ? o->text : "text");
    if (!named && column < 0 && is_list(t, csv_find(&t->csv, "tokens")))
        column = csv_find(&t->csv, "tokens");
    if (named && column < 0)
        return error_set(err, STATUS_INVALID, NULL, "%s 1: text: no column is called '%.60s'", t->csv.what, o->text);
    enum status status = o->layout == LAYOUT_SIGNALS ? STATUS_OK : find_events(t, err);
    column = t->time >= 0 ? t->text : column;
    if (status)
        return status;
    bool found = column >= 0 && t->columns.role[column] == TABLE_FEATURE &&
                 (named || t->time >= 0 || (!csv_number(t->csv.field[column], &value) && o->layout != LAYOUT_SIGNALS));
    if (named && !found)
        return error_set(err, STATUS_INVALID, NULL, "%s 1: column '%.60s' cannot be both the text and another role",
                         t->csv.what, o->text);
    if (!found && o->stated & TEXT_OPTIONS)
        return error_set(err, STATUS_INVALID, NULL,
                         "words, keep_case, vocabulary, buckets and cut are for texts; name their column with text "
                         "(motifctl: --text COLUMN)");
    if (!found)
        return STATUS_OK;
    if (o->layout == LAYOUT_SIGNALS || o->scale != SCALE_AUTO)
        return error_set(err, STATUS_INVALID, NULL, "%s does not apply to texts",
                         o->layout == LAYOUT_SIGNALS ? "layout=signals" : "scale");
    t->text = column;
    for (int i = 0; i < t->columns.count; i++)
        if (t->columns.role[i] == TABLE_FEATURE)
            t->columns.role[i] = i == column ? TABLE_TEXTS : TABLE_LEFT_OUT;
    return STATUS_OK;
}

static enum status take_part(struct table *t, struct error *err)
{
    const char *text = t->csv.field[t->part];
    return collection_part_named(text) < 0
               ? error_set(err, STATUS_INVALID, NULL,
                           "%s %lld, column '%s': '%.40s' must be train, validation or test, as in the first row",
                           t->csv.what, (long long)t->csv.row, t->csv.name[t->part], text)
               : builder_part(&t->b, text, err);
}

/* Decides by the first row how the columns are read. */
static enum status take_first(struct table *t, struct error *err)
{
    static const char *const roles[] = {NULL,         "label", "group", "id",       "ignored",
                                        "identifier", "part",  "text",  "left_out", "time"};
    struct collection *c = t->b.c;
    bool signals = t->options->layout == LAYOUT_SIGNALS;
    enum status status = STATUS_OK;
    find_part(t);
    status = find_text(t, err);
    if (status)
        return status;
    table_columns_first(&t->csv, &t->columns);
    c->kind = signals ? COLLECTION_SEQUENCES : COLLECTION_TABLE;
    c->channels = c->rows = 1;
    if (t->text >= 0)
        status = text_build_open(&t->texts_of, &t->b, t->time >= 0 || is_list(t, t->text), err);
    t->texts = calloc((size_t)t->csv.columns, sizeof *t->texts);
    if (!t->texts)
        return error_memory(err, "columns");
    for (int i = 0; !status && i < t->csv.columns; i++) {
        const char *name = t->csv.name[i];
        enum table_role role = t->columns.role[i];
        t->texts[i].most = (int)t->b.limits.samples;
        if (strlen(name) >= NAME_BYTES)
            return error_set(err, STATUS_INVALID, NULL, "%s 1: column %d has a name of more than %d bytes", t->csv.what,
                             i + 1, NAME_BYTES - 1);
        if (role != TABLE_FEATURE)
            status = builder_column(&t->b, roles[role], name, err);
        else
            status = collection_names_add(&c->columns, name, err);
    }
    if (!status && c->columns.count == 0 && t->text < 0)
        status = error_set(err, STATUS_INVALID, NULL,
                           "%s 1: there is no column of features besides label, group and row names", t->csv.what);
    if (!status && (signals || t->text >= 0) && t->columns.labels == 1 &&
        strcasecmp(t->csv.name[t->columns.label], "labels") == 0)
        t->b.usual = TARGET_LABELS; /* as in labels.csv of an archive */
    t->indicators = t->several;
    for (int i = 0; i < t->columns.labels; i++)
        t->indicators = t->indicators && builder_indicator(t->csv.field[t->columns.label_column[i]]) >= 0;
    if (t->several)
        builder_label_columns(&t->b, t->columns.labels, t->indicators);
    if (t->b.wanted == TARGET_NONE)
        t->b.wanted = t->b.usual;
    return status;
}

/* Adds the label of a row or, if the target is numbers, the numbers of the row. */
static enum status take_label(struct table *t, struct error *err)
{
    struct builder *b = &t->b;
    enum status status = STATUS_OK;
    if (b->wanted == TARGET_NUMBER) {
        for (int i = 0; i < t->columns.labels; i++) {
            const char *cell = t->csv.field[t->columns.label_column[i]];
            if (cell[0] != '\0' && !builder_says_missing(b, cell, strlen(cell)))
                continue;
            if (t->options->missing == MISSING_DROP)
                return builder_no_label(b, t->csv.what, t->csv.row, err);
            return error_set(err, STATUS_INVALID, NULL,
                             "%s %lld, column '%.60s': '%.40s' is not a number; missing=drop (motifctl: --missing "
                             "drop) leaves out rows without one",
                             t->csv.what, (long long)t->csv.row, t->csv.name[t->columns.label_column[i]], cell);
        }
        for (int i = 0; !status && i < t->columns.labels; i++) {
            float value = 0;
            status = csv_value(&t->csv, t->columns.label_column[i], &value, err);
            if (!status)
                status = builder_value(b, (double)value, err);
        }
        return status;
    }
    for (int i = 0; !status && t->several && i < t->columns.labels; i++)
        status = builder_cell(b, t->indicators, t->csv.name[t->columns.label_column[i]],
                              t->csv.field[t->columns.label_column[i]], t->csv.row, err);
    if (t->several)
        return status;
    if (t->columns.label < 0)
        return STATUS_OK;
    const char *label = t->csv.field[t->columns.label];
    return builder_label(b, label, strlen(label), t->csv.what, t->csv.row, err);
}

/* Checks that the text of an identifier is a new one. */
static enum status take_identifier(struct table *t, int column, struct error *err)
{
    struct name_list *texts = &t->texts[column];
    const char *text = t->csv.field[column], *name = t->csv.name[column];
    int before = texts->names.count;
    int32_t number;
    t->identifiers += (int64_t)strlen(text) + 48; /* with its entries in the list */
    if (t->identifiers > t->b.limits.bytes)
        return error_set(err, STATUS_LIMIT, NULL,
                         "column '%.60s': the text columns are too large to compare; leave them out with ignore", name);
    if (strlen(text) < NAME_BYTES) {
        enum status status = name_list_add(texts, text, strlen(text), &number, err);
        if (status || texts->names.count > before)
            return status;
    }
    return error_set(
        err, STATUS_INVALID, NULL,
        "%s %lld, column '%.60s': '%.40s' is not a number; if the column is the label, name it with label "
        "(motifctl: --label COLUMN), and if it is not a feature, leave it out with ignore (--ignore COLUMN)",
        t->csv.what, (long long)t->csv.row, name, text);
}

/* Whether the row is not in the validation or the test part. */
static bool trains(const struct table *t)
{
    int column = t->part >= 0 ? t->part : t->columns.group;
    return column < 0 || collection_part_named(t->csv.field[column]) <= PART_OF_TRAINING;
}

static enum status take_features(struct table *t, struct error *err)
{
    float *values;
    int at = 0;
    enum status status = builder_sample(&t->b, t->b.c->columns.count, &values, err);
    for (int i = 0; !status && i < t->csv.count; i++)
        if (t->columns.role[i] == TABLE_FEATURE)
            status = csv_value(&t->csv, i, &values[at++], err);
        else if (t->columns.role[i] == TABLE_IDENTIFIER)
            status = take_identifier(t, i, err);
    return status;
}

static enum status take_text(struct table *t, struct error *err)
{
    const char *text = t->csv.field[t->text];
    struct error cause = {0};
    enum status status = STATUS_OK;
    if (is_list(t, t->text) != t->texts_of.given)
        return error_set(err, STATUS_INVALID, NULL,
                         "line %lld, \"%.60s\" is %s, but that of the first line is %s; write all alike",
                         (long long)t->csv.row, t->csv.name[t->text], t->texts_of.given ? "no list" : "a list",
                         t->texts_of.given ? "a list" : "none");
    if (t->texts_of.given) {
        buf_clear(&t->tokens);
        status = json_list_tabs(text, &t->tokens, &cause);
        if (status)
            return error_set(err, status, NULL, "line %lld, \"%.60s\": %s", (long long)t->csv.row, t->csv.name[t->text],
                             cause.message);
        status = buf_status(&t->tokens, "a list of tokens", err);
        text = t->tokens.size > 0 ? t->tokens.data : "";
    }
    return status ? status : text_build_add(&t->texts_of, text, trains(t), t->csv.what, t->csv.row, err);
}

static enum status take_event(struct table *t, struct error *err)
{
    char *const *field = t->csv.field;
    const int fact[EVENT_FACTS] = {t->columns.label, t->columns.group, t->part};
    struct event_row row = {.what = t->csv.what,
                            .number = t->csv.row,
                            .sample = field[t->columns.id],
                            .time = field[t->time],
                            .event = field[t->text]};
    for (int k = 0; k < EVENT_FACTS; k++)
        row.fact[k] = fact[k] >= 0 ? field[fact[k]] : NULL;
    return event_build_add(&t->events, &row, t->b.limits.bytes, err);
}

static enum status take_row(struct table *t, struct error *err)
{
    enum status status = t->texts ? STATUS_OK : take_first(t, err);
    if (!status && t->time >= 0)
        return take_event(t, err);
    if (!status)
        status = t->text < 0 ? take_features(t, err) : take_text(t, err);
    if (!status)
        status = take_label(t, err);
    if (!status && t->columns.group >= 0)
        status = builder_group(&t->b, t->csv.field[t->columns.group], err);
    if (!status && t->part >= 0)
        status = take_part(t, err);
    return status || t->columns.id < 0 ? status : builder_record(&t->b, t->csv.field[t->columns.id], err);
}

/* Warns if all features are called like numbers that do not rise: they are probably the first row of a table without a
 * header. */
static enum status warn_of_header(struct table *t, struct error *err)
{
    float before = 0, number = 0;
    bool rises = true;
    int count = 0;
    for (int i = 0; i < t->columns.count; i++) {
        if (t->columns.role[i] != TABLE_FEATURE)
            continue;
        if (!csv_number(t->csv.name[i], &number))
            return STATUS_OK;
        rises = rises && (count == 0 || number > before);
        before = number;
        count++;
    }
    return rises ? STATUS_OK
                 : collection_warn(t->b.c, err, "header-of-numbers",
                                   "all features are called like numbers (%.40s, ...); if the table has no header, its "
                                   "first row was lost: write a line with names before it",
                                   t->b.c->columns.name[0]);
}

/* Warns about what the reader did on its own: columns left out, and an unusual dialect. */
static enum status warn(struct table *t, struct error *err)
{
    struct collection *c = t->b.c;
    struct collection_list left = {0};
    char dialect[CSV_DIALECT];
    enum status status = STATUS_OK;
    for (int i = 0; i < t->columns.count; i++)
        if (t->columns.role[i] == TABLE_IDENTIFIER || t->columns.role[i] == TABLE_LEFT_OUT)
            collection_list_add(&left, t->csv.name[i]);
    csv_dialect(&t->csv, dialect);
    (void)snprintf(c->recognised.table, sizeof c->recognised.table, "%s", dialect);
    if (dialect[0] != '\0')
        status = collection_warn(c, err, "table-dialect", "the table was read with %s", dialect);
    if (!status && t->text < 0)
        status = warn_of_header(t, err);
    if (status || left.count == 0)
        return status;
    if (t->text >= 0)
        return collection_warn(c, err, "columns-left-out",
                               "samples are the texts of column '%.60s', so %d other columns were left out: %s",
                               t->csv.name[t->text], left.count, left.text);
    if (c->count == 1) /* one row does not show that all texts differ */
        return error_set(err, STATUS_INVALID, NULL, "row 2, column %s: the text is not a number", left.text);
    return collection_warn(
        c, err, "identifier-columns",
        "%d text columns, different in all rows, were left out: %s; name a label with label (motifctl: "
        "--label COLUMN)",
        left.count, left.text);
}

static enum status read_table(const struct byte_source *from, const struct collection_options *options, bool lines,
                              const struct collection_limits *limits, struct collection *c, struct error *err)
{
    struct table *t = calloc(1, sizeof *t);
    if (!t)
        return error_memory(err, "a table");
    t->options = options;
    buf_init(&t->tokens, CSV_RECORD);
    t->part = t->text = t->time = -1;
    builder_init(&t->b, c, options, limits);
    t->b.cells = true;
    enum status status = lines ? json_rows_open(&t->json, &t->csv, from, err) : csv_open(&t->csv, from, err);
    if (!status)
        status = find_roles(t, err);
    for (bool more = true; !status;) {
        status = lines ? json_rows_next(&t->json, &more, err) : csv_next(&t->csv, &more, err);
        if (status || !more)
            break;
        status = take_row(t, err);
    }
    t->b.rounded = t->csv.rounded;
    if (!status && t->time >= 0)
        status = event_build_finish(&t->events, &t->texts_of, t->csv.what, t->columns.label >= 0, err);
    if (!status && t->text >= 0)
        status = text_build_finish(&t->texts_of, err);
    if (!status)
        status = builder_finish(&t->b, false, err);
    if (!status)
        status = warn(t, err);
    for (int i = 0; t->texts && i < t->csv.columns; i++)
        name_list_close(&t->texts[i]);
    free(t->texts);
    event_build_close(&t->events);
    text_build_close(&t->texts_of);
    buf_close(&t->tokens);
    json_rows_close(&t->json);
    table_columns_close(&t->columns);
    csv_close(&t->csv);
    builder_close(&t->b);
    free(t);
    return status;
}

enum status collection_read_csv(const struct byte_source *from, const struct collection_options *options,
                                const struct collection_limits *limits, struct collection *c, struct error *err)
{
    return read_table(from, options, false, limits, c, err);
}

enum status collection_read_jsonl(const struct byte_source *from, const struct collection_options *options,
                                  const struct collection_limits *limits, struct collection *c, struct error *err)
{
    return read_table(from, options, true, limits, c, err);
}
