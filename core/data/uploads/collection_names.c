/* Names, media types and file endings of the upload formats, and what their options mean. The routes, the OpenAPI
 * document and the list of data sets show them to clients. */
#include "core/data/uploads/collection.h"

const char *const collection_format_names[] = {"npz", "npy", "safetensors", "csv", "tar", "fasta", "meme", "bed", NULL};
const char *const collection_media_types[] = {"application/x-npz",
                                              "application/x-npy",
                                              "application/x-safetensors",
                                              "text/csv",
                                              "text/tab-separated-values",
                                              "application/x-tar",
                                              "text/x-fasta",
                                              "text/x-meme",
                                              "text/x-bed",
                                              "application/octet-stream",
                                              NULL};
const struct collection_ending collection_endings[] = {
    {"npz", "npz"},     {"npy", "npy"},     {"safetensors", "safetensors"},
    {"csv", "csv"},     {"tsv", "csv"},     {"tar", "tar"},
    {"fa", "fasta"},    {"fasta", "fasta"}, {"meme", "meme"},
    {"jaspar", "meme"}, {"bed", "bed"},     {"narrowPeak", "bed"},
    {NULL, NULL}};

const char collection_label_meaning[] =
    "csv: name of the column with the label (label, labels, class or target); bed: name for the fourth column, or the "
    "label of all regions (peak)";
const char collection_group_meaning[] = "csv: name of the column with the group for splits (group or split)";
const char collection_layout_meaning[] = "npz, npy, safetensors: position of the channels in four-dimensional arrays "
                                         "(default: channels-last, or channels-first where "
                                         "only the second size looks like a number of channels)";
const char collection_negatives_meaning[] =
    "fasta, bed: shuffle adds for each record with a label a sample without one, its bases shuffled so that all pairs "
    "of neighbours are kept; bed: gc adds another place of the genome with as many G and C (none)";
const char collection_genome_meaning[] = "bed: the operator's folder with genome.fa and genome.fa.fai";
const char collection_window_meaning[] =
    "bed: bases around the summit or the middle of each region; 0: the region itself (200)";
