/* Tests texts: where they are split into words, which number each word gets, and how tables of texts are read. */
#include <math.h>
#include <unistd.h>

#include "tests/support/fault.h"
#include "tests/support/unit.h"
#include "core/data/uploads/texts/lexicon.h"

static struct error err;

/* Splits a text and writes each word with its characters: "a 0-1 | b 2-3". */
static void split(const char *text, enum collection_words at, char *out, size_t room)
{
    struct word_list words = {0};
    size_t used = 0;
    out[0] = '\0';
    assert_int_equal(words_split(&words, text, strlen(text), at, &err), STATUS_OK);
    for (int i = 0; i < words.count; i++) {
        const struct word_at *w = &words.word[i];
        used += (size_t)snprintf(out + used, room - used, "%s%.*s %d-%d", i ? " | " : "", (int)w->bytes, text + w->at,
                                 w->first, w->last);
    }
    words_close(&words);
}

static bool stops(void *context)
{
    return --*(int *)context < 0;
}

static void splitting_ends_where_its_budget_ends(void **state)
{
    enum { WORDS = 20000 };
    const int64_t limit[LEDGER_RESOURCES] = {[LEDGER_MEMORY] = 1 << 22};
    char *text = malloc(2 * WORDS + 1);
    struct ledger *ledger = NULL;
    struct ledger_state held;
    assert_non_null(text);
    for (int i = 0; i < WORDS; i++)
        memcpy(text + 2 * (size_t)i, "a ", 3);
    assert_int_equal(ledger_create(limit, &ledger, &err), STATUS_OK);
    for (int at = WORDS_UNICODE; at <= WORDS_BLANKS; at++) {
        enum status status = STATUS_CANCELLED;
        for (int looks = 0; status == STATUS_CANCELLED; looks++) {
            int left = looks;
            struct work work = {.stop = stops, .context = &left};
            struct word_list words = {.work = &work};
            ledger_open(&work.account, ledger, "a");
            status = words_split(&words, text, 2 * WORDS, (enum collection_words)at, &err);
            ledger_read(ledger, &held);
            if (status == STATUS_OK) {
                assert_true(looks >= WORDS / 4096 && words.count == WORDS);
                assert_int_equal(held.held[LEDGER_RESULTS], (1 << 15) * sizeof *words.word);
                left = 1;
                assert_int_equal(words_split(&words, "b", 1, (enum collection_words)at, &err), STATUS_OK);
            }
            words_close(&words);
            ledger_read(ledger, &held);
            assert_int_equal(held.held[LEDGER_RESULTS], 0);
            ledger_close(&work.account);
        }
        assert_int_equal(status, STATUS_OK);
    }
    ledger_destroy(ledger);
    free(text);
}

static void texts_are_split_at_word_boundaries(void **state)
{
    static const struct {
        const char *text, *unicode, *blanks;
    } cases[] = {
        {"", "", ""},
        {" \t\n", "", ""},
        {"the cat", "the 0-3 | cat 4-7", "the 0-3 | cat 4-7"},
        {"Don't go, 3.5 km!", "Don't 0-5 | go 6-8 | , 8-9 | 3.5 10-13 | km 14-16 | ! 16-17",
         "Don't 0-5 | go, 6-9 | 3.5 10-13 | km! 14-17"},
        {"\xC3\xBC"
         "ber  na\xC3\xAFve",
         "\xC3\xBC"
         "ber 0-4 | na\xC3\xAFve 6-11",
         "\xC3\xBC"
         "ber 0-4 | na\xC3\xAFve 6-11"},
        {"a\xC2\xA0"
         "b\xE2\x80\x83"
         "c",
         "a 0-1 | b 2-3 | c 4-5", "a 0-1 | b 2-3 | c 4-5"},
        {"\xF0\x9F\x90\xB1 x", "\xF0\x9F\x90\xB1 0-1 | x 2-3", "\xF0\x9F\x90\xB1 0-1 | x 2-3"},
    };
    char found[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        split(cases[i].text, WORDS_UNICODE, found, sizeof found);
        assert_string_equal(found, cases[i].unicode);
        split(cases[i].text, WORDS_BLANKS, found, sizeof found);
        assert_string_equal(found, cases[i].blanks);
    }
}

