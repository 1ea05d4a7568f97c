/* Tests the one rule for the texts of labels: names, sequences of words, sets, lists, missing labels, spellings, and
 * the name that means that all others are absent. */
#include <archive.h>
#include <archive_entry.h>

#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"
#include "core/draw/png.h"

static struct error err;

static enum status read_bytes(const char *format, const void *bytes, size_t size, struct collection_options options,
                              struct collection *c)
{
    struct byte_source_memory memory = {bytes, size, 11};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_limits limits = COLLECTION_LIMITS;
    err = (struct error){0};
    return collection_read(collection_format_named(format), &from, &options, &limits, c, &err);
}

static void add(struct archive *a, const char *name, const void *bytes, size_t size)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, (int64_t)size);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, bytes, size), size);
    archive_entry_free(e);
}

/* Reads an archive of `count` pictures, 0.png, 1.png, ..., with this labels.csv. */
static enum status read_pictures(int count, const char *labels, struct collection_options options, struct collection *c)
{
    static char packed[1 << 18];
    size_t size;
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, packed, sizeof packed, &size), ARCHIVE_OK);
    for (int i = 0; i < count; i++) {
        struct buf png;
        char name[16];
        struct picture *picture;
        uint8_t grey = (uint8_t)(10 * i);
        buf_init(&png, 1 << 16);
        assert_int_equal(picture_create(4, 6, (struct colour){grey, grey, grey}, &picture, NULL), STATUS_OK);
        assert_int_equal(png_encode(picture, &png, NULL), STATUS_OK);
        picture_destroy(picture);
        snprintf(name, sizeof name, "%d.png", i);
        add(a, name, png.data, png.size);
        buf_close(&png);
    }
    add(a, "labels.csv", labels, strlen(labels));
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
    return read_bytes("tar", packed, size, options, c);
}

static enum status read_text(const char *format, const char *text, struct collection_options options,
                             struct collection *c)
{
    return read_bytes(format, text, strlen(text), options, c);
}

/* All labels: names separated by '+', samples by '/'. */
static const char *labels_of(const struct collection *c)
{
    static char text[1000];
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < c->count; i++) {
        const int32_t *label;
        int count = collection_labels(c, i, &label);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", i ? "/" : "");
        for (int j = 0; j < count; j++)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%s", j ? "+" : "", c->vocabulary.name[label[j]]);
    }
    return text;
}

static void reads_as(struct collection *c, enum collection_target target, const char *labels, const char *warning)
{
    bool warned = warning == NULL;
    assert_string_equal(err.message, "");
    assert_int_equal(c->target, target);
    assert_string_equal(labels_of(c), labels);
    for (int i = 0; i < c->warnings; i++)
        warned = warned || strcmp(c->warning[i].code, warning) == 0;
    if (!warned)
        fail_msg("there is no warning %s", warning);
    for (int i = 0; warning == NULL && i < c->warnings; i++)
        if (strncmp(c->warning[i].code, "constant", 8) != 0)
            fail_msg("unexpected warning %s: %s", c->warning[i].code, c->warning[i].text);
    collection_close(c);
}

#define PICTURES(target, labels, options, expected, warning)                                                           \
    do {                                                                                                               \
        struct collection m;                                                                                           \
        (void)read_pictures(4, labels, (struct collection_options)options, &m);                                        \
        reads_as(&m, target, expected, warning);                                                                       \
    } while (0)
#define TEXT(format, target, text, options, expected, warning)                                                         \
    do {                                                                                                               \
        struct collection m;                                                                                           \
        (void)read_text(format, text, (struct collection_options)options, &m);                                         \
        reads_as(&m, target, expected, warning);                                                                       \
    } while (0)
#define PLAIN                                                                                                          \
    {                                                                                                                  \
        .label = ""                                                                                                    \
    }
#define LABELLED(...)                                                                                                  \
    {                                                                                                                  \
        .label = "", __VA_ARGS__                                                                                       \
    }

