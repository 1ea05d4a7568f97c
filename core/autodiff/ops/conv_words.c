/* The first convolution of a network that reads texts: a lookup.
 *
 * The planes of a text would be one-hot over the vocabulary. Their convolution adds, at each position, one column of
 * weights for each word in the window. The forward pass packs the columns of the words of the batch and adds them up;
 * no other column is read. The backward pass goes through the words instead of the positions: it adds up, for each word
 * and tap, the gradients of the positions that read this column. So each sum has one order and one owner, and neither
 * pass depends on the number of threads. */
#include "core/autodiff/region.h"
#include "core/autodiff/tape_int.h"

enum { TAPS = 256, ROWS_AT_ONCE = 64, WORDS_EACH = 16 };

/* The words of a batch, each different word once, in the order in which they first occur. */
struct batch_words {
    int images, width, vocabulary, taps;
    int different;
    int32_t *at;    /* [images][width] index into `word`; -1: no word */
    int32_t *word;  /* [different] number in the vocabulary, counted from 0 */
    int *first;     /* [different + 1] where the places of each word begin in `place` */
    int32_t *place; /* all places of the words, image * width + column, ascending for each word */
};

struct words_node {
    struct node node;
    struct batch_words words;
    struct weight *w, *b;
};

static int32_t places(const struct batch_words *s)
{
    return s->images * s->width;
}

/* Finds the different words of a batch and their places. False after a failure. */
static bool collect_words(struct exec *e, const real *words, struct batch_words *s)
{
    int32_t count = places(s);
    int32_t *index = op_alloc(e, (size_t)s->vocabulary * sizeof *index);
    s->at = op_alloc(e, (size_t)count * sizeof *s->at);
    s->word = op_alloc(e, (size_t)count * sizeof *s->word);
    s->place = op_alloc(e, (size_t)count * sizeof *s->place);
    s->first = op_alloc(e, ((size_t)count + 2) * sizeof *s->first);
    if (!index || !s->at || !s->word || !s->place || !s->first)
        return false;
    for (int v = 0; v < s->vocabulary; v++)
        index[v] = -1;
    for (int32_t i = 0; i < count; i++) {
        if (!(words[i] >= 0 && words[i] <= (real)s->vocabulary)) {
            op_fail(e, STATUS_INTERNAL, "words: %g is not in [0, %d]", (double)words[i], s->vocabulary);
            return false;
        }
        int32_t word = (int32_t)words[i] - 1;
        s->at[i] = -1;
        if (word < 0)
            continue;
        if (index[word] < 0) {
            index[word] = s->different;
            s->word[s->different++] = word;
            s->first[s->different + 1] = 0;
        }
        s->at[i] = index[word];
        s->first[s->at[i] + 2]++; /* the counts, which become the beginnings of the next words */
    }
    s->first[0] = s->first[1] = 0;
    for (int d = 0; d < s->different; d++)
        s->first[d + 2] += s->first[d + 1];
    for (int32_t i = 0; i < count; i++)
        if (s->at[i] >= 0)
            s->place[s->first[s->at[i] + 1]++] = i;
    return true;
}

/* ---- passes ------------------------------------------------------------------------------------ */

struct words_task {
    const struct kernels *kernels;
    const struct batch_words *words;
    struct tensor *out;
    struct map_split split;
    const struct weight *w;
    real *packed, *bias; /* forward: [different][taps][padded channels], [padded channels] */
    double *moments;
    const bool *covered;       /* backward: [images][width] whether the gradient is defined there; NULL: everywhere */
    real *grad, *sums, *dbias; /* backward: of w; scratch [workers][padded channels]; [images][padded channels] */
};

static int words_padded(const struct words_task *t)
{
    return map_padded(t->out->map.channels);
}

