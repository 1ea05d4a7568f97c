/* The table of file formats (file_type.h). */
#include "core/formats/file_type.h"

#include <string.h>

static const struct file_type types[] = {
    {"png", "image/png", {"png"}},
    {"jpeg", "image/jpeg", {"jpg", "jpeg"}},
    {"tiff", "image/tiff", {"tif", "tiff"}},
    {"svg", "image/svg+xml", {"svg"}},
    {"wav", "audio/wav", {"wav"}},
    {"tar", "application/x-tar", {"tar"}},
    {"npy", "application/x-npy", {"npy"}},
    {"fasta", "text/x-fasta", {"fa", "fasta", "fna"}},
    {"bed", "text/x-bed", {"bed", "broadPeak"}},
    {"narrowpeak", "text/x-narrowpeak", {"narrowPeak"}},
    {"gff3", "text/x-gff3", {"gff3", "gff"}},
    {"bedgraph", "text/x-bedgraph", {"bedGraph", "bg"}},
    {"bigwig", "application/x-bigwig", {"bw", "bigWig"}},
    {"meme", "text/x-meme", {"meme"}},
    {"jaspar", "text/x-jaspar", {"jaspar"}},
};

const struct file_type *file_types(size_t *count)
{
    *count = sizeof types / sizeof types[0];
    return types;
}

const struct file_type *file_type_of(const char *media_type)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].media_type, media_type) == 0)
            return &types[i];
    return NULL;
}
