/* Names, media types and file endings of the upload formats, and what their options mean. The routes, the OpenAPI
 * document and the list of data sets show them to clients. */
#include "core/data/uploads/collection.h"

#include <stdio.h>
#include <string.h>

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

const struct collection_option_name collection_option_names[] = {
    {OPTION_LABEL, "label"},   {OPTION_LABEL_COLUMN, "label_column"},
    {OPTION_GROUP, "group"},   {OPTION_LAYER, "layer"},
    {OPTION_LAYOUT, "layout"}, {OPTION_NEGATIVES, "negatives"},
    {OPTION_GENOME, "genome"}, {OPTION_WINDOW, "window"},
    {OPTION_SIGNAL, "signal"}, {OPTION_BINS, "bins"},
    {OPTION_TARGET, "target"}, {0, NULL},
};
const char *const collection_layouts[] = {"auto", "channels-last", "channels-first", "signals", NULL};
const char *const collection_genome_files[] = {"genome.fa.fai", "genome.fa.gz.fai", NULL};
const char *const collection_signal_files[] = {"signal.bw", NULL};

/* What each option means in the formats that read it. Formats with the same meaning share a text. */
#define LABEL_TABLE "name of the column with the label (label, labels, class or target)"
#define LABEL_REGIONS                                                                                                  \
    "'name' takes the fourth column as the label, and any other text is the label of all regions (default: peak; in "  \
    "an archive, the name of each file)"
#define COLUMN_REGIONS "number of the column with the label, counted from 1"
#define COLUMN_FASTA "number of the word in a record's header that is the label (word 1 is the name of the record)"
#define GROUP_TABLE "name of the column with the group for splits (group or split)"
#define LAYOUT_ARRAYS                                                                                                  \
    "which dimension of a four-dimensional array is the channels (default: channels-last, or channels-first if only "  \
    "the second dimension has the size of a usual number of channels); signals: the last of two or three dimensions "  \
    "is the points of a signal"
#define LAYOUT_TABLE "signals: the columns are the points of a signal"
#define LAYER_ANNDATA "the layer that contains the values, or raw (X)"
#define LAYER_TENX "the genome, if the file has several"
#define SHUFFLED                                                                                                       \
    "for each record with a label, adds a sample without a label, whose bases are shuffled so that the counts of all " \
    "pairs of neighbouring bases stay the same"
#define ELSEWHERE "for each region, adds another region of the genome with the same number of G and C"
#define GENOME_REGIONS "name of the genome, a folder of the operator with genome.fa and genome.fa.fai"
#define WINDOW_REGIONS                                                                                                 \
    "length in bases of the window around the summit or the middle of each region; 0: the whole region (200)"
#define SIGNAL_REGIONS                                                                                                 \
    "with target=number: name of a signal, a folder of the operator with signal.bw; the number of a region is the "    \
    "mean of the signal in its window"
#define BINS_REGIONS                                                                                                   \
    "with signal: number of equal parts of the window; the numbers of a region are the means of the parts (1)"
#define TARGET_ALL "what the labels are (default: the format's own rules decide)"

const char collection_label_meaning[] = "csv, h5ad: " LABEL_TABLE "; bed: " LABEL_REGIONS;
const char collection_label_column_meaning[] = "bed: " COLUMN_REGIONS "; fasta: " COLUMN_FASTA;
const char collection_group_meaning[] = "csv, h5ad: " GROUP_TABLE;
const char collection_layout_meaning[] = "npz, npy, safetensors: " LAYOUT_ARRAYS "; csv: " LAYOUT_TABLE;
const char collection_layer_meaning[] = "h5ad: " LAYER_ANNDATA "; 10x-h5: " LAYER_TENX;
const char collection_negatives_meaning[] = "fasta, bed: shuffle: " SHUFFLED "; bed: gc: " ELSEWHERE " (none)";
const char collection_genome_meaning[] = "bed: " GENOME_REGIONS;
const char collection_window_meaning[] = "bed: " WINDOW_REGIONS;
const char collection_signal_meaning[] = "bed: " SIGNAL_REGIONS;
const char collection_bins_meaning[] = "bed: " BINS_REGIONS;
const char collection_target_meaning[] = TARGET_ALL;

static const struct {
    enum collection_option option;
    const char *formats; /* the formats with this meaning: names, each between two spaces; NULL: all other formats */
    const char *meaning;
} meanings[] = {
    {OPTION_LABEL, " csv h5ad ", LABEL_TABLE},
    {OPTION_LABEL, NULL, LABEL_REGIONS},
    {OPTION_LABEL_COLUMN, " fasta ", COLUMN_FASTA},
    {OPTION_LABEL_COLUMN, NULL, COLUMN_REGIONS},
    {OPTION_GROUP, NULL, GROUP_TABLE},
    {OPTION_LAYOUT, " csv ", LAYOUT_TABLE},
    {OPTION_LAYOUT, NULL, LAYOUT_ARRAYS},
    {OPTION_LAYER, " h5ad ", LAYER_ANNDATA},
    {OPTION_LAYER, NULL, LAYER_TENX},
    {OPTION_NEGATIVES, " fasta ", "shuffle: " SHUFFLED " (none)"},
    {OPTION_NEGATIVES, NULL, "shuffle: " SHUFFLED "; gc: " ELSEWHERE " (none)"},
    {OPTION_GENOME, NULL, GENOME_REGIONS},
    {OPTION_WINDOW, NULL, WINDOW_REGIONS},
    {OPTION_SIGNAL, NULL, SIGNAL_REGIONS},
    {OPTION_BINS, NULL, BINS_REGIONS},
    {OPTION_TARGET, NULL, TARGET_ALL},
};

const char *collection_option_meaning(enum collection_option option, const char *format)
{
    char word[32];
    (void)snprintf(word, sizeof word, " %s ", format);
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].option == option && (!meanings[i].formats || strstr(meanings[i].formats, word)))
            return meanings[i].meaning;
    return "";
}
