/* Tests the operations of blocks: op_space_to_depth() and op_spread() equal plain loops for random sizes, a convolution
 * over blocks equals a convolution with a stride, and gradients equal those of differences. */
#include "tests/unit/core/gradient.h"

#include <math.h>

#include "core/autodiff/region.h"
#include "core/base/random/philox.h"
#include "tests/support/unit.h"

enum { MOST = 3 * 20 * 19 * 19 };

static int draw(uint64_t *at, int least, int most)
{
    struct philox from = philox_stream(11, 3, 0);
    return least + (int)(philox_u32(&from, (*at)++) % (uint32_t)(most - least + 1));
}

struct block_case {
    struct map_shape in; /* of the map of blocks */
    int height, width, block;
    double fill, threshold;
    struct weight *w, *b;
    const real *planes;
};

static struct block_case draw_case(uint64_t *at)
{
    struct block_case c = {.block = draw(at, 1, 5), .height = draw(at, 1, 19), .width = draw(at, 1, 19)};
    c.in = (struct map_shape){
        draw(at, 1, 3), draw(at, 1, 20), blocks_of(c.height, c.block), blocks_of(c.width, c.block), 1, 1};
    c.fill = draw(at, -1, 1);
    return c;
}

static void blocks_cover_every_pixel_and_have_a_pixel_of_their_own(void **state)
{
    for (int size = 1; size < 40; size++)
        for (int block = 1; block < 10; block++) {
            int blocks = blocks_of(size, block), pixel = block_pixel(size, block);
            assert_true(blocks * block >= size && (blocks - 1) * block < size);
            assert_true(pixel >= 0 && 2 * pixel < block && (blocks - 1) * block + pixel < size);
            assert_true(size % block != 0 || pixel == (block - 1) / 2);
        }
}

static void pixels_of_blocks_become_channels(void **state)
{
    static real planes[MOST];
    uint64_t at = 0;
    for (int round = 0; round < 60; round++) {
        struct probe p;
        struct block_case c = draw_case(&at);
        int count = c.in.images * c.in.channels, pixels = c.block * c.block;
        probe_open(&p, 2, "ref");
        probe_fill(&p, planes, (size_t)(count * c.height * c.width), 1);
        exec_begin(&p.exec, true, 0);
        const real *out = op_space_to_depth(&p.exec, planes, count, c.height, c.width, c.block);
        assert_true(c.block > 1 || out == planes);
        for (int plane = 0; plane < count * pixels; plane++)
            for (int r = 0; r < c.in.height; r++)
                for (int q = 0; q < c.in.width; q++) {
                    int row = r * c.block + plane % pixels / c.block, col = q * c.block + plane % c.block;
                    bool inside = row < c.height && col < c.width;
                    real want = inside ? planes[(plane / pixels * c.height + row) * c.width + col] : R(0.0);
                    assert_true(*out++ == want);
                }
        probe_close(&p);
    }
}

/* The weight of a convolution over blocks, as that of a convolution with a stride. */
static real weight_at(const struct block_case *c, int out, int in, int row, int col)
{
    int kh = c->w->dim[2], kw = c->w->dim[3], pixels = c->block * c->block;
    int channel = in * pixels + row % c->block * c->block + col % c->block;
    return c->w->value[((out * c->w->dim[1] + channel) * kh + row / c->block) * kw + col / c->block];
}

static void convolution_over_blocks_is_a_convolution_with_a_stride(void **state)
{
    enum { IMAGES = 2, IN = 2, OUT = 3, HIGH = 11, WIDE = 14, BLOCK = 4, KERNEL = 3 };
    real planes[IMAGES * IN * HIGH * WIDE], out[IMAGES * OUT * 3 * 4];
    struct probe p;
    struct block_case c = {.block = BLOCK};
    probe_open(&p, 1, "ref");
    probe_fill(&p, planes, sizeof planes / sizeof planes[0], 1);
    c.w = probe_weight(&p, 4, (int[]){OUT, IN * BLOCK * BLOCK, KERNEL, KERNEL}, 1);
    c.b = probe_vector(&p, OUT, 1);
    exec_begin(&p.exec, true, 0);
    const real *blocks = op_space_to_depth(&p.exec, planes, IMAGES * IN, HIGH, WIDE, BLOCK);
    tensor_to_planes(op_conv_planar(&p.exec, blocks, IMAGES, IN * BLOCK * BLOCK, 3, 4, 1, c.w, c.b), out);
    for (int i = 0; i < IMAGES * OUT * 3 * 4; i++) {
        int image = i / (OUT * 12), channel = i / 12 % OUT;
        double sum = c.b->value[channel];
        for (int k = 0; k < IN * KERNEL * BLOCK * KERNEL * BLOCK; k++) {
            int in = k / (KERNEL * BLOCK * KERNEL * BLOCK), down = k / (KERNEL * BLOCK) % (KERNEL * BLOCK),
                right = k % (KERNEL * BLOCK), row = (i / 4 % 3 - 1) * BLOCK + down, col = (i % 4 - 1) * BLOCK + right;
            if (row >= 0 && row < HIGH && col >= 0 && col < WIDE)
                sum += (double)weight_at(&c, channel, in, down, right) *
                       (double)planes[((image * IN + in) * HIGH + row) * WIDE + col];
        }
        assert_true(fabs(sum - (double)out[i]) < 1e-9);
    }
    probe_close(&p);
}

