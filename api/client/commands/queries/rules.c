/* `motifctl rules`: prints how the order, the distance and the strands of two motifs change the answer of a model, and
 * the smallest rule of each name. */
#include <stdio.h>
#include <string.h>

#include "api/client/ctl.h"
#include "protocol/http_client.h"

static const struct config_field rule_options[] = {
    OPTION_TEXT("channel", "K", "only pairs with this channel (all)"),
    OPTION_TEXT("other", "K", "together with --channel: only this pair; lists all names with their shares at each gap"),
    OPTION_TEXT("samples", "N", "number of test samples (60)"),
    OPTION_TEXT("support", "N", "least number of samples in the data set with both motifs in an arrangement (22)"),
    OPTION_TEXT("trials", "N", "most trials, a trial being one sample of one pair; further pairs are left out (20000)"),
    OPTION_FLAG("names", "the smallest rule of each name over the channels of a model; with --samples (1000)"),
    OPTION_TEXT("checkpoint", "WHICH", "latest, a sequence number, or density:5.0e-5 (latest)"),
    OPTIONS_END,
};

static void add_effect(struct table *table, const cJSON *effect)
{
    char text[64];
    if (!cJSON_IsObject(effect)) {
        table_add(table, NULL);
        table_add(table, NULL);
        return;
    }
    snprintf(text, sizeof(text), "%+.2f (%+.2f to %+.2f)", json_number(effect, "difference"),
             json_number(effect, "low"), json_number(effect, "high"));
    table_add(table, text);
    snprintf(text, sizeof(text), "%.1e", json_number(effect, "p"));
    table_add(table, text);
}

static void add_share(struct table *table, const cJSON *share)
{
    char text[64];
    snprintf(text, sizeof(text), "%.0f %% (%.0f to %.0f)", 100 * json_number(share, "share"),
             100 * json_number(share, "low"), 100 * json_number(share, "high"));
    table_add(table, cJSON_IsNumber(json_member(share, "share")) ? text : NULL);
}

/* Adds the number of samples of the data set, and a note if it is too small for a rule. */
static void add_samples(struct table *table, const cJSON *of)
{
    char text[64];
    bool unseen = cJSON_IsFalse(json_member(of, "seen"));
    snprintf(text, sizeof(text), "%.0f%s", json_number(of, "samples"), unseen ? " (too few)" : "");
    table_add(table, cJSON_IsNumber(json_member(of, "samples")) ? text : NULL);
}

/* Lists the pairs of motifs that the server did not try, because the answer would take too long. */
static void show_left_out(struct ctl *ctl, const cJSON *document)
{
    const cJSON *list = json_member(document, "left_out"), *pair = NULL;
    if (cJSON_GetArraySize(list) == 0)
        return;
    fprintf(ctl->out.stream, "\nnot tried, because the answer would take too long (use --channel and --other, fewer "
                             "--samples, or more --trials):\n");
    cJSON_ArrayForEach (pair, list)
        fprintf(ctl->out.stream, "  %s and %s\n", json_shown(json_member(pair, "first"), "name"),
                json_shown(json_member(pair, "second"), "name"));
}

/* Prints, for one name in the labels, the share of inputs for which the model answers with this name. The table has a
 * row for inputs without the two motifs, one for each motif alone, and one for both motifs in each order and each range
 * of gaps. */
static void show_shares(struct ctl *ctl, const cJSON *document, const cJSON *pair, const cJSON *name)
{
    const cJSON *gaps = json_member(document, "gaps");
    const cJSON *first = json_member(name, "first_before_second"), *second = json_member(name, "second_before_first");
    const char *one = json_shown(json_member(pair, "first"), "name");
    const char *other = json_shown(json_member(pair, "second"), "name");
    struct table table;
    char text[160];
    table_init(&table, "NAME|MOTIFS|>GAP|>ANSWERED|>SAMPLES");
    const char *const alone[][2] = {{"neither", "neither"}, {"first_alone", one}, {"second_alone", other}};
    for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
        table_add(&table, json_string(name, "name"));
        table_add(&table, alone[i][1]);
        table_add(&table, NULL);
        add_share(&table, json_member(name, alone[i][0]));
        table_add(&table, NULL);
    }
    for (int order = 0; order < 2; order++)
        for (int i = 0; i < cJSON_GetArraySize(order == 0 ? first : second); i++) {
            const cJSON *from = cJSON_GetArrayItem(gaps, i), *to = cJSON_GetArrayItem(gaps, i + 1);
            table_add(&table, json_string(name, "name"));
            snprintf(text, sizeof(text), "%s before %s", order == 0 ? one : other, order == 0 ? other : one);
            table_add(&table, text);
            double least = from ? from->valuedouble : 0;
            if (to)
                snprintf(text, sizeof(text), "%.0f to %.0f", least, to->valuedouble - 1);
            else
                snprintf(text, sizeof(text), "%.0f or more", least);
            table_add(&table, text);
            add_share(&table, cJSON_GetArrayItem(order == 0 ? first : second, i));
            add_samples(&table, cJSON_GetArrayItem(order == 0 ? first : second, i));
        }
    term_table(&ctl->out, &table);
}

