/* Tests drawing and parsing in motifctl, without a terminal and without a server. */
#include <math.h>

#include "tests/support/unit.h"
#include "api/client/ctl.h"
#include "api/client/draw.h"
#include "api/client/motif_answer.h"
#include "api/client/progress.h"
#include "api/client/submission.h"
#include "api/client/term.h"

static struct buf buf;

static int setup(void **state)
{
    buf_init(&buf, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    buf_close(&buf);
    return 0;
}

static const char *text(void)
{
    assert_false(buf.failed);
    return buf.data ? buf.data : "";
}

static int lines(const char *at)
{
    int count = 0;
    for (; *at; at++)
        count += *at == '\n';
    return count;
}

/* --- figures --- */

static void bar_has_the_requested_width_and_steps_of_an_eighth(void **state)
{
    static const struct {
        double fraction;
        const char *bar;
    } cases[] = {
        {0, "    "},  {1, "████"}, {0.5, "██  "}, {1.0 / 32, "▏   "},  {0.25 + 3.0 / 32, "█▍  "},
        {-1, "    "}, {7, "████"}, {NAN, "    "}, {31.0 / 32, "███▉"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf_clear(&buf);
        term_bar(&buf, cases[i].fraction, 4);
        assert_string_equal(text(), cases[i].bar);
        assert_int_equal(term_width(text()), 4);
    }
}

static void durations_counts_and_percents_are_readable(void **state)
{
    char out[64];
    term_duration(out, sizeof(out), 42.4);
    assert_string_equal(out, "42 s");
    term_duration(out, sizeof(out), 59.6);
    assert_string_equal(out, "1:00");
    term_duration(out, sizeof(out), 187);
    assert_string_equal(out, "3:07");
    term_duration(out, sizeof(out), 3725);
    assert_string_equal(out, "1:02:05");
    term_duration(out, sizeof(out), 3 * 86400 + 4 * 3600);
    assert_string_equal(out, "3 d 4:00");
    term_duration(out, sizeof(out), NAN);
    assert_string_equal(out, "-");
    term_duration(out, sizeof(out), -1);
    assert_string_equal(out, "-");
    term_duration(out, sizeof(out), 1e300); /* far beyond a long long */
    assert_string_equal(out, "11574074074 d 1:46");

    term_count(out, sizeof(out), 812);
    assert_string_equal(out, "812");
    term_count(out, sizeof(out), 12400);
    assert_string_equal(out, "12.4k");
    term_count(out, sizeof(out), 999960);
    assert_string_equal(out, "1.0M");
    term_bytes(out, sizeof(out), 512);
    assert_string_equal(out, "512 B");
    term_bytes(out, sizeof(out), 1.5 * 1048576);
    assert_string_equal(out, "1.5 MiB");
    term_bytes(out, sizeof(out), 5e15); /* the largest unit is TiB */
    assert_string_equal(out, "4547 TiB");

    term_percent(out, sizeof(out), 0.0148);
    assert_string_equal(out, "1.48 %");
    term_percent(out, sizeof(out), 0.000025);
    assert_string_equal(out, "0.0025 %");
    term_percent(out, sizeof(out), 0);
    assert_string_equal(out, "0.00 %");
    term_percent(out, sizeof(out), 0.998);
    assert_string_equal(out, "99.8 %");
    term_percent(out, sizeof(out), INFINITY);
    assert_string_equal(out, "-");
    term_number(out, sizeof(out), 5.022621286031664e-05);
    assert_string_equal(out, "5.023e-05");
}

static void width_counts_characters_not_bytes_or_colours(void **state)
{
    assert_int_equal(term_width("abc"), 3);
    assert_int_equal(term_width("äöü▏"), 4);
    assert_int_equal(term_width("\033[1;38;2;1;2;3mab\033[0m"), 2);
    assert_int_equal(term_width("\033[31"), 0);
    assert_int_equal(term_width("細胞"), 4);
    assert_int_equal(term_width("한a"), 3);
    assert_int_equal(term_width("e\u0301"), 1);
    assert_int_equal(term_width("\U0001F9EC"), 2);
    assert_int_equal(term_width("\xE7\xB4"), 1);
}

static void channels_beyond_the_letters_share_a_star(void **state)
{
    assert_int_equal(term_channel_letter(0), '0');
    assert_int_equal(term_channel_letter(61), 'Z');
    assert_int_equal(term_channel_letter(62), '*');
    assert_int_equal(term_channel_letter(-1), '*');
    assert_int_equal(term_channel_colour(0), term_channel_colour(TERM_CHANNEL_COLOURS));
}

/* If the terminal is too narrow, the last column of a table begins on a line of its own. */
static void the_last_column_of_a_table_is_wrapped(void **state)
{
    struct table table;
    table_init(&table, "A|MEANING");
    table_add(&table, "short");
    table_add(&table, "one two three four five");
    table.wrap = 20;
    table_write(&table, false, &buf);
    assert_string_equal(text(), "A      MEANING\n"
                                "short  one two three\n"
                                "       four five\n");
    table_close(&table);
    buf_clear(&buf);
    table_init(&table, "A|MEANING");
    table_add(&table, "a long first column");
    table_add(&table, "one two three");
    table_add(&table, "alone"); /* a row that is not complete */
    table.wrap = 24;
    table_write(&table, false, &buf);
    assert_string_equal(text(), "A                    MEANING\n"
                                "a long first column  \n"
                                "    one two three\n"
                                "alone                \n");
    table_close(&table);
}

static void tables_align_columns(void **state)
{
    struct table table;
    table_init(&table, "NAME|>COUNT|STATE");
    table_add(&table, "größe");
    table_add(&table, "7");
    table_add(&table, "x");
    table_add(&table, "b");
    table_add(&table, "1234567");
    table_add_styled(&table, NULL, STYLE_RED);
    table_write(&table, false, &buf);
    assert_string_equal(text(), "NAME     COUNT  STATE\n"
                                "größe        7  x\n"
                                "b      1234567  -\n");
    buf_clear(&buf);
    table_write(&table, true, &buf);
    assert_non_null(strstr(text(), "\033[31m-\033[0m"));
    buf_clear(&buf);
    table_write_markdown(&table, &buf);
    assert_string_equal(text(), "| NAME | COUNT | STATE |\n| --- | ---: | --- |\n"
                                "| größe | 7 | x |\n| b | 1234567 | - |\n");
    table_close(&table);
}

/* --- submissions --- */

static char *printed(const cJSON *json)
{
    static char out[4096];
    char *made = cJSON_PrintUnformatted(json);
    assert_non_null(made);
    snprintf(out, sizeof(out), "%s", made);
    cJSON_free(made);
    return out;
}

static void fields_are_set_as_json_or_text(void **state)
{
    cJSON *body = cJSON_CreateObject();
    struct error err = {0};
    assert_int_equal(submission_set(body, "seed=7", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "learning_rate=5e-4", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "sparsity=per-channel", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "lstm=true", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "seed=9007199254740993", &err), STATUS_OK);
    assert_string_equal(printed(body), "{\"config\":{\"learning_rate\":5e-4,\"sparsity\":\"per-channel\",\"lstm\":true,"
                                       "\"seed\":9007199254740993}}");
    cJSON_DeleteItemFromObject(body, "config");
    /* a to d become texts, because they are no numbers or lists of JSON */
    assert_int_equal(submission_set(body, "a=007", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "b=1.", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "c=[1,]", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "d=nan", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "e=1e999", &err), STATUS_OK); /* a number that the server will refuse */
    assert_string_equal(printed(body),
                        "{\"config\":{\"a\":\"007\",\"b\":\"1.\",\"c\":\"[1,]\",\"d\":\"nan\",\"e\":1e999}}");
    assert_int_equal(submission_set(body, "seed", &err), STATUS_INVALID);
    assert_int_equal(submission_set(body, "=7", &err), STATUS_INVALID);
    cJSON_Delete(body);
}

static void a_number_may_begin_with_its_decimal_point(void **state)
{
    cJSON *body = cJSON_CreateObject();
    struct error err = {0};
    assert_int_equal(submission_set(body, "target_max=.93", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "a=-.5e-3", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "b=.txt", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "c=-", &err), STATUS_OK);
    assert_string_equal(printed(body), "{\"config\":{\"target_max\":0.93,\"a\":-0.5e-3,\"b\":\".txt\",\"c\":\"-\"}}");
    cJSON_Delete(body);
}

static void a_file_is_a_configuration_or_a_submission(void **state)
{
    struct error err = {0};
    cJSON *body = cJSON_CreateObject();
    assert_int_equal(submission_file(body, "{\"seed\": 3}\n", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "width=8", &err), STATUS_OK);
    assert_string_equal(printed(body), "{\"config\":{\"seed\":3,\"width\":8}}");
    cJSON_Delete(body);

    body = cJSON_CreateObject();
    assert_int_equal(submission_file(body, "{\"preset\":\"p\",\"config\":{\"a\":1},\"nonsense\":2}", &err), STATUS_OK);
    submission_text(body, "preset", "q");
    assert_string_equal(printed(body), "{\"config\":{\"a\":1},\"nonsense\":2,\"preset\":\"q\"}");
    cJSON_Delete(body);

    body = cJSON_CreateObject();
    assert_int_equal(submission_file(body, "{\"seed\":\n 3,,}", &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "line 2"));
    error_clear(&err);
    assert_int_equal(submission_file(body, "[1]", &err), STATUS_INVALID);
    assert_int_equal(submission_file(body, "{\"config\":3}", &err), STATUS_OK);
    assert_int_equal(submission_set(body, "a=1", &err), STATUS_INVALID);
    cJSON_Delete(body);
}

static void a_submission_names_the_job_and_checkpoint_it_starts_from(void **state)
{
    struct error err = {0};
    cJSON *body = cJSON_CreateObject();
    assert_int_equal(submission_from(body, "01ABC", ":12", &err), STATUS_OK);
    assert_string_equal(printed(body), "{\"from\":{\"job\":\"01ABC\",\"checkpoint\":12}}");
    assert_int_equal(submission_from(body, "01ABC", NULL, &err), STATUS_OK);
    assert_string_equal(printed(body), "{\"from\":{\"job\":\"01ABC\",\"checkpoint\":\"latest\"}}");
    assert_int_equal(submission_from(body, "01ABC", ":-1", &err), STATUS_INVALID);
    cJSON_Delete(body);
}

static void a_checkpoint_is_a_number_or_a_word(void **state)
{
    static const struct {
        const char *text, *body;
    } cases[] = {{NULL, "{}"},
                 {"7", "{\"checkpoint\":7}"},
                 {"latest", "{\"checkpoint\":\"latest\"}"},
                 {"density:1e-3", "{\"checkpoint\":\"density:1e-3\"}"},
                 {"7x", "{\"checkpoint\":\"7x\"}"},
                 {"", "{\"checkpoint\":\"\"}"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cJSON *body = cJSON_CreateObject();
        submission_checkpoint(body, cases[i].text);
        assert_string_equal(printed(body), cases[i].body);
        cJSON_Delete(body);
    }
}

/* --- pictures --- */

static void a_plain_map_shows_ink_and_motifs(void **state)
{
    static const float grey[4 * 5] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0};
    const struct draw_image image = {4, 5, grey};
    const struct draw_motif motifs[] = {
        {.row = 1, .column = 4, .channel = 3, .value = 1, .maximal = true},
        {.row = 3, .column = 1, .channel = 11, .value = 1, .maximal = false},
        {.row = 2, .column = 1, .channel = 4, .value = 9, .maximal = false},
        {.row = 2, .column = 0, .channel = 7, .value = 1, .maximal = true},
        {.row = 3, .column = 0, .channel = 8, .value = 5, .maximal = false},
    };
    draw_motif_map(&buf, &image, motifs, 5, 80, false);
    assert_string_equal(text(), "    3\n"
                                /* Two motifs share each of the first two characters. Of 7 and 8, only 7 is maximal: no
                                 * motif in its footprint is stronger. Of 4 and 11, neither is maximal, and 4 is
                                 * stronger. */
                                "74@  \n");
}

static void a_coloured_map_uses_half_blocks(void **state)
{
    static const float grey[2] = {1, 0};
    const struct draw_image image = {2, 1, grey};
    const struct draw_motif motif = {.row = 0, .column = 0, .channel = 1, .value = 1, .maximal = true};
    draw_motif_map(&buf, &image, NULL, 0, 80, true);
    assert_string_equal(text(), "\033[38;2;255;255;255m\033[48;2;0;0;0m▀\033[0m\n");
    buf_clear(&buf);
    draw_motif_map(&buf, &image, &motif, 1, 80, true);
    assert_non_null(strstr(text(), "m1\033[0m"));
    assert_int_equal(term_width(text()), 2); /* two characters: the letter of the motif and the end of the line */
}

static void a_wide_map_is_shrunk_to_fit(void **state)
{
    float *grey = calloc(100 * 100, sizeof(*grey));
    const struct draw_image image = {100, 100, grey};
    const struct draw_motif motif = {.row = 99, .column = 99, .channel = 2, .value = 1, .maximal = true};
    assert_non_null(grey);
    assert_int_equal(draw_shrink(100, 100), 1);
    assert_int_equal(draw_shrink(100, 99), 2);
    assert_int_equal(draw_shrink(100, 33), 4);
    draw_motif_map(&buf, &image, &motif, 1, 60, false);
    assert_int_equal(lines(text()), 25);
    assert_int_equal(strchr(text(), '\n') - text(), 50);
    assert_ptr_equal(strchr(text(), '2'), text() + 51 * 25 - 2); /* the motif is in the last column of the last line */
    free(grey);
}

static void a_plot_rises_with_its_points(void **state)
{
    struct draw_point points[50];
    for (size_t i = 0; i < 50; i++)
        points[i] = (struct draw_point){(double)i * 1000, (double)i};
    draw_plot(&buf, points, 50, 60, 10, false);
    assert_int_equal(lines(text()), 10);
    const char *first = text(), *last = first;
    for (int i = 0; i < 7; i++)
        last = strchr(last, '\n') + 1;
    assert_true(strspn(strstr(first, "┤") + strlen("┤"), " ") > 30);        /* the top line is empty at the left */
    assert_true((unsigned char)*(strstr(last, "┤") + strlen("┤")) == 0xe2); /* the bottom line begins with dots */
    assert_non_null(strstr(text(), "49┤"));
    assert_non_null(strstr(text(), "49.0k"));
    const char *line = text();
    for (int i = 0; i < 8; i++, line = strchr(line, '\n') + 1) {
        char one[1024];
        snprintf(one, sizeof(one), "%.*s", (int)(strchr(line, '\n') - line), line);
        assert_int_equal(term_width(one), 60);
    }
}

static void points_that_are_no_numbers_interrupt_a_line(void **state)
{
    const struct draw_point points[] = {{0, 1}, {1, INFINITY}, {NAN, 2}, {2, NAN}, {3, 3}, {3, 1}};
    draw_plot(&buf, points, 6, 40, 8, false);
    assert_int_equal(lines(text()), 8);
    assert_non_null(strstr(text(), "3┤"));
    assert_non_null(strstr(text(), "1┤"));
    assert_null(strstr(text(), "inf"));
}

static void a_plot_copes_with_flat_missing_and_no_points(void **state)
{
    const struct draw_point flat[] = {{0, 3}, {10, 3}}, gap[] = {{0, 1}, {5, NAN}, {10, 2}}, none[] = {{0, -1}, {1, 0}};
    draw_plot(&buf, flat, 2, 40, 8, false);
    assert_int_equal(lines(text()), 8);
    buf_clear(&buf);
    draw_plot(&buf, gap, 3, 40, 8, false);
    assert_int_equal(lines(text()), 8);
    buf_clear(&buf);
    draw_plot(&buf, none, 2, 40, 8, true);
    assert_string_equal(text(), "no points\n");
    buf_clear(&buf);
    draw_plot(&buf, flat, 1, 1, 1, false); /* the requested size is below the minimum, and the plot is still complete */
    assert_true(lines(text()) >= 6);
}

static const char answer_json[] =
    "{\"answers\":[{\"shape\":[4,4,5],\"motifs\":["
    "{\"position\":[0,1],\"channel\":3,\"value\":1.7,\"maximal\":true},"
    "{\"position\":[1,1],\"channel\":3,\"value\":0.2,\"maximal\":false},"
    "{\"position\":[3,3],\"channel\":0,\"value\":0.9,\"maximal\":true}],"
    "\"truth\":[{\"symbol\":\"7\",\"box\":[0,2,0,2]}],\"label\":[\"7\"],\"prediction\":[\"7\",\"0\"],"
    "\"input\":{\"shape\":[4,4],\"values\":[0,0,0,0,0,2,2,0,0,2,2,0,0,0,0,0]}}]}";

static void a_motif_answer_is_read_and_drawn(void **state)
{
    struct motif_answer answer;
    struct error err = {0};
    cJSON *document = cJSON_Parse(answer_json);
    assert_int_equal(motif_answer_read(document, &answer, &err), STATUS_OK);
    assert_int_equal(answer.rows, 4);
    assert_int_equal(answer.motif_count, 3);
    assert_true(answer.motifs[0].maximal);
    assert_true((double)answer.grey[5] == 1.0 && (double)answer.grey[0] == 0.0);
    motif_answer_draw(&answer, 80, false, &buf);
    assert_string_equal(text(), " 3+ \n"
                                " ++0\n"
                                "  (1 weaker motifs are not drawn)\n"
                                "  0  channel 0    1 motif   1 on no symbol\n"
                                "  3  channel 3    1 motif  and 1 weaker  on 7\n"
                                "  prediction  7 0\n"
                                "  truth       7  wrong\n");
    motif_answer_close(&answer);
    cJSON_Delete(document);
}

/* The sequence has four letters and a padding column. Two motifs overlap, one on each strand. */
static void a_sequence_is_drawn_as_letters_with_marks(void **state)
{
    static const char json[] =
        "{\"answers\":[{\"shape\":[1,5,2],\"motifs\":["
        "{\"position\":[0,1],\"channel\":1,\"value\":1,\"maximal\":true,\"strand\":\"+\",\"extent\":[0,1,0,4]},"
        "{\"position\":[0,2],\"channel\":0,\"value\":1,\"maximal\":true,\"strand\":\"-\",\"extent\":[0,1,1,3]}],"
        "\"truth\":[],\"prediction\":[],\"letters\":\"ACGT\"}]}";
    struct motif_answer answer;
    struct error err = {0};
    cJSON *document = cJSON_Parse(json);
    assert_int_equal(motif_answer_read(document, &answer, &err), STATUS_OK);
    assert_string_equal(answer.letters, "ACGT");
    motif_answer_draw(&answer, 80, false, &buf);
    assert_non_null(strstr(text(), "      0 ACGT\n        =1=>\n         <0\n"));
    motif_answer_close(&answer);
    buf_clear(&buf);
    cJSON_DeleteItemFromObject(cJSON_GetArrayItem(cJSON_GetObjectItem(document, "answers"), 0), "letters");
    assert_int_equal(motif_answer_read(document, &answer, &err), STATUS_OK);
    assert_null(answer.letters);
    motif_answer_close(&answer);
    cJSON_Delete(document);
}

static void an_answer_that_is_no_motif_map_is_refused(void **state)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"answers\":[]}",
        "{\"shape\":[4,4,5]}",
        "{\"shape\":[4,4],\"motifs\":[]}",
        "{\"shape\":[0,4,5],\"motifs\":[]}",
        "{\"shape\":[1e9,1e9,5],\"motifs\":[]}",
        "{\"shape\":[4,4,5],\"motifs\":[{}]}",
        "{\"shape\":[4,4,5],\"motifs\":[{\"position\":[1,2],\"channel\":-1}]}",
        "{\"shape\":[4,4,5],\"motifs\":[{\"position\":[1],\"channel\":1}]}",
        "{\"shape\":[4,4,5],\"motifs\":[{\"position\":[1,1e300],\"channel\":1}]}",
        "{\"shape\":[4,4,5],\"motifs\":[],\"truth\":[{}]}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct motif_answer answer;
        struct error err = {0};
        cJSON *document = cJSON_Parse(bad[i]);
        assert_non_null(document);
        assert_int_equal(motif_answer_read(document, &answer, &err), STATUS_CORRUPT);
        cJSON_Delete(document);
    }
}

