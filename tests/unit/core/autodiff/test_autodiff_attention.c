/* Compares attention and LSTM with central differences and with plain loops. */
#include "tests/unit/core/gradient.h"

#include "tests/support/unit.h"

#define TOLERANCE 1e-6

/* --- attention ---------------------------------------------------------------------------------- */

static struct tensor *build_self(struct probe *p, const void *context)
{
    return op_self_attention(&p->exec, probe_input(p, 0), context);
}

static struct tensor *build_cross(struct probe *p, const void *context)
{
    return op_cross_attention(&p->exec, probe_input(p, 0), probe_input(p, 1), context);
}

/* Builds attention and a second operation that reads the same input, so attention must add its gradient to one that
 * exists already. */
static struct tensor *build_self_again(struct probe *p, const void *context)
{
    struct tensor *x = probe_input(p, 0);
    struct tensor *y = op_mean(&p->exec, op_self_attention(&p->exec, x, context));
    return op_add(&p->exec, y, op_mean(&p->exec, op_sigmoid(&p->exec, x)));
}

static void self_attention_gradients_match_differences(void **state)
{
    static const int lengths[3] = {1, 5, 3};
    static const struct attention cases[] = {
        {.batch = 3, .queries = 5, .keys = 5, .heads = 2},
        {.batch = 3, .queries = 5, .keys = 5, .heads = 2, .causal = true, .dropout = 0.3},
        {.batch = 3, .queries = 5, .keys = 5, .heads = 1, .key_lengths = lengths, .dropout = 0.3},
        {.batch = 3, .queries = 5, .keys = 5, .heads = 4, .key_lengths = lengths, .causal = true},
        {.batch = 1, .queries = 1, .keys = 1, .heads = 1},
        {.batch = 2, .queries = 17, .keys = 17, .heads = 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        probe_rows(&p, cases[i].batch * cases[i].queries, 24, 1.5);
        probe_check(&p, build_self, &cases[i], TOLERANCE);
        probe_check(&p, build_self_again, &cases[i], TOLERANCE);
        probe_close(&p);
    }
}

static void cross_attention_gradients_match_differences(void **state)
{
    static const int lengths[2] = {7, 2};
    static const struct attention cases[] = {
        {.batch = 2, .queries = 3, .keys = 7, .heads = 2, .dropout = 0.2},
        {.batch = 2, .queries = 9, .keys = 7, .heads = 3, .key_lengths = lengths},
        {.batch = 2, .queries = 1, .keys = 7, .heads = 6, .key_lengths = lengths},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe p;
        probe_open(&p, 2, "ref");
        probe_rows(&p, 2 * cases[i].queries, 12, 1.5);
        probe_rows(&p, 2 * 7, 24, 1.5);
        probe_check(&p, build_cross, &cases[i], TOLERANCE);
        probe_close(&p);
    }
}

/* Computes the expected values from the formula, one query at a time. */
static void attention_equals_its_formula(void **state)
{
    enum { BATCH = 2, LENGTH = 4, HEADS = 2, D = 3, COLS = HEADS * D };
    static const int lengths[BATCH] = {4, 2};
    const struct attention shape = {
        .batch = BATCH, .queries = LENGTH, .keys = LENGTH, .heads = HEADS, .causal = true, .key_lengths = lengths};
    struct probe p;
    probe_open(&p, 2, "ref");
    probe_rows(&p, BATCH * LENGTH, 3 * COLS, 2.0);
    exec_begin(&p.exec, false, 0);
    struct tensor *y = build_self(&p, &shape);
    assert_non_null(y);
    const real *x = p.inputs[0].value;
    for (int b = 0; b < BATCH; b++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < LENGTH; i++) {
                double e[LENGTH], total = 0.0;
                const real *q = x + (b * LENGTH + i) * 3 * COLS + h * D;
                int seen = i + 1 < lengths[b] ? i + 1 : lengths[b];
                for (int j = 0; j < seen; j++) {
                    const real *k = x + (b * LENGTH + j) * 3 * COLS + COLS + h * D;
                    e[j] = exp((double)(q[0] * k[0] + q[1] * k[1] + q[2] * k[2]) / sqrt(3.0));
                    total += e[j];
                }
                for (int d = 0; d < D; d++) {
                    double wanted = 0.0;
                    for (int j = 0; j < seen; j++)
                        wanted += e[j] / total * (double)x[(b * LENGTH + j) * 3 * COLS + 2 * COLS + h * D + d];
                    assert_true(fabs(wanted - (double)y->data[(b * LENGTH + i) * COLS + h * D + d]) < 1e-12);
                }
            }
    probe_close(&p);
}

/* Keys beyond a sample's length change nothing, whatever their values, and get no gradient. */
static void attention_ignores_keys_beyond_the_length(void **state)
{
    static const int lengths[2] = {3, 5};
    const struct attention shape = {.batch = 2, .queries = 4, .keys = 6, .heads = 2, .key_lengths = lengths};
    struct probe p;
    probe_open(&p, 2, "ref");
    probe_rows(&p, 8, 8, 1.0);
    probe_rows(&p, 12, 16, 1.0);
    double value = probe_run(&p, build_cross, &shape);
    for (int j = 0; j < 16; j++) {
        for (int r = 3; r < 6; r++)
            assert_true(p.inputs[1].grad[r * 16 + j] == R(0.0));
        p.inputs[1].value[3 * 16 + j] = R(1e8);
        p.inputs[1].value[11 * 16 + j] = R(-1e8);
    }
    assert_true(probe_run(&p, build_cross, &shape) == value);
    static const int bad[2] = {0, 5};
    struct attention empty = shape;
    empty.key_lengths = bad;
    exec_begin(&p.exec, false, 0);
    assert_null(build_cross(&p, &empty));
    probe_close(&p);
}

/* --- LSTM --------------------------------------------------------------------------------------- */

struct lstm_case {
    int sequences, length, in, hidden;
    struct lstm_weights direction[2];
};

static struct tensor *build_lstm(struct probe *p, const void *context)
{
    const struct lstm_case *c = context;
    return op_bilstm(&p->exec, probe_input(p, 0), c->sequences, c->length, c->direction);
}

static void open_lstm(struct probe *p, struct lstm_case *c)
{
    probe_open(p, 2, "ref");
    probe_rows(p, c->sequences * c->length, c->in, 1.5);
    for (int d = 0; d < 2; d++) {
        c->direction[d].w_ih = probe_matrix(p, 4 * c->hidden, c->in, 0.8);
        c->direction[d].w_hh = probe_matrix(p, 4 * c->hidden, c->hidden, 0.8);
        c->direction[d].b_ih = probe_vector(p, 4 * c->hidden, 0.5);
        c->direction[d].b_hh = probe_vector(p, 4 * c->hidden, 0.5);
    }
}

static void lstm_gradients_match_differences(void **state)
{
    static const struct lstm_case cases[] = {
        {.sequences = 3, .length = 4, .in = 5, .hidden = 3},
        {.sequences = 1, .length = 1, .in = 2, .hidden = 1},
        {.sequences = 2, .length = 7, .in = 17, .hidden = 18},
        {.sequences = 150, .length = 2, .in = 3, .hidden = 2}, /* a case with more sequences than fit into a block */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe p;
        struct lstm_case c = cases[i];
        open_lstm(&p, &c);
        probe_check(&p, build_lstm, &c, TOLERANCE);
        probe_close(&p);
    }
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Computes one direction of one sequence by the formula; out: [length][hidden]. */
static void plain_lstm(const struct lstm_case *c, int d, const real *x, double *out)
{
    const struct lstm_weights *w = &c->direction[d];
    double h[8] = {0}, cell[8] = {0}, gate[32];
    for (int t = 0; t < c->length; t++) {
        int at = d == 0 ? t : c->length - 1 - t;
        for (int j = 0; j < 4 * c->hidden; j++) {
            gate[j] = (double)(w->b_ih->value[j] + w->b_hh->value[j]);
            for (int i = 0; i < c->in; i++)
                gate[j] += (double)(w->w_ih->value[j * c->in + i] * x[at * c->in + i]);
            for (int i = 0; i < c->hidden; i++)
                gate[j] += (double)w->w_hh->value[j * c->hidden + i] * h[i];
        }
        for (int i = 0; i < c->hidden; i++) {
            cell[i] = sigmoid(gate[c->hidden + i]) * cell[i] + sigmoid(gate[i]) * tanh(gate[2 * c->hidden + i]);
            h[i] = sigmoid(gate[3 * c->hidden + i]) * tanh(cell[i]);
            out[at * c->hidden + i] = h[i];
        }
    }
}

static void lstm_equals_its_formula(void **state)
{
    struct probe p;
    struct lstm_case c = {.sequences = 3, .length = 5, .in = 4, .hidden = 6};
    open_lstm(&p, &c);
    exec_begin(&p.exec, false, 0);
    struct tensor *y = build_lstm(&p, &c);
    assert_non_null(y);
    for (int s = 0; s < c.sequences; s++)
        for (int d = 0; d < 2; d++) {
            double out[5 * 6];
            plain_lstm(&c, d, p.inputs[0].value + s * c.length * c.in, out);
            for (int t = 0; t < c.length; t++)
                for (int i = 0; i < c.hidden; i++)
                    assert_true(fabs(out[t * 6 + i] - (double)y->data[(s * c.length + t) * 12 + d * 6 + i]) < 1e-12);
        }
    probe_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_attention_gradients_match_differences),
        cmocka_unit_test(cross_attention_gradients_match_differences),
        cmocka_unit_test(attention_equals_its_formula),
        cmocka_unit_test(attention_ignores_keys_beyond_the_length),
        cmocka_unit_test(lstm_gradients_match_differences),
        cmocka_unit_test(lstm_equals_its_formula),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
