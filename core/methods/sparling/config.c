/* The field table: the one place that knows names, ranges, defaults and meanings. */
#include "core/methods/sparling/config.h"

#include <math.h>
#include <string.h>

#include "core/nn/dilated.h"

static const char *const sparsity_names[] = {"per-channel", "single", "l1", "kl", "noise", "none", "identity", NULL};
static const char *const batch_norm_names[] = {"affine", "plain", "none", NULL};
static const char *const quantile_names[] = {"kth", "interpolated", NULL};
static const char *const objective_names[] = {"labels", "single-motifs", NULL};
static const char *const freeze_names[] = {"nothing", "motifs", NULL};
static const char *const backward_names[] = {"dense", "sparse", "auto", NULL};
static const char *const head_norm_names[] = {"post", "pre", NULL};
static const char *const positions_names[] = {"row", "grid", "learned", NULL};
static const char *const attend_names[] = {"all", "active", NULL};
static const char *const embed_order_names[] = {"embed-then-pool", "pool-then-embed", NULL};
static const char *const motif_scale_names[] = {"none", "rms", NULL};
static const char *const schedule_names[] = {"constant", "cosine", "linear", NULL};
#define DOMAIN_NAME(name, NAME) #name,
static const char *const domain_names[] = {SPARLING_DOMAINS(DOMAIN_NAME) NULL};
static const char *const precision_names[] = {"float", "bf16", NULL};
static const char *const initialisation_names[] = {"uniform", "he", NULL};

