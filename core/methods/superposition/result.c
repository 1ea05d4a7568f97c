/* Writes the members of a result: the figures of the model, and in `curve` what theory predicts for other ratios. */
#include <math.h>

#include "core/methods/superposition/run.h"
#include "core/methods/superposition/run_int.h"

static void write_theory(const struct sink *out, const struct superposition_setup *c)
{
    double sigma = setup_sigma(c);
    struct theory_optimum best = theory_optimum(c->p, sigma);
    sink_number(out, "analytic_loss", best.loss);
    sink_number(out, "linear_loss", theory_linear(c->p, setup_ratio(c)));
    sink_number(out, "bayes_bound", theory_bayes(c->p, sigma));
    sink_number(out, "oracle_bound", theory_oracle(c->p, sigma));
    sink_number(out, "pairs_loss", theory_pairs(c->p, setup_ratio(c)));
    sink_number(out, "cut_loss", theory_cut(c->p, sigma).loss);
    sink_number(out, "a", best.scale);
    sink_number(out, "b", best.scale * best.offset);
    sink_number(out, "sigma", sigma);
}

static void write_printed(const struct sink *out, const struct superposition_setup *c)
{
    sink_begin_object(out, "as_printed"); /* the formulas as the paper and its code print them, errors included */
    sink_number(out, "linear_loss", theory_linear_printed(c->p, c->n_s, c->n_d));
    sink_number(out, "blind_loss", theory_blind_printed(c->p));
    sink_number(out, "oracle_bound", theory_oracle_printed(c->p, setup_sigma(c)));
    sink_number(out, "upper_bound", theory_upper(c->p, setup_sigma(c)));
    sink_end_object(out);
    sink_number(out, "blind_loss", theory_variance(c->p));
}

static void write_measured(const struct sink *out, const struct superposition_setup *c, const struct outcome *o)
{
    sink_number(out, "loss", o->loss);
    sink_number(out, "loss_error", o->error);
    if (c->model == MODEL_RUG) {
        sink_number(out, "loss_low", o->low);
        sink_number(out, "loss_high", o->high);
    }
    sink_number(out, "gap", o->loss / setup_predicted(c) - 1);
    if (c->model == MODEL_TRAINED) {
        sink_number(out, "train_loss", o->train_loss);
        sink_integer(out, "updates", o->updates);
        sink_integer(out, "trained_samples", o->samples);
        sink_number(out, "active", o->active);
    }
}

static void write_features(const struct sink *out, const struct statistics *s)
{
    sink_number(out, "diagonal_mean", s->kept_diagonal_mean);
    sink_number(out, "diagonal_sd", s->kept_diagonal_sd);
    sink_number(out, "bias_mean", s->kept_bias_mean);
    sink_number(out, "bias_sd", s->kept_bias_sd);
    sink_number(out, "dropped", s->dropped);
    sink_number(out, "lyapunov", s->lyapunov);
}

static void write_statistics(const struct sink *out, const struct statistics *s)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"diagonal_mean_all", s->diagonal_mean},
               {"diagonal_sd_all", s->diagonal_sd},
               {"bias_mean_all", s->bias_mean},
               {"bias_sd_all", s->bias_sd},
               {"off_mean", s->off_mean},
               {"off_sd", s->off_sd},
               {"off_skewness", s->off_skewness},
               {"off_min", s->off_min},
               {"off_max", s->off_max},
               {"row_sum", s->row_sum},
               {"noise", s->noise},
               {"noise_variance", s->noise_variance},
               {"noise_variance_code", s->noise_variance_code},
               {"mean_variance", s->mean_variance},
               {"mean_variance_code", s->mean_variance_code},
               {"saturation", s->saturation},
               {"lyapunov_kept", s->kept_lyapunov},
               {"lyapunov_code", s->lyapunov_code},
               {"symmetric_norm", s->symmetric},
               {"antisymmetric_norm", s->antisymmetric},
               {"kolmogorov", s->kolmogorov},
               {"kolmogorov_p", s->kolmogorov_p}};
    sink_begin_object(out, "statistics");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        sink_number(out, all[i].name, all[i].value);
    sink_end_object(out);
}

/* Writes the closed forms and bounds for the job's p and several ratios n_d / n_s, beside which its loss can be drawn.
 */
static void write_curve(const struct sink *out, double p)
{
    enum { POINTS = 20 };
    sink_begin_list(out, "curve");
    for (int i = 1; i < POINTS; i++) {
        double ratio = (double)i / POINTS, sigma = theory_sigma(p, ratio);
        sink_begin_object(out, NULL);
        sink_number(out, "ratio", ratio);
        sink_number(out, "analytic_loss", theory_optimum(p, sigma).loss);
        sink_number(out, "cut_loss", theory_cut(p, sigma).loss);
        sink_number(out, "linear_loss", theory_linear(p, ratio));
        sink_number(out, "pairs_loss", theory_pairs(p, ratio));
        sink_number(out, "bayes_bound", theory_bayes(p, sigma));
        sink_number(out, "oracle_bound", theory_oracle(p, sigma));
        sink_end_object(out);
    }
    sink_end_list(out);
}

