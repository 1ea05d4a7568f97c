/* Tests position matrices: information, trimming, Fisher's test, files, and the alignment of windows with a planted
 * motif. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/genomics/files/motif_file.h"
#include "core/genomics/genomics.h"
#include "core/genomics/matrices/position_matrix.h"
#include "core/genomics/region.h"
#include "tests/support/fault.h"

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

enum { WINDOWS = 400, WIDE = 61, MOTIF = 10, WIDTH = 21, SHIFT = 12, JITTER = 6 };
static const double even[BASES] = {0.25, 0.25, 0.25, 0.25};

/* The planted motif is TGACGTTTCA, which has no symmetry. strength[i] is the probability of the motif's base at
 * position i; consensus[i] is this base. */
static const double strength[MOTIF] = {0.8, 0.95, 0.95, 0.7, 0.95, 0.9, 0.9, 0.95, 0.8, 0.9};
static const unsigned char consensus[MOTIF] = {3, 2, 0, 1, 2, 3, 3, 3, 1, 0};

struct planted {
    unsigned char base[WINDOWS][WIDE];
    int first[WINDOWS]; /* [window] the first position of the planted motif */
    bool reverse[WINDOWS];
};

/* Plants one copy of the motif in each window, at most JITTER positions from the middle. With `both`, the strand of
 * each copy is random. */
static void plant(struct planted *p, uint64_t seed, bool both)
{
    struct philox dice = philox_stream(seed, 1, 0);
    uint64_t at = 0;
    for (int n = 0; n < WINDOWS; n++) {
        for (int i = 0; i < WIDE; i++)
            p->base[n][i] = (unsigned char)(philox_u32(&dice, at++) % BASES);
        p->first[n] = (WIDE - MOTIF) / 2 - JITTER + (int)(philox_u32(&dice, at++) % (2 * JITTER + 1));
        p->reverse[n] = both && philox_u32(&dice, at++) % 2 == 1;
        for (int i = 0; i < MOTIF; i++) {
            int other = (int)(philox_u32(&dice, at++) % (BASES - 1)) + 1;
            bool own = (double)philox_uniform(&dice, at++) < strength[i];
            int base = own ? consensus[i] : (consensus[i] + other) % BASES;
            p->base[n][p->first[n] + (p->reverse[n] ? MOTIF - 1 - i : i)] =
                (unsigned char)(p->reverse[n] ? BASES - 1 - base : base);
        }
    }
}

static struct site_windows windows_of(struct planted *p)
{
    return (struct site_windows){WINDOWS, WIDE, &p->base[0][0]};
}

/* Turns the matrix to the other strand unless it shows the strand of `consensus`. Returns whether it turned the
 * matrix. */
static bool turn(struct position_matrix *m)
{
    bool other =
        m->count[3][consensus[3]] < 0.5 * m->sites; /* TGAAACGTCA, the motif on the other strand, has an A there */
    if (other)
        position_matrix_reverse(m);
    return other;
}

static void check_planted(struct position_matrix *m)
{
    assert_int_equal(m->width, MOTIF);
    assert_int_equal(m->sites, WINDOWS);
    for (int i = 0; i < MOTIF; i++)
        assert_near(m->count[i][consensus[i]] / WINDOWS, strength[i], 0.08);
}

static void windows_with_a_motif_on_both_strands_are_aligned_to_it(void **state)
{
    struct planted *p = malloc(sizeof *p);
    struct position_matrix m;
    struct site_placement placement[WINDOWS];
    struct site_windows windows = windows_of(p);
    for (uint64_t seed = 0; seed < 5; seed++) {
        int right = 0;
        plant(p, seed, true);
        assert_int_equal(position_matrix_align(&windows, WIDTH, SHIFT, true, &m, placement, NULL), STATUS_OK);
        int left = position_matrix_trim(&m, 0.2);
        bool other = turn(&m);
        check_planted(&m);
        for (int n = 0; n < WINDOWS; n++) {
            /* Trimming removed `left` columns. On the other strand, these columns are at the right end of the
             * window. */
            int removed = placement[n].reverse ? WIDTH - left - MOTIF : left;
            right += placement[n].first + removed == p->first[n] && (placement[n].reverse != other) == p->reverse[n];
        }
        assert_true(right > WINDOWS * 97 / 100);
    }
    free(p);
}

