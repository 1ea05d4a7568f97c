/* `motifctl sites`, `signal` and `logos` write the answer of a query as a file in a format that the server offers;
 * `motifctl pairs` prints which motifs occur together. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/client/query_input.h"

#define RECORD_OPTIONS                                                                                                 \
    OPTION_TEXT("set", "NAME", "the records of the data set: all, test or validation (all)"),                          \
        OPTION_TEXT("samples", "N", "number of records (all of the set)"),                                             \
        OPTION_TEXT("first", "N", "number of the first record (0)"),                                                   \
        OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)")
#define FILE_OPTIONS                                                                                                   \
    OPTION_TEXT("output", "FILE", "file to which the answer is written (standard output)"),                            \
        OPTION_TEXT("format", "NAME",                                                                                  \
                    "format of the answer (by the ending of --output; without an ending, the query's first one)")

/* clang-format off */
#define SCAN_OPTIONS \
    OPTION_TEXT("input", "FILE", "sequences of any length, or with --genome regions, instead of the job's data set"), \
    OPTION_TEXT("genome", "NAME", "for regions: name of the genome, a folder that the operator has set up"), \
    OPTION_TEXT("window", "N", \
                "for regions: length of the window around each summit or middle (0, the whole region)"), \
    RECORD_OPTIONS, \
    OPTION_TEXT("coordinates", "HOW", \
                "how to read names such as chr1:100-200. record: not as a place; bedtools: a place counted from 0; " \
                "ucsc: a place " \
                "counted from 1; a name that contains no place is read like record (record)"), \
    OPTION_TEXT("channel", "K", "only this channel (all)")
