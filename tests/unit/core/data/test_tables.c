/* Tests the readers of tables: delimited text, ratings, abstracts and cells. The test writes small files for each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/data/tables/abstracts.h"
#include "core/data/tables/cells.h"
#include "core/formats/delimited.h"
#include "core/data/tables/genes.h"
#include "core/data/tables/ratings.h"
#include "tests/support/assert_ok.h"
#include "tests/support/fault.h"

#define assert_near(x, y, tolerance) assert_true(fabs((double)(x) - (double)(y)) < (tolerance))

static char folder[64];

static int setup(void **state)
{
    strcpy(folder, "/tmp/motif-tables-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static void path_of(const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", folder, name);
}

static void put(const char *name, const char *text)
{
    char path[256];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void drop(const char *name)
{
    char path[256];
    path_of(name, path);
    unlink(path);
}

static int teardown(void **state)
{
    static const char *const names[] = {"t.csv",         "ratings.csv",  "movies.csv",    "abstracts.jsonl",
                                        "abstracts.csv", "docword.txt",  "vocab.txt",     "counts.tsv",
                                        "cells.tsv",     "features.csv", "expression.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        drop(names[i]);
    return rmdir(folder);
}

static void records_are_split_into_fields(void **state)
{
    struct delimited d;
    bool more;
    double value;
    put("t.csv", "id,title,x\r\n1,\"Net, The \"\"95\"\"\",2.5\n\n2,plain,\n3,last,7");
    assert_ok(delimited_open(&d, folder, "t.csv", 0, NULL, err));
    assert_ok(delimited_next(&d, &more, err));
    assert_int_equal(d.count, 3);
    assert_int_equal(delimited_find(&d, "x"), 2);
    assert_int_equal(delimited_find(&d, "y"), -1);
    assert_ok(delimited_next(&d, &more, err));
    assert_string_equal(d.fields[1], "Net, The \"95\"");
    assert_ok(delimited_number(&d, 2, &value, err));
    assert_near(value, 2.5, 1e-12);
    assert_ok(delimited_next(&d, &more, err));
    assert_int_equal(d.number, 4);
    assert_int_equal(delimited_number(&d, 2, &value, NULL), STATUS_INVALID);
    assert_int_equal(delimited_number(&d, 9, &value, NULL), STATUS_INVALID);
    assert_ok(delimited_next(&d, &more, err));
    assert_string_equal(d.fields[2], "7");
    assert_ok(delimited_next(&d, &more, err));
    assert_false(more);
    delimited_close(&d);
    assert_int_equal(delimited_open(&d, folder, "none.csv", 0, NULL, NULL), STATUS_NOT_FOUND);
    delimited_close(&d);
}

static void ratings_are_filtered(void **state)
{
    struct features *f;
    struct ratings_filter filter = {4, 2, 2, 100, NULL};
    /* Ratings of 4 or more are positive. User 9 has only one and is left out. Movie 30 then has three positive ratings,
     * and movies 10 and 20 have two each. Only two movies are kept: 30, and 20, which appears before 10. */
    put("ratings.csv", "userId,movieId,rating,timestamp\n1,20,4.0,0\n1,30,5,0\n2,10,4.5,0\n2,30,4,0\n2,40,1,0\n"
                       "5,10,4,0\n5,20,4,0\n5,30,4,0\n7,10,3.5,0\n7,50,4,0\n7,60,5,0\n9,30,4,0\n");
    put("movies.csv", "movieId,title,genres\n20,\"Two, The (1990)\",Drama\n");
    assert_ok(ratings_load(folder, &filter, &f, err));
    assert_int_equal(f->rows, 3); /* user 7 has no positive rating of the two movies that are kept */
    assert_int_equal(f->columns, 2);
    assert_string_equal(f->names[0], "Two, The (1990)");
    assert_string_equal(f->names[1], "movie 30");
    static const float want[] = {1, 1, 0, 1, 1, 1};
    assert_memory_equal(f->x, want, sizeof want);
    features_destroy(f);
    filter.users = 2;
    assert_ok(ratings_load(folder, &filter, &f, err));
    assert_int_equal(f->rows, 2);
    features_destroy(f);
    drop("movies.csv");
    filter.users = 100;
    assert_ok(ratings_load(folder, &filter, &f, err));
    assert_string_equal(f->names[0], "movie 20");
    features_destroy(f);
    static const char *const wrong[] = {"a,b,c\n1,2,3\n",
                                        "userId,movieId,rating\n1,x,4\n",
                                        "userId,movieId,rating\n1,2\n",
                                        "userId,movieId,rating\n-1,2,5\n",
                                        "userId,movieId,rating\n1,2,5\n",
                                        ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        put("ratings.csv", wrong[i]);
        assert_int_equal(ratings_load(folder, &filter, &f, NULL), STATUS_INVALID);
    }
    drop("ratings.csv");
    assert_int_equal(ratings_load(folder, &filter, &f, NULL), STATUS_NOT_FOUND);
}

