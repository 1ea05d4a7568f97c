/* `motifctl channels`: shows which symbols the channels of a motif map represent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/query_input.h"

enum { BAR = 40 };

static const struct config_field options[] = {
    OPTION_TEXT("set", "NAME", "where the inputs come from: examples, test, validation or training (examples)"),
    OPTION_TEXT("samples", "N", "number of inputs to search (100)"),
    OPTION_TEXT("first", "N", "number of the first input (0)"),
    OPTION_TEXT(
        "top", "N",
        "number of inputs to list or draw, those with the largest activations first (16; without CHANNEL 8 for each "
        "channel)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTION_TEXT("png", "FILE", "write a picture with crops of these inputs"),
    OPTION_TEXT("output", "FILE",
                "also write the channels in the format that FILE's ending names (.png, .meme, .jaspar)"),
    OPTION_TEXT("against", "NAME", "compare the matrices with this data set of motifs and print the best names"),
    OPTION_FLAG("merge", "make one matrix of channels that show one motif; only without CHANNEL"),
    OPTIONS_END,
};

/* Options that motifctl passes on as parameters of the query. */
static const char *const parameters[] = {"set", "samples", "first", "top", "checkpoint", "against", NULL};

static void add_scalar(struct table *table, const cJSON *object, const char *name)
{
    char text[64];
    view_scalar(json_member(object, name), text, sizeof(text));
    table_add(table, text);
}

/* Adds the share of a channel's motifs that lie on one symbol, the most frequent one, for example "93 %". */
static void add_share(struct table *table, const cJSON *use)
{
    const cJSON *row = NULL;
    char text[16];
    double most = 0, motifs = json_number(use, "motifs");
    cJSON_ArrayForEach (row, json_member(use, "symbols"))
        most = json_string(row, "symbol") ? fmax(most, json_number(row, "count")) : most;
    snprintf(text, sizeof(text), "%.0f %%", 100 * most / motifs);
    table_add(table, most > 0 && motifs > 0 ? text : NULL);
}

/* Returns whether any channel has a position matrix. Only models of sequences of letters have them. */
static bool has_matrices(const cJSON *document)
{
    const cJSON *use = NULL;
    cJSON_ArrayForEach (use, json_member(document, "channels"))
        if (cJSON_IsObject(json_member(use, "matrix")))
            return true;
    return false;
}

/* Adds the consensus of a channel. If another channel has the same motif, adds the index of that channel. */
static void add_consensus(struct table *table, const cJSON *use)
{
    const cJSON *matrix = json_member(use, "matrix"), *same = cJSON_GetArrayItem(json_member(matrix, "same_as"), 0);
    const char *consensus = json_string(matrix, "consensus");
    char text[160];
    if (same)
        snprintf(text, sizeof(text), "%s (as channel %.0f)", consensus ? consensus : "", same->valuedouble);
    else
        snprintf(text, sizeof(text), "%s", consensus ? consensus : "");
    table_add(table, consensus ? text : NULL);
}

/* Adds three cells about the motif of the database that matches a channel best: name, q-value and strand. */
static void add_match(struct table *table, const cJSON *use)
{
    const cJSON *best = cJSON_GetArrayItem(json_member(json_member(use, "matrix"), "matches"), 0);
    const char *id = json_string(best, "id"), *name = json_string(best, "name");
    char text[160], value[32] = "";
    double q = json_number(best, "qvalue");
    snprintf(text, sizeof(text), "%s%s%s", id ? id : "", name ? " " : "", name ? name : "");
    table_add(table, id ? text : NULL);
    snprintf(value, sizeof(value), "%.2g", q);
    table_add(table, isfinite(q) ? value : NULL);
    table_add(table, json_string(best, "strand"));
}

static bool has_matches(const cJSON *document)
{
    const cJSON *use = NULL;
    cJSON_ArrayForEach (use, json_member(document, "channels"))
        if (cJSON_IsArray(json_member(json_member(use, "matrix"), "matches")))
            return true;
    return false;
}