/* clang-format on */
static const struct config_field options[] = {
    SCAN_OPTIONS,
    OPTION_TEXT("false-marks", "SHARE", "only sites of which at most this share is expected to be false; they get q"),
    FILE_OPTIONS,
    OPTIONS_END,
};
static const struct config_field signal_options[] = {
    SCAN_OPTIONS,
    FILE_OPTIONS,
    OPTIONS_END,
};
static const struct config_field logo_options[] = {
    OPTION_TEXT("set", "NAME", "where the inputs come from: examples, test, validation or training (examples)"),
    OPTION_TEXT("samples", "N", "number of inputs to search (100)"),
    OPTION_TEXT("first", "N", "number of the first input (0)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTION_FLAG("merge", "draw one logo for channels that are one motif; only without CHANNEL"),
    FILE_OPTIONS,
    OPTIONS_END,
};

/* Returns whether the last part of a file's path has an ending. A path such as /dev/stdout has none. */
static bool has_ending(const char *file)
{
    const char *slash = strrchr(file, '/'), *last = slash != NULL ? slash + 1 : file, *dot = strrchr(last, '.');
    return dot != NULL && dot != last;
}

/* Finds the media type of the answer. --format determines it, else the ending of --output, else --json (JSON), else the
 * query's first format. If the query does not have the format that --format or the ending names, prints a message, sets
 * *code to an error and returns NULL. */
static const char *answer_type(struct ctl *ctl, const struct options *args, const cJSON *formats, int *code)
{
    const char *name = options_value(args, "format"), *file = options_value(args, "output"), *type = NULL;
    char fault[300];
    if (name != NULL && strcmp(name, "json") == 0)
        return "application/json";
    if (name != NULL) {
        snprintf(fault, sizeof fault, "this query does not write %.60s", name);
        type = query_format_named(formats, name);
        *code = type != NULL ? CTL_SUCCESS : query_formats_usage(ctl, formats, false, fault);
        return type;
    }
    if (file != NULL)
        type = query_format_of_file(formats, file);
    if (type == NULL &&
        (ctl->json || (file != NULL && strlen(file) > 5 && strcmp(file + strlen(file) - 5, ".json") == 0)))
        return "application/json";
    if (type == NULL && file != NULL && has_ending(file)) {
        snprintf(fault, sizeof fault, "the ending of %.200s is not that of a format of this query", file);
        *code = query_formats_usage(ctl, formats, true, fault);
        return NULL;
    }
    return type != NULL ? type : json_string(cJSON_GetArrayItem(formats, 0), "media_type");
}

/* Options that motifctl passes on as parameters of the queries. */
static const char *const parameters[] = {"coordinates", "channel", "checkpoint", "set",         "samples",
                                         "first",       "genome",  "window",     "false-marks", NULL};

static int commands_sites_fail(struct ctl *ctl, const char *file, const char *why)
{
    struct error err = {0};
    error_set(&err, STATUS_IO, NULL, "%.200s: %s", file, why);
    return ctl_fault(ctl, CTL_FAILED, &err);
}

static bool print_piece(void *context, const char *bytes, size_t count)
{
    struct ctl *ctl = context;
    return fwrite(bytes, 1, count, ctl->out.stream) == count;
}

/* Deletes an incomplete file. A device or a pipe, such as /dev/full, stays. */
static void remove_file(const char *file)
{
    struct stat info;
    if (stat(file, &info) == 0 && S_ISREG(info.st_mode))
        (void)remove(file);
}

/* Sends the request; the answer goes to `output`, or to standard output (NULL). */
static int transfer(struct ctl *ctl, struct http_request *request, const char *output)
{
    struct http_answer answer;
    struct error err = {0};
    request->file = output ? fopen(output, "wb") : NULL;
    request->piece = output ? NULL : print_piece;
    request->context = ctl;
    if (output && !request->file)
        return commands_sites_fail(ctl, output, "cannot be written");
    enum status status = http_call(ctl->http, request, &answer, &err);
    if (request->file && fclose(request->file) != 0 && !status)
        status = error_set(&err, STATUS_IO, NULL, "%.200s: cannot be written", output);
    int code = CTL_SUCCESS;
    if (status)
        code = ctl_fault(ctl, status == STATUS_UNAVAILABLE ? CTL_UNREACHABLE : CTL_FAILED, &err);
    else if (answer.status != 200)
        code = ctl_refused(ctl, &answer);
    if (output && code != CTL_SUCCESS)
        remove_file(output);
    else if (output && !ctl->json && !ctl->quiet)
        fprintf(ctl->out.stream, "%s: %lld bytes\n", output, (long long)answer.file_bytes);
    http_answer_close(&answer);
    return code;
}

static int send_file(struct ctl *ctl, const struct options *args, struct http_request *request)
{
    const char *input = options_value(args, "input");
    struct stat what;
    request->method = "POST";
    request->from = fopen(input, "rb");
    if (!request->from || fstat(fileno(request->from), &what) != 0 || !S_ISREG(what.st_mode) || what.st_size == 0) {
        if (request->from)
            fclose(request->from);
        return commands_sites_fail(ctl, input, "cannot be read, or is empty");
    }
    request->from_bytes = (int64_t)what.st_size;
    int code = transfer(ctl, request, options_value(args, "output"));
    fclose(request->from);
    return code;
}

static int send_request(struct ctl *ctl, const struct options *args, const struct query_formats *formats,
                        const char *path)
{
    const char *input = options_value(args, "input");
    struct http_request request = {.method = "GET", .path = path};
    char fault[300];
    int code = CTL_SUCCESS;
    request.accept = answer_type(ctl, args, formats->formats, &code);
    if (code != CTL_SUCCESS)
        return code;
    if (!input)
        return transfer(ctl, &request, options_value(args, "output"));
    request.type = query_format_of_file(formats->files, input);
    snprintf(fault, sizeof fault, "the ending of %.200s is not that of an input format of this query", input);
    return request.type ? send_file(ctl, args, &request) : query_formats_usage(ctl, formats->files, true, fault);
}

/* Sends a query about the job, or about one of its channels if the command line has a second argument. */
static int ask(struct ctl *ctl, const struct options *args, const char *query)
{
    char id[CTL_ID];
    struct buf path;
    struct query_formats formats = {.kind = NULL};
    bool file = options_has(args, "input");
    if (!file && (options_has(args, "genome") || options_has(args, "window")))
        return ctl_usage(ctl, "--genome and --window need --input with regions");
    if (file && (options_has(args, "set") || options_has(args, "samples") || options_has(args, "first")))
        return ctl_usage(ctl, "--set, --samples and --first select records of the data set, and --input replaces it");
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code == CTL_SUCCESS)
        code = query_formats_read(ctl, id, query, file ? "POST" : "GET", &formats);
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs/%s/%s%s", id, query, args->positional_count > 1 ? "/" : "");
    if (args->positional_count > 1)
        http_escape(&path, args->positional[1]);
    ctl_add_query(&path, args, parameters);
    ctl_add_flag(&path, args, "merge");
    if (code == CTL_SUCCESS)
        code = path.failed ? ctl_usage(ctl, "the options are too long") : send_request(ctl, args, &formats, path.data);
    buf_close(&path);
    query_formats_close(&formats);
    return code;
}

static int run_sites(struct ctl *ctl, const struct options *args)
{
    return ask(ctl, args, "sites");
}

static int run_signal(struct ctl *ctl, const struct options *args)
{
    return ask(ctl, args, "signal");
}

static int run_logos(struct ctl *ctl, const struct options *args)
{
    return ask(ctl, args, "logos");
}

/* ---- pairs --------------------------------------------------------------------------------------------------- */

static const struct config_field pair_options[] = {RECORD_OPTIONS, OPTIONS_END};

