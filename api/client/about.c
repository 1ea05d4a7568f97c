/* Commands about the server: kinds, system, health. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/ctl.h"

/* --- kinds --- */

static const struct config_field kinds_options[] = {
    OPTION_FLAG("all", "with KIND: also advanced fields (tuning) and research fields (experiments of a paper)"),
    OPTION_FLAG("markdown", "tables in Markdown, for documents"),
    OPTIONS_END,
};

struct view {
    bool markdown, colour, all;
    int columns; /* width of the terminal, to which meanings are wrapped; 0: no wrapping */
};

static void put_table(struct table *table, const struct view *view, struct buf *out)
{
    table->wrap = view->columns;
    if (view->markdown)
        table_write_markdown(table, out);
    else
        table_write(table, view->colour, out);
}

/* Describes the allowed values. */
static void allowed(const cJSON *field, char *out, size_t bytes)
{
    const cJSON *choices = json_member(field, "choices"), *choice = NULL;
    double min = json_number(field, "min"), max = json_number(field, "max");
    const char *described = json_string(field, "range");
    if (cJSON_IsArray(choices) && cJSON_GetArraySize(choices) > 0) {
        size_t used = 0;
        out[0] = 0;
        cJSON_ArrayForEach (choice, choices) {
            used = strlen(out);
            snprintf(out + used, bytes - used, "%s%s", used ? ", " : "",
                     cJSON_IsString(choice) ? choice->valuestring : "?");
        }
    } else if (described) {
        snprintf(out, bytes, "%s", described);
    } else if (isfinite(min) && isfinite(max)) {
        snprintf(out, bytes, "%s%.10g, %.16g%s", cJSON_IsTrue(json_member(field, "min_open")) ? "(" : "[", min, max,
                 cJSON_IsTrue(json_member(field, "max_open")) ? ")" : "]");
    } else {
        snprintf(out, bytes, "%s", json_shown(field, "type"));
    }
}

/* Adds a cell with the meaning of a field and, if the server lists them, the domains that the field applies to. */
static void add_meaning(struct table *table, const cJSON *field)
{
    const cJSON *domains = json_member(field, "domains"), *domain = NULL;
    const char *meaning = json_string(field, "meaning"), *between = " (";
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_text(&text, meaning ? meaning : "");
    if (cJSON_IsArray(domains) && cJSON_GetArraySize(domains) > 0) {
        cJSON_ArrayForEach (domain, domains) {
            buf_format(&text, "%s%s", between, cJSON_IsString(domain) ? domain->valuestring : "?");
            between = ", ";
        }
        buf_text(&text, ")");
    }
    table_add(table, text.data ? text.data : "");
    table->failed |= text.failed;
    buf_close(&text);
}

static void add_field(struct table *table, const cJSON *field)
{
    char text[512];
    const char *unit = json_string(field, "unit");
    table_add(table, json_string(field, "name"));
    view_scalar(json_member(field, "default"), text, sizeof(text));
    table_add(table, text);
    allowed(field, text, sizeof(text));
    table_add(table, text);
    table_add(table, unit ? unit : "");
    add_meaning(table, field);
}

static bool is(const cJSON *field, const char *member, const char *wanted)
{
    const char *text = json_string(field, member);
    return text && strcmp(text, wanted) == 0;
}

/* Makes a table of the fields of `group` that are displayed, basic fields first. If `group` is NULL (for a server
 * without groups), the table has fields of all groups. Returns how many fields of the group were left out. */
static int group_table(const cJSON *fields, const char *group, const struct view *view, struct buf *out)
{
    static const char *const levels[] = {"basic", "advanced", "research"};
    struct table table;
    const cJSON *field = NULL;
    int shown = 0, hidden = 0;
    table_init(&table, "FIELD|DEFAULT|ALLOWED|UNIT|MEANING");
    for (size_t i = 0; i < (group ? sizeof(levels) / sizeof(levels[0]) : 1); i++) {
        cJSON_ArrayForEach (field, fields) {
            if (group && (!is(field, "group", group) || !is(field, "level", levels[i])))
                continue;
            if (group && i > 0 && !view->all) {
                hidden++;
                continue;
            }
            add_field(&table, field);
            shown++;
        }
    }
    if (shown > 0) {
        if (group)
            buf_format(out, view->markdown ? "**%s**\n\n" : "%s\n", group);
        put_table(&table, view, out);
        if (group)
            buf_text(out, "\n");
    }
    table_close(&table);
    return hidden;
}