/* --- progress and results --- */

static const char job_json[] =
    "{\"id\":\"01\",\"state\":\"running\",\"progress\":{\"stage\":\"training\",\"fraction\":0.475,\"density\":0.0133,"
    "\"accuracy\":0.712,\"target_accuracy\":0.74,\"samples_per_second\":512,\"eta_seconds\":192}}";

static void progress_fits_the_terminal(void **state)
{
    cJSON *job = cJSON_Parse(job_json);
    cJSON *errors = cJSON_Parse("{\"series\":{\"fpe\":[[1,0.5],[2,0.031]],\"fne\":[[2,0.004]],\"ce\":[[2,0.08]]}}");
    progress_line(&buf, job, errors, 0, false);
    assert_string_equal(text(), "training   47 %  density 0.0133  accuracy 71.2 of 74.0 %  3:12 left  512 samples/s  "
                                "FPE 3.1 FNE 0.4 CE 8.0 %");
    /* A small error must not be printed as 0. */
    cJSON *small = cJSON_Parse("{\"series\":{\"fpe\":[[2,0.0004]],\"fne\":[[2,0]],\"ce\":[[2,0.00000312]]}}");
    buf_clear(&buf);
    progress_line(&buf, job, small, 0, false);
    assert_non_null(strstr(text(), "FPE 0.04 FNE 0.0 CE 0.0003 %"));
    cJSON_Delete(small);
    for (int columns = 20; columns < 160; columns++) {
        buf_clear(&buf);
        progress_line(&buf, job, errors, columns, true);
        assert_true(term_width(text()) <= columns);
    }
    assert_non_null(strstr(text(), "▕███████████▍            ▏"));
    assert_non_null(strstr(text(), "FPE 3.1"));
    cJSON_Delete(job);
    cJSON_Delete(errors);
}