static void words_are_composed_and_in_lower_case(void **state)
{
    const struct collection_wording fold = {.buckets = 0}, keep = {.keep_case = 1};
    char out[LEXICON_WORD], lengthy[300];
    assert_int_equal(lexicon_normal(&fold,
                                    "U\xCC\x88"
                                    "BER",
                                    6, out),
                     5);
    assert_string_equal(out, "\xC3\xBC"
                             "ber");
    assert_int_equal(lexicon_normal(&keep,
                                    "U\xCC\x88"
                                    "BER",
                                    6, out),
                     5);
    assert_string_equal(out, "\xC3\x9C"
                             "BER");
    memset(lengthy, 'x', sizeof lengthy);
    assert_int_equal(lexicon_normal(&fold, lengthy, sizeof lengthy, out), 0);
}

/* The buckets are part of the stored form, so the hash may never change: FNV-1a of the last three characters. */
static void other_words_go_to_the_bucket_of_their_ending(void **state)
{
    struct lexicon lexicon = {.wording.buckets = 8};
    int32_t number;
    assert_int_equal(lexicon_begin(&lexicon, &err), STATUS_OK);
    assert_int_equal(name_list_add(&lexicon.entries, "cat", 3, &number, &err), STATUS_OK);
    assert_int_equal(lexicon.entries.names.count, 10);
    assert_int_equal(lexicon_number(&lexicon, "cat", 3), 10);
    assert_int_equal(lexicon_number(&lexicon, "", 0), 1);
    assert_int_equal(lexicon_number(&lexicon, "xy", 2), 1);
    uint32_t hash = 0x811C9DC5u;
    for (const char *at = "ing"; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x01000193u;
    assert_int_equal(lexicon_number(&lexicon, "running", 7), 2 + (int)(hash % 8));
    assert_int_equal(lexicon_number(&lexicon, "walking", 7), 2 + (int)(hash % 8));
    assert_int_equal(lexicon_number(&lexicon, "1987", 4), lexicon_number(&lexicon, "2003", 4));
    lexicon.wording.buckets = 0;
    assert_int_equal(lexicon_number(&lexicon, "running", 7), 1);
    lexicon_close(&lexicon);
}

/* ---- tables of texts --------------------------------------------------------------------------------------- */

/* Reads a text as JSON Lines if it begins with '{', '[' or a blank line, else as CSV. */
static enum status read_texts(const char *text, struct collection_options *options, struct collection *c)
{
    struct byte_source_memory memory = {(const unsigned char *)text, strlen(text), 0};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_limits limits = COLLECTION_LIMITS;
    err = (struct error){0};
    return collection_read(collection_format_named(strchr("{[\n", text[0]) ? "jsonl" : "csv"), &from, options, &limits,
                           c, &err);
}

static struct collection_options usual(void)
{
    struct collection_options options = {0};
    collection_options_clear(&options);
    options.buckets = 0;
    return options;
}

static bool warns(const struct collection *c, const char *code)
{
    for (int i = 0; i < c->warnings; i++)
        if (strcmp(c->warning[i].code, code) == 0)
            return true;
    return false;
}

/* Writes the entries, and the numbers and the label of each text: "<other> a | 2 2 1 x | ...". */
static void write_texts(const struct collection *c, char *out, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < c->words.count; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? " " : "", c->words.name[i]);
    for (int64_t i = 0; i < c->count; i++) {
        const int32_t *label;
        int labels = collection_labels(c, i, &label);
        used += (size_t)snprintf(out + used, room - used, " |");
        for (int64_t j = c->start[i]; j < c->start[i + 1]; j++)
            used += (size_t)snprintf(out + used, room - used, " %g", (double)collection_value(c, j));
        for (int j = 0; j < labels; j++)
            used += (size_t)snprintf(out + used, room - used, " %s", c->vocabulary.name[label[j]]);
    }
}

static void expect(const char *text, struct collection_options *options, const char *found)
{
    struct collection c;
    char out[512];
    if (read_texts(text, options, &c))
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(c.kind, COLLECTION_TEXTS);
    write_texts(&c, out, sizeof out);
    assert_string_equal(out, found);
    collection_close(&c);
}

