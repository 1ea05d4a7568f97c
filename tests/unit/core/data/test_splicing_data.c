/* Tests the data of the splicing domain: affinity files, FASTA with GFF3, and the generator with a known truth. */
#include "core/data/splicing/splicing_affinity.h"
#include "core/data/splicing/splicing_genes.h"
#include "core/data/splicing/splicing_planted.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "core/base/random/mt19937.h"

static void encode(const char *text, uint8_t *bases)
{
    for (size_t i = 0; text[i] != '\0'; i++)
        bases[i] = splicing_base(text[i]);
}

static void letters_become_bases_and_planes(void **state)
{
    uint8_t bases[8];
    float planes[4 * 8], sum = 0;
    encode("ACGTUnax", bases);
    assert_memory_equal(bases, ((uint8_t[]){0, 1, 2, 3, 3, 4, 0, 4}), 8);
    splicing_planes(bases, 8, planes);
    for (int i = 0; i < 32; i++)
        sum += planes[i];
    assert_true(sum == 6 && planes[0] == 1 && planes[8 + 1] == 1 && planes[24 + 4] == 1 && planes[6] == 1);
}

/* ---- affinities ---------------------------------------------------------------------------------- */

static const char two_matrices[] = "# runinfo: version=0\n"
                                   "# ModelSetParams with 2 PSAMs\n"
                                   "# PSAM 0\n"
                                   "PSAM  A0=0.04 n=3 acc_k=11 acc_shift=-1 acc_scale=0.1\n"
                                   "#\tA\tC\tG\tU\tconsensus\n"
                                   "   1.00000\t   0.50000\t   0.25000\t   0.00000\ta\n"
                                   "   0.10000\t   1.00000\t   0.20000\t   0.30000\tC\n"
                                   "   0.00000\t   0.00000\t   0.50000\t   1.00000\tU\r\n"
                                   "\n"
                                   "PSAM A0=0.01 n=2\n"
                                   "0.5 1 0.5 0.5 c\n"
                                   "1e-1 0.2 1 0.4 g";

static void affinities_equal_those_computed_by_hand(void **state)
{
    struct affinity_set set = {0};
    struct error err = {0};
    assert_int_equal(affinity_add_text(&set, "TWO", two_matrices, sizeof two_matrices - 1, &err), STATUS_OK);
    const struct affinity_protein *p = &set.protein[0];
    assert_int_equal(p->matrices, 2);
    assert_int_equal(p->columns, 3);
    assert_true(p->matrix[0].weight == 1 && fabs(p->matrix[1].weight - 0.25) < 1e-15);
    /* the shorter matrix is padded on the right */
    assert_true(p->matrix[1].entry[2][0] == 1 && p->matrix[1].entry[0][1] == 1);
    uint8_t bases[6];
    double score[6];
    encode("ACTNCG", bases);
    affinity_score(p, bases, 6, 0, 6, score);
    /* The window of position i has the bases i - 1 to i + 1: that of position 1 is ACT. The window of position 0 begins
     * one base before the sequence. The base at position 3 is unknown. */
    assert_true(fabs(score[1] - (1 * 1 * 1 + 0.25 * 0.5 * 0.2) / 0.2) < 1e-12);
    assert_true(fabs(score[0] - (0.1 * 0 + 0.25 * 1 * 0.1) / 0.2) < 1e-12);
    assert_true(fabs(score[2] - (0.5 * 0.3 * 1 + 0.25 * 1 * 0.4) / 0.2) < 1e-12);
    assert_true(score[3] == 0);
    assert_true(fabs(score[4] - (1 * 1 * 0.5 + 0.25 * 1 * 0.2) / 0.2) < 1e-12);
    assert_true(fabs(score[5] - (0.5 * 0.2 * 1 + 0.25 * 1 * 1) / 0.2) < 1e-12);
    affinity_close(&set);
}

static void refused(const char *text, enum status code, const char *says)
{
    struct affinity_set set = {0};
    struct error err = {0};
    assert_int_equal(affinity_add_text(&set, "X", text, strlen(text), &err), code);
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' instead of '%s'", err.message, says);
    assert_int_equal(set.proteins, 0);
    affinity_close(&set);
}