static void plurals_become_singulars(void **state)
{
    static const char *const words[][3] = {{"cats", "cat", ""},
                                           {"queries", "querie", "query"},
                                           {"classes", "classe", "class"},
                                           {"boxes", "boxe", "box"},
                                           {"loss", "", ""},
                                           {"bias", "bia", ""},
                                           {"corpus", "", ""},
                                           {"analysis", "", ""},
                                           {"women", "", "woman"},
                                           {"halves", "halve", "half"},
                                           {"branches", "branche", "branch"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char first[WORD_BYTES], second[WORD_BYTES];
        abstracts_singular(words[i][0], first, second);
        assert_string_equal(first, words[i][1]);
        assert_string_equal(second, words[i][2]);
    }
}

static void json_texts_are_found(void **state)
{
    char out[256];
    assert_int_equal(abstracts_json_text("{\"id\": 3, \"abstract\": \"a \\\"b\\\" \\u00e9\\n\"}", "abstract", out), 9);
    assert_string_equal(out, "a \"b\" \xc3\xa9\n");
    assert_int_equal(abstracts_json_text("{\"x\":{\"abstract\":\"inner\"},\"y\":\"abstract\",\"abstract\":\"outer\"}",
                                         "abstract", out),
                     5);
    assert_string_equal(out, "outer");
    static const char *const wrong[] = {
        "",   "[1]",         "{\"abstract\": 3}", "{\"abstract\": \"open", "{\"abstract\": \"\\q\"}",
        "{}", "{\"abstract", "{\"a\":\"\\u12\"}", "{\"abstract\":\"x\\"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(abstracts_json_text(wrong[i], "abstract", out), -1);
}

static void abstracts_are_counted(void **state)
{
    struct features *f;
    struct abstracts_filter filter = {0.9, 0, 3, NULL};
    put("abstracts.jsonl", "{\"abstract\":\"The networks learn; a Network learns state-of-the-art models (deep).\"}\n"
                           "{\"title\":\"t\",\"abstract\":\"Deep models. Deep, deep network models!\"}\n"
                           "{\"abstract\":\"the of and\"}\n{\"abstract\":\"Networks\"}\n");
    assert_ok(abstracts_load(folder, &filter, &f, err));
    /* the word "network" occurs 4 times (2 + 1 + 0 + 1), "deep" 4 times, "models" 3 times; "model" does not occur */
    assert_int_equal(f->rows, 2);
    assert_int_equal(f->columns, 3);
    assert_string_equal(f->names[0], "deep");
    assert_string_equal(f->names[1], "network");
    assert_string_equal(f->names[2], "models");
    static const float want[] = {1, 2, 1, 3, 1, 2};
    assert_memory_equal(f->x, want, sizeof want);
    assert_null(f->titles[0]);
    assert_string_equal(f->titles[1], "t");
    features_destroy(f);
    put("abstracts.jsonl", "{\"abstract\":\"a\"}\n{\"title\":\"none\"}\n");
    assert_int_equal(abstracts_load(folder, &filter, &f, NULL), STATUS_INVALID);
    drop("abstracts.jsonl");
    put("abstracts.csv", "title,abstract_text\n1,\"deep, deep model\"\n2,model\n\"on, nets\",net net\n");
    assert_ok(abstracts_load(folder, &filter, &f, err));
    assert_int_equal(f->rows, 2); /* the document of one word is removed, and its title too */
    assert_near(f->x[0], 2, 1e-12);
    assert_string_equal(f->titles[0], "1");
    assert_string_equal(f->titles[1], "on, nets");
    features_destroy(f);
    drop("abstracts.csv");
    put("docword.txt", "2\n3\n3\n1 1 4\n1 3 1\n2 2 5\n");
    put("vocab.txt", "red\ngreen\nblue\n");
    assert_ok(abstracts_load(folder, &filter, &f, err));
    static const float ready[] = {4, 0, 1, 0, 5, 0};
    assert_memory_equal(f->x, ready, sizeof ready);
    assert_string_equal(f->names[2], "blue");
    features_destroy(f);
    put("docword.txt", "2\n3\n3\n1 4 4\n");
    assert_int_equal(abstracts_load(folder, &filter, &f, NULL), STATUS_INVALID);
    drop("docword.txt");
    assert_int_equal(abstracts_load(folder, &filter, &f, NULL), STATUS_NOT_FOUND);
}

/* Every allocation fails once: the load must report it and release everything. */
static void a_failed_allocation_of_the_vocabulary_is_reported(void **state)
{
    struct abstracts_filter filter = {0.9, 0, 3, NULL};
    put("docword.txt", "2\n3\n3\n1 1 4\n1 3 1\n2 2 5\n");
    put("vocab.txt", "red\ngreen\nblue\n");
    for (int n = 0;; n++) {
        struct features *f = NULL;
        fault_after(n);
        enum status status = abstracts_load(folder, &filter, &f, NULL);
        if (!fault_happened()) {
            assert_int_equal(status, STATUS_OK);
            assert_string_equal(f->names[2], "blue");
            features_destroy(f);
            break;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
        assert_null(f);
    }
    drop("docword.txt");
    drop("vocab.txt");
}

/* The example of Bolstad et al. (2003). In each row, the k-th smallest value becomes the mean of the k-th smallest
 * values of all rows. Equal values of a row get the mean over their ranks. */
static void rows_get_the_same_quantiles(void **state)
{
    float x[] = {5, 2, 3, 4, 4, 1, 4, 2, 3, 4, 6, 8}; /* three rows of four values */
    static const double want[] = {17.0 / 3, 2, 3, 14.0 / 3, 31.0 / 6, 2, 31.0 / 6, 3, 2, 3, 14.0 / 3, 17.0 / 3};
    assert_ok(genes_quantile_normalise(x, 3, 4, NULL, err));
    for (int i = 0; i < 12; i++)
        assert_near(x[i], want[i], 1e-6);
}

/* Genes 0, 1 and 4 rise together, gene 3 falls, gene 2 is constant. */
static void correlation_and_noise_of_genes_are_measured(void **state)
{
    float x[] = {1, 2, 7, 9, 0, 2, 4, 7, 8, 1, 3, 6, 7, 7, 2, 4, 8, 7, 6, 3};
    struct features f = {.rows = 4, .columns = 5, .x = x};
    double noise[5];
    int count[5];
    assert_ok(genes_neighbours(&f, 0.5, NULL, NULL, count, err));
    assert_true(count[0] == 3 && count[1] == 3 && count[2] == 1 && count[3] == 1 && count[4] == 3);
    genes_noise(&f, -0.56, 0.61, noise);
    assert_near(noise[0], log2(sqrt(1.25) / 2.5) - log2(pow(2.5, -0.56) + 0.61), 1e-12);
    assert_true(noise[2] < -1e9 && noise[4] > noise[0]);
}

/* The file has ten lines about cells, an empty line, then genes. A, B and C are correlated, D is not, and E has too few
 * molecules. */
static void published_cells_are_read(void **state)
{
    struct features *f;
    struct cells_filter filter = {.least_molecules = 5,
                                  .genes = 9,
                                  .neighbours = 3,
                                  .correlation = 0.5,
                                  .noisiest = 2,
                                  .power = -0.56,
                                  .offset = 0.61};
    char text[2048] = "";
    for (int line = 1; line <= 10; line++)
        strcat(text, line == 9 ? "\tlevel1class\tglia\tneuron\tglia\tneuron\n" : "\tabout\ta\tb\tc\td\n");
    strcat(
        text,
        "\t\t\t\t\t\nA\t1\t1\t2\t3\t4\nB\t1\t9\t9\t10\t10\nC#2\t1\t0\t0\t9\t9\nD\t2\t5\t1\t5\t1\nE\t2\t0\t0\t1\t1\n");
    put("expression.txt", text);
    assert_ok(cells_load(folder, &filter, &f, err));
    assert_true(f->rows == 4 && f->columns == 2 && f->classes == 2);
    assert_string_equal(f->names[0], "A");
    /* B is left out, because it has the least noise of A, B and C */
    assert_string_equal(f->names[1], "C#2");
    assert_true(f->label[0] == 0 && f->label[1] == 1 && f->label[2] == 0);
    assert_string_equal(f->class_names[1], "neuron");
    features_destroy(f);
    put("expression.txt", "\tlevel1class\tglia\tneuron\n\tabout\ta\n");
    assert_int_equal(cells_load(folder, &filter, &f, NULL), STATUS_INVALID);
    drop("expression.txt");
}

static void cells_are_read_by_line_and_by_column(void **state)
{
    struct features *f;
    /* this layout ignores the filters `neighbours` and `noisiest` */
    struct cells_filter filter = {.least_molecules = 3, .genes = 2, .neighbours = 3, .noisiest = 1};
    put("counts.tsv", "\tc1\tc2\tc3\nA\t1\t9\t2\nB\t0\t1\t0\nC\t3\t3\t3\nD\t8\t0\t4\n");
    put("cells.tsv", "cell_id\tlevel1class\nc1\tx\nc2\ty\nc3\tx\n");
    /* genes A and D are kept: B has too few molecules, and C has the smallest deviation */
    assert_ok(cells_load(folder, &filter, &f, err));
    assert_int_equal(f->rows, 3);
    assert_int_equal(f->columns, 2);
    assert_string_equal(f->names[0], "A");
    assert_string_equal(f->names[1], "D");
    assert_int_equal(f->classes, 2);
    assert_true(f->label[0] == 0 && f->label[1] == 1 && f->label[2] == 0);
    assert_string_equal(f->class_names[1], "y");
    assert_near(f->x[0], 1, 1e-6); /* the least values of the rows, 1, 0 and 2, become their mean */
    features_destroy(f);
    put("cells.tsv", "cell_id\tlevel1class\nc1\tx\nc3\ty\nc2\tx\n");
    assert_int_equal(cells_load(folder, &filter, &f, NULL), STATUS_INVALID);
    put("counts.tsv", "id\tcell_type\tA\tB\tC\nq\tT\t1\t5\t2\nr\tB\t4\t1\t2\n");
    assert_ok(cells_load(folder, &filter, &f, err));
    assert_true(f->rows == 2 && f->columns == 2 && f->classes == 2);
    features_destroy(f);
    put("counts.tsv", "id\tcell_type\tA\tB\tC\nq\tT\t1\t5\n");
    assert_int_equal(cells_load(folder, &filter, &f, NULL), STATUS_INVALID);
    drop("counts.tsv");
    put("features.csv", "u,v,class\n0.5,-1,red\n2,3,blue\n");
    assert_ok(cells_load(folder, &filter, &f, err)); /* the filters do not apply to this layout */
    static const float want[] = {0.5f, -1, 2, 3};
    assert_memory_equal(f->x, want, sizeof want);
    assert_string_equal(f->class_names[f->label[1]], "blue");
    features_destroy(f);
    drop("features.csv");
    assert_int_equal(cells_load(folder, &filter, &f, NULL), STATUS_NOT_FOUND);
}

static bool at_once(void *context)
{
    return true;
}

static void a_stopped_pool_ends_every_reader(void **state)
{
    static const char *const cells[][2] = {{"features.csv", "u,v\n0.5,-1\n2,3\n"},
                                           {"counts.tsv", "\tc1\tc2\nA\t1\t9\nB\t0\t4\n"},
                                           {"expression.txt", "\tlevel1class\tglia\tneuron\n"}};
    static const char *const abstracts[][2] = {{"abstracts.jsonl", "{\"abstract\":\"a net\"}\n"},
                                               {"abstracts.csv", "title,abstract\n1,deep\n"},
                                               {"docword.txt", "2\n3\n3\n1 1 4\n"}};
    struct ratings_filter ratings = RATINGS_FILTER;
    struct abstracts_filter words = ABSTRACTS_FILTER;
    struct cells_filter genes = CELLS_FILTER;
    struct thread_pool *pool;
    struct features *f;
    assert_ok(thread_pool_create(1, &pool, err));
    thread_pool_stop_when(pool, at_once, NULL);
    ratings.pool = words.pool = genes.pool = pool;
    for (int i = 0; i < 3; i++) {
        put(cells[i][0], cells[i][1]);
        assert_int_equal(cells_load(folder, &genes, &f, NULL), STATUS_CANCELLED);
        drop(cells[i][0]);
        put(abstracts[i][0], abstracts[i][1]);
        assert_int_equal(abstracts_load(folder, &words, &f, NULL), STATUS_CANCELLED);
        drop(abstracts[i][0]);
    }
    put("ratings.csv", "userId,movieId,rating\n1,2,5\n");
    assert_int_equal(ratings_load(folder, &ratings, &f, NULL), STATUS_CANCELLED);
    drop("ratings.csv");
    float x[6] = {1, 2, 3, 4, 5, 6};
    int count[3];
    assert_int_equal(genes_quantile_normalise(x, 2, 3, pool, NULL), STATUS_CANCELLED);
    assert_int_equal(
        genes_neighbours(&(struct features){.rows = 2, .columns = 3, .x = x}, 0.5, NULL, pool, count, NULL),
        STATUS_CANCELLED);
    thread_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_split_into_fields),
        cmocka_unit_test(ratings_are_filtered),
        cmocka_unit_test(plurals_become_singulars),
        cmocka_unit_test(json_texts_are_found),
        cmocka_unit_test(abstracts_are_counted),
        cmocka_unit_test(a_failed_allocation_of_the_vocabulary_is_reported),
        cmocka_unit_test(rows_get_the_same_quantiles),
        cmocka_unit_test(cells_are_read_by_line_and_by_column),
        cmocka_unit_test(correlation_and_noise_of_genes_are_measured),
        cmocka_unit_test(published_cells_are_read),
        cmocka_unit_test(a_stopped_pool_ends_every_reader),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
