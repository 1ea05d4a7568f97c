/* The table of file formats (file_type.h). */
#include "core/formats/file_type.h"

#include <string.h>

static const struct file_type types[] = {
    {"png", "image/png", {"png"}, NULL},
    {"jpeg", "image/jpeg", {"jpg", "jpeg"}, NULL},
    {"tiff", "image/tiff", {"tif", "tiff"}, NULL},
    {"svg", "image/svg+xml", {"svg"}, NULL},
    {"wav", "audio/wav", {"wav"}, NULL},
    {"tar", "application/x-tar", {"tar"}, NULL},
    {"npy", "application/x-npy", {"npy"}, "axis"},
    {"npz", "application/x-npz", {"npz"}, "axis"},
    {"csv", "text/csv", {"csv", "tsv"}, "rows"},
    {"text", "text/plain", {"txt"}, "lines"},
    {"fasta", "text/x-fasta", {"fa", "fasta", "fna"}, "records"},
    {"bed", "text/x-bed", {"bed", "broadPeak"}, NULL},
    {"narrowpeak", "text/x-narrowpeak", {"narrowPeak"}, NULL},
    {"gff3", "text/x-gff3", {"gff3", "gff"}, NULL},
    {"bedgraph", "text/x-bedgraph", {"bedGraph", "bg"}, NULL},
    {"bigwig", "application/x-bigwig", {"bw", "bigWig"}, NULL},
    {"meme", "text/x-meme", {"meme"}, NULL},
    {"jaspar", "text/x-jaspar", {"jaspar"}, NULL},
};

const struct file_type *file_type_of(const char *media_type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].media_type, media_type) == 0)
            return &types[i];
    return NULL;
}
