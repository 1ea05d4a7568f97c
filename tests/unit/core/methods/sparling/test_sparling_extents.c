/* Tests the extents of channels: the interval along an axis, the measurement with planted weights whose extent is
 * known, and the comparison with true boxes. */
#include <math.h>

#include "tests/support/unit.h"
#include "core/base/random/philox.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/registry.h"
#include "tests/support/assert_ok.h"
#include "tests/support/method_ask.h"
#include "tests/support/run_env.h"
#include "tests/support/text_sink.h"
#include "tests/support/tiny_sparling.h"

static const struct method *const method = &sparling_method;

/* ---- the interval along an axis ---------------------------------------------------------------------- */

enum { HALF = 8, SIDE = 2 * HALF + 1, CUTS = SIDE + 1 };

struct curves {
    double low[CUTS], high[CUTS];
    int at[CUTS];
};

/* Computes how far the score of a motif falls when a part of the input is replaced. The score is the sum of
 * weight[SIDE], where weight[i] belongs to the offset i - HALF from the motif. For each cut: low[] is the fall when the
 * part before the cut is replaced, high[] the fall when the part after the cut is replaced. */
static struct curves curves_of(const double *weight)
{
    struct curves c;
    double all = 0, before = 0;
    for (int i = 0; i < SIDE; i++)
        all += weight[i];
    for (int j = 0; j < CUTS; j++) {
        c.at[j] = j - HALF;
        c.low[j] = before;
        c.high[j] = all - before;
        before += j < SIDE ? weight[j] : 0;
    }
    return c;
}

static void an_interval_of_even_evidence_is_found_exactly(void **state)
{
    (void)state;
    for (int first = -HALF; first <= HALF; first++)
        for (int last = first + 1; last <= HALF + 1; last++) {
            double weight[SIDE] = {0}, a, b;
            struct evidence_middle m;
            for (int i = first; i < last; i++)
                weight[i + HALF] = 0.7;
            struct curves c = curves_of(weight);
            assert_true(channel_extent_interval(c.low, c.high, c.at, CUTS, &a, &b, &m));
            assert_float_equal(a, first, 0);
            assert_float_equal(b, last, 0);
            assert_true(fabs(m.before - (first + last) / 2.) < 1e-9 && fabs(m.before - m.after) < 1e-9);
        }
}

static void weak_noise_outside_does_not_widen_an_interval(void **state)
{
    double weight[SIDE] = {0}, a, b;
    struct evidence_middle m;
    (void)state;
    for (int i = 0; i < SIDE; i++)
        weight[i] = i >= 5 && i < 12 ? 1 : i % 2 ? 0.2 : -0.2;
    struct curves c = curves_of(weight);
    assert_true(channel_extent_interval(c.low, c.high, c.at, CUTS, &a, &b, &m));
    assert_float_equal(a, 5 - HALF, 0);
    assert_float_equal(b, 12 - HALF, 0);
}

/* If the score needs both ends of a motif, the replacement of one end removes the whole score. */
static void an_interval_reaches_from_one_needed_end_to_the_other(void **state)
{
    struct curves c;
    double a, b;
    struct evidence_middle m;
    (void)state;
    for (int j = 0; j < CUTS; j++) {
        c.at[j] = j - HALF;
        c.low[j] = c.at[j] > -4;
        c.high[j] = c.at[j] < 6;
    }
    assert_true(channel_extent_interval(c.low, c.high, c.at, CUTS, &a, &b, &m));
    assert_true(a >= -5 && a <= -4);
    assert_true(b >= 6 && b <= 7);
}

/* The motif has two parts, and the score needs only one of them. It falls only when both are replaced. */
static void an_interval_covers_parts_that_replace_each_other(void **state)
{
    struct curves c;
    double a, b;
    struct evidence_middle m;
    (void)state;
    for (int j = 0; j < CUTS; j++) {
        c.at[j] = j - HALF;
        c.low[j] = c.at[j] > 3;
        c.high[j] = c.at[j] < -2;
    }
    assert_true(channel_extent_interval(c.low, c.high, c.at, CUTS, &a, &b, &m));
    assert_true(a <= -2 && a >= -4);
    assert_true(b >= 3 && b <= 5);
    assert_true(m.before + m.after >= 0 && m.before + m.after <= 2); /* in the middle of the two parts */
}