static void fields_table(const cJSON *kind, const struct view *view, struct buf *out)
{
    static const char *const groups[] = {"data", "model", "sparsity", "annealing", "optimizer", "evaluation"};
    const cJSON *fields = json_member(kind, "fields");
    int hidden = 0;
    if (!fields)
        fields = json_member(kind, "config");
    if (!json_string(cJSON_GetArrayItem(fields, 0), "group")) {
        (void)group_table(fields, NULL, view, out);
        return;
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        hidden += group_table(fields, groups[i], view, out);
    if (hidden > 0)
        buf_format(out, "%d further fields tune a training or repeat an experiment; --all shows them\n", hidden);
}

/* Appends a table with the names and meanings of presets, metrics or queries. Appends nothing if the list is empty. */
static void names_table(const cJSON *list, const char *head, const struct view *view, struct buf *out)
{
    struct table table;
    const cJSON *item = NULL;
    if (cJSON_GetArraySize(list) == 0)
        return;
    table_init(&table, head);
    cJSON_ArrayForEach (item, list) {
        const char *meaning = json_string(item, "meaning");
        table_add(&table, cJSON_IsString(item) ? item->valuestring : json_string(item, "name"));
        table_add(&table, meaning ? meaning : "");
    }
    buf_text(out, "\n");
    put_table(&table, view, out);
    table_close(&table);
}

static void view_kind(struct ctl *ctl, const cJSON *kind, const struct view *view)
{
    bool markdown = view->markdown;
    struct buf out;
    const char *title = json_string(kind, "title"), *summary = json_string(kind, "summary");
    buf_init(&out, 4u << 20);
    if (!markdown) {
        term_style(&out, ctl->out.colour, STYLE_BOLD);
        buf_format(&out, "%s", title ? title : json_shown(kind, "kind"));
        term_style(&out, ctl->out.colour, STYLE_PLAIN);
        buf_format(&out, "\n%s\n\n", summary ? summary : "");
    }
    fields_table(kind, view, &out);
    names_table(json_member(kind, "presets"), "PRESET|MEANING", view, &out);
    names_table(json_member(kind, "metrics"), "METRIC|MEANING", view, &out);
    names_table(json_member(kind, "queries"), "QUERY|MEANING", view, &out);
    term_flush(&ctl->out, &out);
    buf_close(&out);
}

static void view_kinds(struct ctl *ctl, const cJSON *document)
{
    struct table table;
    const cJSON *kind = NULL, *preset = NULL;
    table_init(&table, "KIND|PRESET|MEANING");
    cJSON_ArrayForEach (kind, json_member(document, "kinds")) {
        cJSON_ArrayForEach (preset, json_member(kind, "presets")) {
            const char *meaning = json_string(preset, "meaning");
            table_add(&table, json_string(kind, "kind"));
            table_add(&table, cJSON_IsString(preset) ? preset->valuestring : json_string(preset, "name"));
            table_add(&table, meaning ? meaning : "");
        }
    }
    term_table(&ctl->out, &table);
}

/* Prints the names of the kinds, or of a kind's presets. */
static void print_names(struct ctl *ctl, const cJSON *document)
{
    const cJSON *kinds = json_member(document, "kinds"), *item = NULL;
    const cJSON *list = kinds ? kinds : json_member(document, "presets");
    cJSON_ArrayForEach (item, list)
        fprintf(ctl->out.stream, "%s\n",
                cJSON_IsString(item) ? item->valuestring : json_shown(item, kinds ? "kind" : "name"));
}

static int kinds_run(struct ctl *ctl, const struct options *args)
{
    cJSON *document = NULL;
    struct buf path;
    buf_init(&path, 4096);
    buf_text(&path, "/v1/kinds");
    if (args->positional_count > 0) {
        buf_text(&path, "/");
        http_escape(&path, args->positional[0]);
    }
    int code = path.failed ? ctl_usage(ctl, "the kind is too long") : ctl_get(ctl, path.data, &document);
    buf_close(&path);
    if (code != CTL_SUCCESS)
        return code;
    if (ctl->json)
        ctl_print_json(ctl, document);
    else if (ctl->quiet)
        print_names(ctl, document);
    else if (args->positional_count > 0)
        view_kind(ctl, document,
                  &(struct view){.markdown = options_has(args, "markdown"),
                                 .colour = ctl->out.colour,
                                 .columns = ctl->out.live ? ctl->out.columns : 0,
                                 .all = options_has(args, "all")});
    else
        view_kinds(ctl, document);
    cJSON_Delete(document);
    return CTL_SUCCESS;
}

const struct command command_kinds = {
    .name = "kinds",
    .arguments = "[KIND]",
    .summary = "list methods and presets, or one method's fields",
    .text = "Use it to choose a preset and its fields before a submission. With a KIND it prints the basic fields in "
            "groups: default,\n"
            "allowed values, unit and meaning; then presets, metrics and queries.",
    .example = "  motifctl kinds\n"
               "  motifctl kinds sparling\n"
               "  motifctl kinds sparling --all | grep density",
    .options = kinds_options,
    .least = 0,
    .most = 1,
    .run = kinds_run,
};

/* --- system --- */

static const struct config_field no_options[] = {OPTIONS_END};

static int system_run(struct ctl *ctl, const struct options *args)
{
    cJSON *document = NULL;
    int code = ctl_get(ctl, "/v1/system", &document);
    if (code != CTL_SUCCESS)
        return code;
    if (ctl->json) {
        ctl_print_json(ctl, document);
    } else {
        struct buf out;
        const cJSON *part = NULL;
        buf_init(&out, 1 << 20);
        view_object(&out, document, ctl->out.colour);
        cJSON_ArrayForEach (part, document) {
            if (!cJSON_IsObject(part))
                continue;
            buf_format(&out, "\n%s\n", part->string);
            view_object(&out, part, ctl->out.colour);
        }
        term_flush(&ctl->out, &out);
        buf_close(&out);
    }
    cJSON_Delete(document);
    return CTL_SUCCESS;
}

const struct command command_system = {
    .name = "system",
    .arguments = "",
    .summary = "show the server: version, CPU, workers, queue, database",
    .text = "Use it to see which kernels the server uses, how many jobs wait, and how large its database is.",
    .example = "  motifctl system",
    .options = no_options,
    .least = 0,
    .most = 0,
    .run = system_run,
};

/* --- version --- */

static int version_run(struct ctl *ctl, const struct options *args)
{
    cJSON *document = NULL;
    (void)args;
    if (!ctl->json)
        fprintf(ctl->out.stream, "motifctl %s\n", MOTIF_VERSION);
    fflush(ctl->out.stream); /* so that an error message on stderr comes after this line */
    int code = ctl_get(ctl, "/v1/system", &document);
    if (code != CTL_SUCCESS)
        return code;
    const char *version = json_string(document, "version"), *build = json_string(document, "build");
    if (ctl->json) {
        cJSON *both = cJSON_CreateObject();
        cJSON_AddStringToObject(both, "motifctl", MOTIF_VERSION);
        cJSON_AddStringToObject(both, "motifd", version ? version : "");
        cJSON_AddStringToObject(both, "build", build ? build : "");
        ctl_print_json(ctl, both);
        cJSON_Delete(both);
    } else {
        fprintf(ctl->out.stream, "motifd %s (%s) at %s\n", json_shown(document, "version"),
                json_shown(document, "build"), http_server(ctl->http));
    }
    cJSON_Delete(document);
    return code;
}

const struct command command_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the versions of motifctl and of the server",
    .text = "Without a server it prints its own version and exits with 3. `motifctl --version` asks no server.",
    .example = "  motifctl version",
    .options = no_options,
    .least = 0,
    .most = 0,
    .run = version_run,
};

/* --- health --- */

static int health_run(struct ctl *ctl, const struct options *args)
{
    struct http_request request = {.method = "GET", .path = "/readyz", .accept = "*/*"};
    struct http_answer answer;
    int code = ctl_call(ctl, &request, &answer, NULL);
    if (code == CTL_SUCCESS && !ctl->json)
        fprintf(ctl->out.stream, "%s is ready\n", http_server(ctl->http));
    else if (code == CTL_SUCCESS)
        fprintf(ctl->out.stream, "{\"ready\":true}\n");
    http_answer_close(&answer);
    return code;
}

const struct command command_health = {
    .name = "health",
    .arguments = "",
    .summary = "exit with 0 if the server accepts jobs, with 3 if it does not",
    .text = "Asks /readyz. A daemon is not ready while it shuts down or cannot write to its database. Use it for "
            "health checks.",
    .example = "  motifctl health || systemctl restart motifd",
    .options = no_options,
    .least = 0,
    .most = 0,
    .run = health_run,
};
