/* Tests the parsers and writers of the api: JSON, the JSON sink, request targets, headers and cursors. */
#include <float.h>
#include <math.h>

#include "tests/support/unit.h"
#include "api/api.h"
#include "api/http/cursor.h"
#include "protocol/json.h"
#include "protocol/json_sink.h"
#include "api/documents/openapi_schemas.h"
#include "api/http/uri.h"

static void scan_accepts_json(void **state)
{
    static const char *const good[] = {"0",
                                       "-0",
                                       "-0.5e+10",
                                       "1E-3",
                                       "9007199254740991",
                                       "-9007199254740991",
                                       "\"\"",
                                       "true",
                                       " [ ] ",
                                       "{\"a\":{\"b\":[1,null,\"\\u00e4\\ud83d\\ude00\\/\"]}}",
                                       "1e300",
                                       "\"\xf4\x8f\xbf\xbf\"",
                                       "9007199254740993.0",
                                       "\t[1,\r\n2\t]\r",
                                       "\"\\u00AF\\uabCD\\uDBFF\\uDFFF\\u0123\""};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct error err = {0};
        if (json_scan(good[i], strlen(good[i]), &err) != STATUS_OK)
            fail_msg("%s: %s", good[i], err.message);
        cJSON *root;
        assert_int_equal(json_parse(good[i], strlen(good[i]), &root, &err), STATUS_OK);
        cJSON_Delete(root);
    }
    assert_int_equal(json_scan("12", 1, NULL), STATUS_OK); /* the scan stops at the given length, not at a NUL */
    assert_int_equal(json_scan("1\0", 2, NULL), STATUS_CORRUPT);
}

