/* Names, media types and file endings of the upload formats. The routes, the OpenAPI document and the list of data sets
 * show them to clients. */
#include "core/data/uploads/collection.h"

const char *const collection_format_names[] = {"npz", "npy", "csv", "tar", "fasta", "meme", "bed", NULL};
const char *const collection_media_types[] = {
    "application/x-npz", "application/x-npy", "text/csv",   "text/tab-separated-values", "application/x-tar",
    "text/x-fasta",      "text/x-meme",       "text/x-bed", "application/octet-stream",  NULL};
const struct collection_ending collection_endings[] = {
    {"npz", "npz"},     {"npy", "npy"},   {"csv", "csv"},     {"tsv", "csv"}, {"tar", "tar"},        {"fa", "fasta"},
    {"fasta", "fasta"}, {"meme", "meme"}, {"jaspar", "meme"}, {"bed", "bed"}, {"narrowPeak", "bed"}, {NULL, NULL}};