/* The middle of the evidence is where most of it lies, also if weak evidence reaches far to one side. */
static void the_middle_has_as_much_evidence_on_either_side(void **state)
{
    double weight[SIDE] = {0}, a, b;
    struct evidence_middle m;
    (void)state;
    for (int i = 0; i < HALF; i++)
        weight[i] = 0.3 / HALF;
    weight[HALF] = 1;
    struct curves c = curves_of(weight);
    assert_true(channel_extent_interval(c.low, c.high, c.at, CUTS, &a, &b, &m));
    assert_true(a < -HALF / 2.);
    assert_true(m.before >= 0 && m.before < 1 && fabs(m.before - m.after) < 1e-9);
}

static void without_evidence_there_is_no_interval(void **state)
{
    double weight[SIDE] = {0}, a, b;
    struct evidence_middle m;
    (void)state;
    struct curves c = curves_of(weight);
    assert_false(channel_extent_interval(c.low, c.high, c.at, CUTS, &a, &b, &m));
    weight[3] = -1;
    c = curves_of(weight);
    assert_false(channel_extent_interval(c.low, c.high, c.at, CUTS, &a, &b, &m));
}

static void a_box_ends_at_the_edges_of_the_map(void **state)
{
    const struct channel_extent extents[2] = {{.motifs = 3, .row0 = -2, .row1 = 3, .col0 = 1, .col1 = 4},
                                              {.motifs = 0}};
    const struct channel_places places = {extents, false}, none = {NULL, false};
    struct box box;
    (void)state;
    assert_true(channel_places_box(&places, 0, 5, 5, 20, 30, &box));
    assert_int_equal(box.row0, 3), assert_int_equal(box.row1, 8);
    assert_int_equal(box.col0, 6), assert_int_equal(box.col1, 9);
    assert_true(channel_places_box(&places, 0, 1, 27, 20, 30, &box));
    assert_int_equal(box.row0, 0), assert_int_equal(box.row1, 4);
    assert_int_equal(box.col0, 28), assert_int_equal(box.col1, 30);
    assert_true(channel_places_box(&places, 0, 19, 29, 20, 30, &box)); /* at least one position */
    assert_int_equal(box.row1, 20);
    assert_int_equal(box.col0, 29), assert_int_equal(box.col1, 30);
    assert_false(channel_places_box(&places, 1, 5, 5, 20, 30, &box));
    assert_false(channel_places_box(&none, 0, 5, 5, 20, 30, &box));
}

/* ---- reported positions -------------------------------------------------------------------------------- */

enum { ROWS = 6, COLS = 10, PLACES = ROWS * COLS };

/* Channel 0 reads rows -1 to 1 and columns 2 to 4, relative to its maximum. The centre of this region is three columns
 * to the right of the maximum, so motifs are reported there. The extent of channel 1 is unknown. */
static const struct channel_extent beside[2] = {{.motifs = 3, .row0 = -1, .row1 = 2, .col0 = 2, .col1 = 5},
                                                {.motifs = 0}};
static const struct channel_places centred = {beside, true}, maxima = {beside, false};

static void a_centred_motif_is_reported_where_its_channel_reads(void **state)
{
    float planes[2 * PLACES] = {0}, raw[2 * PLACES];
    struct box box;
    (void)state;
    planes[2 * COLS + 1] = 5;
    /* This channel reports a motif three columns to the right of its position. For the next two motifs, this would be
     * beyond the map. So the last column reports the larger one of them. */
    planes[3 * COLS + 8] = 2;
    planes[3 * COLS + 9] = 4;
    planes[PLACES + 2 * COLS + 1] = 7;
    memcpy(raw, planes, sizeof raw);
    assert_ok(channel_places_move(&maxima, 2, ROWS, COLS, planes, err));
    assert_memory_equal(planes, raw, sizeof raw);
    assert_ok(channel_places_move(&centred, 2, ROWS, COLS, planes, err));
    int active = 0;
    for (int i = 0; i < 2 * PLACES; i++)
        active += planes[i] > 0;
    assert_int_equal(active, 3);
    assert_float_equal(planes[2 * COLS + 4], 5, 0);
    assert_float_equal(planes[3 * COLS + 9], 4, 0);
    assert_float_equal(planes[PLACES + 2 * COLS + 1], 7, 0);
    assert_true(channel_places_box(&centred, 0, 2, 4, ROWS, COLS, &box));
    assert_int_equal(box.row0, 1), assert_int_equal(box.row1, 4);
    assert_int_equal(box.col0, 3), assert_int_equal(box.col1, 6);
    assert_true(channel_places_relative(&centred, 0, &box));
    assert_int_equal(box.col0, -1), assert_int_equal(box.col1, 2);
    assert_true(channel_places_relative(&maxima, 0, &box));
    assert_int_equal(box.col0, 2), assert_int_equal(box.col1, 5);
}