static void scan_refuses_wrong_grammar_and_inexact_values(void **state)
{
    static const struct {
        const char *text;
        enum status status;
        const char *pointer;
    } bad[] = {
        {"", STATUS_CORRUPT, ""},
        {"+1", STATUS_CORRUPT, ""},
        {"-", STATUS_CORRUPT, ""},
        {".5", STATUS_CORRUPT, ""},
        {"1e", STATUS_CORRUPT, ""},
        {"1 2", STATUS_CORRUPT, ""},
        {"[1,]", STATUS_CORRUPT, "/1"},
        {"[1 2]", STATUS_CORRUPT, ""},
        {"{\"a\":{\"b\":tru}}", STATUS_CORRUPT, "/a/b"},
        {"\"\xed\xa0\x80\"", STATUS_CORRUPT, ""},
        {"\"\xe0\x80\xaf\"", STATUS_CORRUPT, ""},
        {"\"\xf8\x88\x80\x80\x80\"", STATUS_CORRUPT, ""},
        {"\"\xf4\x90\x80\x80\"", STATUS_CORRUPT, ""},
        {"\"\\udc00\"", STATUS_CORRUPT, ""},
        {"\"\\ud800\\u0041\"", STATUS_CORRUPT, ""},
        {"\"\\u12g4\"", STATUS_CORRUPT, ""},
        {"\"\x1f\"", STATUS_CORRUPT, ""},
        {"\"\\", STATUS_CORRUPT, ""},
        {"\"\\x\"", STATUS_CORRUPT, ""},
        {"\"\\u12", STATUS_CORRUPT, ""},
        {"\"\\u00/0\"", STATUS_CORRUPT, ""},
        {"\"\\u00:0\"", STATUS_CORRUPT, ""},
        {"\"\\u00@0\"", STATUS_CORRUPT, ""},
        {"\"\\u00G0\"", STATUS_CORRUPT, ""},
        {"\"\\u00`0\"", STATUS_CORRUPT, ""},
        {"\"\\u00~0\"", STATUS_CORRUPT, ""},
        {"\"\\u0000\"", STATUS_INVALID, ""},
        {"\"\\ud800\"", STATUS_CORRUPT, ""},
        {"\"\\ud800xxxxxx\"", STATUS_CORRUPT, ""},
        {"\"\\ud800\\nxxxx\"", STATUS_CORRUPT, ""},
        {"\"\\ud800\\u12x4\"", STATUS_CORRUPT, ""},
        {"\"\\ud800\\ue000\"", STATUS_CORRUPT, ""},
        {"\"\\udbff\\ud800\"", STATUS_CORRUPT, ""},
        {"\"open", STATUS_CORRUPT, ""},
        {"-x", STATUS_CORRUPT, ""},
        {"01", STATUS_CORRUPT, ""},
        {"1.", STATUS_CORRUPT, ""},
        {"1.x", STATUS_CORRUPT, ""},
        {"1e+", STATUS_CORRUPT, ""},
        {"{", STATUS_CORRUPT, ""},
        {"{1:2}", STATUS_CORRUPT, ""},
        {"{\"a\"", STATUS_CORRUPT, "/a"},
        {"{\"a\" 1}", STATUS_CORRUPT, "/a"},
        {"{\"a\":", STATUS_CORRUPT, "/a"},
        {"[1", STATUS_CORRUPT, ""},
        {"[0,{\"x/y\":[9007199254740992]}]", STATUS_INVALID, "/1/x~1y/0"},
        {"[-9007199254740992]", STATUS_INVALID, "/0"},
        {"[1e400]", STATUS_INVALID, "/0"},
        {"[0.00000000000000000000000000000000000000000000000000000000000000001]", STATUS_INVALID, "/0"},
        {"{\"a\":NaN}", STATUS_INVALID, "/a"},
        {"{\"a\":[1,Infinity]}", STATUS_INVALID, "/a/1"},
        {"{\"a\":1,\"b\":2,\"a\":3}", STATUS_INVALID, "/a"},
        {"[{\"a\":[{\"b\":1,\"\\u0062\":2}]}]", STATUS_INVALID, "/0/a/0/b"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct error err = {0};
        cJSON *root;
        enum status status = json_parse(bad[i].text, strlen(bad[i].text), &root, &err);
        if (status != bad[i].status || strcmp(err.pointer, bad[i].pointer) != 0)
            fail_msg("%s: %d at '%s': %s", bad[i].text, (int)status, err.pointer, err.message);
        assert_null(root);
    }
}

static void scan_limits_depth_and_values(void **state)
{
    char text[JSON_MEMBERS * 12 + 40];
    struct error err = {0};
    for (int members = JSON_MEMBERS; members <= JSON_MEMBERS + 1; members++) {
        size_t used = 1;
        text[0] = '{';
        for (int i = 0; i < members; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s\"k%d\":%d", i > 0 ? "," : "", i, i % 10);
        text[used++] = '}';
        assert_int_equal(json_scan(text, used, &err), members == JSON_MEMBERS ? STATUS_OK : STATUS_LIMIT);
    }
    size_t bytes = 2 * (JSON_VALUES + 1) + 1;
    char *many = malloc(bytes);
    many[0] = '[';
    for (size_t i = 1; i < bytes; i++)
        many[i] = i % 2 == 1 ? '1' : ',';
    many[bytes - 1] = ']';
    assert_int_equal(json_scan(many, bytes, NULL), STATUS_LIMIT);
    free(many);
    char deep[200000];
    memset(deep, '[', sizeof deep);
    assert_int_equal(json_scan(deep, sizeof deep, NULL), STATUS_LIMIT); /* the scan must not exhaust the stack */
}

static void canonical(const char *text, const char *expected)
{
    cJSON *root;
    struct buf out;
    struct error err = {0};
    buf_init(&out, 10000);
    assert_int_equal(json_parse(text, strlen(text), &root, &err), STATUS_OK);
    json_canonical(root, &out);
    assert_string_equal(out.data, expected);
    cJSON_Delete(root);
    buf_close(&out);
}

static void equal_values_have_the_same_canonical_text(void **state)
{
    canonical(" { \"b\" : 1.50 , \"a\" : [ true , null , -0 ] } ", "{\"a\":[true,null,0],\"b\":1.5}");
    canonical("{\"\\u0061\":\"\\u00e4\\n\\\"\"}", "{\"a\":\"\xc3\xa4\\n\\\"\"}");
    canonical("[1e2,100,1.0e+2]", "[100,100,100]");
    canonical("{}", "{}");
}

static void pointers_are_escaped_and_truncated_at_characters(void **state)
{
    char pointer[8] = "";
    json_pointer_add(pointer, sizeof pointer, "~/", 2);
    assert_string_equal(pointer, "/~0~1");
    /* two bytes that do not fit: no part of the character is added */
    json_pointer_add(pointer, sizeof pointer, "\xc3\xa4", 2);
    assert_string_equal(pointer, "/~0~1/");
    json_pointer_add(pointer, sizeof pointer, "x", 1); /* the buffer is full: the name is left out */
    assert_string_equal(pointer, "/~0~1//");
    json_pointer_add(pointer, sizeof pointer, "x", 1);
    assert_string_equal(pointer, "/~0~1//");
    pointer[0] = '\0';
    json_pointer_add(pointer, sizeof pointer, "a\x01\xff", 3);
    assert_string_equal(pointer, "/a??");
    static const char *const names[][2] = {{"1", "a number"},   {"\"1\"", "text"}, {"true", "true or false"},
                                           {"{}", "an object"}, {"[]", "a list"},  {"null", "null"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cJSON *value;
        assert_int_equal(json_parse(names[i][0], strlen(names[i][0]), &value, NULL), STATUS_OK);
        assert_string_equal(json_type_name(value), names[i][1]);
        assert_null(json_first(value));
        cJSON_Delete(value);
    }
    assert_null(json_first(NULL));
}

/* A wrong notation of a schema is reported when the OpenAPI document is built. */
static void wrong_schema_notation_is_an_error(void **state)
{
    static const struct {
        const char *shape;
        bool good;
    } shapes[] = {{"a text, *b [integer]?, c {Other}, d {[number]}?, e flag?, f Other?, g time", true},
                  {"a texts", false},
                  {"text", false},
                  {"a text,, b text", false},
                  {"a [text", false},
                  {"a [text}", false},
                  {"a {text", false},
                  {"a []", false},
                  {"a text b text", false},
                  {"a [[[[[text]]]]]", false},
                  {"a ?", false},
                  {"a [text,", false}};
    struct error err;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct openapi_schema schema = {"Some", shapes[i].shape, NULL, true};
        struct buf out;
        struct json_sink json;
        buf_init(&out, 4000);
        json_sink_init(&json, &out);
        sink_begin_object(&json.sink, NULL);
        error_clear(&err);
        enum status status = openapi_schema_write(&json, &schema, &err);
        sink_end_object(&json.sink);
        if (status != (shapes[i].good ? STATUS_OK : STATUS_INTERNAL))
            fail_msg("%s: %d: %s", shapes[i].shape, (int)status, out.data);
        assert_true(shapes[i].good ? json_sink_done(&json) : err.message[0] != '\0');
        buf_close(&out);
    }
    struct openapi_schema schema = {"Some", NULL, "{'type':", false};
    struct buf out;
    struct json_sink json;
    buf_init(&out, 4000);
    json_sink_init(&json, &out);
    assert_int_equal(openapi_schema_write(&json, &schema, &err), STATUS_CORRUPT);
    buf_close(&out);
}

static void ranges_are_clamped_or_ignored(void **state)
{
    static const struct {
        const char *header;
        uint64_t total, first, last;
        enum range range;
    } ranges[] = {
        {NULL, 9, 0, 0, RANGE_ALL},
        {"lines=1-2", 9, 0, 0, RANGE_ALL},
        {"bytes=1-2", 9, 1, 2, RANGE_PART},
        {"Bytes= 1-99 ", 9, 1, 8, RANGE_PART},
        {"bytes=3-", 9, 3, 8, RANGE_PART},
        {"bytes=-4", 9, 5, 8, RANGE_PART},
        {"bytes=-99", 9, 0, 8, RANGE_PART},
        {"bytes=-0", 9, 0, 0, RANGE_NOT_SATISFIABLE},
        {"bytes=-1", 0, 0, 0, RANGE_NOT_SATISFIABLE},
        {"bytes=9-", 9, 0, 0, RANGE_NOT_SATISFIABLE},
        {"bytes=-", 9, 0, 0, RANGE_ALL},
        {"bytes=3-2", 9, 0, 0, RANGE_ALL},
        {"bytes=1-2,4-5", 9, 0, 0, RANGE_ALL},
        {"bytes=x", 9, 0, 0, RANGE_ALL},
        {"bytes=1-99999999999999999999999", 9, 1, 8, RANGE_PART},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        uint64_t first = 0, last = 0;
        enum range range = range_parse(ranges[i].header, ranges[i].total, &first, &last);
        if (range != ranges[i].range || (range == RANGE_PART && (first != ranges[i].first || last != ranges[i].last)))
            fail_msg("%s: %d, %d to %d", ranges[i].header, (int)range, (int)first, (int)last);
    }
}

/* The fast conversion of floats gives the same text as printf() with 15, 16 or 17 digits, whichever is the smallest
 * number of digits from which exactly the same number is read back. */
static void floats_have_the_digits_of_printf(void **state)
{
    enum { ROUNDS = 300000 };
    struct buf out;
    uint64_t random = 88172645463325252u;
    buf_init(&out, 100);
    for (int i = 0; i < ROUNDS; i++) {
        char text[40];
        float value;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t bits = (uint32_t)(random >> 16);
        memcpy(&value, &bits, sizeof value);
        if (i % 2 == 0)
            value = (float)((double)bits / 4294967296.0 * (double)(1 << (random & 15)));
        else if (i % 4 == 1)
            value = (float)(bits % 200000) / (float)(1 << (random & 7)) * (i % 8 == 1 ? 1 : -1);
        if (!isfinite(value))
            continue;
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(text, sizeof text, "%.*g", digits, (double)value);
            if (strtod(text, NULL) == (double)value)
                break;
        }
        if (fabs((double)value) > JSON_INTEGER && strpbrk(text, ".e") == NULL)
            (void)snprintf(text, sizeof text, "%.16e", (double)value);
        buf_clear(&out);
        json_write_number(&out, (double)value);
        assert_string_equal(out.data, text);
    }
    buf_close(&out);
}