/* A label with blanks is one class unless its words recur, as those of sequences do. */
static void labels_with_blanks_are_classes_unless_their_words_recur(void **state)
{
    PICTURES(TARGET_CLASS, "file,label\n0.png,red car\n1.png,bike\n2.png,red car\n3.png,bike\n", PLAIN,
             "red car/bike/red car/bike", "names-with-blanks");
    PICTURES(TARGET_CLASS, "file,label\n0.png,B cell\n1.png,T cell\n2.png,NK cell\n3.png,T cell\n", PLAIN,
             "B cell/T cell/NK cell/T cell", "names-with-blanks");
    PICTURES(TARGET_SEQUENCE, "file,label\n0.png,3 1 4\n1.png,15 9\n2.png,2\n3.png,6 5\n", PLAIN, "3+1+4/15+9/2/6+5",
             NULL);
    PICTURES(TARGET_SEQUENCE, "file,label\n0.png,up down\n1.png,down up\n2.png,up down\n3.png,down up\n", PLAIN,
             "up+down/down+up/up+down/down+up", NULL);
    PICTURES(TARGET_SEQUENCE, "file,label\n0.png,up up\n1.png,down left\n2.png,up\n3.png,down\n", PLAIN,
             "up+up/down+left/up/down", NULL);
    PICTURES(TARGET_SEQUENCE, "file,label\n0.png,red car\n1.png,bike\n2.png,red car\n3.png,bike\n",
             LABELLED(.target = TARGET_SEQUENCE), "red+car/bike/red+car/bike", NULL);
    TEXT("csv", TARGET_CLASS, "a,label\n1,\"CD4+ T, naive\"\n2,B cell\n3,cell B\n", PLAIN,
         "CD4+ T, naive/B cell/cell B", NULL);
    TEXT("fasta", TARGET_CLASS,
         ">a zinc finger\nACGT\n>b leucine zipper\nACGA\n>c zinc finger\nAC\n>d zinc finger\nAA\n", PLAIN,
         "zinc finger/leucine zipper/zinc finger/zinc finger", "names-with-blanks");
}

/* Sets are separated by the character that their labels contain, and lists by their commas. */
static void separators_of_sets_are_recognised(void **state)
{
#define SETS(a, b, c, d) "file,labels\n0.png," a "\n1.png," b "\n2.png," c "\n3.png," d "\n"
    PICTURES(TARGET_LABELS, SETS("\"cat,dog\"", "bird", "\"dog, hot dog\"", ""), PLAIN, "cat+dog/bird/dog+hot dog/",
             "separated-labels");
    PICTURES(TARGET_LABELS, SETS("\"{\"\"choices\"\": [\"\"cat\"\", \"\"hot dog\"\"]}\"", "bird", "red car", ""), PLAIN,
             "cat+hot dog/bird/red car/", "separated-labels");
    PICTURES(TARGET_LABELS, SETS("\"{cat,hot dog}\"", "{bird}", "dog", "{}"), PLAIN, "cat+hot dog/bird/dog/",
             "separated-labels");
    PICTURES(TARGET_LABELS, SETS("cat|dog", "bird", "dog", "cat"), PLAIN, "cat+dog/bird/dog/cat", "separated-labels");
    PICTURES(TARGET_LABELS, SETS("cat;dog", "bird", "dog", "cat"), PLAIN, "cat+dog/bird/dog/cat", "separated-labels");
    PICTURES(TARGET_LABELS, SETS("cat dog", "bird", "dog", "cat"), PLAIN, "cat+dog/bird/dog/cat", NULL);
    PICTURES(TARGET_LABELS, SETS("red car", "bike", "red car", "bike"), PLAIN, "car+red/bike/car+red/bike",
             "words-together");
    PICTURES(TARGET_LABELS, SETS("\"[\"\"cat\"\", \"\"dog\"\"]\"", "[]", "\"['caf\\u00e9\\ud83d\\ude00']\"", "[7]"),
             PLAIN, "cat+dog//caf\xC3\xA9\xF0\x9F\x98\x80/7", "separated-labels");
    PICTURES(TARGET_LABELS, SETS("\"{\"\"choices\"\": [\"\"a\"\", \"\"b\"\"]}\"", "[]", "[]", "[]"), PLAIN, "a+b///",
             "separated-labels");
    PICTURES(TARGET_LABELS, SETS("\"a|b,c\"", "b", "c", ""), LABELLED(.separator = ","), "a|b+c/b/c/", NULL);
    PICTURES(TARGET_LABELS, SETS("a|b", "b c", "c", ""), LABELLED(.separator = "none"), "a|b/b c/c/", NULL);
    TEXT("csv", TARGET_LABELS, "a,label\n1,\"[\"\"x\"\"]\"\n2,\"[\"\"x\"\",\"\"y z\"\"]\"\n", PLAIN, "x/x+y z",
         "separated-labels");
    TEXT("csv", TARGET_LABELS, "a,label\n1,x/y\n2,y\n", LABELLED(.separator = "/"), "x+y/y", NULL);
    TEXT("csv", TARGET_CLASS, "a,label\n1,x|y\n2,y\n", PLAIN, "x|y/y", "several-names");
    TEXT("fasta", TARGET_LABELS, ">a x,y\nACGT\n>b\nACGA\n>c y\nAC\n", LABELLED(.target = TARGET_LABELS), "x+y//y",
         "separated-labels");
    struct collection c;
    assert_int_equal(read_text("csv", "a,label\n1,x\n", (struct collection_options){.separator = "ab"}, &c),
                     STATUS_INVALID);
    assert_non_null(strstr(err.message, "separator 'ab' must be one character"));
}