static void motifs_that_share_their_extent_are_one(void **state)
{
    float planes[2 * PLACES] = {0};
    (void)state;
    planes[2 * COLS + 1] = 3; /* the motif of value 5 removes those of values 3 and 4, which lie in its extent */
    planes[2 * COLS + 3] = 5;
    planes[3 * COLS + 4] = 4;
    planes[5 * COLS + 1] = 1; /* further away */
    planes[PLACES + 1] = planes[PLACES + 2] = 6;
    assert_ok(channel_places_move(&centred, 2, ROWS, COLS, planes, err));
    float wanted[2 * PLACES] = {0};
    wanted[2 * COLS + 6] = 5;
    wanted[5 * COLS + 4] = 1;
    wanted[PLACES + 1] = wanted[PLACES + 2] = 6;
    assert_memory_equal(planes, wanted, sizeof wanted);
}

/* A plain reference: in descending order of values, each motif that was not removed removes the others in its
 * extent. */
static void keep_plainly(float *plane, int cols, int wide)
{
    bool decided[4096] = {false};
    for (;;) {
        int best = -1;
        for (int i = 0; i < cols; i++)
            if (!decided[i] && plane[i] > 0 && (best < 0 || plane[i] > plane[best]))
                best = i;
        if (best < 0)
            return;
        decided[best] = true;
        for (int i = 0; i < cols; i++)
            if (i != best && i - best < wide && best - i < wide)
                plane[i] = 0;
    }
}

/* A motif removes weaker motifs in its extent. This rule also holds for more than 256 motifs. So away from its ends, a
 * piece of a long map keeps the same motifs as the whole map. */
static void any_number_of_motifs_is_reported_by_the_same_rule(void **state)
{
    enum { WIDE = 2100, CUT = 400, PIECE = 700, MARGIN = 60 };
    static const struct channel_extent one = {.motifs = 9, .row0 = 0, .row1 = 1, .col0 = -4, .col1 = 5};
    const struct channel_places places = {&one, true};
    static float plane[WIDE], wanted[WIDE], piece[PIECE];
    struct philox from = philox_stream(3, 1, 0);
    (void)state;
    for (int density = 1; density <= 4; density++) {
        for (int i = 0; i < WIDE; i++) {
            bool active = (int)(philox_u32(&from, (uint64_t)(2 * i)) % 5) < density;
            plane[i] = active ? (float)(1 + philox_u32(&from, (uint64_t)(2 * i + 1)) % 1000) : 0;
        }
        memcpy(wanted, plane, sizeof wanted);
        memcpy(piece, plane + CUT, sizeof piece);
        keep_plainly(wanted, WIDE, 7); /* shifts below 0.7 x 9 */
        assert_ok(channel_places_move(&places, 1, 1, WIDE, plane, err));
        assert_memory_equal(plane, wanted, sizeof plane);
        assert_ok(channel_places_move(&places, 1, 1, PIECE, piece, err));
        assert_true(channel_places_reach(&places, 1) <= MARGIN);
        assert_memory_equal(piece + MARGIN, plane + CUT + MARGIN, (PIECE - 2 * MARGIN) * sizeof *piece);
        from = philox_stream(3, 1, (uint64_t)density);
    }
}

static void the_extent_of_a_motif_on_either_strand_is_symmetric(void **state)
{
    struct channel_extent extent = {.motifs = 2, .row0 = 0, .row1 = 1, .col0 = 2, .col1 = 9};
    (void)state;
    channel_extent_mirror(&extent);
    assert_float_equal(extent.col0, -3, 0), assert_float_equal(extent.col1, 4, 0);
    extent.col0 = -4;
    extent.col1 = 2;
    channel_extent_mirror(&extent);
    assert_float_equal(extent.col0, -3, 0), assert_float_equal(extent.col1, 4, 0);
}

