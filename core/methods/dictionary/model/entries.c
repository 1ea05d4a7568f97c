/* Functions on the entries of a step that several files of this folder call (step.h, step_int.h). */
#include <string.h>

#include "core/methods/dictionary/model/step_int.h"

int step_active(const struct step *s, int row)
{
    int active = 0;
    for (int i = s->codes.start[row]; i < s->codes.start[row] + s->codes.count[row]; i++)
        active += s->codes.value[i] != 0;
    return active;
}

double step_sparsity(const struct step *s)
{
    const struct sae *sae = s->sae;
    return sae->tuner ? sae->shape.sparsity * s->warm * (double)sae->tuner->value[TUNER_FACTOR] : 0;
}

void step_by_latent(const struct step *s, const struct entries *rows, int first, int count, int picks,
                    struct entries *columns)
{
    int m = s->sae->shape.width, at = 0;
    memset(columns->count, 0, (size_t)m * sizeof *columns->count);
    for (int r = first; r < first + count; r++)
        for (int i = rows->start[r]; i < rows->start[r] + rows->count[r]; i++)
            columns->count[rows->index[i]]++;
    for (int j = 0; j < m; j++) {
        columns->start[j] = at;
        at += columns->count[j];
        columns->count[j] = 0;
    }
    columns->total = at;
    for (int r = first; r < first + count; r++)
        for (int i = rows->start[r]; i < rows->start[r] + rows->count[r]; i++) {
            int j = rows->index[i], to = columns->start[j] + columns->count[j]++;
            columns->index[to] = picks > 0 ? (r - first) * picks + i - rows->start[r] : r;
            columns->value[to] = rows->value[i];
            columns->slope[to] = rows->slope[i];
            if (columns->edge)
                columns->edge[to] = rows->edge[i];
        }
}