static void numbers_read_back_to_the_same_bits(void **state)
{
    static const double values[] = {0,
                                    0.1,
                                    1.0 / 3,
                                    5e-324,
                                    DBL_MAX,
                                    -DBL_MIN,
                                    9007199254740991.0,
                                    9007199254740992.0,
                                    -11111111111115111.0,
                                    99999999999999984.0,
                                    1e17,
                                    1e21,
                                    0.30000000000000004};
    struct buf out;
    buf_init(&out, 100);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        buf_clear(&out);
        json_write_number(&out, values[i]);
        assert_true(strtod(out.data, NULL) == values[i]);
        cJSON *root = NULL; /* the parser accepts every text that the writer wrote */
        assert_int_equal(json_parse(out.data, out.size, &root, NULL), STATUS_OK);
        assert_true(cJSON_GetNumberValue(root) == values[i]);
        cJSON_Delete(root);
    }
    buf_clear(&out);
    json_write_number(&out, 0.1);
    assert_string_equal(out.data, "0.1");
    buf_clear(&out);
    json_write_number(&out, (double)NAN);
    assert_string_equal(out.data, "null");
    static const struct {
        double value;
        const char *text;
    } edges[] = {{0.0, "0"},      {-0.0, "-0"},
                 {0.5, "0.5"},    {-0.5, "-0.5"},
                 {1024, "1024"},  {0.999999999999999999, "1"},
                 {1e15, "1e+15"}, {0.0009765625, "0.0009765625"},
                 {1e-7, "1e-07"}};
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        char text[40];
        (void)snprintf(text, sizeof text, "%.15g", edges[i].value);
        assert_string_equal(text, edges[i].text);
        buf_clear(&out);
        json_write_number(&out, edges[i].value);
        assert_string_equal(out.data, text);
    }
    buf_clear(&out);
    json_write_text(&out, "a\"\\\n\t\x01\x7f\xff\xc3\xa4\xc3");
    assert_string_equal(out.data, "\"a\\\"\\\\\\n\\t\\u0001\\u007f\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\"");
    buf_close(&out);
}