static void tables_of_texts_become_numbers_of_words(void **state)
{
    struct collection_options o = usual();
    expect("text,label\nThe cat,x\nthe dog,y\na cat,x\n", &o, "<other> cat the | 3 2 x | 3 1 y | 1 2 x");
    expect("id\ttext\tlabels\n1\tb b, c\tx|y\n2\t\"c\"\tx\n3\t\t\n", &o, "<other> b c | 2 2 1 3 x y | 3 x | 0");
    expect("text,label,split\na b,x,train\nb a,y,train\nc c c,x,test\n", &o, "<other> a b | 2 3 x | 3 2 y | 1 1 1 x");
    expect("text,label,group\na b,x,train\nb a,y,train\nc c c,x,test\n", &o, "<other> a b | 2 3 x | 3 2 y | 1 1 1 x");
    o.text = "Said";
    o.stated = OPTION_TEXT;
    expect("Said,label,length\nA a,x,2\nb b,y,2\n", &o, "<other> a b | 2 2 x | 3 3 y");
    o = usual();
    o.vocabulary = 1;
    o.words = WORDS_BLANKS;
    o.keep_case = 1;
    expect("text,label\nA-1 A-1 a-1 b b,x\nc A-1,y\n", &o, "<other> A-1 | 2 2 1 1 1 x | 1 2 y");
    o = usual();
    o.missing = MISSING_DROP;
    expect("text,label\na b,x\nc c,\nb a,y\n", &o, "<other> a b c | 2 3 x | 3 2 y");
    o = usual();
    o.target = TARGET_SEQUENCE;
    o.buckets = 2;
    expect("text,label\nrunning a a,x y\na singing,y x\n", &o, "<other> <other 1> <other 2> a | 3 4 4 x y | 4 3 y x");
}

static void what_became_of_the_words_is_reported(void **state)
{
    struct collection_options o = usual();
    struct collection c;
    o.cut = 3;
    assert_int_equal(read_texts("text,label,extra\na b c d,x,1\na b,y,1\n ,y,1\n", &o, &c), STATUS_OK);
    assert_string_equal(c.recognised.words,
                        "5 words, split at Unicode word boundaries, in lower case; vocabulary of 2 words, "
                        "20.0 % other; longest text 3 words");
    assert_true(warns(&c, "texts-cut") && warns(&c, "empty-texts") && warns(&c, "columns-left-out"));
    assert_int_equal(c.texts.count, 3);
    assert_string_equal(c.texts.name[0], "a b c d");
    collection_close(&c);
}

static void refused(const char *text, struct collection_options *options, const char *why)
{
    struct collection c;
    assert_int_equal(read_texts(text, options, &c), STATUS_INVALID);
    if (!strstr(err.message, why))
        fail_msg("%s: %s", text, err.message);
}

static void unclear_tables_of_texts_are_refused(void **state)
{
    struct collection_options o = usual();
    static char longer[2 * LEXICON_LONGEST + 64] = "text,label\n";
    for (int i = 0; i <= LEXICON_LONGEST; i++)
        strcat(longer + 2 * i, "a ");
    strcat(longer, ",x\n");
    refused(longer, &o, "row 2: the text has 4097 words, more than 4096; cut=N");
    o.words = WORDS_BLANKS;
    o.stated = OPTION_WORDS;
    refused("a,label\n1,x\n2,y\n", &o, "name their column with text");
    o = usual();
    o.text = "said";
    refused("text,label\na,x\n", &o, "no column is called 'said'");
    o.text = "label";
    refused("text,label\na,x\n", &o, "cannot be both the text and another role");
    o = usual();
    o.scale = SCALE_STANDARD;
    refused("text,label\na,x\n", &o, "scale does not apply to texts");
}

static void a_column_of_numbers_called_text_is_a_feature(void **state)
{
    struct collection_options o = usual();
    struct collection c;
    assert_int_equal(read_texts("text,label\n1,x\n2,y\n", &o, &c), STATUS_OK);
    assert_int_equal(c.kind, COLLECTION_TABLE);
    collection_close(&c);
}