/* Packs the columns of some words. */
static void pack_words(void *context, int chunk, int worker)
{
    (void)worker;
    const struct words_task *t = context;
    const struct batch_words *s = t->words;
    int padded = words_padded(t), last = (chunk + 1) * WORDS_EACH;
    for (int d = chunk * WORDS_EACH; d < last && d < s->different; d++)
        for (int k = 0; k < s->taps; k++) {
            real *to = t->packed + ((size_t)d * (size_t)s->taps + (size_t)k) * (size_t)padded;
            for (int o = 0; o < padded; o++)
                to[o] = o < t->w->dim[0]
                            ? t->w->value[((size_t)o * (size_t)s->vocabulary + (size_t)s->word[d]) * (size_t)s->taps +
                                          (size_t)k]
                            : 0;
        }
}

static void words_forward(void *context, int chunk, int worker)
{
    (void)worker;
    const struct words_task *t = context;
    const struct batch_words *s = t->words;
    const struct map_shape *shape = &t->out->map;
    struct map_piece piece = map_piece(&t->split, shape, chunk);
    struct map_strip out = map_strip_at(shape, t->out->data, piece.image, 0);
    const int32_t *at = s->at + (ptrdiff_t)piece.image * s->width;
    size_t padded = (size_t)words_padded(t);
    const real *from[TAPS];
    for (int x = 0; x < s->width; x++) {
        int count = 0;
        for (int k = 0; k < s->taps; k++) {
            int col = x + k - s->taps / 2;
            if (col >= 0 && col < s->width && at[col] >= 0)
                from[count++] = t->packed + ((size_t)at[col] * (size_t)s->taps + (size_t)k) * padded;
        }
        struct sum_rows_call call = {map_blocks(shape->channels),      count, from, MAP_LANES, out.block, t->bias,
                                     out.at + (ptrdiff_t)x * MAP_LANES};
        t->kernels->sum_rows(&call);
    }
    if (t->moments)
        t->kernels->map_moments(map_blocks(shape->channels), 1, s->width, out, t->moments + (size_t)chunk * 2 * padded);
}

/* Rows of the gradient that are added up together. */
struct gradient_rows {
    const struct words_task *task;
    int count;
    const real *from[ROWS_AT_ONCE];
    real *sum; /* [padded channels] */
};

static void add_rows(struct gradient_rows *rows)
{
    const struct map_shape *shape = &rows->task->out->map;
    struct sum_rows_call call = {
        map_blocks(shape->channels), rows->count, rows->from, map_block_stride(shape), MAP_LANES, rows->sum, rows->sum};
    rows->task->kernels->sum_rows(&call);
    rows->count = 0;
}

/* Adds the gradient at a place, if it is inside the text and the region. */
static void add_gradient(struct gradient_rows *rows, int image, int col)
{
    const struct words_task *t = rows->task;
    if (col < 0 || col >= t->words->width || (t->covered && !t->covered[(ptrdiff_t)image * t->words->width + col]))
        return;
    rows->from[rows->count++] = t->out->grad + map_offset(&t->out->map, image, 0, 0, col);
    if (rows->count == ROWS_AT_ONCE)
        add_rows(rows);
}

static void words_gradient(void *context, int chunk, int worker)
{
    const struct words_task *t = context;
    const struct batch_words *s = t->words;
    int padded = words_padded(t), last = (chunk + 1) * WORDS_EACH;
    struct gradient_rows rows = {.task = t, .sum = t->sums + (size_t)worker * (size_t)padded};
    for (int d = chunk * WORDS_EACH; d < last && d < s->different; d++)
        for (int k = 0; k < s->taps; k++) {
            for (int o = 0; o < padded; o++)
                rows.sum[o] = 0;
            for (int i = s->first[d]; i < s->first[d + 1]; i++)
                add_gradient(&rows, s->place[i] / s->width, s->place[i] % s->width - k + s->taps / 2);
            add_rows(&rows);
            for (int o = 0; o < t->w->dim[0]; o++)
                t->grad[((size_t)o * (size_t)s->vocabulary + (size_t)s->word[d]) * (size_t)s->taps + (size_t)k] +=
                    rows.sum[o];
        }
}