static void sink_detects_misuse(void **state)
{
    struct buf out;
    struct json_sink json;
    buf_init(&out, 1000);
    json_sink_init(&json, &out);
    const struct sink *s = &json.sink;
    sink_begin_object(s, NULL);
    sink_begin_list(s, "list");
    sink_integer(s, NULL, INT64_MIN);
    sink_begin_object(s, NULL);
    sink_end_object(s);
    sink_null(s, NULL);
    sink_end_list(s);
    sink_boolean(s, "yes", true);
    sink_text(s, "none", NULL);
    sink_number(s, "half", 0.5);
    json_sink_raw(&json, "raw", "[1]");
    assert_false(json_sink_done(&json));
    sink_end_object(s);
    assert_true(json_sink_done(&json));
    assert_string_equal(
        out.data, "{\"list\":[-9223372036854775808,{},null],\"yes\":true,\"none\":null,\"half\":0.5,\"raw\":[1]}");
    sink_null(s, NULL); /* a second value after the end of the document */
    sink_number(s, NULL, 1);
    sink_text(s, NULL, "a");
    sink_begin_list(s, NULL);
    sink_end_list(s);
    assert_false(json_sink_done(&json));
    assert_true(out.data[out.size - 1] == '}'); /* the sink did not write the second value */
    buf_clear(&out);
    json_sink_init(&json, &out);
    sink_end_list(s); /* no list is open */
    assert_false(json_sink_done(&json));
    buf_clear(&out);
    json_sink_init(&json, &out);
    sink_integer(s, "key", 1); /* no object is open */
    assert_false(json_sink_done(&json));

    buf_clear(&out);
    json_sink_init(&json, &out);
    sink_begin_object(s, NULL);
    sink_integer(s, NULL, 1); /* a member of an object needs a key */
    sink_end_object(s);
    assert_false(json_sink_done(&json));
    buf_clear(&out);
    json_sink_init(&json, &out);
    sink_begin_list(s, NULL);
    sink_integer(s, "key", 1);
    sink_end_list(s);
    assert_false(json_sink_done(&json));
    buf_clear(&out);
    json_sink_init(&json, &out);
    sink_begin_list(s, NULL);
    sink_end_object(s);
    assert_false(json_sink_done(&json));
    buf_clear(&out);
    json_sink_init(&json, &out);
    for (int i = 0; i <= JSON_SINK_DEPTH; i++)
        sink_begin_list(s, NULL);
    for (int i = 0; i <= JSON_SINK_DEPTH; i++)
        sink_end_list(s);
    assert_false(json_sink_done(&json));
    buf_close(&out);
    buf_init(&out, 4);
    json_sink_init(&json, &out);
    sink_text(s, NULL, "too long for four bytes");
    assert_false(json_sink_done(&json));
    buf_close(&out);
}

