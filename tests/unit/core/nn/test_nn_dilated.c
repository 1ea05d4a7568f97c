/* Tests the dilated network of the splicing domain: its size, its receptive field, its gradients. */
#include "core/nn/dilated.h"

#include <math.h>

#include "tests/support/unit.h"
#include "tests/unit/core/gradient.h"

static struct params *make_params(void)
{
    struct params *params = NULL;
    assert_int_equal(params_create(&params, NULL), STATUS_OK);
    return params;
}

/* Compares the number of parameters with the published one. */
static void size_of_the_network_equals_the_published_one(void **state)
{
    static struct dilated h;
    struct params *params = make_params();
    struct dilated_config far = {.inputs = 80, .width = 32, .classes = 3, .context = 10000};
    dilated_build(&h, params, "h", &far);
    assert_int_equal(params_seal(params, false, NULL), STATUS_OK);
    assert_int_equal(params_count(params), 699171);
    assert_int_equal(h.units, 16);
    params_destroy(params);
    static const int contexts[] = {80, 400, 2000, 10000, 0, 100};
    static const int units[] = {4, 8, 12, 16, 0, 0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(dilated_units(contexts[i]), units[i]);
}

/* Sets the weights of each kernel to 0.25 at its two ends and to 0 elsewhere, so that each output depends on the
 * farthest inputs it can reach. */
static void open_wide(struct params *params)
{
    for (size_t i = 0; i < params_arrays(params); i++) {
        struct weight *w = params_array(params, i);
        int taps = w->rank == 4 ? w->dim[3] : 0;
        for (size_t j = 0; j < w->count && taps > 0; j++)
            w->value[j] = j % (size_t)taps == 0 || j % (size_t)taps == (size_t)taps - 1 ? R(0.25) : R(0.0);
    }
}

/* With context 400 an output depends on 200 positions to either side, and on no others. */
static void output_depends_on_half_a_context_to_either_side(void **state)
{
    enum { LENGTH = 481, MIDDLE = 240 };
    static struct dilated h;
    struct probe p;
    struct params *params = make_params();
    struct dilated_config config = {.inputs = 2, .width = 4, .classes = 3, .context = 400};
    static real planes[2 * LENGTH], middle[3 * LENGTH], kept[3];
    dilated_build(&h, params, "h", &config);
    assert_int_equal(params_seal(params, false, NULL), STATUS_OK);
    params_init(params, 1, NULL);
    open_wide(params);
    probe_open(&p, 2, "ref");
    for (int distance = 0; distance <= 201; distance += distance < 200 ? 200 : 1) {
        for (int side = -1; side <= 1; side++) {
            struct map_shape shape = {1, 2, 1, LENGTH, 0, 1};
            for (int i = 0; i < 2 * LENGTH; i++)
                planes[i] = R(0.1) * (real)(i % 7);
            planes[MIDDLE + side * distance] += side == 0 ? R(0.0) : R(5.0);
            exec_begin(&p.exec, false, 0);
            struct tensor *y = dilated_forward(&p.exec, &h, tensor_from_planes(&p.exec, planes, &shape, false));
            assert_non_null(y);
            tensor_to_planes(y, middle);
            bool same = true;
            for (int c = 0; c < 3; c++) {
                real value = middle[c * LENGTH + MIDDLE];
                same = same && kept[c] == value;
                if (side == 0)
                    kept[c] = value;
            }
            if (side == 1)
                assert_true(same == (distance > 200));
        }
    }
    probe_close(&p);
    params_destroy(params);
}

static struct tensor *build(struct probe *p, const void *context)
{
    return op_map_rows(&p->exec, dilated_forward(&p->exec, (struct dilated *)context, probe_input(p, 0)));
}

static void gradients_of_the_network_match_differences(void **state)
{
    static struct dilated h;
    struct probe p;
    struct params *params = make_params();
    struct dilated_config config = {.inputs = 3, .width = 4, .classes = 3, .context = 80};
    struct map_shape shape = {2, 3, 1, 30, 0, 1};
    dilated_build(&h, params, "h", &config);
    assert_int_equal(params_seal(params, true, NULL), STATUS_OK);
    params_init(params, 3, NULL);
    probe_open(&p, 2, "ref");
    probe_map(&p, &shape, 1.0);
    for (size_t i = 0; i < params_arrays(params); i++)
        probe_check_also(&p, params_array(params, i));
    probe_check(&p, build, &h, 1e-5);
    probe_close(&p);
    params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_of_the_network_equals_the_published_one),
        cmocka_unit_test(output_depends_on_half_a_context_to_either_side),
        cmocka_unit_test(gradients_of_the_network_match_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