static void faulty_affinity_files_are_refused_with_the_line(void **state)
{
    refused("", STATUS_INVALID, "ends without a PSAM");
    refused("# nothing\n\n", STATUS_INVALID, "ends without a PSAM");
    refused("PSAM A0=1 n=2\n1 0 0 0 A\n", STATUS_INVALID, "inside a matrix");
    refused("PSAM A0=1 n=2\n1 0 0 0 A\nPSAM A0=1 n=1\n", STATUS_INVALID, "line 3: the matrix before");
    refused("PSAM A0=1 n=1\n1 0 0 0 A\n1 0 0 0 A\n", STATUS_INVALID, "line 3: a row beyond");
    refused("1 0 0 0 A\n", STATUS_INVALID, "line 1: a row beyond");
    refused("PSAM n=1\n1 0 0 0 A\n", STATUS_INVALID, "line 1: a PSAM needs A0");
    refused("PSAM A0=nan n=1\n1 0 0 0 A\n", STATUS_INVALID, "line 1: a PSAM needs A0");
    refused("PSAM A0=-1 n=1\n1 0 0 0 A\n", STATUS_INVALID, "line 1: a PSAM needs A0");
    refused("PSAM A0=1 n=1.5\n1 0 0 0 A\n", STATUS_INVALID, "line 1: a PSAM needs n");
    refused("PSAM A0=1 n=99999999999999999999\n", STATUS_LIMIT, "line 1: too many");
    refused("PSAM A0=1 n=65\n", STATUS_LIMIT, "line 1: too many");
    refused("PSAM A0=1 n=1\n1 0 0 A\n", STATUS_INVALID, "line 2: a row has four");
    refused("PSAM A0=1 n=1\n1 0 0\n", STATUS_INVALID, "line 2: a row has four");
    refused("PSAM A0=1 n=1\n1 0 -1 0 A\n", STATUS_INVALID, "line 2: a row has four");
    refused("PSAM A0=1 n=1\n1 0 0x10 0 A\n", STATUS_INVALID, "line 2: a row has four");
    refused("PSAM A0=1 n=1\n1 0 1e999 0 A\n", STATUS_INVALID, "line 2: a row has four");
    refused("PSAM A0=1 n=1\n0 0 0 0 A\n", STATUS_INVALID, "line 2: a row binds nothing");
    char many[70 * 32] = "";
    for (int i = 0; i < 65; i++)
        strcat(many, "PSAM A0=1 n=1\n1 0 0 0 A\n");
    refused(many, STATUS_LIMIT, "line 129: too many");
}