static void targets_are_decoded_strictly(void **state)
{
    char out[16];
    assert_int_equal(uri_decode("a%20b+%c3%A4", 12, false, out, sizeof out, NULL), STATUS_OK);
    assert_string_equal(out, "a b+\xc3\xa4");
    assert_int_equal(uri_decode("a+b", 3, true, out, sizeof out, NULL), STATUS_OK);
    assert_string_equal(out, "a b");
    /* decoding stops at the given length */
    assert_int_equal(uri_decode("%41%4", 3, false, out, sizeof out, NULL), STATUS_OK);
    assert_string_equal(out, "A");
    static const char *const bad[] = {"%",   "%4",     "%4g",       "%00",       "a%00",         "%0d%0a", "%7f",
                                      "%80", "%c0%80", "%e0%80%80", "%ed%a0%80", "%f5%80%80%80", "\x01",   "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(uri_decode(bad[i], strlen(bad[i]), false, out, sizeof out, NULL), STATUS_INVALID);
    assert_int_equal(uri_decode("0123456789abcdef", 16, false, out, sizeof out, NULL), STATUS_LIMIT);
    assert_int_equal(uri_decode("0123456789abcde", 15, false, out, sizeof out, NULL), STATUS_OK);
}

static void query_pairs_are_decoded(void **state)
{
    struct query query;
    assert_int_equal(query_parse("a=1&b=x%26y&c&d=", &query, NULL), STATUS_OK);
    assert_int_equal(query.count, 4);
    assert_string_equal(query_get(&query, "b"), "x&y");
    assert_string_equal(query_get(&query, "c"), "");
    assert_null(query_get(&query, "e"));
    assert_int_equal(query_parse("", &query, NULL), STATUS_OK);
    assert_int_equal(query_parse(NULL, &query, NULL), STATUS_OK);
    assert_int_equal(query_parse("a=1&%61=2", &query, NULL), STATUS_INVALID);
    assert_int_equal(query_parse("=1", &query, NULL), STATUS_INVALID);
    assert_int_equal(query_parse("a&&b", &query, NULL), STATUS_INVALID);
    assert_int_equal(query_parse("a=%00", &query, NULL), STATUS_INVALID);
    char many[200] = "";
    for (int i = 0; i < QUERY_PAIRS + 1; i++)
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), "%sk%d", i > 0 ? "&" : "", i);
    assert_int_equal(query_parse(many, &query, NULL), STATUS_LIMIT);
    static char longest[API_TARGET_MAX * 2];
    for (size_t name = 1; name < sizeof longest - 2; name = name < API_TARGET_MAX - 8 ? API_TARGET_MAX - 8 : name + 1) {
        /* lengths of names and values just below and just above the size of the buffer */
        memset(longest, 'n', sizeof longest);
        longest[name] = '=';
        for (size_t bytes = name + 1; bytes < name + 3; bytes++) {
            longest[bytes] = '\0';
            enum status status = query_parse(longest, &query, NULL);
            assert_true(status == STATUS_LIMIT ||
                        (status == STATUS_OK && strlen(query_get(&query, query.pairs[0].name)) == bytes - name - 1));
            longest[bytes] = 'n';
        }
        if (name > API_TARGET_MAX + 4)
            break;
    }
    int64_t value;
    assert_true(text_integer("-9223372036854775808", &value) && value == INT64_MIN);
    assert_true(text_integer("007", &value) && value == 7);
    static const char *const not_integers[] = {"", "-", "+1", " 1", "1 ", "1.0", "0x1", "9223372036854775808", "--1"};
    for (size_t i = 0; i < sizeof not_integers / sizeof not_integers[0]; i++)
        assert_false(text_integer(not_integers[i], &value));
}