/* Prints one line for each channel: its consensus and the most similar motif of the database. */
static void view_matches(struct ctl *ctl, const cJSON *document)
{
    const cJSON *use = NULL;
    struct table table;
    table_init(&table, ">CHANNEL|NAME|>MOTIFS|CONSENSUS|>E|MOST SIMILAR|>Q|STRAND");
    cJSON_ArrayForEach (use, json_member(document, "channels")) {
        const cJSON *matrix = json_member(use, "matrix");
        add_scalar(&table, use, "channel");
        add_scalar(&table, use, "name");
        add_scalar(&table, use, "motifs");
        add_consensus(&table, use);
        add_scalar(&table, matrix, "evalue");
        add_match(&table, use);
    }
    term_table(&ctl->out, &table);
}

static void view_all(struct ctl *ctl, const cJSON *document)
{
    static const char *const columns[] = {"channel", "name", "strength", "motifs", "inputs",
                                          "active",  "mean", "max",      "symbol"};
    const cJSON *use = NULL;
    struct table table;
    bool matrices = has_matrices(document);
    if (has_matches(document)) {
        view_matches(ctl, document);
        return;
    }
    table_init(&table, matrices ? ">CHANNEL|NAME|>STRENGTH|>MOTIFS|>INPUTS|>ACTIVE|>MEAN|>MAX|SYMBOL|>SHARE|CONSENSUS"
                                : ">CHANNEL|NAME|>STRENGTH|>MOTIFS|>INPUTS|>ACTIVE|>MEAN|>MAX|SYMBOL|>SHARE");
    cJSON_ArrayForEach (use, json_member(document, "channels")) {
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
            add_scalar(&table, use, columns[i]);
        add_share(&table, use);
        if (matrices)
            add_consensus(&table, use);
    }
    term_table(&ctl->out, &table);
}

static void view_histogram(struct ctl *ctl, const cJSON *histogram)
{
    const cJSON *edge = cJSON_GetArrayItem(json_member(histogram, "edges"), 0), *count = NULL;
    double most = 0;
    cJSON_ArrayForEach (count, json_member(histogram, "counts"))
        most = fmax(most, count->valuedouble);
    if (most > 0)
        fprintf(ctl->out.stream, "  %-20s %7s\n", "VALUES", "MOTIFS");
    cJSON_ArrayForEach (count, json_member(histogram, "counts")) {
        if (!edge || !edge->next)
            return;
        int length = most > 0 ? (int)lround(count->valuedouble / most * BAR) : 0;
        if (count->valuedouble > 0)
            fprintf(ctl->out.stream, "  %8.4g .. %-8.4g %7.0f %.*s\n", edge->valuedouble, edge->next->valuedouble,
                    count->valuedouble, length, "########################################");
        edge = edge->next;
    }
}

static void add_pair(struct table *table, const cJSON *list, int first, int second)
{
    const cJSON *a = cJSON_GetArrayItem(list, first), *b = cJSON_GetArrayItem(list, second);
    char text[48];
    snprintf(text, sizeof(text), "%.0f, %.0f", a ? a->valuedouble : 0, b ? b->valuedouble : 0);
    table_add(table, a && b ? text : NULL);
}

/* Prints the motifs of the database that are most similar to one channel. */
static void view_alternatives(struct ctl *ctl, const cJSON *document)
{
    const cJSON *match = NULL, *matches = json_member(json_member(document, "matrix"), "matches");
    struct table table;
    if (!cJSON_IsArray(matches))
        return;
    table_init(&table, "ID|NAME|>P|>E|>Q|>OFFSET|>OVERLAP|STRAND");
    cJSON_ArrayForEach (match, matches) {
        static const char *const columns[] = {"id", "name", "p", "evalue", "qvalue", "offset", "overlap", "strand"};
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
            add_scalar(&table, match, columns[i]);
    }
    term_table(&ctl->out, &table);
}