static void spread_puts_each_value_at_the_pixel_of_its_block(void **state)
{
    static real out[MOST];
    uint64_t at = 1000;
    for (int round = 0; round < 60; round++) {
        struct probe p;
        struct block_case c = draw_case(&at);
        probe_open(&p, 2, "ref");
        probe_map(&p, &c.in, 1.0);
        exec_begin(&p.exec, true, 0);
        struct tensor *x = probe_input(&p, 0), *y = op_spread(&p.exec, x, c.height, c.width, c.block, c.fill);
        assert_true(c.block > 1 || x == y);
        tensor_to_planes(y, out);
        int down = block_pixel(c.height, c.block), right = block_pixel(c.width, c.block);
        for (int i = 0; i < c.in.images * c.in.channels * c.height * c.width; i++) {
            int plane = i / (c.height * c.width), row = i / c.width % c.height, col = i % c.width;
            bool own = row % c.block == down && col % c.block == right;
            real want = own ? p.inputs[0].value[(plane * c.in.height + row / c.block) * c.in.width + col / c.block]
                            : (real)c.fill;
            assert_true(out[i] == want);
        }
        /* what is not a position of a channel stays zero */
        for (int row = -1; row <= c.height; row++)
            for (int col = -1; col <= c.width; col++)
                for (int lane = 0; lane < map_padded(c.in.channels); lane++)
                    if (row < 0 || row == c.height || col < 0 || col == c.width || lane >= c.in.channels)
                        assert_true(y->data[map_offset(&y->map, 0, lane / MAP_LANES, row, col) + lane % MAP_LANES] ==
                                    R(0.0));
        probe_close(&p);
    }
}

static struct tensor *build_spread(struct probe *p, const void *context)
{
    const struct block_case *c = context;
    return op_spread(&p->exec, probe_input(p, 0), c->height, c->width, c->block, c->fill);
}

/* Builds a graph in which two operations read the map, so their gradients must be added. */
static struct tensor *build_twice(struct probe *p, const void *context)
{
    const struct block_case *c = context;
    struct exec *e = &p->exec;
    struct tensor *x = probe_input(p, 0), *y = op_spread(e, x, c->height, c->width, c->block, c->fill);
    return op_add(e, op_mean(e, y), op_mean(e, op_sigmoid(e, x)));
}

static void spread_gradients_match_differences(void **state)
{
    uint64_t at = 2000;
    for (int round = 0; round < 12; round++) {
        struct probe p;
        struct block_case c = draw_case(&at);
        probe_open(&p, 2, "ref");
        probe_map(&p, &c.in, 1.0);
        probe_check(&p, round % 2 ? build_spread : build_twice, &c, 1e-6);
        probe_close(&p);
    }
}

static void spread_lists_the_active_positions(void **state)
{
    uint64_t at = 3000;
    for (int round = 0; round < 20; round++) {
        struct probe p;
        struct block_case c = draw_case(&at);
        real threshold[20];
        for (int i = 0; i < 20; i++)
            threshold[i] = R(0.8);
        c.in.channels = 1;
        probe_open(&p, 2, "ref");
        p.exec.sparse = EXEC_SPARSE;
        probe_map(&p, &c.in, 1.0);
        exec_begin(&p.exec, true, 0);
        struct tensor *y = op_threshold(&p.exec, probe_input(&p, 0), threshold, true);
        y = op_spread(&p.exec, y, c.height, c.width, c.block, 0);
        int64_t active = 0;
        for (int i = 0; i < y->active->boxes; i++) {
            const struct box *box = &y->active->box[i];
            for (int row = box->row; row < box->row + box->rows; row++)
                for (int col = box->col; col < box->col + box->cols; col++, active++)
                    assert_true(y->data[map_offset(&y->map, box->image, 0, row, col)] > 0);
        }
        for (size_t i = 0; i < y->count; i++)
            active -= y->data[i] > 0;
        assert_int_equal(active, 0);
        probe_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_cover_every_pixel_and_have_a_pixel_of_their_own),
        cmocka_unit_test(pixels_of_blocks_become_channels),
        cmocka_unit_test(convolution_over_blocks_is_a_convolution_with_a_stride),
        cmocka_unit_test(spread_puts_each_value_at_the_pixel_of_its_block),
        cmocka_unit_test(spread_gradients_match_differences),
        cmocka_unit_test(spread_lists_the_active_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