/* Describes the uploaded features. */
static void write_features_of_data(const struct sink *out, const struct method_run *run)
{
    const struct features *f = &run->features;
    if (!superposition_uploaded(&run->config))
        return;
    sink_begin_object(out, "data");
    sink_integer(out, "rows", f->rows.count);
    sink_integer(out, "test_rows", rows_test_count(&f->rows));
    sink_integer(out, "features", f->rows.inputs);
    sink_number(out, "p", f->p);
    sink_number(out, "scale", f->scale);
    sink_number(out, "variance", f->variance);
    scale_write(&f->columns, "columns", rows_names(&f->rows), out);
    sink_end_object(out);
}

enum status superposition_result(struct method_run *run, const struct sink *out, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    const struct outcome *o = &run->outcome;
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    write_measured(out, c, o);
    write_theory(out, c);
    write_printed(out, c);
    write_features(out, &o->statistics);
    write_statistics(out, &o->statistics);
    write_features_of_data(out, run);
    sink_integer(out, "seed", run->config.seed);
    sink_integer(out, "test_seed", run->base.evaluation_seed);
    sink_integer(out, "samples", run->base.evaluation_samples);
    if (!run->base.alone)
        write_curve(out, c->p);
    if (superposition_uploaded(&run->config))
        return rows_division(&run->features.rows, out, err);
    return STATUS_OK;
}

/* The verdict of a superposition run: whether training ended near the loss that theory predicts.
 *
 * A trained model is compared with two losses that need no training: the variance of a feature, which a model without
 * weights reaches, and the closed form of the best ReLU model. Uploaded features are compared with their
 * variance only, because the closed form assumes features that are independent and alike. Rugs and linear maps are
 * computed, not trained, so their verdict is always `learned`. */

/* Number of standard errors by which a loss must lie below the variance of a feature. */
static const double SURE = 3;
/* A trained model is stuck if its loss is above this multiple of the closed form. The losses of the trained models in
 * docs/lab/superposition.md are at most 1.1 times the closed form. Stuck models had 4.6 and 9.7 times the closed
 * form. */
static const double STUCK = 1.5, USUAL = 1.1;
/* The closed form does not apply if samples have fewer active features than this (docs/lab/superposition.md,
 * "Rugs"). */
static const double ACTIVE = 5;

enum { TRIVIAL, ABOVE, ARTIFACT };
const struct finding_code superposition_findings[SUPERPOSITION_FINDINGS] = {
    [TRIVIAL] = {"trivial-loss", FINDING_ERROR, VERDICT_NOT_LEARNED,
                 "The trained model is no better than the mean of the data.",
                 "motifctl submit --like JOB --from JOB --set learning_rate=1e-2"},
    [ABOVE] = {"above-closed-form", FINDING_WARNING, VERDICT_PARTLY,
               "The trained model has at least 1.5 times the loss of the closed form.",
               "motifctl submit --like JOB --set stop=never --set learning_rate=1e-2"},
    [ARTIFACT] = FINDING_ARTIFACT_FAILED,
};

enum status superposition_judge(struct method_run *run, struct findings *findings, struct error *err)
{
    const struct superposition_setup *c = &run->setup;
    const struct outcome *o = &run->outcome;
    if (run->base.phase != MODEL_RUN_DONE)
        return error_set(err, STATUS_CONFLICT, NULL, "the run has not been evaluated yet");
    double share = o->loss / setup_predicted(c);
    bool trained = c->model == MODEL_TRAINED;
    bool applies = c->p * c->n_s >= ACTIVE && !superposition_uploaded(&run->config);
    if (trained && !(o->loss + SURE * o->error < setup_blind(run, c)))
        findings_add(findings, &superposition_findings[TRIVIAL],
                     "The loss is %.4g, no lower than the variance of a feature: the model answers the mean, whatever "
                     "the input.",
                     o->loss);
    else if (trained && applies && share > STUCK)
        findings_add(findings, &superposition_findings[ABOVE],
                     "The loss is %.1f times that of the closed form (n_s = %d, n_d = %d, p = %g); trained models "
                     "usually reach %g times.",
                     share, c->n_s, c->n_d, c->p, USUAL);
    publish_findings(&run->base.findings, &superposition_findings[ARTIFACT], findings);
    return STATUS_OK;
}
