/* `motifctl sites` and `motifctl signal`: where the motifs of a DNA model are, as files that genome browsers open. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/client/ctl.h"

struct form {
    const char *name, *type;
};
static const struct form site_forms[] = {{"bed", "text/x-bed"},
                                         {"narrowpeak", "text/x-narrowpeak"},
                                         {"gff3", "text/x-gff3"},
                                         {"json", "application/json"},
                                         {NULL, NULL}};
static const struct form signal_forms[] = {
    {"bedgraph", "text/x-bedgraph"}, {"bigwig", "application/x-bigwig"}, {NULL, NULL}};

#define WHERE_OPTIONS                                                                                                  \
    {"input", "FILE",                                                                                                  \
     "sequences of any length in FASTA, or with --genome regions in BED, which stand in place of the job's data set"}, \
        {"genome", "NAME", "for regions: the operator's folder with genome.fa and its index"},                         \
        {"window", "N", "for regions: bases around each summit or middle (0, the region itself)"},                     \
        {"set", "NAME", "the records of the data set: all, test or validation (all)"},                                 \
        {"samples", "N", "number of records (all of the set)"}, {"first", "N", "number of the first record (0)"},      \
        {"coordinates", "HOW",                                                                                         \
         "meaning of names such as chr1:100-200: record (positions in the record), bedtools (from 0) or ucsc (from "   \
         "1); default record"},                                                                                        \
        {"channel", "K", "only this channel (all)"},                                                                   \
        {"checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"},                              \
    {                                                                                                                  \
        "output", "FILE", "file for the answer (standard output)"                                                      \
    }

static const struct option_spec site_options[] = {
    WHERE_OPTIONS,
    {"format", "NAME", "bed, narrowpeak, gff3 or json (from the ending of --output, else bed)"},
    {NULL, NULL, NULL},
};
static const struct option_spec signal_options[] = {
    WHERE_OPTIONS,
    {"format", "NAME", "bedgraph or bigwig (from the ending of --output, else bedgraph)"},
    {NULL, NULL, NULL},
};

/* The media type of the answer; NULL after a message. */
static const char *type_of(struct ctl *ctl, const struct options *args, const struct form *forms)
{
    static const char *const endings[][2] = {
        {".bed", "bed"},   {".narrowPeak", "narrowpeak"}, {".gff3", "gff3"},         {".gff", "gff3"},
        {".json", "json"}, {".bedGraph", "bedgraph"},     {".bedgraph", "bedgraph"}, {".bg", "bedgraph"},
        {".bw", "bigwig"}, {".bigWig", "bigwig"}};
    const char *name = options_value(args, "format"), *file = options_value(args, "output");
    const char *dot = file ? strrchr(file, '.') : NULL;
    for (size_t i = 0; !name && dot && i < sizeof(endings) / sizeof(endings[0]); i++)
        if (strcmp(dot, endings[i][0]) == 0)
            name = endings[i][1];
    if (!name)
        return ctl->json && strcmp(forms->name, "bed") == 0 ? "application/json" : forms->type;
    for (const struct form *form = forms; form->name; form++)
        if (strcmp(form->name, name) == 0)
            return form->type;
    ctl_usage(ctl, "this command does not write %s", name);
    return NULL;
}

static void add_query(struct buf *path, const struct options *args, bool file)
{
    static const char *const of_set[] = {"coordinates", "channel", "checkpoint", "set", "samples", "first", NULL};
    static const char *const of_file[] = {"coordinates", "channel", "checkpoint", "genome", "window", NULL};
    const char *const *passed = file ? of_file : of_set;
    char mark = '?';
    for (size_t i = 0; passed[i]; i++) {
        const char *value = options_value(args, passed[i]);
        if (!value)
            continue;
        buf_format(path, "%c%s=", mark, passed[i]);
        http_escape(path, value);
        mark = '&';
    }
}

static int fail(struct ctl *ctl, const char *file, const char *why)
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

/* Sends the request; the answer goes to `output`, or to standard output (NULL). */
static int transfer(struct ctl *ctl, struct http_request *request, const char *output)
{
    struct http_answer answer;
    struct error err = {0};
    request->file = output ? fopen(output, "wb") : NULL;
    request->piece = output ? NULL : print_piece;
    request->context = ctl;
    if (output && !request->file)
        return fail(ctl, output, "cannot be written");
    enum status status = http_call(ctl->http, request, &answer, &err);
    if (request->file && fclose(request->file) != 0 && status == STATUS_OK)
        status = error_set(&err, STATUS_IO, NULL, "%.200s: cannot be written", output);
    int code = CTL_SUCCESS;
    if (status != STATUS_OK)
        code = ctl_fault(ctl, status == STATUS_UNAVAILABLE ? CTL_UNREACHABLE : CTL_FAILED, &err);
    else if (answer.status != 200)
        code = ctl_refused(ctl, &answer);
    if (output && code != CTL_SUCCESS)
        (void)remove(output);
    else if (output && !ctl->json && !ctl->quiet)
        fprintf(ctl->out.stream, "%s: %lld bytes\n", output, (long long)answer.file_bytes);
    http_answer_close(&answer);
    return code;
}

static int send_request(struct ctl *ctl, const struct options *args, const char *path, const char *type)
{
    const char *input = options_value(args, "input");
    struct http_request request = {.method = "GET", .path = path, .accept = type};
    struct stat what;
    if (!input)
        return transfer(ctl, &request, options_value(args, "output"));
    request.method = "POST";
    request.type = options_has(args, "genome") ? "text/x-bed" : "text/x-fasta";
    request.from = fopen(input, "rb");
    if (!request.from || fstat(fileno(request.from), &what) != 0 || !S_ISREG(what.st_mode) || what.st_size == 0) {
        if (request.from)
            fclose(request.from);
        return fail(ctl, input, "cannot be read, or is empty");
    }
    request.from_bytes = (int64_t)what.st_size;
    int code = transfer(ctl, &request, options_value(args, "output"));
    fclose(request.from);
    return code;
}