/* A missing label is refused with its row, or left out with everything that belongs to it. */
static void missing_labels_are_refused_or_left_out(void **state)
{
    static const char *const missing[] = {"", "NaN", "nan", "NA", "None", "<NA>"};
    struct collection c;
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
        char csv[200], labels[200];
        snprintf(csv, sizeof csv, "a,b,label,group\n1,300,x,p\n2,4,%s,q\n3,0.5,y,r\n", missing[i]);
        snprintf(labels, sizeof labels, "file,label\n1.png,%s\n0.png,x\n2.png,y\n3.png,x\n", missing[i]);
        assert_int_equal(read_text("csv", csv, (struct collection_options){0}, &c), STATUS_INVALID);
        assert_non_null(strstr(err.message, "row 3 has no label"));
        assert_int_equal(read_pictures(4, labels, (struct collection_options){0}, &c), STATUS_INVALID);
        assert_non_null(strstr(err.message, "row 2 has no label"));
        PICTURES(TARGET_CLASS, labels, {.missing = MISSING_DROP}, "x/y/x", "missing-labels");
        assert_int_equal(read_text("csv", csv, (struct collection_options){.missing = MISSING_DROP}, &c), STATUS_OK);
        assert_true(c.count == 2 && c.groups.count == 2 && c.vocabulary.count == 2);
        assert_true(collection_value(&c, 0) == 1 && collection_value(&c, 1) == 300);
        assert_true(collection_value(&c, 2) == 3 && collection_value(&c, 3) == 0.5F);
        assert_string_equal(c.groups.name[c.group[1]], "r");
        reads_as(&c, TARGET_CLASS, "x/y", "missing-labels");
    }
    TEXT("csv", TARGET_CLASS, "a,label\n1,NA\n2,EU\n", {.missing = MISSING_KEEP}, "NA/EU", NULL);
    TEXT("fasta", TARGET_SEQUENCE, ">a x\nACGT\n>b\nACGA\n>c y\nAC\n", PLAIN, "x//y", NULL);
    assert_int_equal(read_text("fasta", ">a x\nACGT\n>b NA\nACGA\n", (struct collection_options){0}, &c),
                     STATUS_INVALID);
    assert_non_null(strstr(err.message, "record 2 has no label"));
    assert_int_equal(read_pictures(4, "file,label\n0.png,x\n2.png,y\n3.png,y\n", (struct collection_options){0}, &c),
                     STATUS_INVALID);
    assert_non_null(strstr(err.message, "there is no row for the member '1.png'"));
    PICTURES(TARGET_CLASS, "file,label\n0.png,x\n2.png,y\n3.png,y\n", {.missing = MISSING_DROP}, "x/y/y",
             "missing-labels");
    assert_int_equal(read_text("csv", "a,label\n1,NA\n", (struct collection_options){.missing = MISSING_DROP}, &c),
                     STATUS_INVALID);
    assert_non_null(strstr(err.message, "no sample has a label"));
}