/* Random bytes never crash the reader, and all numbers of an accepted file are valid. */
static void affinity_files_of_random_bytes_never_crash(void **state)
{
    struct mt19937 rng;
    mt19937_init(&rng, 5);
    for (int round = 0; round < 2000; round++) {
        char text[sizeof two_matrices];
        memcpy(text, two_matrices, sizeof text);
        for (int i = 0; i < 1 + round % 7; i++)
            text[mt19937_integer(&rng, 0, (int64_t)sizeof text)] = (char)mt19937_integer(&rng, 0, 256);
        struct affinity_set set = {0};
        size_t size = (size_t)mt19937_integer(&rng, 0, (int64_t)sizeof text);
        char *exact = malloc(size + 1); /* exact size, so that a sanitizer sees reads beyond the end */
        memcpy(exact, text, size);
        char *fitted = realloc(exact, size > 0 ? size : 1);
        if (affinity_add_text(&set, "X", fitted, size, NULL) == STATUS_OK) {
            assert_true(set.protein[0].matrices >= 1 && set.protein[0].columns >= 1);
            for (int m = 0; m < set.protein[0].matrices; m++)
                assert_true(set.protein[0].matrix[m].weight > 0 && set.protein[0].matrix[m].weight <= 1);
        }
        affinity_close(&set);
        free(fitted);
    }
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

static void a_folder_of_affinity_files_is_read_in_order(void **state)
{
    char folder[] = "/tmp/motif-splicing-XXXXXX";
    struct affinity_set set = {0};
    struct error err = {0};
    assert_non_null(mkdtemp(folder));
    assert_int_equal(affinity_add_folder(&set, folder, &err), STATUS_NOT_FOUND);
    write_file(folder, "B.txt", two_matrices);
    write_file(folder, "A.txt", "PSAM A0=1 n=1\n1 0 0 0 A\n");
    write_file(folder, "README", "passed over");
    error_clear(&err);
    assert_int_equal(affinity_add_folder(&set, folder, &err), STATUS_OK);
    assert_int_equal(set.proteins, 2);
    assert_string_equal(set.protein[0].name, "A");
    assert_string_equal(set.protein[1].name, "B");
    write_file(folder, "C.txt", "PSAM\n");
    assert_int_equal(affinity_add_folder(&set, folder, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "file C, line 1"));
    assert_null(strstr(err.message, folder));
    affinity_close(&set);
    static const char *const names[] = {"A.txt", "B.txt", "C.txt", "README"};
    for (int i = 0; i < 4; i++)
        remove_file(folder, names[i]);
    assert_int_equal(rmdir(folder), 0);
    error_clear(&err);
    assert_int_equal(affinity_add_folder(&set, folder, &err), STATUS_IO);
    assert_null(strstr(err.message, folder));
}

/* The threshold is a quantile as numpy.quantile computes it, so the requested share of positions is above it. */
static void thresholds_are_quantiles(void **state)
{
    struct affinity_set set = {0};
    uint8_t *bases = malloc(20000);
    struct mt19937 rng;
    mt19937_init(&rng, 3);
    for (int i = 0; i < 20000; i++)
        bases[i] = (uint8_t)mt19937_integer(&rng, 0, 4);
    assert_int_equal(affinity_add_text(&set, "TWO", two_matrices, sizeof two_matrices - 1, NULL), STATUS_OK);
    static const char *const words[] = {"gattacag", "cattaGAc"};
    assert_int_equal(affinity_add_words(&set, "W", words, 2, 1, NULL), STATUS_OK);
    struct splicing_sequence parts[2] = {{bases, 9000}, {bases + 9000, 11000}};
    assert_int_equal(affinity_calibrate(&set, parts, 2, 500, 0.0018, NULL), STATUS_OK);
    int hits[2] = {0, 0}, inside = 0;
    for (int i = 0; i < 2; i++) {
        struct affinity_hit hit[200];
        int found = affinity_scan(&set, parts[i].bases, parts[i].length, 500, parts[i].length - 1000, hit, 200);
        assert_true(found <= 200);
        inside += parts[i].length - 1000;
        for (int j = 0; j < found; j++) {
            hits[hit[j].protein]++;
            assert_true(hit[j].affinity > set.protein[hit[j].protein].threshold);
            assert_true(j == 0 || hit[j].position > hit[j - 1].position ||
                        (hit[j].position == hit[j - 1].position && hit[j].protein > hit[j - 1].protein));
        }
    }
    /* protein 0 has few distinct affinities, so many affinities equal the threshold, and their positions do not
     * count */
    assert_true(hits[0] <= 0.0018 * inside + 1);
    assert_true(fabs(hits[1] - 0.0018 * inside) <= 5);
    assert_int_equal(affinity_calibrate(&set, parts, 2, 9000, 0.0018, NULL), STATUS_INVALID);
    affinity_close(&set);
    free(bases);
}

/* Reads the published files, if MOTIF_SPLICING_MOTIFS names their folder. */
static void published_affinity_files_are_read(void **state)
{
    const char *folder = getenv("MOTIF_SPLICING_MOTIFS");
    if (folder == NULL)
        skip();
    struct affinity_set set = {0};
    struct error err = {0};
    assert_int_equal(affinity_add_folder(&set, folder, &err), STATUS_OK);
    int matrices = 0, of[6] = {0};
    assert_int_equal(set.proteins, 79);
    for (int i = 0; i < set.proteins; i++) {
        assert_in_range(set.protein[i].matrices, 1, 5);
        assert_in_range(set.protein[i].columns, 10, 11);
        matrices += set.protein[i].matrices;
        of[set.protein[i].matrices]++;
        assert_true(i == 0 || strcmp(set.protein[i - 1].name, set.protein[i].name) < 0);
    }
    assert_int_equal(matrices, 318);
    assert_memory_equal(of, ((int[]){0, 5, 4, 13, 19, 38}), sizeof of);
    affinity_close(&set);
}

/* ---- genes ----------------------------------------------------------------------------------------- */

static const char fasta[] = ">one chrom:1-30 +\n"
                            "AAAAAGTCCC\n"
                            "CCCCCAGTTTNry\n"
                            ">two\r\n"
                            "acgtacgtac\r\n"
                            "\n"
                            ">three x\n"
                            "GTAG\n";
static const char gff[] = "##gff-version 3\n"
                          "one\tW\tgene\t1\t23\t.\t+\t.\tID=g\n"
                          "one\tW\tintron\t6\t17\t.\t+\t.\tParent=t1\n"
                          "one\tR\tintron\t8\t12\t3.0\t+\t.\t\n"
                          "one\tW\tintron\t6\t17\t.\t+\t.\tParent=t2\n"
                          "three\tW\tintron\t1\t4\t.\t+\t.\tParent=t3\n";

static enum status parse(const char *features, const char *source, struct genes *genes, struct error *err)
{
    return genes_parse(fasta, sizeof fasta - 1, features, strlen(features), source, genes, err);
}

static void introns_become_splice_sites(void **state)
{
    struct genes genes;
    struct error err = {0};
    assert_int_equal(parse(gff, "W", &genes, &err), STATUS_OK);
    assert_int_equal(genes.loci, 3);
    assert_int_equal(genes.introns, 3);
    assert_string_equal(genes.locus[0].name, "one");
    assert_int_equal(genes.locus[0].length, 23);
    assert_int_equal(genes.locus[1].length, 10);
    assert_int_equal(genes.bases[21], BASE_N);
    for (int64_t i = 0; i < genes.count; i++) {
        int expected = i == 5 || i == 33 ? SITE_DONOR : i == 16 || i == 36 ? SITE_ACCEPTOR : SITE_NONE;
        assert_int_equal(genes.classes[i], expected);
    }
    genes_close(&genes);
    assert_int_equal(parse(gff, NULL, &genes, &err), STATUS_OK);
    assert_int_equal(genes.introns, 4);
    genes_close(&genes);
}

/* If an annotation has no introns, the gaps between the exons of a transcript count as introns. */
static void gaps_between_exons_become_splice_sites(void **state)
{
    static const char exons[] = "one\tE\texon\t18\t23\t.\t+\t.\tID=x;Parent=t1\n"
                                "one\tE\texon\t1\t5\t.\t+\t.\tID=y;Parent=t1\n"
                                "one\tE\texon\t1\t9\t.\t+\t.\tParent=t2\n"
                                "one\tE\texon\t10\t23\t.\t+\t.\tParent=t2\n"
                                "two\tE\texon\t9\t10\t.\t+\t.\tParent=t1\n"
                                "two\tE\texon\t1\t2\t.\t+\t.\t\n";
    struct genes genes;
    struct error err = {0};
    assert_int_equal(parse(exons, "E", &genes, &err), STATUS_OK);
    assert_int_equal(genes.introns, 1);
    assert_int_equal(genes.classes[5], SITE_DONOR);
    assert_int_equal(genes.classes[16], SITE_ACCEPTOR);
    genes_close(&genes);
}

static void genes_refused(const char *sequences, const char *features, const char *says)
{
    struct genes genes;
    struct error err = {0};
    assert_int_not_equal(genes_parse(sequences, strlen(sequences), features, strlen(features), NULL, &genes, &err),
                         STATUS_OK);
    if (strstr(err.message, says) == NULL)
        fail_msg("'%s' instead of '%s'", err.message, says);
    assert_null(genes.bases);
}

static void faulty_gene_files_are_refused_with_the_line(void **state)
{
    genes_refused("", "", "FASTA, line 0: the file ends without a sequence");
    genes_refused(">a\n", "", "without a sequence");
    genes_refused("ACGT\n", "", "FASTA, line 1: bases before");
    genes_refused("> a\nA\n", "", "FASTA, line 1: a record needs a name");
    genes_refused(">a\nAC GT\n", "", "FASTA, line 2, column 3: a blank");
    genes_refused(">a\nACJT\n", "", "FASTA, line 2, column 3: 'J'");
    genes_refused(">a\nA\n>b\nC\n>a\nG\n", "", "two records are called a");
    genes_refused(">aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nA\n", "",
                  "line 1: the name");
    genes_refused(fasta, "one\tW\tintron\t6\t17\t.\t+\n", "GFF3, line 1: a feature has nine");
    genes_refused(fasta, "# x\nfour\tW\tintron\t6\t17\t.\t+\t.\t\n", "GFF3, line 2: the FASTA file has no");
    genes_refused(fasta, "one\tW\tintron\t0\t17\t.\t+\t.\t\n", "GFF3, line 1: fields 4 and 5 must");
    genes_refused(fasta, "one\tW\tintron\t6\t24\t.\t+\t.\t\n", "GFF3, line 1: fields 4 and 5 must");
    genes_refused(fasta, "one\tW\tintron\t17\t6\t.\t+\t.\t\n", "GFF3, line 1: fields 4 and 5 must");
    genes_refused(fasta, "one\tW\tintron\t6x\t17\t.\t+\t.\t\n", "GFF3, line 1: fields 4 and 5 must");
    genes_refused(fasta, "one\tW\tintron\t-6\t17\t.\t+\t.\t\n", "GFF3, line 1: fields 4 and 5 must");
    genes_refused(fasta, "one\tW\tintron\t99999999999999999999999\t17\t.\t+\t.\t\n",
                  "GFF3, line 1: fields 4 and 5 must");
    genes_refused(fasta, "one\tW\tintron\t6\t17\t.\t-\t.\t\n",
                  "GFF3, line 1: field 7 must be + (or 1), the strand of the sequence; got '-'");
    genes_refused(fasta, "one\tW\tintron\t6\t6\t.\t+\t.\t\n", "both donor and acceptor");
    genes_refused(fasta, "one\tW\tintron\t6\t9\t.\t+\t.\t\none\tW\tintron\t9\t12\t.\t+\t.\t\n",
                  "GFF3, line 2: a base would be");
}

static void gene_files_of_random_bytes_never_crash(void **state)
{
    struct mt19937 rng;
    mt19937_init(&rng, 6);
    for (int round = 0; round < 2000; round++) {
        char a[sizeof fasta], b[sizeof gff];
        memcpy(a, fasta, sizeof a);
        memcpy(b, gff, sizeof b);
        for (int i = 0; i < round % 3; i++)
            a[mt19937_integer(&rng, 0, (int64_t)sizeof a)] = (char)mt19937_integer(&rng, 0, 256);
        for (int i = 0; i < 1 + round % 5; i++)
            b[mt19937_integer(&rng, 0, (int64_t)sizeof b)] = (char)mt19937_integer(&rng, 0, 256);
        size_t size = (size_t)mt19937_integer(&rng, 1, (int64_t)sizeof b);
        char *exact = malloc(size);
        memcpy(exact, b, size);
        struct genes genes;
        if (genes_parse(a, sizeof a - 1, exact, size, NULL, &genes, NULL) == STATUS_OK)
            for (int64_t i = 0; i < genes.count; i++)
                assert_true(genes.bases[i] <= BASE_N && genes.classes[i] < SPLICING_CLASSES);
        genes_close(&genes);
        free(exact);
    }
}

static void windows_have_flanks_without_labels(void **state)
{
    struct genes genes;
    struct genes_windows windows, train, test;
    assert_int_equal(parse(gff, "W", &genes, NULL), STATUS_OK);
    assert_int_equal(genes_windows(&genes, GENES_ALL, 10, 4, &windows, NULL), STATUS_OK);
    assert_int_equal(windows.count, 3 + 1 + 1);
    uint8_t bases[18], classes[18];
    /* the window begins at base 10 of locus one, so the bases of its flank are known */
    genes_window(&genes, &windows, 1, bases, classes);
    assert_int_equal(bases[3], genes.bases[9]);
    assert_int_equal(classes[4 + 6], SITE_ACCEPTOR);
    genes_window(&genes, &windows, 0, bases, classes);
    assert_int_equal(bases[3], BASE_N);
    assert_int_equal(bases[4], BASE_A);
    assert_int_equal(classes[4 + 5], SITE_DONOR);
    genes_window(&genes, &windows, 2, bases, classes); /* the window of bases 20 to 22 */
    assert_int_equal(bases[0], genes.bases[16]);
    /* base 16 is an acceptor, but it is in the flank, where no base has a class */
    assert_int_equal(classes[0], SITE_NONE);
    assert_int_equal(bases[4 + 3], BASE_N);
    assert_int_equal(genes_windows(&genes, GENES_TRAIN, 10, 4, &train, NULL), STATUS_OK);
    assert_int_equal(genes_windows(&genes, GENES_TEST, 10, 4, &test, NULL), STATUS_OK);
    assert_int_equal(train.count + test.count, windows.count);
    genes_windows_close(&windows);
    genes_windows_close(&train);
    genes_windows_close(&test);
    genes_close(&genes);
}

/* Reads the published cut-outs, if MOTIF_SPLICING_GENES names their folder. */
static void published_genes_are_read(void **state)
{
    const char *folder = getenv("MOTIF_SPLICING_GENES");
    if (folder == NULL)
        skip();
    char a[512], b[512];
    struct genes genes;
    struct error err = {0};
    snprintf(a, sizeof a, "%s/smallgenes.fa", folder);
    snprintf(b, sizeof b, "%s/smallgenes.gff3", folder);
    enum status status = genes_load(a, b, "WormBase", &genes, &err);
    if (status)
        fail_msg("%s", err.message);
    assert_int_equal(genes.loci, 700);
    assert_int_equal(genes.count, 558283);
    assert_int_equal(genes.introns, 1189);
    int64_t gt = 0, ag = 0, donors = 0, acceptors = 0;
    for (int64_t i = 1; i + 1 < genes.count; i++) {
        donors += genes.classes[i] == SITE_DONOR;
        acceptors += genes.classes[i] == SITE_ACCEPTOR;
        gt += genes.classes[i] == SITE_DONOR && genes.bases[i] == BASE_G && genes.bases[i + 1] == BASE_T;
        ag += genes.classes[i] == SITE_ACCEPTOR && genes.bases[i - 1] == BASE_A && genes.bases[i] == BASE_G;
    }
    assert_int_equal(gt, donors);
    assert_true(ag >= acceptors - 1);
    genes_close(&genes);
}

/* ---- planted motifs -------------------------------------------------------------------------------- */

static void sites_follow_the_rule_worked_out_by_hand(void **state)
{
    struct splicing_planted d;
    /* The effect of a protein on a core depends on its place: + enhances the core, - silences it.
     *
     *   place of the protein      GAAGR  TAGGG
     *   upstream of a donor         +      -
     *   downstream of a donor       -      +
     *   upstream of an acceptor     -      +
     *   downstream of an acceptor   +      - */
    assert_int_equal(splicing_planted_small(&d, 2, NULL), STATUS_OK);
    char text[101];
    uint8_t bases[100], classes[100];
    struct box boxes[8];
    struct splicing_truth truth = {.room = 8, .boxes = boxes};
    d.length = 100;
    d.reach = 30;
    memset(text, 'C', 100);
    text[100] = '\0';
    memcpy(text + 10, "TGAAGACG", 8);  /* GAAGR, its middle at 13 */
    memcpy(text + 30, "CAGGTAAGT", 9); /* the core of a donor, its middle at 34, the G of GT at 33 */
    memcpy(text + 60, "TCTTTCAGG", 9); /* the core of an acceptor, its middle at 64, the G of AG at 67 */
    encode(text, bases);
    assert_int_equal(splicing_planted_read(&d, bases, classes, &truth, NULL), STATUS_OK);
    assert_int_equal(truth.count, 3);
    assert_int_equal(boxes[0].symbol, 0);
    assert_int_equal(boxes[0].col, 13);
    assert_int_equal(boxes[0].col0, 3);
    assert_int_equal(boxes[0].col1, 24);
    assert_int_equal(boxes[1].symbol, 3);      /* symbol 3 is the donor core, 5P */
    assert_int_equal(boxes[2].symbol, 2);      /* symbol 2 is the acceptor core, 3P */
    assert_int_equal(classes[33], SITE_DONOR); /* GAAGR upstream enhances the donor; no protein enhances the acceptor */
    assert_int_equal(classes[67], SITE_NONE);
    memcpy(text + 80, "TGAAGACG", 8); /* GAAGR downstream of the acceptor enhances it; the donor is too far away */
    encode(text, bases);
    assert_int_equal(splicing_planted_read(&d, bases, classes, &truth, NULL), STATUS_OK);
    assert_int_equal(classes[67], SITE_ACCEPTOR);
    assert_int_equal(classes[33], SITE_DONOR);
    /* TAGGG between the two cores enhances both sites */
    memcpy(text + 45, "ATAGGGTA", 8);
    memcpy(text + 10, "CCCCCCCC", 8);
    encode(text, bases);
    assert_int_equal(splicing_planted_read(&d, bases, classes, &truth, NULL), STATUS_OK);
    assert_int_equal(classes[33], SITE_DONOR);
    /* TAGGG upstream of the donor silences it: the effects sum to 0, so it is no site */
    memcpy(text + 18, "ATAGGGTA", 8);
    encode(text, bases);
    d.flank = 48;
    assert_int_equal(splicing_planted_read(&d, bases, classes, &truth, NULL), STATUS_OK);
    /* only TAGGG at 48 is outside of the flanks, so only this motif counts */
    assert_int_equal(truth.count, 1);
    assert_int_equal(classes[67], SITE_NONE);
    d.flank = 0;
    assert_int_equal(splicing_planted_read(&d, bases, classes, &truth, NULL), STATUS_OK);
    assert_int_equal(classes[33], SITE_NONE);
    truth.room = 1; /* boxes that do not fit into the array are still counted */
    assert_int_equal(splicing_planted_read(&d, bases, classes, &truth, NULL), STATUS_OK);
    assert_int_equal(truth.count, 5);
    splicing_planted_close(&d);
    assert_int_equal(splicing_planted_small(&d, 9, NULL), STATUS_INVALID);
}

static void planted_motifs_have_the_expected_frequencies(void **state)
{
    struct splicing_planted d;
    assert_int_equal(splicing_planted_small(&d, 8, NULL), STATUS_OK);
    uint8_t bases[1000], classes[1000], again[1000];
    struct box boxes[400];
    int of[10] = {0}, sites = 0, count = 0, overlapping = 0;
    for (int i = 0; i < 200; i++) {
        struct splicing_truth truth = {.room = 400, .boxes = boxes};
        assert_int_equal(splicing_planted_sample(&d, 1, i, bases, classes, &truth, NULL), STATUS_OK);
        for (int j = 0; j < truth.count; j++) {
            of[boxes[j].symbol]++;
            overlapping += j > 0 && boxes[j].col0 < boxes[j - 1].col1;
            assert_true(j == 0 || boxes[j].col >= boxes[j - 1].col);
        }
        count += truth.count;
        for (int j = 0; j < 1000; j++)
            sites += classes[j] != SITE_NONE;
    }
    /* Each sequence gets 25 motifs. Later motifs overwrite some of the earlier ones, so that on average 20 to 25 are
     * left. Each of the ten affinity models has about the same number of motifs. */
    assert_in_range(count, 200 * 20, 200 * 25);
    for (int i = 0; i < 10; i++)
        assert_in_range(of[i], count / 10 * 7 / 10, count / 10 * 13 / 10);
    assert_in_range(overlapping, count / 5, count / 2);
    assert_in_range(sites, (of[8] + of[9]) / 4, (of[8] + of[9]) / 2);
    assert_int_equal(splicing_planted_sample(&d, 1, 199, again, NULL, NULL, NULL), STATUS_OK);
    assert_memory_equal(bases, again, 1000);
    assert_int_equal(splicing_planted_sample(&d, -1, 199, again, NULL, NULL, NULL), STATUS_OK);
    assert_memory_not_equal(bases, again, 1000);
    splicing_planted_close(&d);
}

/* The list of motifs that a scan finds must grow, because this sequence has more motifs than its first capacity. */
static void dense_motifs_from_a_folder_are_all_found(void **state)
{
    char folder[] = "/tmp/motif-splicing-XXXXXX";
    struct splicing_planted d;
    struct error err = {0};
    assert_non_null(mkdtemp(folder));
    write_file(folder, "ONE.txt", two_matrices);
    write_file(folder, "TWO.txt", "PSAM A0=1 n=4\n1 .1 .1 .1 A\n.1 1 .1 .1 C\n.1 .1 1 .1 G\n.1 .2 .3 1 U\n");
    assert_int_equal(splicing_planted_folder(&d, folder, 3, 0.05, &err), STATUS_NOT_FOUND);
    error_clear(&err);
    assert_int_equal(splicing_planted_folder(&d, folder, 2, 0.05, &err), STATUS_OK);
    assert_int_equal(splicing_planted_proteins(&d), 2);
    d.length = 5000;
    d.spacing = 5;
    uint8_t *bases = malloc(5000), *classes = malloc(5000);
    struct box *boxes = malloc(5000 * sizeof *boxes);
    struct splicing_truth truth = {.room = 5000, .boxes = boxes};
    assert_int_equal(splicing_planted_sample(&d, 1, 0, bases, classes, &truth, &err), STATUS_OK);
    assert_in_range(truth.count, 300, 3000);
    int all = truth.count, cores = 0;
    for (int i = 0; i < all; i++)
        cores += boxes[i].symbol >= 2;
    assert_true(cores > 0);
    splicing_planted_proteins_only(&d);
    assert_int_equal(splicing_planted_read(&d, bases, classes, &truth, &err), STATUS_OK);
    assert_int_equal(truth.count, all - cores);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(classes[i], SITE_NONE);
    free(bases);
    free(classes);
    free(boxes);
    splicing_planted_close(&d);
    remove_file(folder, "ONE.txt");
    remove_file(folder, "TWO.txt");
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(splicing_planted_folder(&d, folder, 2, 0.05, &err), STATUS_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_become_bases_and_planes),
        cmocka_unit_test(affinities_equal_those_computed_by_hand),
        cmocka_unit_test(faulty_affinity_files_are_refused_with_the_line),
        cmocka_unit_test(affinity_files_of_random_bytes_never_crash),
        cmocka_unit_test(a_folder_of_affinity_files_is_read_in_order),
        cmocka_unit_test(thresholds_are_quantiles),
        cmocka_unit_test(published_affinity_files_are_read),
        cmocka_unit_test(introns_become_splice_sites),
        cmocka_unit_test(gaps_between_exons_become_splice_sites),
        cmocka_unit_test(faulty_gene_files_are_refused_with_the_line),
        cmocka_unit_test(gene_files_of_random_bytes_never_crash),
        cmocka_unit_test(windows_have_flanks_without_labels),
        cmocka_unit_test(published_genes_are_read),
        cmocka_unit_test(sites_follow_the_rule_worked_out_by_hand),
        cmocka_unit_test(planted_motifs_have_the_expected_frequencies),
        cmocka_unit_test(dense_motifs_from_a_folder_are_all_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
