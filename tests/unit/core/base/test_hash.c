/* Tests SHA-256 with published examples, and hashing in pieces. */
#include "tests/support/unit.h"
#include "core/base/hash.h"

static void expect(const void *bytes, size_t count, const char *wanted)
{
    unsigned char digest[HASH_BYTES];
    char text[HASH_TEXT];
    hash_bytes(bytes, count, digest);
    hash_hex(digest, text);
    assert_string_equal(text, wanted);
}

/* The expected digests are the examples of FIPS 180-4. */
static void digests_equal_published_answers(void **state)
{
    expect(NULL, 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    expect(two_blocks, strlen(two_blocks), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void hash_in_pieces_equals_hash_at_once(void **state)
{
    unsigned char bytes[1000], whole[HASH_BYTES], parts[HASH_BYTES];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    hash_bytes(bytes, sizeof bytes, whole);
    for (size_t piece = 1; piece < 200; piece += 13) {
        struct hash hash;
        hash_init(&hash);
        for (size_t at = 0; at < sizeof bytes; at += piece) {
            size_t left = sizeof bytes - at;
            hash_add(&hash, bytes + at, left < piece ? left : piece);
            hash_add(&hash, NULL, 0);
        }
        hash_finish(&hash, parts);
        assert_memory_equal(whole, parts, HASH_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_equal_published_answers),
        cmocka_unit_test(hash_in_pieces_equals_hash_at_once),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
