/* Tests the guard of request heads: it refuses requests that libmicrohttpd accepts although RFC 9112 forbids them. */
#include "tests/support/unit.h"
#include "server/http/guard.h"

#define H(name, value)                                                                                                 \
    {                                                                                                                  \
        name, value, sizeof(name) - 1, sizeof(value) - 1                                                               \
    }

static const struct guard_rules loopback = {
    .loopback = true, .allow_host = "motif.example,other", .target_max = 4096, .headers_max = 16384};
static const struct guard_rules everywhere = {
    .loopback = false, .allow_host = "", .target_max = 4096, .headers_max = 16384};

static int check(const struct guard_rules *rules, const char *method, const char *version,
                 const struct guard_header *headers, size_t count)
{
    struct guard_verdict verdict = {0};
    struct guard_request request = {
        .method = method, .version = version, .target = "/v1/jobs", .headers = headers, .header_count = count};
    return guard_check(rules, &request, &verdict) ? 0 : verdict.status;
}

#define CHECK(rules, method, ...)                                                                                      \
    check(rules, method, "HTTP/1.1", (const struct guard_header[]){__VA_ARGS__},                                       \
          sizeof((const struct guard_header[]){__VA_ARGS__}) / sizeof(struct guard_header))

static void only_loopback_and_allowed_hosts_are_accepted(void **state)
{
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "127.0.0.1:8080")), 0);
    assert_int_equal(CHECK(&loopback, "GET", H("host", "localhost")), 0);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "LOCALHOST:1")), 0);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "[::1]:8080")), 0);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "127.9.8.7")), 0);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "motif.example:80")), 0);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "Other")), 0);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "evil.example")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "127.0.0.1.evil.example")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "localhost.evil.example")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "motif.exampl")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "a b")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "localhost:123456")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "user@localhost")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "[::1")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Accept", "*/*")), 400);
    assert_int_equal(CHECK(&everywhere, "GET", H("Host", "anything.example")), 0);
    assert_int_equal(CHECK(&everywhere, "GET", H("Host", "any/thing")), 400);
    /* a server that listens beyond loopback accepts the listed names and the machine's own names, and no others */
    const struct guard_rules listed = {.allow_host = "motif.example", .target_max = 4096, .headers_max = 16384};
    assert_int_equal(CHECK(&listed, "GET", H("Host", "MOTIF.example")), 0);
    assert_int_equal(CHECK(&listed, "GET", H("Host", "localhost:8080")), 0);
    assert_int_equal(CHECK(&listed, "GET", H("Host", "other.example")), 421);
}

/* Names that only look like those of the machine or of the list. */
static void similar_hosts_are_refused(void **state)
{
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "127.0.0.x")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "127.0.0.0.1")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "127.0.1")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "128.0.0.1")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "127.0.0.-")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "localhosu")), 421);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "motif.examplf")), 421); /* same length as a listed name */
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "[]")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "[::1x]")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "[::1]x")), 400);
    assert_int_equal(CHECK(&loopback, "GET", H("Host", "[::2]")), 421);
    char longest[300];
    memset(longest, 'a', sizeof longest);
    longest[255] = '\0';
    const struct guard_rules any = {.allow_host = "", .target_max = 4096, .headers_max = 16384};
    assert_int_equal(CHECK(&any, "GET", {"Host", longest, 4, 255}), 0);
    longest[255] = 'a';
    longest[256] = '\0';
    assert_int_equal(CHECK(&any, "GET", {"Host", longest, 4, 256}), 400);
}

static void contradictory_framing_is_refused(void **state)
{
    const struct guard_header host = H("Host", "localhost");
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "5")), 0);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Transfer-Encoding", "Chunked")), 0);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "5"), H("content-length", "6")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "5"), H("Content-Length", "5")), 0);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "5"), H("Transfer-Encoding", "chunked")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Transfer-Encoding", "xchunked")), 501);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Transfer-Encoding", "gzip, chunked")), 501);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "-1")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "+5")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "5, 5")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "0x5")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "9999999999999999999")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Content-Length", "")), 400);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Expect", "100-continue")), 0);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Expect", "miracles")), 417);
    const struct guard_header old[] = {host, H("Transfer-Encoding", "chunked")};
    assert_int_equal(check(&loopback, "POST", "HTTP/1.0", old, 2), 400);
    assert_int_equal(check(&loopback, "GET", "HTTP/1.0", old, 0), 0);
}