static void view_one(struct ctl *ctl, const cJSON *document)
{
    const cJSON *top = NULL, *row = NULL;
    struct table table;
    const char *name = json_string(document, "name");
    if (name)
        fprintf(ctl->out.stream, "%s (strength %s)\n", name, json_fixed(document, "strength", 2).text);
    fprintf(ctl->out.stream, "channel %s: active at %s positions in %s of %s inputs\n",
            json_fixed(document, "channel", 0).text, json_fixed(document, "active", 0).text,
            json_fixed(document, "inputs", 0).text, json_fixed(document, "samples", 0).text);
    cJSON_ArrayForEach (row, json_member(document, "symbols")) {
        const char *symbol = json_string(row, "symbol");
        fprintf(ctl->out.stream, "  %6s motifs on %s\n", json_fixed(row, "count", 0).text, symbol ? symbol : "nothing");
    }
    view_histogram(ctl, json_member(document, "histogram"));
    table_init(&table, ">SAMPLE|>POSITION|>VALUE|SYMBOL|>ROWS|>COLUMNS");
    cJSON_ArrayForEach (top, json_member(document, "top")) {
        add_scalar(&table, top, "sample");
        add_pair(&table, json_member(top, "position"), 0, 1);
        add_scalar(&table, top, "value");
        add_scalar(&table, top, "symbol");
        add_pair(&table, json_member(top, "window"), 0, 1);
        add_pair(&table, json_member(top, "window"), 2, 3);
    }
    term_table(&ctl->out, &table);
    view_alternatives(ctl, document);
}

/* Saves the answer in a file. The ending of the file's name determines the format. */
static int save(struct ctl *ctl, const char *id, const char *path, const char *file)
{
    struct query_formats formats;
    char fault[300];
    int code = query_formats_read(ctl, id, "channels", "GET", &formats);
    const char *type = code == CTL_SUCCESS ? query_format_of_file(formats.formats, file) : NULL;
    snprintf(fault, sizeof fault, "the ending of %.200s is not that of a format of channels", file);
    if (code == CTL_SUCCESS)
        code = type ? ctl_save(ctl, &(struct http_request){.method = "GET", .path = path, .accept = type}, file)
                    : query_formats_usage(ctl, formats.formats, true, fault);
    query_formats_close(&formats);
    return code;
}

static int channels_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    struct buf path;
    const char *channel = args->positional_count > 1 ? args->positional[1] : NULL;
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs/%s/channels%s", id, channel ? "/" : "");
    if (channel)
        http_escape(&path, channel);
    ctl_add_query(&path, args, parameters);
    ctl_add_flag(&path, args, "merge");
    if (path.failed)
        code = ctl_usage(ctl, "the options are too long");
    if (code == CTL_SUCCESS)
        code = ctl_show(ctl, &(struct http_request){.method = "GET", .path = path.data}, channel ? view_one : view_all);
    if (code == CTL_SUCCESS && options_has(args, "png"))
        code = ctl_save(ctl, &(struct http_request){.method = "GET", .path = path.data, .accept = "image/png"},
                        options_value(args, "png"));
    if (code == CTL_SUCCESS && options_has(args, "output"))
        code = save(ctl, id, path.data, options_value(args, "output"));
    buf_close(&path);
    return code;
}

const struct command command_channels = {
    .name = "channels",
    .arguments = "JOB [CHANNEL]",
    .summary = "show what the channels of a model stand for",
    .text = "Use it after a training to name the motifs. It runs the model on inputs of the job's own domain. Without "
            "CHANNEL it prints how often each\nchannel is active, and on which true symbol, where symbols are known. "
            "With CHANNEL it prints the histogram of the channel's\nactivations and the inputs on which it is most "
            "active; --png draws these inputs, cut to the motif's footprint. In sequences of letters it aligns the "
            "letters around\nthe motifs of each channel and prints what they have in common; --output writes these "
            "matrices for other programs, and\n`motifctl logos` draws them.",
    .example = "  motifctl channels latest --png channels.png\n"
               "  motifctl channels latest 3 --png three.png           what is motif 3?\n"
               "  motifctl channels 01JD8 3 --set test --samples 500\n"
               "  motifctl channels latest --set test --samples 1000 --merge --output channels.meme\n"
               "  motifctl datasets put jaspar JASPAR.meme && motifctl channels latest --against jaspar",
    .options = options,
    .least = 1,
    .most = 2,
    .run = channels_run,
};