#define AT(member) offsetof(struct sparling_config, member)
#define INTEGER(name, preset, low, high, unit, meaning) \
    {#name, FIELD_INT, AT(name), preset, low, high, false, false, NULL, unit, meaning}
#define REAL_IN(name, preset, low, high, low_open, high_open, unit, meaning) \
    {#name, FIELD_REAL, AT(name), preset, low, high, low_open, high_open, NULL, unit, meaning}
#define CLOSED(name, preset, low, high, unit, meaning) REAL_IN(name, preset, low, high, false, false, unit, meaning)
#define FLAG(name, preset, meaning) {#name, FIELD_BOOL, AT(name), preset, 0, 1, false, false, NULL, "", meaning}
#define CHOICE(name, preset, meaning) \
    {#name, FIELD_CHOICE, AT(name), preset, 0, 0, false, false, name##_names, "", meaning}

const struct config_field sparling_fields[SPARLING_FIELDS] = {
    INTEGER(seed, "1", 0, CONFIG_INT_MAX, "", "seed of training data, initial weights and dropout"),
    INTEGER(seeds, "1", 1, 64, "seeds", "a study: this many runs one after another, with seed, seed + 1, ...; their figures and means"),
    INTEGER(threads, "0", 0, 256, "threads", "threads of this job; 0 leaves it to the daemon. Results do not depend on it"),

    CHOICE(domain, "digitcircle", "what samples are drawn from; fields of other domains stay at their defaults"),
    CHOICE(objective, "labels",
           "trained end to end on labels, or (g alone, Appendix K) on samples of one motif with its class; the latter needs "
           "sparsity identity"),
    INTEGER(curriculum, "0", 0, CONFIG_INT_MAX, "samples",
            "training begins with few symbols a sample (digitcircle: 0 or 1; splicing: motifs four times as far apart); they become the domain's over this many samples"),
#define DOMAIN_FIELDS(name, NAME) NAME##_FIELDS,
    SPARLING_DOMAINS(DOMAIN_FIELDS)

    INTEGER(width, "64", 1, 1024, "channels", "width of the motif model g"),
    INTEGER(units, "4", 1, 64, "units", "residual units of g; each widens the window by 4 pixels (4: 17x17)"),
    INTEGER(narrow_units, "0", 0, 32, "units", "residual units of g behind those, with 1x1 kernels"),
    {"motifs", FIELD_INT, AT(channels_motif), "10", 1, 1024, false, false, NULL, "channels",
     "channels of the motif map, one motif each when all goes well"},
    CHOICE(initialisation, "uniform", "first weights of g's 3x3 convolutions: U(+-1/sqrt(fan in)) or U(+-sqrt(6/fan in))"),

    CHOICE(sparsity, "per-channel",
           "the bottleneck: a threshold a motif channel or one for all; ReLU or sigmoid with an L1 or KL penalty; noise; plain "
           "ReLU; or what g's last convolution gives, as it is"),
    CLOSED(sparsity_penalty, "0.1", 0, 1e6, "", "weight of the penalty of sparsity l1 or kl"),
    REAL_IN(kl_rate, "5.02262129e-5", 0, 1, true, true, "", "mean activation that sparsity kl asks for"),
    CHOICE(freeze, "nothing", "what training leaves as it was: nothing, or the weights of the motif model g (its running statistics move)"),
    CHOICE(batch_norm, "affine", "batch norm before the sparse layer: with scale and shift, without, or none"),
    CHOICE(quantile, "kth", "threshold target: the k-th smallest value, or interpolated between neighbours"),
    CHOICE(backward, "auto",
           "backward pass of g: over whole maps, over patches around motifs where statistics are held, or what is faster"),
    CLOSED(hold_below, "0", 0, 1, "", "below this density g's batch norm is held at its running statistics; 0: never"),
    INTEGER(hold_refresh, "50", 0, CONFIG_INT_MAX, "updates", "a stage's first updates still move the statistics"),
    INTEGER(hold_every, "0", 0, CONFIG_INT_MAX, "updates", "and as many do again whenever this many have passed; 0: in the beginning alone"),
    REAL_IN(momentum, "0.9", 0, 1, false, true, "", "share of its old value that a threshold keeps at an update"),
    CLOSED(accumulate_motifs, "0", 0, 1e6, "motifs",
           "collect batches until a channel expects this many motifs before a threshold moves; 0: every batch"),

    REAL_IN(density_start, "0.5", 0, 1, true, false, "", "share of motif map elements above the threshold at first"),
    REAL_IN(density_final, "4.492e-5", 0, 1, true, false, "", "training ends when the next density would be below this"),
    REAL_IN(density_factor, "0.75", 0, 1, true, true, "", "the density is multiplied by this at the end of a stage"),
    CLOSED(target_start, "1", 0, 1, "", "first target of exact-match accuracy that ends a stage"),
    CLOSED(target_min, "0", 0, 1, "", "the target never falls below this"),
    CLOSED(target_max, "1", 0, 1, "", "nor is it above this when tested"),
    CLOSED(target_decay, "1e-7", 0, 1, "1/sample", "the target falls by this much a sample"),
    INTEGER(minimal_spacing, "0", 0, CONFIG_INT_MAX, "samples", "the annealer ignores validations that come sooner"),
    INTEGER(plateau_validations, "0", 0, 100000, "validations",
            "a stage ends too after this many validations without a better loss; 0: never"),
    REAL_IN(plateau_gain, "0.01", 0, 1, false, true, "", "relative fall of the validation loss that counts as better"),
    REAL_IN(plateau_density, "0.01", 0, 1, true, false, "", "plateaus end stages only above this density"),

    CLOSED(revive_below, "0", 0, 1, "", "below this density, channels without which the loss is no higher begin anew; 0: never"),
    CLOSED(revive_density, "8", 1, 1000, "", "such a channel is this many times as dense as the others at first"),
    INTEGER(revive_samples, "3000", 1, CONFIG_INT_MAX, "samples", "and as dense as they after this many"),

    INTEGER(channels, "512", 2, 4096, "channels", "width of the head h"),
    INTEGER(layers, "6", 1, 16, "layers", "transformer layers of the encoder, and as many of the decoder"),
    INTEGER(heads, "8", 1, 64, "heads", "attention heads"),
    INTEGER(feed_forward, "2048", 1, 16384, "channels", "width inside the transformer's feed-forward blocks"),
    INTEGER(pool, "8", 1, 64, "px", "side of the max-pooling window between motif map and head"),
    INTEGER(context, "400", 80, 10000, "positions",
            "how far the head of a label at every position sees, both sides together: 80, 400, 2000 or 10000 (SpliceAI's)"),
    CHOICE(embed_order, "embed-then-pool", "order of the 1x1 embedding and the pooling of the motif map"),
    CHOICE(attend, "all", "cells the head attends to: all (the paper), or only those that hold a motif"),
    CHOICE(motif_scale, "none",
           "motif values reach the head as they are, or divided by their running root mean square"),
    FLAG(lstm, "true", "read each row of the pooled map with a bidirectional LSTM first"),
    CHOICE(positions, "row", "positions of the encoder: sines of the row, of row and column, or learned tables"),
    REAL_IN(position_scale, "0.25", 0, 100, false, false, "", "standard deviation of learned positions at first"),
    CHOICE(head_norm, "post", "layer norm after each block (the paper) or before it"),
    FLAG(identical_layers, "true", "all layers of a stack start with the same weights (the paper's framework does)"),
    CHOICE(precision, "float",
           "what h's large products multiply: floats, or floats rounded to bf16 (8 bits), which some processors do twice as fast"),
    REAL_IN(dropout, "0.1", 0, 1, false, true, "", "dropout of the transformer"),

    INTEGER(batch, "10", 1, 4096, "samples", "samples of one optimiser update"),
    REAL_IN(learning_rate, "1e-5", 0, 1, true, false, "", "Adam's step size"),
    CHOICE(schedule, "constant", "course of the learning rate from its full value to learning_rate_final"),
    REAL_IN(schedule_start, "0", 0, 1, false, true, "", "share of total_samples over which a schedule keeps the full rate"),
    REAL_IN(learning_rate_final, "0.1", 0, 1, false, false, "", "last learning rate of a schedule as a share of the first"),
    INTEGER(warm_up, "0", 0, CONFIG_INT_MAX, "updates", "the learning rate rises linearly over this many updates"),
    REAL_IN(beta1, "0.9", 0, 1, false, true, "", "Adam's decay of the mean gradient"),
    REAL_IN(beta2, "0.999", 0, 1, false, true, "", "Adam's decay of the mean squared gradient"),
    REAL_IN(epsilon, "1e-8", 0, 1, true, false, "", "Adam's guard against division by zero"),
    CLOSED(clip_norm, "0", 0, 1e6, "", "gradients are scaled down to this norm; 0: never"),
    CLOSED(coherence_penalty, "0", 0, 1e6, "", "weight of a penalty on the coherence of g's 3x3 convolutions; 0: none"),

    INTEGER(total_samples, "6000000", 1, CONFIG_INT_MAX, "samples", "cap on training samples; the job then evaluates"),
    INTEGER(checkpoint_every, "20000", 1, CONFIG_INT_MAX, "samples", "training samples between checkpoints"),
    INTEGER(validation_every, "20000", 1, CONFIG_INT_MAX, "samples", "training samples between validations"),
    INTEGER(validation_samples, "10010", 1, 1000000, "samples", "samples of seed -1 in a validation"),
    INTEGER(test_samples, "10000", 1, 1000000, "samples", "samples of seed -2 for the final end-to-end error"),
    INTEGER(motif_samples, "10000", 1, 1000000, "samples", "samples for the final motif errors, the domain's examples 0, 1, 2, ... (digitcircle: raw seeds)"),
    INTEGER(stage_samples, "1000", 0, 1000000, "samples", "samples of either kind for each earlier density; 0: skip them"),
    INTEGER(stage_count, "11", 1, 64, "densities", "how many of the last densities are evaluated"),
    INTEGER(single_samples, "0", 0, 1000000, "samples", "samples of one motif for the single-motif error (Table 2); 0: skip it"),
    INTEGER(binning_samples, "0", 0, 1000000, "samples",
            "samples that calibrate bins of activations, and as many of seed -3 that are read with them (Appendix H); 0: skip it"),
    INTEGER(perturb_samples, "0", 0, 1000000, "samples",
            "rightly read samples of which a motif is moved to another's channel, to see the label follow; 0: skip it"),
    INTEGER(decode_extra, "2", 1, 64, "tokens", "decoding stops this many tokens after the longest label"),
    INTEGER(chance_shuffles, "0", 0, 1000, "shuffles",
            "the motif errors of chance are taken from this many shuffles of the motifs' positions (sequences only); 0: not at all"),
    INTEGER(chance_samples, "200", 1, 100000, "samples", "examples that are shuffled"),
};

const struct config_table sparling_config_table = CONFIG_TABLE(sparling_fields, struct sparling_config);

int sparling_vocabulary(const struct sparling_config *config) { return TOKEN_FIRST + domain_shape(config).tokens; }

int sparling_decode_steps(const struct sparling_config *config)
{
    return domain_shape(config).longest + (int)config->decode_extra;
}

struct sparling_geometry sparling_geometry(const struct sparling_config *config)
{
    struct domain_shape shape = domain_shape(config);
    int pool = (int)config->pool, flat = shape.rows == 1;
    return (struct sparling_geometry){
        .rows = shape.rows,
        .cols = shape.cols,
        .kernel_h = flat ? 1 : 3,
        .kernel_w = 3,
        .pool_h = flat ? 1 : pool,
        .pool_w = pool,
        .grid_rows = flat ? 1 : shape.rows / pool,
        .grid_cols = shape.cols / pool,
        .reach = 4 * (int)config->units, /* windows of 4 units + 1 positions */
    };
}

bool sparling_thresholds(const struct sparling_config *config)
{
    return config->sparsity == SPARSITY_PER_CHANNEL || config->sparsity == SPARSITY_SINGLE;
}

double sparling_last_density(const struct sparling_config *config)
{
    double density = config->density_start;
    while (density * config->density_factor >= config->density_final)
        density *= config->density_factor;
    return density;
}

/* What the dilated head needs; the other one's fields have no effect. */
static void check_dilated(const struct sparling_config *c, const struct method_faults *faults)
{
    if (dilated_units((int)c->context) == 0)
        method_fault(faults, "context", "must be 80, 400, 2000 or 10000; got %.0f", (double)c->context);
}

static void check_head(const struct sparling_config *c, const struct method_faults *faults)
{
    if (domain_shape(c).positions) {
        check_dilated(c, faults);
        return;
    }
    if (c->channels % c->heads != 0)
        method_fault(faults, "heads", "must divide channels (%.0f); got %.0f", (double)c->channels, (double)c->heads);
    if (c->channels % 2 != 0)
        method_fault(faults, "channels", "must be even: half of them are sines, half cosines; got %.0f", (double)c->channels);
    if (c->positions == POSITIONS_GRID && c->channels % 4 != 0)
        method_fault(faults, "channels", "must be a multiple of 4 with grid positions; got %.0f", (double)c->channels);
    if (c->motif_scale == MOTIF_SCALE_RMS && c->embed_order != POOL_THEN_EMBED)
        method_fault(faults, "motif_scale", "rms needs embed_order pool-then-embed");
    struct sparling_geometry map = sparling_geometry(c);
    if (map.grid_rows < 1 || map.grid_cols < 1)
        method_fault(faults, "pool", "must not exceed the %d x %d positions of the motif map; got %.0f", map.rows, map.cols,
                     (double)c->pool);
}

static bool same_value(const struct config_field *field, const void *a, const void *b)
{
    switch (field->type) {
    case FIELD_INT:
    case FIELD_REAL: return config_number(field, a) == config_number(field, b);
    case FIELD_BOOL: return config_bool(field, a) == config_bool(field, b);
    case FIELD_CHOICE:
    case FIELD_TEXT: return strcmp(config_text(field, a), config_text(field, b)) == 0;
    }
    return true;
}

/* What another domain was told has no effect, and is not what the asker thinks. */
static void check_domain(const struct sparling_config *c, const struct method_faults *faults)
{
    const struct domain *own = domain_of(c);
    struct sparling_config defaults = {0};
    size_t count;
    const struct domain *const *all = domains_all(&count);
    if (own->check)
        own->check(c, faults);
    if (config_defaults(&sparling_config_table, &defaults, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; all[i] != own && j < all[i]->field_count; j++)
            if (!same_value(&all[i]->fields[j], c, &defaults))
                method_fault(faults, all[i]->fields[j].name, "belongs to the domain %s; this job's is %s", all[i]->name,
                             own->name);
}

static void check_run(const struct sparling_config *c, const struct method_faults *faults)
{
    struct domain_shape shape = domain_shape(c);
    if (c->units + c->narrow_units > SPARLING_UNITS)
        method_fault(faults, "narrow_units", "must be at most %.0f with %.0f units; got %.0f",
                     (double)(SPARLING_UNITS - c->units), (double)c->units, (double)c->narrow_units);
    if (shape.positions && c->binning_samples > 0)
        method_fault(faults, "binning_samples", "must be 0 with a label at every position; got %.0f", (double)c->binning_samples);
    if (shape.positions && c->perturb_samples > 0)
        method_fault(faults, "perturb_samples", "must be 0 with a label at every position; got %.0f", (double)c->perturb_samples);
    if (c->chance_shuffles > 0 && shape.rows > 1)
        method_fault(faults, "chance_shuffles", "must be 0 where inputs are no sequences; got %.0f", (double)c->chance_shuffles);
    if (c->density_final > c->density_start)
        method_fault(faults, "density_final", "must not exceed density_start (%g); got %g", c->density_start,
              c->density_final);
    if (c->objective == OBJECTIVE_SINGLE_MOTIFS && c->sparsity != SPARSITY_IDENTITY)
        method_fault(faults, "sparsity", "must be identity with objective single-motifs, which trains the scores themselves");
    if ((c->objective == OBJECTIVE_SINGLE_MOTIFS || c->single_samples > 0) && !domain_of(c)->single)
        method_fault(faults, c->objective == OBJECTIVE_SINGLE_MOTIFS ? "objective" : "single_samples",
                     "the domain %s has no samples of one motif", domain_of(c)->name);
    if (c->perturb_samples > 0 && !domain_of(c)->replace)
        method_fault(faults, "perturb_samples", "the domain %s has no perturbation experiment", domain_of(c)->name);
    if (c->objective == OBJECTIVE_SINGLE_MOTIFS && c->single_samples == 0)
        method_fault(faults, "single_samples", "must be above 0 with objective single-motifs: it is all there is to measure");
    if (c->objective == OBJECTIVE_SINGLE_MOTIFS && c->channels_motif < domain_shape(c).symbols)
        method_fault(faults, "motifs", "must be at least the %d symbols of the domain with objective single-motifs; got %.0f",
                     domain_shape(c).symbols, (double)c->channels_motif);
    if (c->target_min > c->target_max)
        method_fault(faults, "target_min", "must not exceed target_max (%g); got %g", c->target_max, c->target_min);
    if (c->validation_every < c->batch)
        method_fault(faults, "validation_every", "must be at least one batch (%.0f); got %.0f", (double)c->batch,
              (double)c->validation_every);
    if (c->checkpoint_every < c->batch)
        method_fault(faults, "checkpoint_every", "must be at least one batch (%.0f); got %.0f", (double)c->batch,
              (double)c->checkpoint_every);
    if (c->total_samples < c->batch)
        method_fault(faults, "total_samples", "must be at least one batch (%.0f); got %.0f", (double)c->batch,
              (double)c->total_samples);
    if (c->backward == BACKWARD_SPARSE && c->hold_below <= 0)
        method_fault(faults, "hold_below", "must be above 0 with backward sparse, which needs held statistics; got %g",
              c->hold_below);
    if (c->hold_below > c->density_start && c->hold_refresh == 0)
        method_fault(faults, "hold_refresh", "must be at least 1 when hold_below (%g) is above density_start (%g)", c->hold_below,
              c->density_start);
    if (c->hold_every > 0 && c->hold_every <= c->hold_refresh)
        method_fault(faults, "hold_every", "must be 0 or above hold_refresh (%.0f); got %.0f", (double)c->hold_refresh,
                     (double)c->hold_every);
    if (c->revive_below > 0 && c->freeze == FREEZE_MOTIFS)
        method_fault(faults, "revive_below", "must be 0 with freeze motifs: channels that begin anew are not left as they were");
    if (c->revive_below > 0 && (c->sparsity != SPARSITY_PER_CHANNEL || c->accumulate_motifs > 0))
        method_fault(faults, "revive_below", "needs sparsity per-channel and accumulate_motifs 0; got %g", c->revive_below);
    if (c->revive_below > 0 && domain_shape(c).positions)
        method_fault(faults, "revive_below", "must be 0 where the label is a class at every position: h has no embedding of motifs; got %g",
              c->revive_below);
    if (c->accumulate_motifs > 0 && !sparling_thresholds(c))
        method_fault(faults, "accumulate_motifs", "has no meaning without thresholds (sparsity per-channel, single); got %g",
              c->accumulate_motifs);
}

void sparling_check(const void *config, const struct method_faults *faults)
{
    const struct sparling_config *c = config;
    check_domain(c, faults);
    check_head(c, faults);
    check_run(c, faults);
}