static int ask(struct ctl *ctl, const struct options *args, const char *query, const struct form *forms)
{
    char id[CTL_ID];
    struct buf path;
    bool file = options_has(args, "input");
    const char *type = type_of(ctl, args, forms);
    if (!type)
        return CTL_USAGE;
    if (!file && (options_has(args, "genome") || options_has(args, "window")))
        return ctl_usage(ctl, "--genome and --window need --input with regions");
    if (file && (options_has(args, "set") || options_has(args, "samples") || options_has(args, "first")))
        return ctl_usage(ctl, "--set, --samples and --first select records of the data set, and --input replaces it");
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs/%s/%s", id, query);
    add_query(&path, args, file);
    code = path.failed ? ctl_usage(ctl, "the options are too long") : send_request(ctl, args, path.data, type);
    buf_close(&path);
    return code;
}

static int run_sites(struct ctl *ctl, const struct options *args)
{
    return ask(ctl, args, "sites", site_forms);
}

static int run_signal(struct ctl *ctl, const struct options *args)
{
    return ask(ctl, args, "signal", signal_forms);
}

/* ---- pairs --------------------------------------------------------------------------------------------------- */

static const struct option_spec pair_options[] = {
    {"set", "NAME", "the records of the data set: all, test or validation (all)"},
    {"samples", "N", "number of records (all of the set)"},
    {"first", "N", "number of the first record (0)"},
    {"checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"},
    {NULL, NULL, NULL},
};

static void add_number(struct table *table, double value, const char *format)
{
    char text[32];
    snprintf(text, sizeof(text), format, value); /* NOLINT(clang-diagnostic-format-nonliteral) */
    table_add(table, text);
}

/* Adds the columns "observed / expected" and p of a share. */
static void add_share(struct table *table, const cJSON *share)
{
    char text[48];
    snprintf(text, sizeof(text), "%.0f %% / %.0f %%", 100 * json_number(share, "share"),
             100 * json_number(share, "expected"));
    table_add(table, text);
    add_number(table, json_number(share, "p"), "%.1e");
}

static void view_pairs(struct ctl *ctl, const cJSON *document)
{
    const cJSON *pair = NULL;
    struct table table;
    table_init(&table, "FIRST|SECOND|>RECORDS|>EXPECTED|>P|>WITHIN 30|>P|>BEFORE|>P|>SAME STRAND|>P");
    cJSON_ArrayForEach (pair, json_member(document, "pairs")) {
        table_add(&table, json_string(json_member(pair, "first"), "name"));
        table_add(&table, json_string(json_member(pair, "second"), "name"));
        add_number(&table, json_number(pair, "records"), "%.0f");
        add_number(&table, json_number(pair, "expected"), "%.1f");
        add_number(&table, json_number(pair, "p"), "%.1e");
        add_share(&table, json_member(pair, "near"));
        add_share(&table, json_member(pair, "first_before_second"));
        add_share(&table, json_member(pair, "same_strand"));
    }
    term_table(&ctl->out, &table);
}

static int run_pairs(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID];
    struct buf path;
    int code = ctl_job_id(ctl, args->positional[0], true, id);
    if (code != CTL_SUCCESS)
        return code;
    buf_init(&path, 4096);
    buf_format(&path, "/v1/jobs/%s/pairs", id);
    add_query(&path, args, false);
    code = path.failed ? ctl_usage(ctl, "the options are too long")
                       : ctl_show(ctl, &(struct http_request){.method = "GET", .path = path.data}, view_pairs);
    buf_close(&path);
    return code;
}

const struct command command_pairs = {
    .name = "pairs",
    .arguments = "JOB",
    .summary = "show which motifs of a DNA model occur together, how near and in which order",
    .text =
        "Use it after a training on sequences. For each pair of motifs it prints how many sequences have both and how "
        "many would by chance,\nand of the closest sites of both: how often they are within 30 bases, how often the "
        "first is before the second, and how often both are\non one strand, each observed / expected. Expected is "
        "what sites of different sequences show. P is not corrected for the number of pairs.",
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
    .summary = "write where the motifs of a DNA model are, as BED, narrowPeak or GFF3",
    .text =
        "Use it after a training on sequences. It writes a line for each site in the job's data set, or in a FASTA "
        "file, which may be as\nlong as a chromosome. A site has the start, end and strand of its channel's matrix; "
        "its score is 1000 times its activation over\nthe channel's largest.",
    .example = "  motifctl sites latest --output sites.bed\n"
               "  motifctl sites latest --input chr8.fa --output chr8.narrowPeak\n"
               "  motifctl sites latest --input peaks.fa --coordinates bedtools --channel 3\n"
               "  motifctl sites latest --input peaks.narrowPeak --genome hg38 --window 200",
    .options = site_options,
    .least = 1,
    .most = 1,
    .run = run_sites,
};

const struct command command_signal = {
    .name = "signal",
    .arguments = "JOB",
    .summary = "write the activation of a DNA model along sequences, as bedGraph or bigWig",
    .text = "Use it to see a channel in a genome browser. It writes the activation at every position with a motif of "
            "the channel, or the largest\nactivation of all channels, in the job's data set or in a FASTA file.",
    .example = "  motifctl signal latest --channel 3 --input chr8.fa --output chr8.bw\n"
               "  motifctl signal latest --set test --output test.bedGraph",
    .options = signal_options,
    .least = 1,
    .most = 1,
    .run = run_signal,
};
