/* Tests the dialects of tables and the roles of their columns: each text gives the values, labels and features of the
 * plain table, or a refusal that names row, column and cure. */
#include <math.h>

#include "tests/support/fault.h"
#include "tests/support/unit.h"
#include "core/data/uploads/collection.h"

static struct error err;

static enum status read_table(const char *text, size_t size, size_t step, const struct collection_options *stated,
                              struct collection *c)
{
    struct byte_source_memory memory = {(const unsigned char *)text, size, step};
    struct byte_source from = byte_source_of_memory(&memory);
    const struct collection_limits limits = COLLECTION_LIMITS;
    err = (struct error){0};
    return collection_read(collection_format_named("csv"), &from, stated, &limits, c, &err);
}

static bool warns(const struct collection *c, const char *code)
{
    for (int i = 0; i < c->warnings; i++)
        if (strcmp(c->warning[i].code, code) == 0)
            return true;
    return false;
}

/* Writes features, values and labels: "a b | 1 2 x | 3 4 y". */
static void write_table(const struct collection *c, char *out, size_t room)
{
    size_t used = 0;
    for (int j = 0; j < c->columns.count; j++)
        used += (size_t)snprintf(out + used, room - used, "%s%s", j ? " " : "", c->columns.name[j]);
    for (int64_t i = 0; i < c->count; i++) {
        const int32_t *label;
        int labels = collection_labels(c, i, &label);
        used += (size_t)snprintf(out + used, room - used, " |");
        for (int j = 0; j < c->cols; j++)
            used += (size_t)snprintf(out + used, room - used, " %g", (double)collection_value(c, i * c->cols + j));
        for (int j = 0; j < labels; j++)
            used += (size_t)snprintf(out + used, room - used, " %s", c->vocabulary.name[label[j]]);
    }
}

static void dialects_give_the_plain_table(void **state)
{
    static const struct {
        const char *text, *table, *dialect;
    } cases[] = {
        {"a,b,label\n1.5,2,x\n-3,4,y\n", NULL, ""},
        {"a\tb\tlabel\n1.5\t2\tx\n-3\t4\ty\n", NULL, ""},
        {"\xEF\xBB\xBF"
         "a;b;label\r\n1,5;2;x\r\n-3,0;4;y\r\n",
         NULL, "';' between fields, decimal commas"},
        {"a;b;label\n1.5;2;x\n-3.0;4;y\n", NULL, "';' between fields"},
        {"sep=;\r\na;b;label\r\n1,5;2;x\r\n-3;4;y\r\n", NULL, "';' between fields, decimal commas"},
        {"\"sep=|\"\na|b|label\n1.5|2|x\n-3|4|y\n", NULL, "'|' between fields"},
        {"a\tb\tlabel\n1,5\t2\tx\n-3,25e0\t4\ty\n", "a b | 1.5 2 x | -3.25 4 y", "decimal commas"},
        {"a,b,label\n\"1,5\",2,x\n-3,4,y\n", NULL, "decimal commas"},
        {" a, b ,label\n 1.5 , \"2\" ,x \n\n   \n-3,\t4, y\n", NULL, ""},
        {"a,b,label\r1.5,2,x\r-3,4,y\r", NULL, ""},
        {"a,b,label\r\r1.5,2,x\n-3,4,y", NULL, ""},
        {"\"a\",\"b\",\"label\"\n\"r1\",1.5,2,\"x\"\n\"r2\",-3,4,\"y\"\n", NULL,
         "names of rows in a first column without a name"},
        {"a;b;label\n0,125;1000,5;x\n1,234;2;y\n", "a b | 0.125 1000.5 x | 1.234 2 y",
         "';' between fields, decimal commas"},
        {"a;b c, d;label\n1,5;2;x, y\n2,5;3;z\n", "a b c, d | 1.5 2 x, y | 2.5 3 z",
         "';' between fields, decimal commas"},
        {"a,b,label\n1,2,x;y\n3,4,z;w\n", "a b | 1 2 x;y | 3 4 z;w", ""},
        {"a,b,label\n1,2,x", "a b | 1 2 x", ""},
        {"a,b,label\n1,2,\"x\r\ny\"\n", "a b | 1 2 x\r\ny", ""},
        {"a|b|label\n1.5|2|x\n-3|4|y\n", NULL, "'|' between fields"},
        {"  a b   label \n 1.5   2     x\n\n  -3   4 y  ", NULL, "blanks between fields"},
        {"\"a\" \"b\" \"label\"\n\"r 1\" 1.5 2 \"x\"\n\"r 2\" -3 4 \"y\"\n", NULL,
         "blanks between fields, names of rows in a first column without a name"},
        {"# by a program; b, c\n#\na,b,label\n1.5,2,x\n-3,4,y\n", NULL, "comments before the header"},
        {"#a,b,label\n1.5,2,x\n", "#a b | 1.5 2 x", ""},
        {"#a b label\n1.5 2 x\n", "#a b | 1.5 2 x", "blanks between fields"},
        {"a b,c,label\n1,2,x y\n", "a b c | 1 2 x y", ""},
        {"a,b,label\nTrue,2,x\nFALSE,4,true\n", "a b | 1 2 x | 0 4 true", "true and false as 1 and 0"},
    };
    char plain[64] = "a b | 1.5 2 x | -3 4 y", found[256];
    const struct collection_options none = {0};
    struct collection c;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t step = 0; step < 8; step++) {
            if (read_table(cases[i].text, strlen(cases[i].text), step, &none, &c))
                fail_msg("case %zu: %s", i, err.message);
            write_table(&c, found, sizeof found);
            assert_string_equal(found, cases[i].table ? cases[i].table : plain);
            assert_string_equal(c.recognised.table, cases[i].dialect);
            assert_int_equal(warns(&c, "table-dialect"), cases[i].dialect[0] != '\0');
            collection_close(&c);
        }
}

