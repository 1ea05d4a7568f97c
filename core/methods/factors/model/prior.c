/* The priors of the decoder's mask (prior.h): E-steps, scales of the horseshoe, penalties and the mask itself. */
#include "core/methods/factors/model/prior.h"

#include <math.h>

static const double PRIOR_ZERO = 0.01;

double prior_odds(const struct prior *prior, double w, double rate)
{
    double against = exp(-(prior->lambda0 - prior->lambda1) * fabs(w));
    if (prior->normalised)
        against *= prior->lambda0 / prior->lambda1;
    return rate / (rate + (1 - rate) * against);
}

double prior_rate(double sum, int features)
{
    return sum / (2.0 * features - 1);
}

static void spike_slab_update(const struct prior *prior, struct latent_model *m)
{
    int g = m->shape.features, k = m->shape.latent;
    for (int c = 0; c < k; c++) {
        double sum = 0, rate = (double)m->rate->value[c];
        for (int j = 0; j < g; j++) {
            ptrdiff_t at = (ptrdiff_t)j * k + c;
            double p = prior_odds(prior, (double)m->mask->value[at], rate);
            m->odds->value[at] = (float)p;
            sum += p;
        }
        m->rate->value[c] = (float)fmax(prior_rate(sum, g), 1e-10);
    }
}

/* Updates tau^2 of each entry, v^2 of each column, and then the two global scales. Each update uses the new values of
 * the quantities before it in this list. */
static void horseshoe_update(struct latent_model *m)
{
    int g = m->shape.features, k = m->shape.latent;
    float *scales = m->scales->value;
    double local = (double)scales[0], global = (double)scales[1], taus = 0, vs = 0;
    for (int c = 0; c < k; c++) {
        double v = (double)m->rate->value[c], sum = 0;
        for (int j = 0; j < g; j++) {
            ptrdiff_t at = (ptrdiff_t)j * k + c;
            double square = (double)m->mask->value[at] * (double)m->mask->value[at];
            double tau = fmax(0.5 * (square / (2 * v) + 1 / local), 1e-10);
            m->odds->value[at] = (float)tau;
            sum += square / (2 * tau);
            taus += 1 / tau;
        }
        v = fmax(2.0 / (g + 3) * (sum + 1 / global), 1e-10);
        m->rate->value[c] = (float)v;
        vs += 1 / v;
    }
    scales[0] = (float)(2.0 / ((double)g * k + 3) * (taus + 1));
    scales[1] = (float)(2.0 / (k + 3) * (vs + 1));
}

void prior_update(const struct prior *prior, struct latent_model *model)
{
    if (!model->mask || prior->kind == PRIOR_NONE)
        return;
    if (prior->kind == PRIOR_HORSESHOE)
        horseshoe_update(model);
    else
        spike_slab_update(prior, model);
}

int prior_coefficients(const struct prior *prior, const struct latent_model *model, float *coefficients)
{
    const struct latent_model *m = model;
    int k = m->shape.latent;
    if (!m->mask || prior->kind == PRIOR_NONE)
        return 0;
    for (size_t i = 0; i < m->mask->count; i++) {
        double p = (double)m->odds->value[i];
        coefficients[i] = prior->kind == PRIOR_HORSESHOE ? (float)(0.5 / (p * (double)m->rate->value[i % (size_t)k]))
                                                         : (float)(prior->lambda1 * p + prior->lambda0 * (1 - p));
    }
    return prior->kind == PRIOR_HORSESHOE ? 2 : 1;
}

/* Norm of column k of feature j's matrix. */
static double group_norm(const struct latent_model *m, int j, int k)
{
    double squares = 0;
    for (int q = 0; q < m->shape.group; q++) {
        double w = (double)m->group->value[((ptrdiff_t)j * m->shape.group + q) * m->shape.latent + k];
        squares += w * w;
    }
    return sqrt(squares);
}

void prior_shrink_groups(struct latent_model *model, double by)
{
    int k = model->shape.latent, p = model->shape.group;
    for (int j = 0; j < model->shape.features; j++)
        for (int c = 0; c < k; c++) {
            double norm = group_norm(model, j, c), factor = norm > by ? 1 - by / norm : 0;
            for (int q = 0; q < p; q++) {
                float *w = &model->group->value[((ptrdiff_t)j * p + q) * k + c];
                *w = (float)((double)*w * factor);
            }
        }
}

/* Writes one number for each feature and latent variable: the entry of W or, if the features have group matrices
 * (OI-VAE), the norm of the column of the feature's matrix. weights: [features * latent]. */
static void weights_of(const struct latent_model *model, float *weights)
{
    int k = model->shape.latent, count = model->shape.features * k;
    for (int i = 0; i < count; i++)
        weights[i] = model->group ? (float)group_norm(model, i / k, i % k) : model->mask->value[i];
}

void prior_reach(const struct latent_model *model, float *reach)
{
    int k = model->shape.latent;
    weights_of(model, reach);
    for (int c = 0; !model->group && c < k; c++) {
        double squares = 0;
        for (int h = 0; h < model->shape.hidden; h++)
            squares += pow((double)model->first->value[(ptrdiff_t)h * k + c], 2);
        for (int j = 0; j < model->shape.features; j++)
            reach[(ptrdiff_t)j * k + c] *= (float)sqrt(squares);
    }
}

void prior_mask(const struct prior *prior, const struct latent_model *model, float *mask)
{
    int count = model->shape.features * model->shape.latent;
    bool odds = prior->kind == PRIOR_SPIKE_SLAB && prior->lambda0 > prior->lambda1;
    weights_of(model, mask);
    for (int i = 0; i < count; i++) {
        bool spike = !model->group && odds && model->odds->value[i] < 0.5f;
        if (fabs((double)mask[i]) < PRIOR_ZERO || spike)
            mask[i] = 0;
    }
}