static void header_lists_are_matched(void **state)
{
    assert_true(media_is("application/json", "application/json"));
    assert_true(media_is(" Application/Json ; charset=\"utf-8\"", "application/json"));
    assert_true(media_is("application/json;x=1;charset=UTF-8", "application/json"));
    assert_false(media_is("application/json; charset=iso-8859-1", "application/json"));
    assert_false(media_is("application/jsonx", "application/json"));
    assert_false(media_is("", "application/json"));
    static const char *const offers[] = {"application/json", "image/png"};
    assert_true(media_is("\tapplication/json\t;\tcharset=utf-8\t", "application/json"));
    assert_true(media_is("application/json;charsex=1; charse; CHARSET=utf-8", "application/json"));
    assert_true(media_is("application/json;charset", "application/json")); /* a charset without a value */
    assert_false(media_is("application/json;charset=\"utf-8", "application/json"));
    assert_false(media_is("application/json;charset=utf-9", "application/json"));
    assert_false(media_is("application/json;charset=\"", "application/json"));
    assert_int_equal(media_pick(NULL, offers, 0), -1);
    assert_int_equal(media_pick("image/x", offers, 2), -1);
    assert_int_equal(media_pick("imag*", offers, 2), -1);
    assert_int_equal(media_pick("audio/*, video*, image/*", offers, 2), 1);
    assert_int_equal(media_pick("*", offers, 2), -1);
    assert_false(etag_listed("*x", "\"b\"", false));
    assert_int_equal(media_pick(NULL, offers, 2), 0);
    assert_int_equal(media_pick("", offers, 2), 0);
    assert_int_equal(media_pick("image/png", offers, 2), 1);
    assert_int_equal(media_pick("image/png", offers, 1), -1);
    assert_int_equal(media_pick("*/*;q=0.1, image/*;q=0.3", offers, 2), 1);
    assert_int_equal(media_pick("*/*, image/png;q=0", offers, 2), 0);
    assert_int_equal(media_pick("application/json;q=0, */*", offers, 2), 1);
    assert_int_equal(media_pick("text/html,,;q=1", offers, 2), -1);
    assert_true(etag_listed("\"a\", \"b\"", "\"b\"", false));
    assert_true(etag_listed("W/\"b\"", "\"b\"", true));
    assert_false(etag_listed("W/\"b\"", "\"b\"", false));
    assert_true(etag_listed(" * ", "\"b\"", false));
    assert_false(etag_listed("b", "\"b\"", true));
    assert_false(etag_listed("\"b", "\"b\"", true));
    assert_false(etag_listed("\"bc\"", "\"b\"", true));
    assert_false(etag_listed("", "\"b\"", true));
}