/* Writes a text of ASCII letters, with "\x80" for U+00E4 and "\x81" for U+1F431, as UTF-16 with a mark. */
static size_t write_utf16(const char *text, bool big, char *out)
{
    size_t size = 0;
    const char *at = text;
    for (bool mark = true; mark || *at; mark = false) {
        unsigned units[2] = {mark ? 0xFEFF : (unsigned char)*at, 0};
        units[0] = !mark && units[0] == 0x80 ? 0xE4 : units[0];
        if (!mark && units[0] == 0x81) {
            units[0] = 0xD83D;
            units[1] = 0xDC31;
        }
        for (int k = 0; k < 2 && (k == 0 || units[k]); k++) {
            out[size++] = (char)(big ? units[k] >> 8 : units[k] & 255);
            out[size++] = (char)(big ? units[k] & 255 : units[k] >> 8);
        }
        at += !mark;
    }
    return size;
}

static void utf16_gives_the_plain_table(void **state)
{
    char bytes[256], found[256];
    const struct collection_options none = {0};
    struct collection c;
    for (int big = 0; big < 2; big++)
        for (size_t step = 0; step < 8; step++) {
            size_t size = write_utf16("\x80;b;label\r\n1,5;2;\x81\r\n-3;4;y\r\n", big, bytes);
            assert_int_equal(read_table(bytes, size, step, &none, &c), STATUS_OK);
            write_table(&c, found, sizeof found);
            assert_string_equal(found, "\xC3\xA4 b | 1.5 2 \xF0\x9F\x90\xB1 | -3 4 y");
            assert_string_equal(c.recognised.table, "';' between fields, decimal commas, UTF-16");
            collection_close(&c);
            const char plain[] = "a;\x80,\x81\n1;2\n"; /* without a mark */
            size_t bare = write_utf16(plain, big, bytes) - 2;
            assert_int_equal(read_table(bytes + 2, bare, step, &none, &c), STATUS_OK);
            write_table(&c, found, sizeof found);
            assert_string_equal(found, "a \xC3\xA4,\xF0\x9F\x90\xB1 | 1 2");
            assert_true(warns(&c, "table-dialect"));
            collection_close(&c);
            size = write_utf16("\x80;b;label\r\n1,5;2;\x81\r\n-3;4;y\r\n", big, bytes);
            assert_int_equal(read_table(bytes, size - 1, step, &none, &c), STATUS_INVALID);
            assert_string_equal(err.message, "the text is not valid UTF-16; save the file as UTF-8");
            bytes[big ? 14 : 15] = (char)0xDC; /* half a pair */
            assert_int_equal(read_table(bytes, size, step, &none, &c), STATUS_INVALID);
        }
    assert_int_equal(read_table("\xFF\xFE\0\0a\0\0\0", 8, 0, &none, &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "UTF-32"));
}

