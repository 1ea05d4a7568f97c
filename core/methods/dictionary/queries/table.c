/* Lists the queries of dictionary jobs, with their parameters and the schemas of their answers. */
#include <stddef.h>

#include "core/methods/dictionary/queries/model.h"

static const char *const sort_names[] = {"number", "rate", "strength", NULL};

static const struct config_field seed_fields[] = {
#define FIELD_STRUCT struct dictionary_question
#define FIELDS_LIST SEED_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field steer_fields[] = {
#define FIELD_STRUCT struct dictionary_question
#define FIELDS_LIST STEER_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field latents_fields[] = {
#define FIELD_STRUCT struct dictionary_question
#define FIELDS_LIST LATENTS_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_field compare_fields[] = {
#define FIELD_STRUCT struct dictionary_question
#define FIELDS_LIST COMPARE_LIST
#include "core/methods/shared/field_rows.inc"
};
static const struct config_table dictionary_seed_table = CONFIG_TABLE(seed_fields, struct dictionary_question);
static const struct config_table dictionary_steer_table = CONFIG_TABLE(steer_fields, struct dictionary_question);
static const struct config_table dictionary_latents_table = CONFIG_TABLE(latents_fields, struct dictionary_question);
static const struct config_table dictionary_compare_table = CONFIG_TABLE(compare_fields, struct dictionary_question);

static const struct method_text saelens_texts[] = {
    {"application/x-tar",
     "A folder that SAELens loads with SAE.load_from_disk: cfg.json, sae_weights.safetensors and, "
     "if it was measured, sparsity.safetensors.",
     dictionary_saelens}};

const struct method_query dictionary_queries[DICTIONARY_QUERIES] = {
    {.name = "encode",
     .meaning = "The active latents of samples and their codes; as .npy a row of `width` codes for each sample",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .parameters = &dictionary_seed_table,
     .schema = "DictionaryCode",
     .answer = dictionary_encode,
     .array = dictionary_encode_array,
     .rows = dictionary_encode_rows,
     .row_widths = dictionary_encode_widths},
    {.name = "decode",
     .meaning = "Reconstructions of samples from codes",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .parameters = &dictionary_seed_table,
     .schema = "DictionaryDecoded",
     .answer = dictionary_decode,
     .array = dictionary_decode_array,
     .rows = dictionary_decode_rows,
     .row_widths = dictionary_decode_widths},
    {.name = "steer",
     .meaning = "Samples with changed latents: the reconstruction, and the sample moved by the change",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_INPUTS,
     .parameters = &dictionary_steer_table,
     .schema = "DictionarySteered",
     .answer = dictionary_steer,
     .array = dictionary_steer_array},
    {.name = "latents",
     .meaning = "The latents of the first dictionary, with their strongest samples",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &dictionary_latents_table,
     .answer = dictionary_latents},
    {.name = "latents",
     .item = "latent",
     .meaning = "One latent: its strongest samples, a histogram, the nearest latents by cosine and by common activity, "
                "and its place in the tree of levels",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .schema = "DictionaryLatent",
     .answer = dictionary_latents},
    {.name = "saelens",
     .meaning = "A dictionary as a folder for SAELens",
     .verb = METHOD_GET,
     .takes = METHOD_TAKES_NOTHING,
     .parameters = &dictionary_seed_table,
     .texts = saelens_texts,
     .text_count = 1},
    {.name = "compare",
     .meaning = "Which latents of two dictionaries are the same",
     .verb = METHOD_POST,
     .takes = METHOD_TAKES_MODEL,
     .parameters = &dictionary_compare_table,
     .schema = "DictionaryComparison",
     .answer = dictionary_compare},
};

const struct method_schema dictionary_schemas[DICTIONARY_SCHEMAS] = {
    {"DictionaryCode", "*dictionary integer, *latents [object], *l0 integer, *explained number", NULL, false},
    {"DictionaryDecoded", "*dictionary integer, *reconstruction [number]", NULL, false},
    {"DictionarySteered", "*dictionary integer, *changes [object], *reconstruction [number], *steered [number]", NULL,
     false},
    {"DictionaryLatent", "*latent integer, *rate number, *strongest [object], *histogram [object], *nearest [object]",
     NULL, false},
    {"DictionaryComparison", "*width integer, *with_width integer, *shared integer, *nearest number", NULL, false},
};
