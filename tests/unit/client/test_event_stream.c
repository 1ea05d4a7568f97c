/* Tests the parser of server-sent events: it gets whole streams in pieces of every size. */
#include "tests/support/unit.h"
#include "api/client/event_stream.h"

struct taken {
    char text[1024];
    int left; /* number of events until take() returns false */
};

static bool take(void *context, const char *type, const char *data)
{
    struct taken *taken = context;
    size_t used = strlen(taken->text);
    (void)snprintf(taken->text + used, sizeof taken->text - used, "[%s|%s]", type, data);
    return --taken->left > 0;
}

static const char stream_text[] =
    "retry: 1000\nid: 3\n\n: a comment\n\nid: 4\nevent: state\ndata: {\"a\":1}\n\n"
    "id: 5\r\nevent:progress\r\ndata: one\r\ndata:two\r\n\r\nid: 6\nevent: state\ndata: cut o";

/* The size of the pieces does not change the events. An incomplete event at the end is dropped. */
static void events_do_not_depend_on_the_pieces(void **state)
{
    for (size_t size = 1; size <= sizeof stream_text; size++) {
        struct event_stream stream = {0};
        struct taken taken = {.left = 100};
        event_stream_begin(&stream, take, &taken);
        for (size_t at = 0; at < sizeof stream_text - 1; at += size) {
            size_t rest = sizeof stream_text - 1 - at;
            assert_true(event_stream_add(&stream, stream_text + at, rest < size ? rest : size));
        }
        assert_string_equal(taken.text, "[|][state|{\"a\":1}][progress|one\ntwo]");
        assert_string_equal(stream.last, "5");
        event_stream_begin(&stream, take, &taken); /* a new connection must know the id of the last event */
        assert_string_equal(stream.last, "5");
        event_stream_end(&stream);
    }
}

static void enough(void **state)
{
    struct event_stream stream = {0};
    struct taken taken = {.left = 2};
    event_stream_begin(&stream, take, &taken);
    assert_false(event_stream_add(&stream, stream_text, sizeof stream_text - 1));
    assert_string_equal(taken.text, "[|][state|{\"a\":1}]");
    assert_string_equal(stream.last, "4");
    event_stream_end(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(events_do_not_depend_on_the_pieces), cmocka_unit_test(enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