static void doubtful_tables_are_refused_with_row_and_column(void **state)
{
    static const struct {
        const char *text, *message;
        struct collection_options options;
    } cases[] = {
        {"a;b\n1,234;5\n", "row 2, column 'a': '1,234' may have a decimal comma or a separator of thousands", {0}},
        {"a;b\n1.5;5\n1,5;2\n",
         "row 3, column 'a': '1,5' has a decimal comma, but the number in row 2 has a decimal",
         {0}},
        {"a;b\n1,5;5\n1;2.5\n",
         "row 3, column 'b': '2.5' has a decimal point, but the number in row 2 has a decimal",
         {0}},
        {"a;b\n1.234,5;5\n", "row 2, column 'a': '1.234,5' contains separators of thousands", {0}},
        {"a,b\n\"1,234,567\",5\n", "row 2, column 'a': '1,234,567' contains separators of thousands", {0}},
        {"a,b\n1,2,\n",
         "row 2 has 3 fields, but the header has 2, with ',' between them; remove the separator at the end",
         {0}},
        {"a,b\n1,2,3,4\n", "row 2 has 4 fields, but the header has 2", {0}},
        {"a\n1;2\n", "'1;2' is not a number", {0}},
        {"a,b\n,2\n", "row 2, column 'a': '' is no number, so the value is missing; fill it in", {0}},
        {"a,b\n1,<NA>\n", "row 2, column 'b': '<NA>' is no number, so the value is missing", {0}},
        {"a;b\n1 234,5;2\n", "row 2, column 'a': '1 234,5' contains separators of thousands", {0}},
        {"a,b\n1'234.5,2\n", "row 2, column 'a': '1'234.5' contains separators of thousands", {0}},
        {"a,b\n5%,2\n", "row 2, column 'a': '5%' is not a number; write it without units", {0}},
        {"a,b,\n1,2,\n", "row 1: column 3 has no name; only the first may have none: name it, or remove", {0}},
        {"a,\xE4\n1,2\n", "row 1 is not UTF-8; save the file in this encoding (of Latin-1: iconv", {0}},
        {"sep=x\na,b\n1,2\n", "states a separator that is not allowed", {0}},
        {"a,kind\n1,x\n2,x\n",
         "row 3, column 'kind': 'x' is not a number; if the column is the label, name it with label",
         {0}},
        {"a,b\n1,2\n3,u\n", "row 3, column 'b': 'u' is not a number; if the column is not a feature", {0}},
        {"a,b\n1,2\n", "row 1: no column is called 'c'; the columns are a, b", {.ignore = "b, c"}},
        {"a,Class\n1,2\n",
         "column 'Class' cannot be both the label and ignored",
         {.ignore = "class", .label = "Class"}},
        {"a,l,m\n1,2,3\n", "several columns of labels make a set", {.label = "l,m", .target = TARGET_CLASS}},
        {"a,l,m\n1,0,1\n2,0,3\n", "row 3, column 'm': '3' is neither 0 nor 1", {.label = "l,m"}},
    };
    struct collection c;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(read_table(cases[i].text, strlen(cases[i].text), 0, &cases[i].options, &c), STATUS_INVALID);
        if (!strstr(err.message, cases[i].message))
            fail_msg("'%s' does not say '%s'", err.message, cases[i].message);
    }
}