static void words_bias(void *context, int image, int worker)
{
    (void)worker;
    const struct words_task *t = context;
    struct gradient_rows rows = {.task = t, .sum = t->dbias + (ptrdiff_t)image * words_padded(t)};
    for (int x = 0; x < t->words->width; x++)
        add_gradient(&rows, image, x);
    add_rows(&rows);
}

/* Returns which places the region of the gradient contains; NULL after a failure. */
static const bool *places_of(struct exec *e, const struct batch_words *s, const struct region *region)
{
    bool *covered = op_alloc(e, (size_t)places(s) * sizeof *covered);
    for (int32_t i = 0; covered && i < places(s); i++)
        covered[i] = false;
    for (int i = 0; covered && i < region->boxes; i++)
        for (int x = region->box[i].col; x < region->box[i].col + region->box[i].cols; x++)
            covered[(ptrdiff_t)region->box[i].image * s->width + x] = true;
    return covered;
}

static void conv_words_backward(struct exec *e, struct node *node)
{
    struct words_node *n = (struct words_node *)node;
    const struct batch_words *s = &n->words;
    struct words_task t = {.kernels = e->kernels, .words = s, .out = node->out, .w = n->w};
    int padded = words_padded(&t), chunks = s->different / WORDS_EACH + 1;
    bool add;
    if (node->out->where && !(t.covered = places_of(e, s, node->out->where)))
        return;
    t.sums = op_scratch(e, (size_t)padded, chunks);
    t.dbias = op_zeros(e, (size_t)s->images * (size_t)padded);
    if (!t.sums || !t.dbias)
        return;
    if (weight_wants(e, n->w)) {
        t.grad = weight_open(n->w, true, &add);
        (void)op_run(e, words_gradient, &t, chunks);
    }
    if (!weight_wants(e, n->b))
        return;
    (void)op_run(e, words_bias, &t, s->images);
    real *grad = weight_open(n->b, true, &add);
    for (int image = 0; image < s->images; image++)
        for (int o = 0; o < n->w->dim[0]; o++)
            grad[o] += t.dbias[(ptrdiff_t)image * padded + o];
}

struct tensor *op_conv_words(struct exec *e, const real *words, int images, int width, int halo_h, struct weight *w,
                             struct weight *b)
{
    double since = op_clock(e);
    if (e->error.code)
        return NULL;
    int channels = w->dim[0], padded = map_padded(channels);
    if (w->rank != 4 || w->dim[2] != 1 || w->dim[3] > TAPS || b->count != (size_t)channels) {
        op_fail(e, STATUS_INTERNAL, "convolution of words: shapes do not fit");
        return NULL;
    }
    struct map_shape shape = {images, channels, 1, width, halo_h, 1};
    struct words_node *n = op_alloc(e, sizeof *n);
    if (n == NULL)
        return NULL;
    *n = (struct words_node){.node.regions = true, .w = w, .b = b};
    n->words = (struct batch_words){.images = images, .width = width, .vocabulary = w->dim[1], .taps = w->dim[3]};
    if (!collect_words(e, words, &n->words))
        return NULL;
    struct words_task t = {.kernels = e->kernels, .words = &n->words, .w = w};
    t.out = op_out_map(e, &shape, weight_wants(e, w) || weight_wants(e, b));
    t.packed = op_reals(e, ((size_t)n->words.different * (size_t)w->dim[3] + 1) * (size_t)padded);
    t.bias = op_zeros(e, (size_t)padded);
    if (t.out == NULL || t.packed == NULL || t.bias == NULL)
        return NULL;
    pad_rows(b->value, 1, channels, t.bias, 1, padded);
    t.split = map_split(&shape, 16);
    if (e->training && (t.moments = op_doubles(e, (size_t)t.split.chunks * 2 * (size_t)padded)) == NULL)
        return NULL;
    (void)op_run(e, pack_words, &t, n->words.different / WORDS_EACH + 1);
    (void)op_run(e, words_forward, &t, t.split.chunks);
    t.out->moments = t.moments;
    t.out->moment_pieces = 16;
    return op_done(e, &n->node, "conv_words", conv_words_backward, t.out, since);
}