static void one_strand_is_read_where_the_other_does_not_count(void **state)
{
    struct planted *p = malloc(sizeof *p);
    struct position_matrix m;
    struct site_placement placement[WINDOWS];
    struct site_windows windows = windows_of(p);
    plant(p, 7, false);
    assert_int_equal(position_matrix_align(&windows, WIDTH, SHIFT, false, &m, placement, NULL), STATUS_OK);
    position_matrix_trim(&m, 0.2);
    check_planted(&m);
    for (int n = 0; n < WINDOWS; n++)
        assert_false(placement[n].reverse);
    free(p);
}

static void unknown_bases_are_not_counted(void **state)
{
    struct planted *p = malloc(sizeof *p);
    struct position_matrix m;
    plant(p, 3, true);
    struct site_windows windows = windows_of(p);
    for (int n = 0; n < WINDOWS; n++)
        memset(p->base[n], BASE_UNKNOWN, (size_t)p->first[n]);
    assert_int_equal(position_matrix_align(&windows, WIDTH, SHIFT, true, &m, NULL, NULL), STATUS_OK);
    double most = 0;
    for (int i = 0; i < m.width; i++) {
        double total = m.count[i][0] + m.count[i][1] + m.count[i][2] + m.count[i][3];
        most = total > most ? total : most;
        assert_true(total <= WINDOWS);
    }
    assert_true(most > 0.95 * WINDOWS);
    memset(p->base, BASE_UNKNOWN, sizeof p->base);
    assert_int_equal(position_matrix_align(&windows, WIDTH, SHIFT, true, &m, NULL, NULL), STATUS_NOT_FOUND);
    free(p);
}