/* Headers that describe a sequence are no labels. */
static void descriptions_of_records_are_no_labels(void **state)
{
    TEXT("fasta", TARGET_NONE,
         ">NM_1.2 Homo sapiens thing alpha (THA), variant 1, mRNA\nACGT\n>NM_2.2 Mus musculus thing beta, mRNA\nACGA\n",
         PLAIN, "/", "descriptions");
    TEXT("fasta", TARGET_NONE,
         ">ENST01.1 cdna chromosome:GRCh38:14:2:9:1 gene:ENSG01.1\nACGT\n>ENST02.1 cdna chromosome:GRCh38:7:4:8:1 "
         "gene:ENSG02.1\nACGA\n",
         PLAIN, "/", "descriptions");
    TEXT("fasta", TARGET_CLASS, ">NM_1.2 Homo sapiens thing\nACGT\n>NM_2.2 Mus musculus thing\nACGA\n",
         {.label_column = 2}, "Homo/Mus", NULL);
    TEXT("fasta", TARGET_SEQUENCE, ">a x y z\nACGT\n>b z y x\nACGA\n", PLAIN, "x+y+z/z+y+x", NULL);
}

/* Spellings of one name are reported, and become one name if the user wants that. */
static void spellings_of_one_name_are_reported_or_merged(void **state)
{
    static const char csv[] = "a,label\n1,Cat\n2,cat\n3,cat \n4,cat\n5,1\n6,1.0\n7,1\n8,caf\xC3\xA9\n9,cafe\xCC\x81\n";
    TEXT("csv", TARGET_CLASS, csv, PLAIN, "Cat/cat/cat/cat/1/1.0/1/caf\xC3\xA9/cafe\xCC\x81", "similar-names");
    TEXT("csv", TARGET_CLASS, csv, {.fold_names = 1}, "cat/cat/cat/cat/1/1/1/caf\xC3\xA9/caf\xC3\xA9", "folded-names");
    TEXT("csv", TARGET_CLASS, "a,label\n1,\xC3\x84\n2,\xC3\xA4\n3,\xC3\xA4\n", {.fold_names = 1},
         "\xC3\xA4/\xC3\xA4/\xC3\xA4", "folded-names");
}

/* The absent name becomes the empty label of a set. */
static void absent_name_becomes_the_empty_label(void **state)
{
    struct collection c;
    TEXT("csv", TARGET_LABELS, "a,label\n1,normal\n2,crack\n3,hole\n4,normal\n", {.absent = "normal"}, "/crack/hole/",
         "absent-name");
    PICTURES(TARGET_LABELS, "file,label\n0.png,ok\n1.png,big crack\n2.png,ok\n3.png,hole\n", {.absent = "OK"},
             "/big crack//hole", "absent-name");
    assert_int_equal(read_text("csv", "a,label\n1,x\n2,y\n", (struct collection_options){.absent = "ok"}, &c),
                     STATUS_INVALID);
    assert_non_null(strstr(err.message, "absent=ok: no label has this name; the names of the labels are 'x', 'y'"));
    assert_int_equal(read_text("csv", "a,label\n1,x\n2,x\n", (struct collection_options){.absent = "x"}, &c),
                     STATUS_INVALID);
    assert_non_null(strstr(err.message, "no other name is left"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_with_blanks_are_classes_unless_their_words_recur),
        cmocka_unit_test(separators_of_sets_are_recognised),
        cmocka_unit_test(missing_labels_are_refused_or_left_out),
        cmocka_unit_test(descriptions_of_records_are_no_labels),
        cmocka_unit_test(spellings_of_one_name_are_reported_or_merged),
        cmocka_unit_test(absent_name_becomes_the_empty_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