static void malformed_header_fields_are_refused(void **state)
{
    const struct guard_header host = H("Host", "localhost");
    assert_int_equal(CHECK(&loopback, "GET", host, H("X y", "1")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("X-Y ", "1")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("", "1")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("X", "a\0b")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("X", "a\rb")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("X", "a\tb")), 0);
    assert_int_equal(CHECK(&loopback, "GET", host, H("X", "a\x7F")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("X", "\xC3\xA4")), 0);
    /* `allowed`: characters that RFC 9110 allows in the name of a header; `others`: other characters */
    static const char allowed[] = "!#$%&'*+-.^_`|~09azAZ", others[] = "\"(),/:;<=>?@[\\]{} \x7F\x01";
    for (const char *c = allowed; *c != '\0'; c++)
        assert_int_equal(CHECK(&loopback, "GET", host, {c, "1", 1, 1}), 0);
    for (const char *c = others; *c != '\0'; c++)
        assert_int_equal(CHECK(&loopback, "GET", host, {c, "1", 1, 1}), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("a\0b", "1")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("Authorization", "a"), H("authorization", "b")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("Host", "other")), 400);
    assert_int_equal(CHECK(&loopback, "GET", host, H("Accept", "a"), H("Accept", "b")), 0);
    static char large[16400];
    memset(large, 'a', sizeof large - 1);
    assert_int_equal(CHECK(&loopback, "GET", host, {"X", large, 1, sizeof large - 1}), 431);
}

static void unknown_methods_and_long_targets_are_refused(void **state)
{
    static char target[5000] = "/";
    const struct guard_header host = H("Host", "localhost");
    struct guard_verdict verdict = {0};
    assert_int_equal(CHECK(&loopback, "BREW", host), 501);
    assert_int_equal(CHECK(&loopback, "get", host), 501);
    /* the guard accepts every known method; the route table answers 405 */
    assert_int_equal(CHECK(&loopback, "OPTIONS", host), 0);
    memset(target + 1, 'a', 4095);
    struct guard_request request = {
        .method = "GET", .version = "HTTP/1.1", .target = target, .headers = &host, .header_count = 1};
    assert_true(guard_check(&loopback, &request, &verdict));
    target[4096] = 'a';
    assert_false(guard_check(&loopback, &request, &verdict));
    assert_int_equal(verdict.status, 414);
}

static void other_origins_are_refused(void **state)
{
    const struct guard_header host = H("Host", "localhost:80");
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "http://localhost:80")), 0);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "https://evil.example")), 403);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "null")), 403);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "x://localhost:80")), 403);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "://localhost:80")), 403);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "chrome-extension://localhost:80")), 403);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "https://localhost:80")), 0); /* a proxy offers TLS */
    struct guard_rules tls = loopback;
    tls.tls = true;
    assert_int_equal(CHECK(&tls, "POST", host, H("Origin", "https://localhost:80")), 0);
    assert_int_equal(CHECK(&tls, "POST", host, H("Origin", "http://localhost:80")), 403);
    assert_int_equal(CHECK(&loopback, "POST", host, H("Origin", "http://localhost:81")), 403);
    assert_int_equal(CHECK(&loopback, "GET", host, H("Origin", "https://evil.example")), 0);
    assert_int_equal(CHECK(&loopback, "HEAD", host, H("Origin", "https://evil.example")), 0);
    const struct guard_header alone = H("Origin", "http://localhost:80"); /* HTTP/1.0 needs no Host */
    assert_int_equal(check(&loopback, "POST", "HTTP/1.0", &alone, 1), 403);
}

static void the_length_of_a_body_is_found(void **state)
{
    const struct guard_header length[] = {H("Content-Length", "12")}, none[] = {H("Content-Length", "0")},
                              chunked[] = {H("Transfer-Encoding", "chunked")};
    uint64_t bytes = 0;
    assert_true(guard_body(&(struct guard_request){.headers = length, .header_count = 1}, &bytes));
    assert_int_equal(bytes, 12);
    assert_false(guard_body(&(struct guard_request){.headers = none, .header_count = 1}, &bytes));
    assert_false(guard_body(&(struct guard_request){.headers = none, .header_count = 0}, &bytes));
    assert_true(guard_body(&(struct guard_request){.headers = chunked, .header_count = 1}, &bytes));
    assert_true(bytes == UINT64_MAX);
    const struct guard_header wrong[] = {H("Content-Length", "x")};
    assert_false(guard_body(&(struct guard_request){.headers = wrong, .header_count = 1}, &bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_loopback_and_allowed_hosts_are_accepted),
        cmocka_unit_test(similar_hosts_are_refused),
        cmocka_unit_test(contradictory_framing_is_refused),
        cmocka_unit_test(malformed_header_fields_are_refused),
        cmocka_unit_test(unknown_methods_and_long_targets_are_refused),
        cmocka_unit_test(other_origins_are_refused),
        cmocka_unit_test(the_length_of_a_body_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