static void a_change_of_a_reported_motif_reaches_the_map_of_the_head(void **state)
{
    float planes[2 * PLACES] = {0}, before[2 * PLACES], after[2 * PLACES], wanted[2 * PLACES];
    (void)state;
    planes[2 * COLS + 1] = 5;
    planes[3 * COLS + 8] = 2;
    planes[3 * COLS + 9] = 4;
    planes[2 * COLS + 2] = 1; /* lies in the extent of the stronger motif beside it, so it is not reported */
    planes[5 * COLS + 2] = 6;
    memcpy(before, planes, sizeof before);
    memcpy(wanted, planes, sizeof wanted);
    assert_ok(channel_places_move(&centred, 2, ROWS, COLS, before, err));
    memcpy(after, before, sizeof after);
    channel_places_change(&centred, 2, ROWS, COLS, before, after, planes);
    assert_memory_equal(planes, wanted, sizeof wanted); /* without changes the map stays as it is */
    after[2 * COLS + 4] = 0; /* removes a motif, moves the one at the edge, and adds one of channel 1 */
    after[3 * COLS + 9] = 0;
    after[1 * COLS + 5] = 4;
    after[PLACES + COLS + 1] = 3;
    channel_places_change(&centred, 2, ROWS, COLS, before, after, planes);
    wanted[2 * COLS + 1] = wanted[2 * COLS + 2] = wanted[3 * COLS + 8] = wanted[3 * COLS + 9] = 0;
    wanted[1 * COLS + 2] = 4;
    wanted[PLACES + COLS + 1] = 3;
    assert_memory_equal(planes, wanted, sizeof wanted);
}

/* ---- growth -------------------------------------------------------------------------------------------- */

enum { REACH = 12, WINDOW = 2 * REACH + 1 };

/* The inputs around all motifs agree (correlation 1) within a rectangle. At first the extent covers only a part at the
 * left of this rectangle. It must grow to the whole rectangle. */
static void an_extent_grows_over_what_is_alike_around_the_motifs(void **state)
{
    double alike[WINDOW * WINDOW];
    struct channel_extent extent = {9, -4, 4, -1, 1, 0, 0};
    (void)state;
    for (int r = 0; r < WINDOW; r++)
        for (int c = 0; c < WINDOW; c++) {
            bool frame = r >= REACH - 4 && r < REACH + 5 && c >= REACH - 1 && c < REACH + 8;
            alike[r * WINDOW + c] = frame ? 1 : (r + c) % 2 ? 0.15 : -0.15;
        }
    channel_extent_grow(&extent, alike, REACH, REACH);
    assert_float_equal(extent.row0, -4, 0);
    assert_float_equal(extent.row1, 5, 0);
    assert_float_equal(extent.col0, -1, 0);
    assert_float_equal(extent.col1, 8, 0);
}

static void an_extent_does_not_grow_over_chance_or_beyond_the_map(void **state)
{
    double noise[WINDOW * WINDOW], all[WINDOW];
    struct channel_extent small = {9, -2, 3, -2, 3, 0, 0}, line = {9, 0, 1, -3, 4, 0, 0};
    (void)state;
    for (int i = 0; i < WINDOW * WINDOW; i++)
        noise[i] = i % 2 ? 0.1 : -0.1;
    channel_extent_grow(&small, noise, REACH, REACH);
    assert_float_equal(small.row0, -2, 0);
    assert_float_equal(small.col1, 3, 0);
    for (int i = 0; i < WINDOW; i++)
        all[i] = 1;
    channel_extent_grow(&line, all, 0, REACH);
    assert_float_equal(line.row0, 0, 0);
    assert_float_equal(line.row1, 1, 0);
    assert_float_equal(line.col0, -REACH, 0);
    assert_float_equal(line.col1, REACH + 1, 0);
}

/* ---- the measurement --------------------------------------------------------------------------------- */

