/* Opens a folder of genes and cuts them into windows. */
#include "core/data/splicing/splicing_corpus.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/random/mt19937.h"
#include "core/data/dataset.h"
#include "core/data/splicing/splicing_genes.h"

struct splicing_corpus {
    struct genes genes;
    struct genes_windows windows[2]; /* windows of the training set and of the test set */
};

/* Names of the files in a folder; "" if the folder has no such file. */
struct listing {
    char fasta[256], gff[256];
    int fastas, gffs;
};

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), size = strlen(end);
    return length > size && strcmp(name + length - size, end) == 0;
}

static enum status list_folder(const char *folder, struct listing *list, struct error *err)
{
    DIR *dir = opendir(folder);
    *list = (struct listing){0};
    if (dir == NULL)
        return error_set(err, STATUS_IO, NULL, "the folder of genes cannot be read: %s", strerror(errno));
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (ends_with(entry->d_name, ".fa")) {
            snprintf(list->fasta, sizeof list->fasta, "%s", entry->d_name);
            list->fastas++;
        } else if (ends_with(entry->d_name, ".gff3")) {
            snprintf(list->gff, sizeof list->gff, "%s", entry->d_name);
            list->gffs++;
        }
    }
    closedir(dir);
    if (list->fastas == 0 || list->gffs == 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the folder of genes needs a .fa and a .gff3 file");
    if (list->fastas > 1 || list->gffs > 1)
        return error_set(err, STATUS_INVALID, NULL,
                         "the folder of genes contains %d .fa and %d .gff3 files; it needs one of each", list->fastas,
                         list->gffs);
    return STATUS_OK;
}

static enum status splicing_corpus_join(const char *folder, const char *name, char path[DATASET_PATH],
                                        struct error *err)
{
    if ((size_t)snprintf(path, DATASET_PATH, "%s/%s", folder, name) >= DATASET_PATH)
        return error_set(err, STATUS_LIMIT, NULL, "the name of a data file is too long");
    return STATUS_OK;
}

static enum status open_genes(struct splicing_corpus *c, const char *folder, const struct listing *list,
                              const char *source, int length, int flank, struct error *err)
{
    char fasta[DATASET_PATH], gff[DATASET_PATH];
    enum status status = splicing_corpus_join(folder, list->fasta, fasta, err);
    if (status != STATUS_OK)
        return status;
    status = splicing_corpus_join(folder, list->gff, gff, err);
    if (status != STATUS_OK)
        return status;
    status = genes_load(fasta, gff, source, &c->genes, err);
    if (status != STATUS_OK)
        return status;
    status = genes_windows(&c->genes, GENES_TRAIN, length, flank, &c->windows[0], err);
    if (status != STATUS_OK)
        return status;
    return genes_windows(&c->genes, GENES_TEST, length, flank, &c->windows[1], err);
}

enum status splicing_corpus_open(const char *folder, const char *source, int length, int flank,
                                 struct splicing_corpus **corpus, struct error *err)
{
    struct listing list;
    struct splicing_corpus *c = calloc(1, sizeof *c);
    if (c == NULL)
        return error_memory(err, "a corpus");
    enum status status = list_folder(folder, &list, err);
    if (!status)
        status = open_genes(c, folder, &list, source, length, flank, err);
    if (!status && (splicing_corpus_windows(c, false) == 0 || splicing_corpus_windows(c, true) == 0))
        status = error_set(err, STATUS_LIMIT, NULL,
                           "too few loci: one of the training and the test set has no window; add loci");
    if (!status && splicing_corpus_windows(c, false) > INT32_MAX)
        status = error_set(err, STATUS_LIMIT, NULL,
                           "the training set has more than 2147483647 windows; choose longer windows");
    if (status) {
        splicing_corpus_close(c);
        return status;
    }
    *corpus = c;
    return STATUS_OK;
}

void splicing_corpus_close(struct splicing_corpus *corpus)
{
    if (corpus == NULL)
        return;
    for (int i = 0; i < 2; i++)
        genes_windows_close(&corpus->windows[i]);
    genes_close(&corpus->genes);
    free(corpus);
}

int64_t splicing_corpus_windows(const struct splicing_corpus *corpus, bool test)
{
    return corpus->windows[test].count;
}

enum status splicing_corpus_order(const struct splicing_corpus *corpus, int64_t seed, int64_t *order, struct error *err)
{
    int count = (int)corpus->windows[0].count, *permutation = malloc((size_t)count * sizeof *permutation);
    struct mt19937 rng;
    if (permutation == NULL)
        return error_memory(err, "an order");
    mt19937_init(&rng, (uint32_t)(uint64_t)seed);
    mt19937_permutation(&rng, permutation, count);
    for (int i = 0; i < count; i++)
        order[i] = permutation[i];
    free(permutation);
    return STATUS_OK;
}

void splicing_corpus_read(const struct splicing_corpus *corpus, bool test, int64_t index, uint8_t *bases,
                          uint8_t *classes)
{
    genes_window(&corpus->genes, &corpus->windows[test], index, bases, classes);
}