static void view_rules(struct ctl *ctl, const cJSON *document)
{
    const cJSON *pair = NULL, *name = NULL;
    struct table table;
    table_init(&table, "NAME|RULE|>SAMPLES|FIRST|SECOND|>ORDER|>P|>NEAR|>P|>SAME STRAND|>P");
    cJSON_ArrayForEach (pair, json_member(document, "pairs"))
        cJSON_ArrayForEach (name, json_member(pair, "names")) {
            table_add(&table, json_string(name, "name"));
            table_add(&table, json_string(name, "rule"));
            add_samples(&table, name);
            table_add(&table, json_string(json_member(pair, "first"), "name"));
            table_add(&table, json_string(json_member(pair, "second"), "name"));
            add_effect(&table, json_member(name, "order"));
            add_effect(&table, json_member(name, "distance"));
            add_effect(&table, json_member(name, "strand"));
        }
    term_table(&ctl->out, &table);
    show_left_out(ctl, document);
}

static void view_shares(struct ctl *ctl, const cJSON *document)
{
    const cJSON *pair = NULL, *name = NULL;
    view_rules(ctl, document);
    cJSON_ArrayForEach (pair, json_member(document, "pairs"))
        cJSON_ArrayForEach (name, json_member(pair, "names"))
            show_shares(ctl, document, pair, name);
}

static void add_accuracy(struct table *table, const cJSON *score, const char *key)
{
    char text[32];
    snprintf(text, sizeof(text), "%.3f", json_number(score, key));
    table_add(table, cJSON_IsNumber(json_member(score, key)) ? text : NULL);
}

/* Prints the smallest rule of each name. */
static void view_name_rules(struct ctl *ctl, const cJSON *document)
{
    const cJSON *name = NULL;
    struct table table;
    table_init(&table, "NAME|RULE|>AS GOOD|>RULE|>MODEL|>FIDELITY");
    cJSON_ArrayForEach (name, json_member(document, "names")) {
        const cJSON *test = json_member(name, "test");
        table_add(&table, json_string(name, "name"));
        table_add(&table, json_string(name, "text"));
        table_add(&table, cJSON_IsTrue(json_member(name, "as_good")) ? "yes" : "no");
        add_accuracy(&table, test, "rule");
        add_accuracy(&table, test, "model");
        add_accuracy(&table, test, "fidelity");
    }
    term_table(&ctl->out, &table);
}

static int run_rules(struct ctl *ctl, const struct options *args)
{
    static const char *const names[] = {"channel", "other", "samples", "support", "trials", "checkpoint", NULL};
    static const char *const of_names[] = {"samples", "checkpoint", NULL};
    if (options_has(args, "names"))
        return ctl_show_query(ctl, args, "name-rules", of_names, view_name_rules);
    bool shares = options_has(args, "channel") && options_has(args, "other");
    return ctl_show_query(ctl, args, "rules", names, shares ? view_shares : view_rules);
}

const struct command command_rules = {
    .name = "rules",
    .arguments = "JOB",
    .summary = "show how the order, distance and strands of two motifs change a sequence model's answer",
    .text =
        "Use it after a training on sequences to see how the model combines its motifs. For each pair of motifs, "
        "the server removes both from\nthe motif maps of test samples and puts them back in both orders and with "
        "different gaps. It counts in which share of the samples the\nmodel answers each name, and lists the names "
        "whose share changes:\n  RULE         the orders and gaps in which the model answers the name more often "
        "than with one motif or none; after \"not\", less often\n  SAMPLES      samples of the data set that contain "
        "both motifs in such an order and gap; fewer than --support give no rule,\n               nor do samples whose "
        "labels do not differ from those of other samples in the same way\n  ORDER        share with FIRST "
        "before SECOND, minus share with SECOND before "
        "FIRST\n  NEAR         share with gaps below 30 positions, minus share with larger gaps\n  SAME STRAND  "
        "share with both motifs on one strand, minus share with one of them turned in the input (if motifs can be "
        "on two strands)\nIntervals are 95 % confidence intervals. Rules and the "
        "list of names are corrected for the number of tests; P is not.\n\nWith --names, for models of any data: the "
        "smallest rule of each name over the channels that are active in an input (any of, all of, at least k of, "
        "not).\n  AS GOOD      whether the rule predicts the name as well as the model, within one standard error on "
        "validation samples\n  RULE, MODEL  balanced accuracy on test samples\n  FIDELITY     share of the test "
        "samples in which rule and model say the same",
    .example = "  motifctl rules latest\n"
               "  motifctl rules latest --channel 0 --other 3 --samples 200\n"
               "  motifctl rules latest --names",
    .options = rule_options,
    .least = 1,
    .most = 1,
    .run = run_rules,
};
