/* Tests rate limits: the steady rate, a burst of at most the requests of two seconds, and one bucket per caller. */
#include <arpa/inet.h>

#include "tests/support/unit.h"
#include "server/http/rate.h"

static struct rate *make(int64_t per_second)
{
    struct rate *rate = NULL;
    struct error err = {0};
    assert_int_equal(rate_create(per_second, &rate, &err), STATUS_OK);
    return rate;
}

/* Sends `asked` requests at one moment and returns how many are granted. */
static int granted(struct rate *rate, const char *who, double now, int asked)
{
    int count = 0, wait;
    for (int i = 0; i < asked; i++)
        count += rate_take(rate, who, strlen(who), now, &wait);
    return count;
}

static void a_caller_gets_a_burst_then_a_steady_rate(void **state)
{
    struct rate *rate = make(10);
    int wait = 0;
    assert_int_equal(granted(rate, "ann", 100, 50), 20);
    assert_int_equal(granted(rate, "bob", 100, 50), 20);
    assert_false(rate_take(rate, "ann", 3, 100, &wait));
    assert_int_equal(wait, 1);
    assert_int_equal(granted(rate, "ann", 100.55, 50), 5);
    /* a caller gets at most the burst, however long it has waited */
    assert_int_equal(granted(rate, "ann", 200, 50), 20);
    assert_int_equal(granted(rate, "ann", 150, 50), 0); /* a clock that goes backwards grants nothing */
    assert_int_equal(granted(rate, "ann", 201, 50), 10);
    rate_destroy(rate);
    rate = make(1);
    assert_int_equal(granted(rate, "ann", 5, 9), 2);
    assert_false(rate_take(rate, "ann", 3, 5.5, &wait));
    assert_int_equal(wait, 1);
    rate_destroy(rate);
}

static void zero_means_no_limit(void **state)
{
    assert_null(make(0));
    assert_int_equal(granted(NULL, "ann", 1, 100000), 100000);
    rate_destroy(NULL);
}

/* With more callers than the table has buckets, a busy caller keeps its bucket and its limit. */
static void a_busy_caller_keeps_its_bucket_among_many(void **state)
{
    struct rate *rate = make(10);
    char name[32];
    int busy = 0;
    for (int i = 0; i < 20000; i++) {
        double now = 1 + i * 1e-4;
        (void)snprintf(name, sizeof name, "caller %d", i);
        assert_int_equal(granted(rate, name, now, 1), 1);
        busy += granted(rate, "busy", now, 1);
    }
    assert_in_range(busy, 38, 42); /* a burst of 20 requests, and 10 a second for two seconds */
    rate_destroy(rate);
}

static size_t address(const char *text, uint8_t out[16])
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return rate_address((const struct sockaddr *)&v4, out);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return rate_address((const struct sockaddr *)&v6, out);
}

static void an_ipv6_caller_is_its_64_bit_prefix(void **state)
{
    uint8_t a[16], b[16];
    assert_int_equal(address("192.0.2.1", a), 4);
    assert_int_equal(address("::ffff:192.0.2.1", b), 4);
    assert_memory_equal(a, b, 4);
    assert_int_equal(address("2001:db8:1:2::1", a), 8);
    assert_int_equal(address("2001:db8:1:2:ffff::9", b), 8);
    assert_memory_equal(a, b, 8);
    assert_int_equal(address("2001:db8:1:3::1", b), 8);
    assert_memory_not_equal(a, b, 8);
    assert_int_equal(rate_address(NULL, a), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_gets_a_burst_then_a_steady_rate),
        cmocka_unit_test(zero_means_no_limit),
        cmocka_unit_test(a_busy_caller_keeps_its_bucket_among_many),
        cmocka_unit_test(an_ipv6_caller_is_its_64_bit_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