static void json_lines_of_texts_become_numbers_of_words(void **state)
{
    struct collection_options o = usual();
    expect("{\"text\": \"The cat\", \"label\": \"x\"}\n\n{\"label\": \"y\", \"text\": \"the dog\"}\r\n"
           "{\"text\": \"a cat\", \"label\": \"x\"}",
           &o, "<other> cat the | 3 2 x | 3 1 y | 1 2 x");
    expect("\n{\"text\":\"a \\u00e4, a\",\"labels\":[\"x y\",\"z|\"]}\n{\"text\":\"\xC3\x84\",\"labels\":[]}\n"
           "{\"text\":\"a\",\"labels\":null}\n",
           &o, "<other> a \xC3\xA4 | 2 3 1 2 x y z| | 3 | 2");
    expect(
        "{\"text\":\"a a\",\"label\":1,\"part\":\"train\",\"n\":{\"a\":[1]}}\n{\"text\":\"b b\",\"label\":2.5,\"part\":"
        "\"test\"}\n",
        &o, "<other> a | 2 2 1 | 1 1 2.5");
    o.target = TARGET_SEQUENCE;
    expect("{\"text\":\"a a\",\"label\":[\"y\",\"x\",\"y\"]}\n{\"text\":\"a\",\"label\":[\"x\"]}\n", &o,
           "<other> a | 2 2 y x y | 2 x");
    o = usual();
    o.missing = MISSING_DROP;
    expect("{\"text\":\"a\",\"label\":\"x\"}\n{\"text\":\"b\",\"label\":null}\n{\"text\":\"a\"}\n{\"text\":\"a\","
           "\"label\":\"y\"}\n",
           &o, "<other> a | 2 x | 2 y");
}

static void lists_of_tokens_are_kept_as_given(void **state)
{
    struct collection_options o = usual();
    struct collection c;
    o.buckets = 32; /* the usual number, which applies to words only */
    expect("{\"tokens\": [\"In\", \"page-view\", \"in\", 7], \"label\": \"x\"}\n{\"tokens\": [\"In\", \"in\", 7], "
           "\"label\": "
           "\"y\"}\n",
           &o, "<other> 7 In in | 3 1 4 2 x | 3 4 2 y");
    assert_int_equal(read_texts("{\"tokens\": [\"a\", \"b\"]}\n{\"tokens\": []}\n", &o, &c), STATUS_OK);
    assert_true(c.wording.words == WORDS_BLANKS && c.wording.keep_case == 1);
    assert_string_equal(c.texts.name[0], "a b");
    assert_true(strstr(c.recognised.words, "2 words, as given, separated by blanks, case kept") == c.recognised.words);
    collection_close(&c);
    assert_int_equal(read_texts("{\"tokens\": [\"log in\", \"b\"]}\n{\"tokens\": [\"log in\"]}\n", &o, &c), STATUS_OK);
    assert_true(c.wording.words == WORDS_TABS && c.words.count == 2);
    assert_string_equal(c.words.name[1], "log in");
    assert_string_equal(c.texts.name[0], "log in\tb");
    collection_close(&c);
}

static void tables_of_events_become_texts_in_the_order_of_time(void **state)
{
    struct collection_options o = usual();
    struct collection c;
    expect("sample,time,event,label\nb,2,Pay,y\na,10,log-in,x\nb,1,log-in,\na,9,Pay,x\na,9,log-in,x\n", &o,
           "<other> log-in Pay | 2 3 y | 3 2 2 x");
    expect("{\"event\": \"door\", \"timestamp\": \"2026-01-31T10:00:00+02:00\", \"id\": 7, \"label\": [\"x\", \"y\"]}\n"
           "{\"event\": \"bell\", \"timestamp\": \"2026-01-31 07:59:59.5Z\", \"id\": 7}\n"
           "{\"event\": \"bell\", \"timestamp\": \"2026-01-31\", \"id\": 8, \"label\": [\"x\"]}\n"
           "{\"event\": \"door\", \"timestamp\": \"2026-01-30T23:59\", \"id\": 8}\n",
           &o, "<other> bell door | 2 3 x y | 3 2 x");
    o.text = "what";
    o.time = "when";
    o.stated = OPTION_TEXT | OPTION_TIME;
    expect("id,when,what,split\n1,3,log in,train\n1,1,1,train\n2,1,log in,test\n2,2,1,test\n1,2,1,\n1,4,log in,\n", &o,
           "<other> 1 log in | 2 2 3 3 | 3 2");
    o = usual();
    assert_int_equal(read_texts("sample,time,event\n1,1,a\n1,0,b\n2,0,a\n2,1,b\n", &o, &c), STATUS_OK);
    assert_string_equal(c.texts.name[0], "b a");
    assert_string_equal(c.records.name[1], "2");
    assert_true(strstr(c.recognised.words, "4 words, events in the order of their times, separated by blanks") != NULL);
    collection_close(&c);
    assert_int_equal(read_texts("sample,time,event,label\n1,1,0,x\n2,3,1,y\n", &o, &c), STATUS_OK); /* survival times */
    assert_int_equal(c.kind, COLLECTION_TABLE);
    collection_close(&c);
}