static void alignment_without_memory_fails(void **state)
{
    struct planted *p = malloc(sizeof *p);
    struct position_matrix m;
    struct site_windows windows = windows_of(p);
    struct error err;
    plant(p, 1, true);
    int failures = 0;
    for (;; failures++) {
        fault_after(failures);
        enum status status = position_matrix_align(&windows, WIDTH, SHIFT, true, &m, NULL, &err);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
    assert_int_equal(failures, 2);
    free(p);
}

static struct position_matrix small(void)
{
    return (struct position_matrix){
        .width = 4, .sites = 8, .count = {{2, 2, 2, 2}, {8, 0, 0, 0}, {4, 4, 0, 0}, {3, 1, 2, 2}}};
}

static void information_has_the_correction_for_few_sites(void **state)
{
    struct position_matrix m = small();
    double correction = 3 / (2 * log(2) * 8);
    assert_near(position_matrix_information(&m, 0), 0, 0);
    assert_near(position_matrix_information(&m, 1), 2 - correction, 1e-12);
    assert_near(position_matrix_information(&m, 2), 1 - correction, 1e-12);
    assert_near(correction, 2.16 / 8, 1e-3);
}

static void trimming_removes_weak_ends_only(void **state)
{
    struct position_matrix m = small();
    assert_int_equal(position_matrix_trim(&m, 0.2), 1);
    assert_int_equal(m.width, 2);
    assert_near(m.count[0][0], 8, 0);
    assert_int_equal(position_matrix_trim(&m, 3), 2);
    assert_int_equal(m.width, 0);
}

/* The first position is weak. Two positions without information separate it from the motif, so it is removed. The last
 * position is equally weak, but only one such position separates it from the motif, so it stays. */
static void trimming_removes_a_weak_end_that_is_alone(void **state)
{
    static const double counts[][BASES] = {{140, 20, 20, 20}, {50, 50, 50, 50}, {50, 50, 50, 50}, {200, 0, 0, 0},
                                           {0, 200, 0, 0},    {50, 50, 50, 50}, {20, 20, 20, 140}};
    struct position_matrix m = {.width = 7, .sites = 200};
    memcpy(m.count, counts, sizeof counts);
    assert_true(position_matrix_information(&m, 0) > 0.5 && position_matrix_information(&m, 0) < 1);
    assert_int_equal(position_matrix_trim(&m, 0.4), 3);
    assert_int_equal(m.width, 4);
    memcpy(m.count, counts, sizeof counts);
    m.width = 7;
    assert_int_equal(position_matrix_trim(&m, 0.2), 0); /* strong enough to stay alone */
    assert_int_equal(m.width, 7);
}

static void reverse_of_the_reverse_is_the_matrix(void **state)
{
    struct position_matrix m = small(), twice = m;
    position_matrix_reverse(&twice);
    assert_near(twice.count[0][2], m.count[3][1], 0);
    position_matrix_reverse(&twice);
    assert_memory_equal(&m, &twice, sizeof m);
}

static void column_has_pseudo_counts_of_the_background(void **state)
{
    struct position_matrix m = small();
    const double background[BASES] = {0.4, 0.1, 0.1, 0.4};
    double p[BASES];
    position_matrix_column(&m, 1, background, 2, p);
    assert_near(p[0], 8.8 / 10, 1e-12);
    assert_near(p[1], 0.2 / 10, 1e-12);
    assert_near(p[3], 0.8 / 10, 1e-12);
}

static void fisher_test_has_the_textbook_values(void **state)
{
    /* Fisher's example: a lady tells for all eight cups whether the milk came first */
    assert_near(position_fisher(8, 4, 4, 4), 1.0 / 70, 1e-12);
    assert_near(position_fisher(8, 4, 4, 3), 17.0 / 70, 1e-12);
    assert_near(position_fisher(8, 4, 4, 0), 1, 1e-12);
    assert_near(position_fisher(24, 12, 10, 9), 0.00137973,
                1e-7); /* SciPy: fisher_exact([[9, 3], [1, 11]], "greater") */
    assert_true(position_fisher(1000, 500, 500, 500) < 1e-250);
}

static const char meme[] = "MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n\nBackground letter frequencies\n"
                           "A 0.250000 C 0.250000 G 0.250000 T 0.250000\n\n"
                           "MOTIF channel-0 GATA_1\n"
                           "letter-probability matrix: alength= 4 w= 4 nsites= 8 E= 0.00123\n"
                           " 0.250000  0.250000  0.250000  0.250000\n"
                           " 1.000000  0.000000  0.000000  0.000000\n"
                           " 0.500000  0.500000  0.000000  0.000000\n"
                           " 0.375000  0.125000  0.250000  0.250000\n\n";
static const char jaspar[] = ">channel-0\tGATA_1\n"
                             "A  [      2      8      4      3 ]\n"
                             "C  [      2      0      4      1 ]\n"
                             "G  [      2      0      0      2 ]\n"
                             "T  [      2      0      0      2 ]\n";

static void files_have_the_published_form(void **state)
{
    struct named_motif motifs[2] = {{"channel-0", "GATA 1", small(), 0.00123}, {"channel-1", "", {0}, NAN}};
    struct buf out;
    buf_init(&out, 1 << 16);
    motif_file_meme(motifs, 2, even, genomics.dna, &out);
    buf_append(&out, "", 1);
    assert_string_equal(out.data, meme);
    buf_clear(&out);
    motif_file_jaspar(motifs, 2, &out);
    buf_append(&out, "", 1);
    assert_string_equal(out.data, jaspar);
    buf_close(&out);
}

static void rows_of_a_file_have_the_sum_one(void **state)
{
    struct named_motif motif = {
        "x", "", {.width = 3, .sites = 3, .count = {{1, 1, 1, 0}, {2, 1, 0, 0}, {1, 5, 1, 0}}}, NAN};
    struct buf out;
    buf_init(&out, 1 << 16);
    motif_file_meme(&motif, 1, even, genomics.rna, &out);
    buf_append(&out, "", 1);
    const char *row = strstr(out.data, "E= 0\n");
    assert_non_null(row);
    row += 5;
    for (int i = 0; i < 3; i++) {
        double sum = 0;
        char *end = NULL;
        for (int b = 0; b < BASES; b++, row = end)
            sum += strtod(row, &end);
        assert_near(sum, 1, 1e-9);
    }
    buf_close(&out);
}

static void a_file_of_rna_has_the_letter_u_and_one_strand(void **state)
{
    struct named_motif motif = {"x", "", small(), NAN};
    struct buf out;
    buf_init(&out, 1 << 16);
    motif_file_meme(&motif, 1, even, genomics.rna, &out);
    buf_append(&out, "", 1);
    assert_non_null(strstr(out.data, "\nALPHABET= ACGU\n"));
    assert_non_null(strstr(out.data, "strands: +\n"));
    assert_non_null(strstr(out.data, "A 0.250000 C 0.250000 G 0.250000 U 0.250000\n"));
    buf_close(&out);
}

/* ---- places and names of regions ----------------------------------------------------------------------------- */

static void sites_are_placed_where_they_were_planted(void **state)
{
    static struct planted p;
    struct site_windows windows = {WINDOWS, WIDE, &p.base[0][0]};
    struct position_matrix m;
    struct site_ratios ratios;
    struct error err = {0};
    int right = 0;
    plant(&p, 11, true);
    assert_int_equal(position_matrix_align(&windows, WIDTH, SHIFT, true, &m, NULL, &err), STATUS_OK);
    position_matrix_trim(&m, 0.5);
    (void)turn(&m);
    assert_int_equal(m.width, MOTIF);
    site_ratios_make(&m, even, &ratios);
    for (int n = 0; n < WINDOWS; n++) {
        struct site_placement at;
        assert_true(site_place(&ratios, p.base[n], WIDE, WIDE / 2, JITTER + 1, true, &at));
        assert_true(at.first >= 0 && at.first + MOTIF <= WIDE);
        right += at.first == p.first[n] && at.reverse == p.reverse[n];
    }
    assert_true(right > WINDOWS * 95 / 100);
    struct site_placement at;
    assert_false(site_place(&ratios, p.base[0], MOTIF - 1, 0, 3, true, &at));
    assert_true(site_place(&ratios, p.base[0], MOTIF, 0, MOTIF, false, &at) && at.first == 0 && !at.reverse);
}

static void names_of_records_give_coordinates(void **state)
{
    static const struct {
        const char *record;
        enum coordinates coordinates;
        const char *name;
        int64_t start; /* where the record's interval [10, 15) starts, expressed in `coordinates` */
    } cases[] = {{"chr1:100-200", COORDINATES_RECORD, "chr1:100-200", 10},
                 {"chr1:100-200", COORDINATES_BEDTOOLS, "chr1", 110},
                 {"chr1:100-200", COORDINATES_UCSC, "chr1", 109},
                 {"chr1:100-200(+)", COORDINATES_BEDTOOLS, "chr1", 110},
                 {"chr1:100-200(-)", COORDINATES_BEDTOOLS, "chr1", 185},
                 {"peak_7::HLA:1:100-200(-)", COORDINATES_BEDTOOLS, "HLA:1", 185},
                 {"chr1:0-9", COORDINATES_UCSC, "chr1:0-9", 10},
                 {"chr1:9-9", COORDINATES_BEDTOOLS, "chr1:9-9", 10},
                 {"chr1:100-200x", COORDINATES_BEDTOOLS, "chr1:100-200x", 10},
                 {"chr1:-5", COORDINATES_BEDTOOLS, "chr1:-5", 10},
                 {":1-2", COORDINATES_BEDTOOLS, ":1-2", 10},
                 {"plain", COORDINATES_UCSC, "plain", 10}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct region region;
        region_parse(cases[i].record, cases[i].coordinates, &region);
        assert_string_equal(region.name, cases[i].name);
        assert_int_equal(region_start(&region, 10, 15), cases[i].start);
    }
}

static void one_motif_in_two_matrices_is_recognised_on_both_strands(void **state)
{
    static struct planted p;
    struct site_windows windows = {WINDOWS, WIDE, &p.base[0][0]};
    struct position_matrix one, two, noise = {.width = WIDTH, .sites = 4};
    struct error err = {0};
    plant(&p, 3, false);
    assert_int_equal(position_matrix_align(&windows, WIDTH, SHIFT, false, &one, NULL, &err), STATUS_OK);
    plant(&p, 4, false);
    assert_int_equal(position_matrix_align(&windows, WIDTH - 4, SHIFT, false, &two, NULL, &err), STATUS_OK);
    assert_true(motif_similarity(&one, &two, false) > 0.95);
    position_matrix_reverse(&two);
    assert_true(motif_similarity(&one, &two, false) < 0.8);
    assert_true(motif_similarity(&one, &two, true) > 0.95);
    for (int i = 0; i < WIDTH; i++)
        noise.count[i][i * 7 % 5 % BASES] = 4;
    assert_true(motif_similarity(&one, &noise, true) < 0.8);
    two.width = 4;
    assert_true(motif_similarity(&one, &two, true) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_with_a_motif_on_both_strands_are_aligned_to_it),
        cmocka_unit_test(one_strand_is_read_where_the_other_does_not_count),
        cmocka_unit_test(unknown_bases_are_not_counted),
        cmocka_unit_test(alignment_without_memory_fails),
        cmocka_unit_test(information_has_the_correction_for_few_sites),
        cmocka_unit_test(trimming_removes_weak_ends_only),
        cmocka_unit_test(trimming_removes_a_weak_end_that_is_alone),
        cmocka_unit_test(reverse_of_the_reverse_is_the_matrix),
        cmocka_unit_test(column_has_pseudo_counts_of_the_background),
        cmocka_unit_test(fisher_test_has_the_textbook_values),
        cmocka_unit_test(files_have_the_published_form),
        cmocka_unit_test(rows_of_a_file_have_the_sum_one),
        cmocka_unit_test(a_file_of_rna_has_the_letter_u_and_one_strand),
        cmocka_unit_test(sites_are_placed_where_they_were_planted),
        cmocka_unit_test(names_of_records_give_coordinates),
        cmocka_unit_test(one_motif_in_two_matrices_is_recognised_on_both_strands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