static void add_p(struct table *table, const cJSON *object)
{
    double p = json_number(object, "p");
    char text[32];
    snprintf(text, sizeof(text), "%.1e", p);
    table_add(table, isfinite(p) ? text : NULL);
}

/* Adds two cells: the first contains the observed and the expected share of the records, the second the p-value. If
 * there is no share (for example because motifs have no strand), both cells contain a dash. */
static void add_share(struct table *table, const cJSON *share)
{
    char text[80];
    snprintf(text, sizeof(text), "%s / %s", json_percent(share, "share", 0).text,
             json_percent(share, "expected", 0).text);
    table_add(table, isfinite(json_number(share, "share")) ? text : NULL);
    add_p(table, share);
}

static void view_pairs(struct ctl *ctl, const cJSON *document)
{
    const cJSON *pair = NULL;
    struct table table;
    table_init(&table, "FIRST|SECOND|>RECORDS|>EXPECTED|>P|>WITHIN 30|>P|>BEFORE|>P|>SAME STRAND|>P");
    cJSON_ArrayForEach (pair, json_member(document, "pairs")) {
        table_add(&table, json_string(json_member(pair, "first"), "name"));
        table_add(&table, json_string(json_member(pair, "second"), "name"));
        table_add(&table, json_fixed(pair, "records", 0).text);
        table_add(&table, json_fixed(pair, "expected", 1).text);
        add_p(&table, pair);
        add_share(&table, json_member(pair, "near"));
        add_share(&table, json_member(pair, "first_before_second"));
        add_share(&table, json_member(pair, "same_strand"));
    }
    term_table(&ctl->out, &table);
}

static int run_pairs(struct ctl *ctl, const struct options *args)
{
    return ctl_show_query(ctl, args, "pairs", parameters, view_pairs);
}

const struct command command_pairs = {
    .name = "pairs",
    .arguments = "JOB",
    .summary = "show which motifs of sequences occur together, how near and in which order",
    .text = "Use it after a training on sequences. For each pair of motifs it prints how many sequences contain "
            "both,\nand how many would by chance. Of the closest sites of the two in each sequence, it prints how "
            "often they are within 30 positions, how\noften the first is before the second, and how often both are on "
            "one strand, each as observed / expected. The expected numbers come\nfrom pairs of sites in different "
            "sequences. P is not corrected for the number of pairs.",
    .example = "  motifctl pairs latest --set test\n"
               "  motifctl pairs latest --json | jq '.pairs[] | select(.near.p < 1e-4)'",
    .options = pair_options,
    .least = 1,
    .most = 1,
    .run = run_pairs,
};

const struct command command_sites = {
    .name = "sites",
    .arguments = "JOB",
    .summary = "write where the motifs are in sequences, for genome browsers and other programs",
    .text = "Use it after a training on sequences. It writes a line for each site in the job's data set, or in a file, "
            "whose records may be\nas long as a chromosome. A site has the start, end and strand of its channel's "
            "matrix; its score is its activation divided by\nthe channel's largest, times 1000. --format json, or "
            "--json, writes the document of the server.",
    .example =
        "  motifctl sites latest --output sites.bed\n"
        "  motifctl sites latest --false-marks 0.1 --output sites.bed     at most 10 % are expected to be false\n"
        "  motifctl sites latest --input chr8.fa --output chr8.narrowPeak\n"
        "  motifctl sites latest --input peaks.fa --coordinates bedtools --channel 3\n"
        "  motifctl sites latest --input peaks.narrowPeak --genome hg38 --window 200",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run_sites,
};

const struct command command_signal = {
    .name = "signal",
    .arguments = "JOB",
    .summary = "write the activation along sequences, for genome browsers",
    .text =
        "Use it to see a channel in a genome browser. With --channel, it writes the "
        "activation at every position with a motif of the channel; without it, the largest activation of all channels. "
        "The sequences are those of the job's data set, or of a file.",
    .example = "  motifctl signal latest --channel 3 --input chr8.fa --output chr8.bw\n"
               "  motifctl signal latest --set test --output test.bedGraph",
    .options = signal_options,
    .least = 1,
    .most = 1,
    .run = run_signal,
};

const struct command command_logos = {
    .name = "logos",
    .arguments = "JOB [CHANNEL]",
    .summary = "draw what the motifs of sequences have in common",
    .text =
        "Use it after a training on sequences of letters. It draws a sequence logo for each channel, or for CHANNEL "
        "alone: at each\nposition, the height of a letter is its information.",
    .example = "  motifctl logos latest --set test --samples 1000 --output logos.svg\n"
               "  motifctl logos latest 3 --output three.png",
    .options = logo_options,
    .least = 1,
    .most = 2,
    .run = run_logos,
};