static void changed_cursors_are_refused(void **state)
{
    const char *id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    char cursor[CURSOR_TEXT], back[STORAGE_ID];
    cursor_write(id, "queued/", cursor);
    assert_int_equal(strspn(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                     strlen(cursor));
    assert_true(cursor_read(cursor, "queued/", back));
    assert_string_equal(back, id);
    assert_false(cursor_read(cursor, "running/", back));
    for (size_t i = 0; cursor[i] != '\0'; i++) { /* decoding detects each changed character */
        char changed[CURSOR_TEXT];
        memcpy(changed, cursor, sizeof changed);
        changed[i] = changed[i] == 'x' ? 'y' : 'x';
        assert_false(cursor_read(changed, "queued/", back));
        changed[i] = '\0';
        assert_false(cursor_read(changed, "queued/", back));
    }
    assert_false(cursor_read("", "queued/", back));
    assert_false(cursor_read("====", "queued/", back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_accepts_json),
        cmocka_unit_test(scan_refuses_wrong_grammar_and_inexact_values),
        cmocka_unit_test(scan_limits_depth_and_values),
        cmocka_unit_test(equal_values_have_the_same_canonical_text),
        cmocka_unit_test(floats_have_the_digits_of_printf),
        cmocka_unit_test(numbers_read_back_to_the_same_bits),
        cmocka_unit_test(sink_detects_misuse),
        cmocka_unit_test(targets_are_decoded_strictly),
        cmocka_unit_test(query_pairs_are_decoded),
        cmocka_unit_test(header_lists_are_matched),
        cmocka_unit_test(changed_cursors_are_refused),
        cmocka_unit_test(pointers_are_escaped_and_truncated_at_characters),
        cmocka_unit_test(wrong_schema_notation_is_an_error),
        cmocka_unit_test(ranges_are_clamped_or_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