static void progress_without_figures_says_the_state(void **state)
{
    cJSON *job = cJSON_Parse("{\"state\":\"queued\",\"progress\":{\"fraction\":null,\"eta_seconds\":null}}");
    progress_line(&buf, job, NULL, 0, false);
    assert_string_equal(text(), "queued    0 %");
    cJSON_Delete(job);
    job = cJSON_Parse("{\"progress\":{\"stage\":\"training\",\"eta_seconds\":-1,\"samples_per_second\":0}}");
    buf_clear(&buf);
    progress_line(&buf, job, NULL, 0, false);
    assert_string_equal(text(), "unknown    0 %");
    cJSON_Delete(job);
    job = cJSON_Parse("{\"state\":\"running\",\"progress\":{\"stage\":\"\"}}");
    buf_clear(&buf);
    progress_line(&buf, job, NULL, 0, false);
    assert_string_equal(text(), "running    0 %");
    cJSON_Delete(job);
}

static void results_are_shown_as_percent(void **state)
{
    cJSON *result = cJSON_Parse(
        "{\"fpe\":0.0148,\"fne\":0.00422,\"ce\":0.01,\"e2ee\":0.0074,\"samples\":2000,\"cpu\":\"Zen\","
        "\"seconds\":187,\"by_density\":[{\"density\":0.001,\"fpe\":0.5,\"fne\":0,\"ce\":0.25,"
        "\"e2ee\":0.1,\"checkpoint\":4}],\"confusion\":{\"symbols\":[\"7\",\"none\"],\"channels\":[0,\"none\"],"
        "\"counts\":[[5,1],[0,7]]}}");
    view_result(&buf, result, false);
    assert_non_null(strstr(text(), "false positive error (FPE)  1.48 %\n"));
    assert_non_null(strstr(text(), "end-to-end error (E2EE)     0.74 %\n"));
    assert_non_null(strstr(text(), "3:07"));
    assert_non_null(strstr(text(), "0.001  50.0 %  0.00 %  25.0 %  10.0 %           4\n"));
    buf_clear(&buf);
    view_confusion(&buf, json_member(result, "confusion"), false);
    assert_non_null(strstr(text(), "TRUE  0  none\n7     5     1\nnone  .     7\n"));
    cJSON_Delete(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bar_has_the_requested_width_and_steps_of_an_eighth, setup, teardown),
        cmocka_unit_test(durations_counts_and_percents_are_readable),
        cmocka_unit_test(width_counts_characters_not_bytes_or_colours),
        cmocka_unit_test(channels_beyond_the_letters_share_a_star),
        cmocka_unit_test_setup_teardown(the_last_column_of_a_table_is_wrapped, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_align_columns, setup, teardown),
        cmocka_unit_test(fields_are_set_as_json_or_text),
        cmocka_unit_test(a_number_may_begin_with_its_decimal_point),
        cmocka_unit_test(a_file_is_a_configuration_or_a_submission),
        cmocka_unit_test(a_submission_names_the_job_and_checkpoint_it_starts_from),
        cmocka_unit_test(a_checkpoint_is_a_number_or_a_word),
        cmocka_unit_test_setup_teardown(a_plain_map_shows_ink_and_motifs, setup, teardown),
        cmocka_unit_test_setup_teardown(a_coloured_map_uses_half_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wide_map_is_shrunk_to_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plot_rises_with_its_points, setup, teardown),
        cmocka_unit_test_setup_teardown(points_that_are_no_numbers_interrupt_a_line, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plot_copes_with_flat_missing_and_no_points, setup, teardown),
        cmocka_unit_test_setup_teardown(a_motif_answer_is_read_and_drawn, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sequence_is_drawn_as_letters_with_marks, setup, teardown),
        cmocka_unit_test(an_answer_that_is_no_motif_map_is_refused),
        cmocka_unit_test_setup_teardown(progress_fits_the_terminal, setup, teardown),
        cmocka_unit_test_setup_teardown(progress_without_figures_says_the_state, setup, teardown),
        cmocka_unit_test_setup_teardown(results_are_shown_as_percent, setup, teardown),
    };
    return cmocka_run_group_tests_name("motifctl", tests, NULL, NULL);
}
