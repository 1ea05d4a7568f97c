/* Opens a genome of the operator (genome.h). */
#include "core/genomics/uploads/genome.h"

#include <stdio.h>

#include "core/data/dataset.h"
#include "core/data/uploads/collection.h"

enum status genome_fault(const char *name, enum status status, const struct error *cause, struct error *err)
{
    bool faulty = status == STATUS_NOT_FOUND || status == STATUS_CORRUPT || status == STATUS_LIMIT;
    return error_set(err, faulty ? STATUS_INVALID : status, NULL, "genome=%s: %s", name, cause->message);
}

enum status genome_open(const char *data, const char *name, struct faidx *out, struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    *out = (struct faidx){.file = -1};
    if (!name || name[0] == '\0')
        return error_set(err, STATUS_INVALID, NULL,
                         "regions need a genome: state it with genome=NAME, a folder of the operator with genome.fa "
                         "and its index");
    struct error cause = {0};
    enum status status = operator_folder(data, name, "genome", collection_genome_files, folder, &cause);
    if (!status) {
        snprintf(path, sizeof path, "%s/genome.fa", folder);
        status = faidx_open(path, "the genome", out, &cause);
    }
    return status ? genome_fault(name, status, &cause, err) : STATUS_OK;
}