static void columns_get_their_roles(void **state)
{
    static const struct {
        const char *text, *table, *roles;
        struct collection_options options;
    } cases[] = {
        {"ID,a,b,Label\n0,1,2,0\n1,3,4,1\n", "a b | 1 2 0 | 3 4 1", "id ID label Label", {0}},
        {"Unnamed: 0,a,label\n0,1,x\n1,3,y\n", "a | 1 x | 3 y", "id Unnamed: 0 label label", {0}},
        {",a,TARGET\n0,1,x\n1,3,y\n", "a | 1 x | 3 y", "id  label TARGET", {0}},
        {"a,Id,class,Group\n1,7,x,g\n3,8,y,h\n", "a | 1 x | 3 y", "id Id label class group Group", {0}},
        {"a,name,class\n1,n1,x\n3,n2,x\n", "a | 1 x | 3 x", "identifier name label class", {0}},
        {"Sample_ID,a,class\n1,1,x\n2,3,x\n", "a | 1 x | 3 x", "id Sample_ID label class", {0}},
        {"row.no,a,class\nr,1,x\ns,3,x\n", "a | 1 x | 3 x", "id row.no label class", {0}},
        {"a,b,kind,code\n1,2,x,0\n3,4,y,1\n",
         "a b | 1 2 x | 3 4 y",
         "label kind ignored code",
         {.label = "KIND", .ignore = "code"}},
        {"a,b,c,who\n1,2,3,p\n4,5,6,q\n", "a | 1 | 4", "ignored b ignored c id who", {.id = "who", .ignore = "b, c"}},
        {"a,\"b,c\",d\n1,2,3\n4,5,6\n", "a d | 1 3 | 4 6", "ignored b,c", {.ignore = "b,c"}},
        {"a,cat,dog\n1,1,0\n2,0,1\n3,1,1\n4,0,0\n",
         "a | 1 cat | 2 dog | 3 cat dog | 4",
         "label cat label dog",
         {.label = "cat,dog"}},
        {"a,first,second\n1,x,y\n2,x,\n3,z,z\n",
         "a | 1 x y | 2 x | 3 z",
         "label first label second",
         {.label = "first,second"}},
        {"Label,label,a\n1,x,2\n2,y,3\n", "Label a | 1 2 x | 2 3 y", "label label", {0}},
    };
    char found[256], roles[256];
    struct collection c;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t used = 0;
        if (read_table(cases[i].text, strlen(cases[i].text), 0, &cases[i].options, &c))
            fail_msg("case %zu: %s", i, err.message);
        write_table(&c, found, sizeof found);
        assert_string_equal(found, cases[i].table);
        for (int k = 0; k < c.recognised.columns; k++)
            used += (size_t)snprintf(roles + used, sizeof roles - used, "%s%s %s", k ? " " : "",
                                     c.recognised.column[k].role, c.recognised.column[k].name);
        /* roles are in the order of the columns, which the cases do not state */
        for (int k = 0; k < c.recognised.columns; k++) {
            char one[80];
            (void)snprintf(one, sizeof one, "%s %s", c.recognised.column[k].role, c.recognised.column[k].name);
            if (!strstr(cases[i].roles, one))
                fail_msg("case %zu: %s instead of %s", i, roles, cases[i].roles);
        }
        assert_int_equal(strlen(roles), strlen(cases[i].roles));
        collection_close(&c);
    }
    const char ids[] = "ID,a\nx1,1\nx2,2\n";
    assert_int_equal(read_table(ids, sizeof ids - 1, 0, &(struct collection_options){0}, &c), STATUS_OK);
    assert_true(c.records.count == 2 && strcmp(c.records.name[1], "x2") == 0);
    collection_close(&c);
}

