/* Names, media types and file endings of the upload formats, and what their options mean. The routes, the OpenAPI
 * document and the list of data sets show them to clients. */
#include "core/data/uploads/collection.h"

const char *const collection_format_names[] = {"npz",  "npy", "safetensors", "csv",    "tar", "fasta",
                                               "meme", "bed", "h5ad",        "10x-h5", NULL};
const char *const collection_media_types[] = {"application/x-npz",
                                              "application/x-npy",
                                              "application/x-safetensors",
                                              "text/csv",
                                              "text/tab-separated-values",
                                              "application/x-tar",
                                              "text/x-fasta",
                                              "text/x-meme",
                                              "text/x-bed",
                                              "application/x-hdf5",
                                              "application/octet-stream",
                                              NULL};
const struct collection_ending collection_endings[] = {
    {"npz", "npz"},       {"npy", "npy"},     {"safetensors", "safetensors"},
    {"csv", "csv"},       {"tsv", "csv"},     {"tar", "tar"},
    {"fa", "fasta"},      {"fasta", "fasta"}, {"meme", "meme"},
    {"jaspar", "meme"},   {"bed", "bed"},     {"narrowPeak", "bed"},
    {"broadPeak", "bed"}, {"h5ad", "h5ad"},   {"h5", "10x-h5"},
    {NULL, NULL}};

const char collection_label_meaning[] =
    "csv, h5ad: name of the column with the label (label, labels, class or target); bed: 'name' takes the fourth "
    "column as the label, and any other text is the label of all regions (default: peak; in an archive, the name of "
    "each file)";
const char collection_label_column_meaning[] =
    "bed: number of the column with the label, counted from 1; fasta: number of the word in a record's header that is "
    "the label (word 1 is the name of the record)";
const char collection_group_meaning[] = "csv, h5ad: name of the column with the group for splits (group or split)";
const struct collection_option_name collection_option_names[] = {
    {OPTION_LABEL, "label"},   {OPTION_LABEL_COLUMN, "label_column"},
    {OPTION_GROUP, "group"},   {OPTION_LAYER, "layer"},
    {OPTION_LAYOUT, "layout"}, {OPTION_NEGATIVES, "negatives"},
    {OPTION_GENOME, "genome"}, {OPTION_WINDOW, "window"},
    {OPTION_TARGET, "target"}, {0, NULL},
};

const char *const collection_layouts[] = {"auto", "channels-last", "channels-first", "signals", NULL};
const char collection_layout_meaning[] =
    "npz, npy, safetensors: which dimension of a four-dimensional array is the channels (default: channels-last, or "
    "channels-first if only the second dimension has the size of a usual number of channels); signals: the columns of "
    "a csv, "
    "or the last of two or three dimensions, are the points of a signal";
const char collection_layer_meaning[] =
    "h5ad: the layer that contains the values, or raw (X); 10x-h5: the genome, if the file has several";
const char collection_negatives_meaning[] =
    "fasta, bed: for each record with a label, shuffle adds a sample without a label, whose bases are shuffled so that "
    "the counts of all pairs of neighbouring bases stay the same; bed: for each region, gc adds another region of the "
    "genome with the same number of G and C (none)";
const char collection_genome_meaning[] =
    "bed: name of the genome, a folder of the operator with genome.fa and genome.fa.fai";
const char collection_window_meaning[] =
    "bed: length in bases of the window around the summit or the middle of each region; 0: the whole region (200)";
