/* The queries of SPARLING as data: what each takes and produces, its parameters, and the schemas of its answers.
 *
 * The api makes one route from each row, for instance /v1/jobs/{id}/motifs and /v1/jobs/{id}/channels/{channel}. */
#include "core/methods/sparling/queries/rated.h"

static const struct config_field channels_fields[] = {
#define FIELD_STRUCT struct channels_parameters
#define FIELDS_LIST CHANNELS_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field channel_fields[] = {
#define FIELD_STRUCT struct channels_parameters
#define FIELDS_LIST CHANNEL_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field compare_fields[] = {
#define FIELD_STRUCT struct compare_parameters
#define FIELDS_LIST COMPARE_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field motifs_fields[] = {
#define FIELD_STRUCT struct motifs_parameters
#define FIELDS_LIST MOTIFS_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field scores_fields[] = {
#define FIELD_STRUCT struct scores_parameters
#define FIELDS_LIST SCORES_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field marks_fields[] = {
#define FIELD_STRUCT struct marks_parameters
#define FIELDS_LIST MARKS_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field evidence_fields[] = {
#define FIELD_STRUCT struct evidence_parameters
#define FIELDS_LIST EVIDENCE_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_table evidence_table = CONFIG_TABLE(evidence_fields, struct evidence_parameters);
static const struct config_field mark_fields[] = {
#define FIELD_STRUCT struct mark_parameters
#define FIELDS_LIST MARK_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_table marks_table = CONFIG_TABLE(marks_fields, struct marks_parameters);
static const struct config_table mark_table = CONFIG_TABLE(mark_fields, struct mark_parameters);
static const struct config_table scores_table = CONFIG_TABLE(scores_fields, struct scores_parameters);
static const struct config_table motifs_table = CONFIG_TABLE(motifs_fields, struct motifs_parameters);
static const struct method_together motifs_together = {"MotifBound", rated_begin, rated_write, rated_close};
static const struct config_table channels_table = CONFIG_TABLE(channels_fields, struct channels_parameters);
static const struct config_table channel_table = CONFIG_TABLE(channel_fields, struct channels_parameters);
static const struct config_table compare_table = CONFIG_TABLE(compare_fields, struct compare_parameters);

static const char *const channel_sets_of_motifs[] = {"against", NULL};

static const struct method_text channel_texts[] = {
    {"text/x-meme",
     "The channels of a model of DNA or RNA as position matrices in MEME's minimal format. JSON has the same matrices.",
     sparling_channels_meme},
    {"text/x-jaspar", "The same matrices as counts in JASPAR's format.", sparling_channels_jaspar},
};
enum { CHANNEL_TEXTS = sizeof channel_texts / sizeof channel_texts[0] };

static const char *const coordinates_names[] = {"record", "bedtools", "ucsc", NULL}; /* of enum coordinates */
const char *const sites_sets[] = {"all", "test", "validation", NULL};

static const struct config_field pairs_fields[] = {
#define FIELD_STRUCT struct sites_parameters
#define FIELDS_LIST RECORDS_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_table pairs_table = CONFIG_TABLE(pairs_fields, struct sites_parameters);
static const struct config_field rules_fields[] = {
#define FIELD_STRUCT struct rules_parameters
#define FIELDS_LIST RULES_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_table rules_table = CONFIG_TABLE(rules_fields, struct rules_parameters);
static const struct config_field name_rules_fields[] = {
#define FIELD_STRUCT struct name_rules_parameters
#define FIELDS_LIST NAME_RULES_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_table name_rules_table = CONFIG_TABLE(name_rules_fields, struct name_rules_parameters);
static const struct config_field sites_fields[] = {
#define FIELD_STRUCT struct sites_parameters
#define FIELDS_LIST RECORDS_LIST WHERE_LIST RATED_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field where_fields[] = {
#define FIELD_STRUCT struct sites_parameters
#define FIELDS_LIST WHERE_LIST RATED_LIST REGIONS_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field signal_fields[] = {
#define FIELD_STRUCT struct sites_parameters
#define FIELDS_LIST RECORDS_LIST WHERE_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field signal_where_fields[] = {
#define FIELD_STRUCT struct sites_parameters
#define FIELDS_LIST WHERE_LIST REGIONS_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_table sites_table = CONFIG_TABLE(sites_fields, struct sites_parameters);
static const struct config_table where_table = CONFIG_TABLE(where_fields, struct sites_parameters);
static const struct config_table signal_table = CONFIG_TABLE(signal_fields, struct sites_parameters);
static const struct config_table signal_where_table = CONFIG_TABLE(signal_where_fields, struct sites_parameters);

static const struct method_text site_texts[] = {
    {"text/x-bed", "The sites as BED6; the score is in [0, 1000], with false_marks it is -10 log10 q.",
     sparling_sites_bed},
    {"text/x-narrowpeak", "The sites as narrowPeak, with the activation as signalValue, and -log10 of p and q.",
     sparling_sites_narrow_peak},
    {"text/x-gff3", "The sites as GFF3.", sparling_sites_gff3},
};
static const struct method_text signal_texts[] = {
    {"text/x-bedgraph", "The activation at every position with a motif, as bedGraph.", sparling_signal_bedgraph},
    {"application/x-bigwig", "The activation at every position with a motif, as bigWig.", sparling_signal_bigwig},
};
static const struct method_text logo_texts[] = {
    {"image/svg+xml", "A logo for each channel of a model of DNA or RNA: letters whose heights are bits.",
     sparling_logos_svg},
    {"image/png", "The logos as PNG.", sparling_logos_png},
};
static const char *const sequence_files[] = {"text/x-fasta", "text/x-bed", "text/x-narrowpeak", NULL};

const struct method_query sparling_queries[SPARLING_QUERIES] = {
    {.name = "motifs",
     .meaning = "The motifs that the model finds in an input, and the true symbols if they are known",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .parameters = &motifs_table,
     .schema = "MotifAnswer",
     .together = &motifs_together,
     .answer = sparling_motifs,
     .draw = sparling_draw_motifs,
     .array = sparling_motif_map},
    {.name = "scores",
     .meaning = "What each channel scores at each position, before the threshold; the positions are those of motifs",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .parameters = &scores_table,
     .schema = "ScoreMaps",
     .answer = sparling_scores,
     .array = sparling_scores_array},
    {.name = "marks",
     .meaning = "All marks of the model in inputs of the test part, with their error rates: the marks of a review",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &marks_table,
     .schema = "MarkList",
     .answer = sparling_marks},
    {.name = "marks",
     .item = "sample",
     .meaning = "One input of the test part with one mark or all its marks, as a document or a picture",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &mark_table,
     .schema = "MarkedSample",
     .answer = sparling_mark,
     .draw = sparling_draw_mark},
    {.name = "evidence",
     .meaning = "Whether the marked extents of a name are sufficient and necessary for the model to read it, measured "
                "by replacing the rest, or the extents, by background from other inputs",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &evidence_table,
     .schema = "Evidence",
     .answer = sparling_evidence},
    {.name = "predict",
     .meaning =
         "The predicted label, token by token with probabilities and a score for each name that g learned directly, or "
         "the predicted numbers",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .schema = "LabelAnswer",
     .answer = sparling_predict,
     .array = sparling_predict_array},
    {.name = "interventions",
     .meaning = "The label before and after motifs are deleted, moved, or given another channel or value",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_EDITS,
     .schema = "Intervened",
     .answer = sparling_interventions},
    {.name = "compare",
     .meaning = "Which channels of two trained models mark the same motifs, and how well they agree",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_MODEL,
     .parameters = &compare_table,
     .schema = "Comparison",
     .answer = sparling_compare},
    {.name = "channels",
     .meaning = "How often each channel is active, and on which true symbols",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &channels_table,
     .dataset_parameters = channel_sets_of_motifs,
     .schema = "ChannelList",
     .answer = sparling_channels,
     .draw = sparling_draw_channels,
     .texts = channel_texts,
     .text_count = CHANNEL_TEXTS},
    {.name = "channels",
     .item = "channel",
     .meaning =
         "How often one channel is active, a histogram of its activations, and the inputs on which it is most active",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &channel_table,
     .dataset_parameters = channel_sets_of_motifs,
     .schema = "ChannelShow",
     .answer = sparling_channels,
     .draw = sparling_draw_channels,
     .texts = channel_texts,
     .text_count = CHANNEL_TEXTS},
    {.name = "logos",
     .meaning = "Sequence logos of the channels, with the correction for small samples",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &channels_table,
     .texts = logo_texts,
     .text_count = sizeof logo_texts / sizeof logo_texts[0]},
    {.name = "logos",
     .item = "channel",
     .meaning = "The sequence logo of one channel",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &channel_table,
     .texts = logo_texts,
     .text_count = sizeof logo_texts / sizeof logo_texts[0]},
    {.name = "sites",
     .meaning = "The sites of motifs in the sequences of the job's data set, with strands",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &sites_table,
     .schema = "SiteList",
     .answer = sparling_sites,
     .texts = site_texts,
     .text_count = sizeof site_texts / sizeof site_texts[0]},
    {.name = "sites",
     .meaning = "The sites of motifs in sequences of any length, with strands",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_FILE,
     .files = sequence_files,
     .parameters = &where_table,
     .schema = "SiteList",
     .answer = sparling_sites,
     .texts = site_texts,
     .text_count = sizeof site_texts / sizeof site_texts[0]},
    {.name = "pairs",
     .meaning = "How often two motifs occur in one sequence of the job's data set, at which distance, in which order "
                "and on which strands",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &pairs_table,
     .schema = "PairList",
     .answer = sparling_pairs},
    {.name = "rules",
     .meaning = "How the order, the distance and the strands of two motifs change the answer of the model, measured by "
                "changing its motif maps and inputs",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &rules_table,
     .schema = "RuleList",
     .answer = sparling_rules},
    {.name = "name-rules",
     .meaning = "For each name, the smallest rule (any of, all of, at least k of, not) over the channels that are "
                "active in an input that predicts the name as well as the model within one standard error",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &name_rules_table,
     .schema = "NameRuleList",
     .answer = sparling_name_rules},
    {.name = "signal",
     .meaning = "The activation of a channel, or the largest of all, along the sequences of the job's data set",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &signal_table,
     .texts = signal_texts,
     .text_count = sizeof signal_texts / sizeof signal_texts[0]},
    {.name = "signal",
     .meaning = "The activation of a channel, or the largest of all, along sequences of any length",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_FILE,
     .files = sequence_files,
     .parameters = &signal_where_table,
     .texts = signal_texts,
     .text_count = sizeof signal_texts / sizeof signal_texts[0]},
};

#define CHANNEL_USE                                                                                                    \
    "channel integer, name text?, strength number?, names [ChannelName], extent [integer]?, active integer, inputs "   \
    "integer, motifs "                                                                                                 \
    "integer?, mean number, max number, symbol text?, "                                                                \
    "symbols [ChannelSymbol]?, matrix ChannelMatrix?"
#define CHANNEL_HEAD                                                                                                   \
    "job text, checkpoint AnswerCheckpoint, set text, first integer, samples integer, footprint integer, "             \
    "elements integer, alphabet Alphabet?, "

const struct method_schema sparling_schemas[SPARLING_SCHEMAS] = {
    {"Motif",
     "position [integer], channel integer, name text?, *sign integer, value number, maximal flag, *p number?, *q "
     "number?, *strand "
     "text, extent [integer]?, *seconds [number], *words [MarkedWord]",
     NULL, false},
    {"MarkBound", "marks integer, false_at_most integer, confidence number", NULL, false},
    {"MotifBound", "*bound MarkBound?, *why text", NULL, false},
    {"MarkedWord", "word text, start integer, end integer", NULL, false},
    {"Alphabet", "name text, symbols [text], colours [text], unknown text, unit text", NULL, false},
    {"Axis", "unit text, length number", NULL, false},
    {"MotifInput", "shape [integer], values [number], zero number, unit number, *ink flag, axis Axis", NULL, false},
    {"MotifAnswer",
     "*shape [integer], *motifs [Motif], *truth [object]?, *tokens [object], *probability number, *numbers "
     "[PredictedNumber], *number integer, *group text, *record text, *input MotifInput, *alphabet Alphabet?, *letters "
     "text?, *text text",
     NULL, false},
    {"TestMark",
     "sample integer, *number integer, *record text, position [integer], channel integer, name text?, *sign integer, "
     "value number, "
     "maximal flag, p number?, q number?, *strand text, extent [integer]?, *seconds [number], *words [MarkedWord], "
     "*context [text]",
     NULL, false},
    {"MarkList",
     "job text, checkpoint AnswerCheckpoint, samples integer, shape [integer], channels integer, unit text, "
     "marks [TestMark]",
     NULL, false},
    {"MarkedSample",
     "job text, checkpoint AnswerCheckpoint, sample integer, marks [TestMark], alphabet Alphabet?, letters text?, "
     "*text text",
     NULL, false},
    {"EvidenceShare", "share number, low number, high number", NULL, false},
    {"EvidenceControl", "sufficient EvidenceShare, necessary EvidenceShare", NULL, false},
    {"EvidenceFinding", "code text, text text", NULL, false},
    {"EvidenceName",
     "name text, inputs integer, unread integer, unmarked integer, sufficient EvidenceShare?, necessary "
     "EvidenceShare?, "
     "control EvidenceControl?, findings [EvidenceFinding]",
     NULL, false},
    {"Evidence",
     "job text, checkpoint AnswerCheckpoint, samples integer, seed integer, judge text, names [EvidenceName]?, *why "
     "text",
     NULL, false},
    {"ScoreMaps", "shape [integer], channels [PairChannel], values [number?]", NULL, false},
    {"PredictedNumber", "name text, value number, *true number", NULL, false},
    {"LabelAnswer", "*truth [object]?, *numbers [PredictedNumber]", NULL, false},
    {"Intervened", "shape [integer], *text text, before object, after object, truth [object]?", NULL, false},
    {"ComparedChannel",
     "channel integer, other integer?, motifs integer, other_motifs integer, together integer, agreement number", NULL,
     false},
    {"Comparison",
     "job text, checkpoint integer, with text, with_checkpoint integer, samples integer, channels [ComparedChannel], "
     "agreement number, least_agreement number",
     NULL, false},
    {"ChannelName", "name text, strength number", NULL, false},
    {"ChannelSymbol", "symbol text?, count integer", NULL, false},
    {"ChannelMatrix",
     "consensus text, sites integer, evalue number?, bits number, information [number], counts [[number]], same_as "
     "[integer], matches "
     "[MotifMatch]?",
     NULL, false},
    {"MotifMatch",
     "id text, name text?, p number, evalue number, qvalue number, offset integer, overlap integer, strand text", NULL,
     false},
    {"Site",
     "record text, start integer, end integer, strand text, channel integer, name text, score integer, value number, "
     "p number?, *q number",
     NULL, false},
    {"PairChannel", "channel integer, name text", NULL, false},
    {"PairShare", "share number, expected number, p number", NULL, false},
    {"Pair",
     "first PairChannel, second PairChannel, records integer, expected number, p number, near PairShare, "
     "first_before_second PairShare, same_strand PairShare",
     NULL, false},
    {"PairList", "job text, checkpoint AnswerCheckpoint, records integer, near_bases integer, pairs [Pair]", NULL,
     false},
    {"RuleShare", "trials integer, share number, low number, high number", NULL, false},
    {"RuleArrangement",
     "trials integer, share number?, low number?, high number?, samples integer, seen flag, alone number?, replaced "
     "number?",
     NULL, false},
    {"RuleLeft", "first PairChannel, second PairChannel", NULL, false},
    {"RuleEffect", "samples integer, difference number, low number, high number, p number", NULL, false},
    {"RuleCompared", "rule RuleShare, reference RuleShare", NULL, false},
    {"RuleLabels", "more RuleCompared?, less RuleCompared?", NULL, false},
    {"RuleName",
     "name text, rule text?, samples integer?, labels RuleLabels?, neither RuleShare, first_alone RuleShare, "
     "second_alone RuleShare, "
     "first_before_second [RuleArrangement], second_before_first [RuleArrangement], order RuleEffect?, distance "
     "RuleEffect?, strand RuleEffect?",
     NULL, false},
    {"RulePair", "first PairChannel, second PairChannel, names [RuleName]", NULL, false},
    {"RuleList",
     "job text, checkpoint AnswerCheckpoint, samples integer, unit text, gaps [integer], searched integer, support "
     "integer, tried integer, unseen integer, left_out [RuleLeft], pairs [RulePair]",
     NULL, false},
    {"NameRuleParts", "least integer, some [PairChannel], none [PairChannel]", NULL, false},
    {"NameRuleScore",
     "samples integer, with integer, rule number?, model number?, error number?, fidelity number?, fidelity_low "
     "number, fidelity_high number",
     NULL, false},
    {"NameRule",
     "name text, text text?, rule NameRuleParts?, as_good flag?, validation NameRuleScore, test NameRuleScore", NULL,
     false},
    {"NameRuleList", "job text, checkpoint AnswerCheckpoint, facts integer, parts integer, names [NameRule]", NULL,
     false},
    {"SiteList", "job text, checkpoint AnswerCheckpoint, sites [Site]", NULL, false},
    {"ChannelUse", CHANNEL_USE, NULL, false},
    {"ChannelList", CHANNEL_HEAD "channels [ChannelUse], unused integer", NULL, false},
    {"ChannelShow", CHANNEL_HEAD CHANNEL_USE ", histogram ChannelHistogram, top [ChannelTop]", NULL, false},
    {"ChannelHistogram", "edges [number], counts [integer]", NULL, false},
    {"ChannelTop", "sample integer, position [integer], value number, symbol text?, window [integer]", NULL, false},
};
