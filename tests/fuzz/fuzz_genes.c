/* Fuzz target of the reader of annotated genes. An input consists of a FASTA text, a NUL and a GFF3 text. Accepted
 * genes must have a class for each base, and windows within their loci. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "core/data/splicing/splicing_genes.h"

#define GFF(columns) columns "\t.\t+\t.\tParent=t\n"
#define LENGTH 4
#define FLANK 2

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED(">c1 x\nACGTACGTAC\n>c2\nGGGTT\n\0##gff-version 3\n" GFF("c1\ts\tintron\t3\t6")),
    FUZZ_SEED(">c1\nACGTNacgtn\r\n\0" GFF("c1\ts\texon\t1\t2") GFF("c1\ts\texon\t6\t8") "# end\n"),
    FUZZ_SEED(">a\nRYK\n\0\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof fuzz_seeds[0];

static void check(const struct genes *genes)
{
    struct genes_windows windows;
    uint8_t bases[LENGTH + 2 * FLANK], classes[LENGTH + 2 * FLANK];
    int64_t sum = 0;
    for (int i = 0; i < genes->loci; i++) {
        FUZZ_CHECK(genes->locus[i].first == sum && genes->locus[i].length >= 0 &&
                   memchr(genes->locus[i].name, 0, FASTA_NAME) != NULL);
        sum += genes->locus[i].length;
    }
    FUZZ_CHECK(sum == genes->count && genes->introns >= 0);
    if (genes_windows(genes, GENES_ALL, LENGTH, FLANK, &windows, NULL) != STATUS_OK)
        return;
    for (int64_t i = 0; i < windows.count; i++)
        genes_window(genes, &windows, i, bases, classes);
    genes_windows_close(&windows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    size_t fasta = end != NULL ? (size_t)(end - data) : size;
    size_t gff = end != NULL ? size - fasta - 1 : 0;
    struct genes genes;
    struct error err = {0};
    /* exact sizes, so that a sanitizer detects reads beyond the end */
    char *one = malloc(fasta + 1), *other = malloc(gff + 1);
    FUZZ_CHECK(one != NULL && other != NULL);
    if (fasta > 0)
        memcpy(one, data, fasta);
    if (gff > 0)
        memcpy(other, end + 1, gff);
    one[fasta] = other[gff] = '\0';
    enum status status = genes_parse(one, fasta, other, gff, NULL, &genes, &err);
    FUZZ_CHECK(status == err.code && (status == STATUS_OK || err.message[0] != '\0'));
    if (status == STATUS_OK) {
        check(&genes);
        genes_close(&genes);
    }
    free(one);
    free(other);
    return 0;
}
