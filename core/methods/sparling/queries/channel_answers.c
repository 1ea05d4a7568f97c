/* Answers the queries "channels" and "channels/{channel}" as JSON: the statistics of top_activations.h and, for DNA and
 * RNA, the matrices of core/methods/sparling/genomics. */
#include "core/methods/sparling/genomics/hooks.h"
#include "core/methods/sparling/queries/top_activations.h"

static const char *symbol_name(const struct top_activations *s, int symbol)
{
    const struct open_domain *domain = &s->model->domain;
    return symbol >= 0 ? domain->domain->symbol(domain->state, symbol) : NULL;
}

static void write_text(const struct sink *out, const char *key, const char *text)
{
    if (text)
        sink_text(out, key, text);
    else
        sink_null(out, key);
}

static void write_histogram(const struct top_activations_channel *c, const struct sink *out)
{
    sink_begin_object(out, "histogram");
    sink_begin_list(out, "edges");
    for (int i = 0; i <= TOP_ACTIVATIONS_BINS; i++)
        sink_number(out, NULL, c->range * i / TOP_ACTIVATIONS_BINS);
    sink_end_list(out);
    sink_begin_list(out, "counts");
    for (int i = 0; i < TOP_ACTIVATIONS_BINS; i++)
        sink_integer(out, NULL, c->bin[i]);
    sink_end_list(out);
    sink_end_object(out);
}

/* Writes how many motifs of a channel lie on each symbol, in the domain's order. The last entry has no name and counts
 * the motifs outside all boxes. */
static void write_symbols(const struct top_activations *s, const struct top_activations_channel *c,
                          const struct sink *out)
{
    if (!s->truth || !s->sparse) {
        sink_null(out, "symbols");
        return;
    }
    sink_begin_list(out, "symbols");
    for (int i = 0; i <= s->symbols; i++) {
        if (c->symbol[i] == 0)
            continue;
        sink_begin_object(out, NULL);
        write_text(out, "symbol", symbol_name(s, i < s->symbols ? i : -1));
        sink_integer(out, "count", c->symbol[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
}

static void write_use(const struct top_activations *s, const struct channel_matrices *matrices, int channel,
                      const struct sink *out)
{
    const struct top_activations_channel *c = &s->channel[channel];
    int64_t most;
    sink_integer(out, "channel", channel);
    channel_name_write(s->model->names ? &s->model->names[channel] : NULL, &s->model->domain, out);
    channel_places_describe(&s->model->places, channel, out);
    sink_integer(out, "active", c->active);
    sink_integer(out, "inputs", c->inputs);
    if (s->sparse)
        sink_integer(out, "motifs", c->motifs);
    else
        sink_null(out, "motifs");
    sink_number(out, "mean", c->active > 0 ? c->sum / (double)c->active : 0);
    sink_number(out, "max", (double)c->most);
    write_text(out, "symbol", symbol_name(s, top_activations_symbol(s, c, &most)));
    write_symbols(s, c, out);
    if (matrices)
        sparling_genomics.matrix_write(matrices, channel, out);
    else
        sink_null(out, "matrix");
}

static void write_top(const struct top_activations *s, const struct top_activations_top *top, const struct sink *out)
{
    const struct domain_shape *shape = &s->model->domain.shape;
    const struct motif *at = &top->at;
    int rows = shape->rows > 1 ? s->half : 0;
    const int window[4] = {at->row - rows > 0 ? at->row - rows : 0,
                           at->row + rows < shape->rows ? at->row + rows + 1 : shape->rows,
                           at->col - s->half > 0 ? at->col - s->half : 0,
                           at->col + s->half < shape->cols ? at->col + s->half + 1 : shape->cols};
    sink_begin_object(out, NULL);
    sink_integer(out, "sample", top->sample);
    sink_begin_list(out, "position");
    sink_integer(out, NULL, at->row);
    sink_integer(out, NULL, at->col);
    sink_end_list(out);
    sink_number(out, "value", (double)at->value);
    write_text(out, "symbol", symbol_name(s, top->symbol));
    sink_begin_list(out, "window");
    for (int i = 0; i < 4; i++)
        sink_integer(out, NULL, window[i]);
    sink_end_list(out);
    sink_end_object(out);
}

static void write_all(const struct top_activations *s, const struct channel_matrices *matrices, const struct sink *out)
{
    int64_t unused = 0;
    sink_begin_list(out, "channels");
    for (int i = 0; i < s->channels; i++) {
        unused += s->channel[i].active == 0;
        sink_begin_object(out, NULL);
        write_use(s, matrices, i, out);
        sink_end_object(out);
    }
    sink_end_list(out);
    sink_integer(out, "unused", unused);
}

/* The queries "channels" and "channels/{channel}". */
enum status sparling_channels(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct top_activations s;
    struct channel_matrices *matrices = NULL;
    enum status status = top_activations_take(question, &s, err);
    if (!status && sparling_genomics.matrices_create)
        status = sparling_genomics.matrices_create(question, &s, &matrices, err);
    if (!status) {
        sink_text(out, "set", channel_sets[s.asked.set]);
        sink_integer(out, "first", s.asked.first);
        sink_integer(out, "samples", s.asked.samples);
        sink_integer(out, "footprint", 2 * s.half + 1);
        sink_integer(out, "elements",
                     s.asked.samples * (int64_t)domain_positions(&s.model->domain.shape)); /* elements of one channel */
        alphabet_write(s.alphabet, "alphabet", out); /* the rows of the matrices are the symbols of this alphabet */
    }
    if (!status && question->item < 0)
        write_all(&s, matrices, out);
    if (!status && question->item >= 0) {
        const struct top_activations_channel *c = &s.channel[question->item];
        write_use(&s, matrices, (int)question->item, out);
        write_histogram(c, out);
        sink_begin_list(out, "top");
        for (int i = 0; i < c->count; i++)
            write_top(&s, &c->top[i], out);
        sink_end_list(out);
    }
    if (matrices)
        sparling_genomics.matrices_destroy(matrices);
    top_activations_close(&s);
    return status;
}
