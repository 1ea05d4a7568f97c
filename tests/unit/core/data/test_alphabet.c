/* Tests alphabets: the letters of one-hot sequences, and the description that clients receive. */
#include "tests/support/unit.h"
#include "core/data/alphabet.h"
#include "tests/support/text_sink.h"

enum { LENGTH = 6 };
static const enum hue hues[] = {HUE_RED, HUE_GREY, HUE_PURPLE};
static const struct alphabet three = {"three", "XYZ", hues, '-', "residues", 1};

static void letters_follow_the_symbols_and_end_at_the_last_known_position(void **state)
{
    static const float planes[3][LENGTH] = {{1, 0, 0, 0.5F, 1, 0}, {0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}};
    char text[LENGTH + 1];
    assert_int_equal(alphabet_spell(&three, &planes[0][0], LENGTH, text), 5);
    assert_string_equal(text, "XZ--X");
}

static void a_position_with_two_symbols_is_unknown(void **state)
{
    static const float planes[3][2] = {{1, 1}, {1, 0}, {0, 0}};
    char text[3];
    assert_int_equal(alphabet_spell(&three, &planes[0][0], 2, text), 2);
    assert_string_equal(text, "-X");
}

static void a_sequence_without_symbols_has_no_letters(void **state)
{
    static const float planes[3][2] = {{0.25F, 0}, {0.25F, 0}, {0.25F, 0}};
    char text[3];
    assert_int_equal(alphabet_spell(&three, &planes[0][0], 2, text), 0);
    assert_string_equal(text, "");
}

static void clients_receive_symbols_colours_and_units(void **state)
{
    struct buf buf;
    buf_init(&buf, 1 << 12);
    struct sink sink = text_sink(&buf);
    alphabet_write(&three, "alphabet", &sink);
    alphabet_write(NULL, "none", &sink);
    assert_string_equal(buf.data, " alphabet={ name='three' symbols=[ 'X' 'Y' 'Z' ] colours=[ 'red' 'grey' 'purple' ] "
                                  "unknown='-' unit='residues' } none=null");
    buf_close(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_follow_the_symbols_and_end_at_the_last_known_position),
        cmocka_unit_test(a_position_with_two_symbols_is_unknown),
        cmocka_unit_test(a_sequence_without_symbols_has_no_letters),
        cmocka_unit_test(clients_receive_symbols_colours_and_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
