/* Writes and compares the options of an upload (dataset_options.h). A table has the options in the order in which
 * documents show them. */
#include "api/datasets/dataset_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/json.h"

enum { VALUE = 64 };

static const struct member {
    enum collection_option option;
    const char *name;
    bool number; /* the document has the option only if it has an effect */
} members[] = {
    {OPTION_LABEL, "label", false},
    {OPTION_GROUP, "group", false},
    {OPTION_LAYER, "layer", false},
    {OPTION_LAYOUT, "layout", false},
    {OPTION_TARGET, "target", false},
    {OPTION_NEGATIVES, "negatives", false},
    {OPTION_GENOME, "genome", false},
    {OPTION_SIGNAL, "signal", false},
    {OPTION_BINS, "bins", true},
    {OPTION_WINDOW, "window", true},
    {OPTION_LABEL_COLUMN, "label_column", true},
};
enum { MEMBERS = sizeof members / sizeof members[0] };

static void write_number(int number, int least, char out[VALUE])
{
    if (number >= least)
        (void)snprintf(out, VALUE, "%d", number);
}

/* Writes the value of an option as text; "": there is none. */
static void value_of(const struct upload_request *r, enum collection_option option, char out[VALUE])
{
    const struct {
        enum collection_option option;
        const char *text;
    } texts[] = {{OPTION_LABEL, r->label},
                 {OPTION_GROUP, r->group},
                 {OPTION_LAYER, r->layer},
                 {OPTION_GENOME, r->genome},
                 {OPTION_SIGNAL, r->signal},
                 {OPTION_LAYOUT, collection_layouts[r->layout]},
                 {OPTION_NEGATIVES, collection_negatives[r->negatives]},
                 {OPTION_TARGET, r->target != TARGET_NONE ? collection_targets[r->target] : ""}};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].option == option)
            (void)snprintf(out, VALUE, "%s", texts[i].text);
    if (option == OPTION_BINS)
        write_number(r->bins, 1, out);
    else if (option == OPTION_WINDOW)
        write_number(r->window, 0, out);
    else if (option == OPTION_LABEL_COLUMN)
        write_number(r->label_column, 1, out);
}

/* Writes the value that the document shows: the layout is the one by which the upload was read. */
static void shown_value(const struct upload_request *r, const struct collection *c, enum collection_option option,
                        char out[VALUE])
{
    bool first = r->layout == LAYOUT_FIRST || c->channels_first;
    value_of(r, option, out);
    if (option == OPTION_LAYOUT && r->layout != LAYOUT_SIGNALS)
        (void)snprintf(out, VALUE, "%s", collection_layouts[first ? LAYOUT_FIRST : LAYOUT_LAST]);
}

struct upload_request dataset_options_effective(const struct upload_request *request, const struct collection *c)
{
    struct upload_request r = *request;
    if (c->implied & OPTION_LABEL)
        r.label[0] = '\0';
    if (c->implied & OPTION_GROUP)
        r.group[0] = '\0';
    if (c->implied & OPTION_LAYOUT)
        r.layout = LAYOUT_AUTO;
    if (c->implied & OPTION_TARGET)
        r.target = TARGET_NONE;
    if (c->implied & OPTION_WINDOW)
        r.window = -1;
    if (c->implied & OPTION_BINS)
        r.bins = 0;
    return r;
}

void dataset_options_write(const struct upload_request *effective, const struct upload_request *given,
                           const struct collection *c, const struct sink *to)
{
    char value[VALUE];
    sink_begin_object(to, "options");
    for (int i = 0; i < MEMBERS; i++) {
        shown_value(effective, c, members[i].option, value);
        if (!members[i].number)
            sink_text(to, members[i].name, value);
        else if (value[0] != '\0')
            sink_integer(to, members[i].name, atoi(value));
    }
    sink_end_object(to);
    sink_begin_object(to, "stated");
    for (int i = 0; i < MEMBERS; i++) {
        value_of(given, members[i].option, value);
        if (given->stated & members[i].option)
            sink_text(to, members[i].name, value);
    }
    sink_end_object(to);
}

static void add_difference(struct dataset_difference *to, const char *option)
{
    size_t used = strlen(to->options);
    (void)snprintf(to->options + used, sizeof to->options - used, "%s%s", used > 0 ? ", " : "", option);
    to->any = true;
}

/* Returns whether a document has this value of an option. Documents of older data sets lack some members, whose options
 * then have their defaults. */
static bool has_value(const cJSON *options, const struct member *member, const char *value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(options, member->name);
    char number[VALUE] = "";
    const char *text = cJSON_GetStringValue(item);
    if (member->number && cJSON_IsNumber(item))
        (void)snprintf(number, sizeof number, "%d", item->valueint);
    if (text == NULL)
        text = member->option == OPTION_NEGATIVES ? collection_negatives[NEGATIVES_NONE] : number;
    return strcmp(text, value) == 0;
}

enum status dataset_options_compare(const struct upload_request *request, const struct collection *c, const char *hash,
                                    const char *document, size_t size, struct dataset_difference *out,
                                    struct error *err)
{
    cJSON *about = NULL;
    *out = (struct dataset_difference){.bytes = false};
    enum status status = json_parse(document, size, &about, err);
    if (status != STATUS_OK)
        return status;
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(about, "options");
    const char *own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(about, "sha256")),
               *format = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(about, "format"));
    out->bytes = out->any = own == NULL || strcmp(own, hash) != 0;
    if (format == NULL || strcmp(format, request->format->name) != 0)
        add_difference(out, "format");
    for (int i = 0; i < MEMBERS; i++) {
        char value[VALUE];
        shown_value(request, c, members[i].option, value);
        if (!has_value(options, &members[i], value))
            add_difference(out, members[i].name);
    }
    cJSON_Delete(about);
    return STATUS_OK;
}