static void broken_tables_of_events_are_refused_with_their_row(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"sample,time,event\n1,1,a\n1,2,\n", "row 3: the event is empty"},
        {"sample,time,event\n1,1,a\n,2,b\n", "row 3: the event has no sample"},
        {"sample,time,event\n1,1,a\n1,soon,b\n", "row 3: the time 'soon' is neither a number nor a date"},
        {"sample,time,event\n1,1,a\n1,2026-01-31,b\n",
         "row 3: the time '2026-01-31' is a date, but the first one is a number"},
        {"sample,time,event\n1,2026-13-31,a\n", "row 2: the time '2026-13-31' is neither"},
        {"sample,time,event\n1,2026-01-31T25:00,a\n", "row 2: the time '2026-01-31T25:00' is neither"},
        {"sample,time,event\n1,2026-01-31x,a\n", "row 2: the time '2026-01-31x' is neither"},
        {"sample,time,event,label\n1,1,a,x\n2,1,a,x\n1,2,b,y\n",
         "row 4: sample '1' has the label 'y', but 'x' in an earlier row"},
        {"sample,time,event,label\n1,1,a,x\n2,1,a,\n", "row 3 has no label"},
    };
    struct collection_options o = usual();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(cases[i].text, &o, cases[i].why);
    o.time = "when";
    o.stated = OPTION_TIME;
    refused("sample,time,event\n1,1,a\n", &o, "no column is called as time says");
}

static void broken_json_lines_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"[{\"text\": \"a\"}]", "line 1 is a list; each line must be an object"},
        {"{\"text\": \"a\"}\n{\"text\": \"b\"", "line 2 is no JSON object"},
        {"{\"text\": \"a\"} {\"text\": \"b\"}\n", "line 1 is no JSON object"},
        {"{\"text\": \"a\"}\n\n{\"text\": \"b\", \"label\": \"x\"}\n",
         "line 3 has the member \"label\", which the first"},
        {"{\"text\": \"a\", \"text\": \"b\"}\n", "line 1 has the member \"text\" twice"},
        {"{\"text\": \"a\"}\n{\"text\": \"b\", \"text\": \"b\"}\n", "line 2 has the member \"text\" twice"},
        {"{\"text\": \"a\\\\\\u0000b\"}\n", "line 1 has a NUL"},
        {"{\"text\": \"\xFF\"}\n", "line 1 is not UTF-8"},
        {"{}\n", "line 1 has 0 members"},
        {"\n\n", "there are no lines"},
        {"{\"text\": \"a\", \"label\": 9007199254740993}\n", "line 1, \"label\": whole numbers of 2^53 or more"},
        {"{\"text\": \"a\", \"label\": \"x\"}\n{\"text\": \"a\", \"label\": null}\n", "line 2 has no label"},
        {"{\"text\": [\"a\"]}\n{\"text\": \"a\"}\n",
         "line 2, \"text\" is no list, but that of the first line is a list"},
        {"{\"text\": \"a\"}\n{\"text\": [\"a\"]}\n", "line 2, \"text\" is a list, but that of the first line is none"},
        {"{\"text\": [\"a\", \"b\\nc\"]}\n", "line 1, \"text\": item 2 is no text, is empty, or has a tab or a"},
        {"{\"text\": \"a\", \"part\": \"test\"}\n{\"text\": \"a\", \"part\": \"x\"}\n",
         "line 2, column 'part': 'x' must be"},
    };
    struct collection_options o = usual();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(cases[i].text, &o, cases[i].why);
    refused("{\"text\": \"a\\\\u0000b\", \"label\": null}\n", &o, "line 1 has no label"); /* no escape */
    o.words = WORDS_BLANKS;
    o.stated = OPTION_WORDS;
    refused("{\"tokens\": [\"a\"]}\n", &o, "the texts are lists, which are split already");
}

