/* Tests that reading an upload ends wherever its budget ends, and that it takes from its budget what it stores. */
#include <archive.h>
#include <archive_entry.h>

#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"
#include "tests/support/archive_add.h"
#include "tests/support/looks.h"

static struct error err;

static enum status read_with(const char *format, const char *bytes, size_t size, enum collection_negatives negatives,
                             struct work *work, struct collection *c)
{
    struct byte_source_memory memory = {(const unsigned char *)bytes, size, 7};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_options options = {.label = "", .group = "", .negatives = negatives, .work = work};
    const struct collection_limits limits = COLLECTION_LIMITS;
    from.work = work;
    err = (struct error){0};
    return collection_read(collection_format_named(format), &from, &options, &limits, c, &err);
}

/* Reads the bytes with budgets that end at each look. */
static void ends_everywhere(const char *format, const char *bytes, size_t size, enum collection_negatives negatives)
{
    for (int n = 0;; n++) {
        struct looks looks;
        struct collection c;
        looks_open(&looks, n);
        enum status status = read_with(format, bytes, size, negatives, &looks.work, &c);
        assert_true(n < 100000);
        if (!looks.ended) {
            assert_int_equal(status, STATUS_OK);
            assert_true(n > 8 && c.work == NULL); /* bytes, samples and each inspection look */
            collection_close(&c);
            return;
        }
        assert_int_equal(status, STATUS_CANCELLED);
        assert_null(c.values);
    }
}

static void reading_ends_wherever_its_budget_ends(void **state)
{
    static const char table[] = "a,b,label\n1,2,x\n2,3,y\n2,3,x\n", sequences[] = ">a x\nACGTTGCAACGT\n>c x y\nCCATG\n";
    static const char genes[] = ">g\nACGTACGTACGTACGTACGT\n",
                      exons[] = "##gff-version 3\ng\t.\texon\t3\t9\t.\t+\t.\tID=e\n";
    static char tar[1 << 14];
    size_t size = 0;
    struct archive *a = archive_write_new();
    (void)state;
    ends_everywhere("csv", table, sizeof table - 1, NEGATIVES_NONE);
    ends_everywhere("fasta", sequences, sizeof sequences - 1, NEGATIVES_SHUFFLE);
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, tar, sizeof tar, &size), ARCHIVE_OK);
    archive_add(a, "genes.fa", genes, strlen(genes));
    archive_add(a, "genes.gff3", exons, strlen(exons));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    for (int n = 0; n < 3; n++) { /* an archive asks before it reads anything */
        struct looks looks;
        struct collection c;
        looks_open(&looks, n);
        assert_int_equal(read_with("tar", tar, size, NEGATIVES_NONE, &looks.work, &c), STATUS_CANCELLED);
    }
}

/* Without a file of the caller, the values are in memory; three floats take 12 bytes. */
static void values_are_taken_from_the_budget(void **state)
{
    static const char table[] = "a,label\n1.5,x\n2.5,y\n3.5,x\n";
    (void)state;
    for (int64_t most = 11; most <= 12; most++) {
        const int64_t limit[LEDGER_RESOURCES] = {[LEDGER_MEMORY] = most};
        struct ledger *ledger = NULL;
        struct ledger_state read;
        struct work work = {0};
        struct collection c;
        assert_int_equal(ledger_create(limit, &ledger, &err), STATUS_OK);
        ledger_open(&work.account, ledger, "");
        enum status status = read_with("csv", table, sizeof table - 1, NEGATIVES_NONE, &work, &c);
        assert_int_equal(status, most < 12 ? STATUS_LIMIT : STATUS_OK);
        ledger_read(ledger, &read);
        assert_int_equal(read.held[LEDGER_RESULTS], most < 12 ? 0 : 12);
        collection_close(&c);
        ledger_close(&work.account);
        ledger_destroy(ledger);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_ends_wherever_its_budget_ends),
        cmocka_unit_test(values_are_taken_from_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