/* Names and values that a table of features does not have: numbers of rows, a label without its role, a first row that
 * was taken for a header. Times, wavelengths and coordinates are features. */
static void doubtful_features_are_reported(void **state)
{
    static const struct {
        const char *header, *warning;
        int first, step;
    } cases[] = {{"n,b", "identifier-features", 1, 1},
                 {"n,b", NULL, 2, 1},
                 {"n,b", NULL, 1, 2},
                 {"Time,b", NULL, 0, 1},
                 {"patient ID,b", "identifier-features", 7, 3},
                 {"caseId,b", "identifier-features", 7, 3},
                 {"acid,b", NULL, 7, 3},
                 {"grid,b", NULL, 7, 3},
                 {"y,b", "label-features", 7, 3},
                 {"Is_Fraud,b", "label-features", 7, 3},
                 {"5.1,3.5", "header-of-numbers", 7, 3},
                 {"400,410.5", NULL, 7, 3}};
    static const char *const codes[] = {"identifier-features", "label-features", "header-of-numbers"};
    char text[512];
    struct collection c;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t used = (size_t)snprintf(text, sizeof text, "%s\n", cases[i].header);
        for (int k = 0; k < 9; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d\n", cases[i].first + k * cases[i].step,
                                     k * k % 5);
        assert_int_equal(read_table(text, used, 0, &(struct collection_options){0}, &c), STATUS_OK);
        for (int k = 0; k < 3; k++)
            if (warns(&c, codes[k]) != (cases[i].warning && strcmp(cases[i].warning, codes[k]) == 0))
                fail_msg("%s: %s", cases[i].header, codes[k]);
        collection_close(&c);
    }
}

/* Copies of the label are reported: coded, nearly equal, one value for each class. Honest features are not. */
static void features_that_give_the_label_away_are_reported(void **state)
{
    static const char *const classes[] = {"no", "yes", "maybe"};
    char text[8192], names[8];
    struct collection c;
    for (int kind = 0; kind < 4; kind++) {
        size_t used = (size_t)snprintf(text, sizeof text, "a,%s,label\n", kind == 3 ? "Target" : "code");
        for (int i = 0; i < 300; i++) {
            int class = i % (kind == 0 ? 2 : 3);
            double code[] = {class, 7 - 3 * class + class * class * 5, class + .02 * (i % 5), (i * 7) % 4};
            if (kind == 2)
                (void)snprintf(names, sizeof names, "%d", class);
            used += (size_t)snprintf(text + used, sizeof text - used, "%d,%g,%s\n", (i * 31) % 17, code[kind],
                                     kind == 2 ? names : classes[class]);
        }
        assert_int_equal(read_table(text, used, 0, &(struct collection_options){0}, &c), STATUS_OK);
        assert_int_equal(warns(&c, "label-copies"), kind < 3);
        assert_int_equal(warns(&c, "label-features"), kind == 3);
        collection_close(&c);
    }
}

static void tables_without_memory_are_refused(void **state)
{
    const char text[] = "\xEF\xBB\xBF"
                        "Id;a;b;who;Class;code\n1;1,5;2;p;x;0\n2;2,5;3;q;y;1\n3;3,5;3;r;y;1\n";
    const struct collection_options options = {.ignore = "code"};
    struct collection c;
    for (int n = 0;; n++) {
        fault_after(n);
        enum status status = read_table(text, sizeof text - 1, 0, &options, &c);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            collection_close(&c);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dialects_give_the_plain_table),
        cmocka_unit_test(utf16_gives_the_plain_table),
        cmocka_unit_test(doubtful_tables_are_refused_with_row_and_column),
        cmocka_unit_test(columns_get_their_roles),
        cmocka_unit_test(doubtful_features_are_reported),
        cmocka_unit_test(features_that_give_the_label_away_are_reported),
        cmocka_unit_test(tables_without_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