/* ---- the stored form --------------------------------------------------------------------------------------- */

static enum status append(void *context, const void *bytes, size_t count, struct error *cause)
{
    (void)cause;
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : STATUS_IO;
}

static void stored_texts_have_the_same_words(void **state)
{
    char path[] = "/tmp/motifd-texts-XXXXXX", out[512];
    int file = mkstemp(path);
    FILE *to = fdopen(file, "wb");
    const struct snapshot_writer writer = {to, append};
    struct collection_options o = usual();
    struct collection c, again;
    struct lexicon lexicon;
    struct word_list words = {0};
    int32_t number[LEXICON_LONGEST];
    int count;
    o.buckets = 3;
    assert_int_equal(read_texts("text,label\nThe cat,x\nthe dog,y\na cat,x\n", &o, &c), STATUS_OK);
    assert_int_equal(collection_write(&c, &writer, &err), STATUS_OK);
    fclose(to);
    assert_int_equal(collection_open(path, &again, &err), STATUS_OK);
    write_texts(&again, out, sizeof out);
    assert_true(strstr(out, "<other> <other 1> <other 2> <other 3> cat the | 6 5 x |") == out);
    assert_string_equal(again.texts.name[2], "a cat");
    assert_int_equal(again.wording.buckets, 3);
    assert_int_equal(lexicon_open(&again, &lexicon, &err), STATUS_OK);
    assert_int_equal(lexicon_read(&lexicon, "CAT, the", &words, number, &count, &err), STATUS_OK);
    assert_true(count == 3 && number[0] == 5 && number[1] == 1 && number[2] == 6);
    assert_int_equal(lexicon_read(&lexicon, "\xFF", &words, number, &count, &err), STATUS_INVALID);
    words_close(&words);
    lexicon_close(&lexicon);
    collection_close(&c);
    collection_close(&again);
    unlink(path);
}

static void every_failure_to_allocate_is_reported(void **state)
{
    struct collection_options o = usual();
    static const char *const tables[] = {"text,label\nThe cat,x\nthe dog,y\na cat,x\n",
                                         "sample,time,event,label\n1,2,a,x\n2,1,b,y\n1,1,b,x\n"};
    for (int i = 0, n = 0; i < 2; n++) {
        struct collection c;
        fault_after(n);
        enum status status = read_texts(tables[i], &o, &c);
        if (!status)
            collection_close(&c);
        if (fault_happened())
            assert_int_equal(status, STATUS_NO_MEMORY);
        else
            i++, n = -1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_split_at_word_boundaries),
        cmocka_unit_test(splitting_ends_where_its_budget_ends),
        cmocka_unit_test(words_are_composed_and_in_lower_case),
        cmocka_unit_test(other_words_go_to_the_bucket_of_their_ending),
        cmocka_unit_test(tables_of_texts_become_numbers_of_words),
        cmocka_unit_test(what_became_of_the_words_is_reported),
        cmocka_unit_test(unclear_tables_of_texts_are_refused),
        cmocka_unit_test(a_column_of_numbers_called_text_is_a_feature),
        cmocka_unit_test(json_lines_of_texts_become_numbers_of_words),
        cmocka_unit_test(lists_of_tokens_are_kept_as_given),
        cmocka_unit_test(broken_json_lines_are_refused_with_their_line),
        cmocka_unit_test(tables_of_events_become_texts_in_the_order_of_time),
        cmocka_unit_test(broken_tables_of_events_are_refused_with_their_row),
        cmocka_unit_test(stored_texts_have_the_same_words),
        cmocka_unit_test(every_failure_to_allocate_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
