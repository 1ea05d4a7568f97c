/* Tests that enriched_motif_find() finds planted motifs, on either strand, one after another, and nothing in noise. */
#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/genomics/matrices/enriched_motif.h"

enum { SEQUENCES = 600, LENGTH = 100, WIDTH = 15 };

static unsigned char base[SEQUENCES * LENGTH];
static int64_t first[SEQUENCES + 1];
static bool with[SEQUENCES];

static uint32_t draw(uint64_t *at)
{
    static struct philox noise;
    if (*at == 0)
        noise = philox_stream(7, 1, 0);
    return philox_u32(&noise, (*at)++);
}

static unsigned char number(char letter)
{
    return (unsigned char)(strchr("ACGT", letter) - "ACGT");
}

/* Writes a word into a sequence, at a random place; every letter is replaced with a probability of 1 / noise. */
static void plant(unsigned char *to, const char *word, bool reverse, uint32_t noise, uint64_t *at)
{
    int size = (int)strlen(word), place = (int)(draw(at) % (uint32_t)(LENGTH - size));
    for (int i = 0; i < size; i++) {
        unsigned char b = draw(at) % noise == 0 ? (unsigned char)(draw(at) % 4) : number(word[i]);
        to[reverse ? place + size - 1 - i : place + i] = reverse ? (unsigned char)(3 - b) : b;
    }
}

/* Makes random sequences; those with an even index have the words. */
static struct enriched_set make(const char *const *words, int count, bool both)
{
    uint64_t at = 0;
    for (int s = 0; s < SEQUENCES; s++) {
        unsigned char *to = base + (ptrdiff_t)s * LENGTH;
        first[s + 1] = (int64_t)(s + 1) * LENGTH;
        with[s] = s % 2 == 0;
        for (int i = 0; i < LENGTH; i++)
            to[i] = (unsigned char)(draw(&at) % 4);
        for (int w = 0; with[s] && w < count; w++)
            if (draw(&at) % 4 > (uint32_t)w)
                plant(to, words[w], both && draw(&at) % 2, 8, &at);
    }
    return (struct enriched_set){SEQUENCES, first, base, with, both, WIDTH};
}

/* Writes the most frequent letters of a matrix. */
static void consensus(const struct position_matrix *m, char *out)
{
    for (int i = 0; i < m->width; i++) {
        int best = 0;
        for (int b = 1; b < BASES; b++)
            best = m->count[i][b] > m->count[i][best] ? b : best;
        out[i] = "ACGT"[best];
    }
    out[m->width] = '\0';
}

static bool shows(const struct position_matrix *m, const char *word, bool both)
{
    char text[MATRIX_WIDTH + 1];
    struct position_matrix other = *m;
    consensus(m, text);
    if (strstr(text, word))
        return true;
    position_matrix_reverse(&other);
    consensus(&other, text);
    return both && strstr(text, word);
}

static void planted_words_are_found_one_after_another(void **state)
{
    static const char *const words[] = {"GATTACAGG", "CCGTTA"};
    for (int both = 0; both < 2; both++) {
        struct enriched_set set = make(words, 2, both);
        bool found[2] = {false, false};
        for (int round = 0; round < 2; round++) {
            struct position_matrix m;
            struct error err = {0};
            double p;
            assert_int_equal(enriched_motif_find(&set, &m, &p, NULL, NULL, &err), STATUS_OK);
            assert_true(p < 1e-7 && m.width >= 6 && m.width <= WIDTH && m.sites >= 10);
            for (int w = 0; w < 2; w++)
                found[w] |= shows(&m, words[w], both);
        }
        assert_true(found[0] && found[1]);
    }
}

static void the_sites_of_a_motif_are_erased(void **state)
{
    static const char *const word[] = {"GATTACAGG"};
    struct enriched_set set = make(word, 1, false);
    struct position_matrix m;
    struct error err = {0};
    double p;
    int left = 0, erased = 0;
    assert_int_equal(enriched_motif_find(&set, &m, &p, NULL, NULL, &err), STATUS_OK);
    for (int i = 0; i < SEQUENCES * LENGTH; i++) {
        bool whole = i + 9 <= SEQUENCES * LENGTH;
        for (int j = 0; whole && j < 9; j++)
            whole = base[i + j] == number(word[0][j]);
        left += whole;
        erased += base[i] == BASE_UNKNOWN;
    }
    assert_true(left == 0 && erased > 100 * m.width && erased < SEQUENCES * LENGTH / 10);
}

static void noise_has_no_motif_and_same_sequences_give_the_same_matrix(void **state)
{
    static const char *const word[] = {"GATTACAGG"};
    struct position_matrix m, again;
    struct error err = {0};
    double p = 1, q;
    struct enriched_set set = make(NULL, 0, true);
    enum status status = enriched_motif_find(&set, &m, &p, NULL, NULL, &err);
    assert_true(status == STATUS_NOT_FOUND || p > 1e-7);
    set = make(word, 1, true);
    assert_int_equal(enriched_motif_find(&set, &m, &p, NULL, NULL, &err), STATUS_OK);
    set = make(word, 1, true);
    assert_int_equal(enriched_motif_find(&set, &again, &q, NULL, NULL, &err), STATUS_OK);
    assert_true(p == q && m.width == again.width);
    assert_memory_equal(m.count, again.count, (size_t)m.width * sizeof m.count[0]);
}

static void a_set_without_labelled_or_other_sequences_has_no_motif(void **state)
{
    struct enriched_set set = make(NULL, 0, true);
    struct position_matrix m;
    struct error err = {0};
    double p;
    for (int all = 0; all < 2; all++) {
        for (int s = 0; s < SEQUENCES; s++)
            with[s] = all == 1;
        assert_int_equal(enriched_motif_find(&set, &m, &p, NULL, NULL, &err), STATUS_NOT_FOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_words_are_found_one_after_another),
        cmocka_unit_test(the_sites_of_a_motif_are_erased),
        cmocka_unit_test(noise_has_no_motif_and_same_sequences_give_the_same_matrix),
        cmocka_unit_test(a_set_without_labelled_or_other_sequences_has_no_motif),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