/* Detectors that plant() puts into the network: the score of channel c is the amount of ink at `taps` offsets. */
static const struct detector {
    int count;
    int tap[4][2];
    struct channel_extent extent; /* the extent that must be measured: the rows and columns of the taps */
} detectors[4] = {
    {4, {{-1, 0}, {-1, 1}, {0, 0}, {0, 1}}, {1, -1, 1, 0, 2, 0, 0}},
    {3, {{0, -1}, {0, 0}, {0, 1}}, {1, 0, 1, -1, 2, 0, 0}},
    {4, {{0, -1}, {0, 0}, {1, -1}, {1, 0}}, {1, 0, 2, -1, 1, 0, 0}},
    {3, {{-1, -1}, {0, 0}, {1, 1}}, {1, -1, 2, -1, 2, 0, 0}},
};

static real *at(struct weight *w, int out, int in, int row, int col)
{
    return &w->value[((out * w->dim[1] + in) * w->dim[2] + row) * w->dim[3] + col];
}

static void zero(struct weight *w)
{
    memset(w->value, 0, w->count * sizeof *w->value);
}

/* Sets the weights of the motif model. Feature 0 copies the input. Features 1 to 4 count the ink at the taps of
 * detectors 0 to 3. Channel c is feature c + 1 minus a little less than the number of taps, so only complete motifs
 * are active. */
static void plant(struct network *n)
{
    struct residual_unit *unit = &n->unit[0];
    struct weight *all[] = {n->first.w,    n->first.b,    unit->conv1.w, unit->conv1.b,
                            unit->conv2.w, unit->conv2.b, n->last.w,     n->last.b};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        zero(all[i]);
    *at(n->first.w, 0, 0, 0, 0) = 1;
    for (int c = 0; c < 4; c++) {
        for (int i = 0; i < detectors[c].count; i++)
            *at(unit->conv1.w, c + 1, 0, detectors[c].tap[i][0] + 1, detectors[c].tap[i][1] + 1) = 1;
        *at(unit->conv2.w, c + 1, c + 1, 1, 1) = 1;
        *at(n->last.w, c, c + 1, 0, 0) = 1;
        n->last.b->value[c] = (real)-detectors[c].count + (real)0.3;
    }
}

struct setup {
    struct run_env environment;
    struct sparling_config config;
    struct method_run *run;
};

static void open_with(struct setup *s, int threads, int units, bool centre)
{
    struct config_setting more[] = {{"seed", "1"},
                                    {"image_size", "48"},
                                    {"margin", "0"},
                                    {"units", units == 1 ? "1" : "2"},
                                    {"motif_samples", "30"},
                                    {"test_samples", "12"},
                                    {"centre_motifs", centre ? "true" : "false"},
                                    {NULL, NULL}};
    s->run = tiny_open(&s->environment, threads, &s->config, more);
    plant(s->run->network);
    if (units > 1) { /* the second unit only makes the window larger */
        zero(s->run->network->unit[1].conv2.w);
        zero(s->run->network->unit[1].conv2.b);
    }
    const struct method_evaluation what = {.seed = TEST_SEED, .samples = 100};
    assert_ok(method->begin_evaluation(s->run, &what, err));
}

static void open_planted(struct setup *s, int threads, int units)
{
    open_with(s, threads, units, false);
}

static void close_planted(struct setup *s)
{
    method->destroy(s->run);
    run_env_close(&s->environment);
}

/* Evaluates to the end. With `every`, the run is saved, destroyed, created and loaded after every `every` steps. */
static void evaluate(struct setup *s, int every)
{
    enum method_request request = METHOD_CONTINUE;
    for (int step = 1; request != METHOD_DONE; step++) {
        assert_true(step < 2000);
        assert_ok(run_env_step(&s->environment, method, s->run, &request, err));
        if (every == 0 || step % every || request == METHOD_DONE)
            continue;
        struct run_env_bytes bytes = {0};
        assert_ok(run_env_save(method, s->run, &bytes, err));
        method->destroy(s->run);
        s->run = tiny_start(&s->environment, &s->config);
        struct snapshot_reader reader = run_env_reader(&bytes);
        assert_ok(method->load(s->run, &reader, err));
        run_env_bytes_close(&bytes);
    }
}

static void assert_planted(const struct method_run *run)
{
    for (int c = 0; c < 4; c++) {
        const struct channel_extent *found = &run->evaluation.extents.channel[c], *wanted = &detectors[c].extent;
        assert_true(found->motifs >= 4);
        assert_float_equal(found->row0, wanted->row0, 0);
        assert_float_equal(found->row1, wanted->row1, 0);
        assert_float_equal(found->col0, wanted->col0, 0);
        assert_float_equal(found->col1, wanted->col1, 0);
    }
}

static void the_extents_of_planted_detectors_are_found(void **state)
{
    (void)state;
    for (int units = 1; units <= 2; units++) {
        struct setup s;
        open_planted(&s, 1, units);
        evaluate(&s, 0);
        assert_planted(s.run);
        close_planted(&s);
    }
}

static void threads_and_resume_do_not_change_any_bit_of_the_extents(void **state)
{
    struct setup one, other;
    (void)state;
    open_planted(&one, 1, 2);
    evaluate(&one, 0);
    const struct extents *a = &one.run->evaluation.extents;
    for (int i = 0; i < 3; i++) {
        const int threads[] = {3, 1, 2}, every[] = {0, 1, 7};
        open_planted(&other, threads[i], 2);
        evaluate(&other, every[i]);
        const struct extents *b = &other.run->evaluation.extents;
        assert_memory_equal(a->channel, b->channel, 4 * sizeof *a->channel);
        assert_memory_equal(&a->truth, &b->truth, sizeof a->truth);
        close_planted(&other);
    }
    close_planted(&one);
}

static void a_damaged_table_of_extents_is_refused(void **state)
{
    struct setup s;
    struct run_env_bytes bytes = {0};
    (void)state;
    open_planted(&s, 1, 1);
    evaluate(&s, 0);
    s.run->evaluation.extents.channel[1].row1 = 1e9;
    assert_ok(run_env_save(method, s.run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    struct error err = {0};
    assert_int_equal(method->load(s.run, &reader, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.message, "extents"));
    run_env_bytes_close(&bytes);
    close_planted(&s);
}

/* Asks the model of a run about the motifs of one sample. */
static void ask_motifs(struct setup *s, struct buf *out)
{
    struct run_env_bytes bytes = {0};
    struct method_model *model = NULL;
    const struct sink sink = text_sink(out);
    const struct method_input input = {.kind = METHOD_INPUT_SAMPLE, .seed = 3};
    buf_init(out, 1 << 24);
    assert_ok(run_env_save(method, s->run, &bytes, err));
    struct snapshot_reader reader = run_env_reader(&bytes);
    assert_ok(method->open(&s->config, s->environment.env.kernels, NULL, &reader, &model, err));
    assert_ok(method_ask(method, model, "motifs", &input, &sink, err));
    method->close(model);
    run_env_bytes_close(&bytes);
}

static void queries_show_extents_as_soon_as_they_are_measured(void **state)
{
    struct setup s;
    struct buf before, after;
    (void)state;
    open_planted(&s, 1, 1);
    ask_motifs(&s, &before);
    evaluate(&s, 0);
    ask_motifs(&s, &after);
    assert_non_null(strstr(before.data, "extent=null"));
    assert_null(strstr(before.data, "extent=["));
    assert_non_null(strstr(after.data, "extent=["));
    assert_null(strstr(after.data, "extent=null"));
    buf_close(&before);
    buf_close(&after);
    close_planted(&s);
}

/* Counts the motifs in an answer, and those that are not reported at the centre of their extent. */
static void count_motifs(const char *text, int *count, int *aside)
{
    *count = *aside = 0;
    while ((text = strstr(text, "position=["))) {
        int at[2], extent[4];
        assert_int_equal(sscanf(text, "position=[%d %d", &at[0], &at[1]), 2);
        text = strstr(text, "extent=[");
        assert_int_equal(sscanf(text, "extent=[%d %d %d %d", &extent[0], &extent[1], &extent[2], &extent[3]), 4);
        *aside += at[0] != (extent[0] + extent[1]) / 2 || at[1] != (extent[2] + extent[3]) / 2;
        (*count)++;
    }
}

static void queries_report_centred_motifs_where_their_channel_reads(void **state)
{
    (void)state;
    for (int centre = 0; centre < 2; centre++) {
        struct setup s;
        struct buf text;
        int count, aside;
        open_with(&s, 1, 1, centre);
        evaluate(&s, 3);
        assert_planted(s.run);
        ask_motifs(&s, &text);
        count_motifs(text.data, &count, &aside);
        assert_true(count > 0);
        assert_true(centre ? aside == 0 : aside > 0);
        buf_close(&text);
        close_planted(&s);
    }
}

/* ---- true boxes -------------------------------------------------------------------------------------- */

/* Channel 0 marks symbol 0 at a position to the right of its box; the extent corrects this. Another motif of channel
 * 0 lies far from every box. Channel 1 marks symbol 1, with an extent that is too large. */
static void motifs_and_true_boxes_are_paired_and_compared(void **state)
{
    static float planes[4 * 48 * 48];
    struct setup s;
    (void)state;
    open_planted(&s, 1, 1);
    struct method_run *run = s.run;
    struct extents *e = &run->evaluation.extents;
    run->evaluation.part = PART_BOXES;
    int64_t *boxes = run->evaluation.errors.boxes; /* [symbols + 1][channels + 1] */
    boxes[0 * 5 + 0] = boxes[1 * 5 + 1] = 9;       /* channel 0 marks symbol 0; channel 1 marks symbol 1 */
    e->channel[0] = (struct channel_extent){1, -4, 5, -5, 0, 0, 0};
    e->channel[1] = (struct channel_extent){1, -8, 9, -8, 9, 0, 0};
    struct box box[] = {{.symbol = 0, .row0 = 8, .row1 = 16, .col0 = 5, .col1 = 10},
                        {.symbol = 1, .row0 = 30, .row1 = 36, .col0 = 30, .col1 = 36}};
    planes[0 * 48 * 48 + 12 * 48 + 11] = 2; /* extent rows 8..17, columns 6..11 */
    planes[0 * 48 * 48 + 40 * 48 + 5] = 2;
    planes[1 * 48 * 48 + 33 * 48 + 32] = 1;
    struct domain_truth truth = {.box = box, .boxes = 2};
    struct batch batch = {.request = {.count = 1}, .truths = &truth};
    exec_begin(&run->exec, false, 0);
    const struct map_shape shape = network_motifs(&run->exec, run->network, planes, 1, 1)->map;
    struct tensor *map = tensor_from_planes(&run->exec, planes, &shape, false);
    assert_ok(extents_truth_add(run, map, &batch, err));
    double overlap = 8.0 * 4 / (45 + 40 - 32) + 36.0 / 289;
    assert_float_equal(e->truth.pairs, 2, 0);
    assert_float_equal(e->truth.position, 1, 0);
    assert_float_equal(e->truth.centre, 2, 0);
    assert_float_equal(e->truth.half, 1, 0);
    assert_float_equal(e->truth.overlap, overlap, 1e-12);
    close_planted(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_of_even_evidence_is_found_exactly),
        cmocka_unit_test(weak_noise_outside_does_not_widen_an_interval),
        cmocka_unit_test(an_interval_reaches_from_one_needed_end_to_the_other),
        cmocka_unit_test(an_interval_covers_parts_that_replace_each_other),
        cmocka_unit_test(the_middle_has_as_much_evidence_on_either_side),
        cmocka_unit_test(without_evidence_there_is_no_interval),
        cmocka_unit_test(a_box_ends_at_the_edges_of_the_map),
        cmocka_unit_test(a_centred_motif_is_reported_where_its_channel_reads),
        cmocka_unit_test(motifs_that_share_their_extent_are_one),
        cmocka_unit_test(any_number_of_motifs_is_reported_by_the_same_rule),
        cmocka_unit_test(the_extent_of_a_motif_on_either_strand_is_symmetric),
        cmocka_unit_test(a_change_of_a_reported_motif_reaches_the_map_of_the_head),
        cmocka_unit_test(an_extent_grows_over_what_is_alike_around_the_motifs),
        cmocka_unit_test(an_extent_does_not_grow_over_chance_or_beyond_the_map),
        cmocka_unit_test(the_extents_of_planted_detectors_are_found),
        cmocka_unit_test(threads_and_resume_do_not_change_any_bit_of_the_extents),
        cmocka_unit_test(a_damaged_table_of_extents_is_refused),
        cmocka_unit_test(queries_show_extents_as_soon_as_they_are_measured),
        cmocka_unit_test(queries_report_centred_motifs_where_their_channel_reads),
        cmocka_unit_test(motifs_and_true_boxes_are_paired_and_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
