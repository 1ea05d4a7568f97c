/* The configuration table of SPARLING, what follows from a configuration, and the checks that concern several fields.
 *
 * fields.inc declares each field once. Validation, OpenAPI, the form and the documents read the table. */
#include "core/methods/sparling/config.h"

#include <math.h>
#include <string.h>

#include "core/autodiff/ops.h"
#include "core/nn/dilated.h"

static const char *const sparsity_names[] = {"per-channel", "single",   "l1",        "kl", "noise",
                                             "none",        "identity", "scaled-l1", NULL};
static const char *const batch_norm_names[] = {"affine", "plain", "none", NULL};
static const char *const quantile_names[] = {"kth", "interpolated", NULL};
static const char *const objective_names[] = {"labels", "single-motifs", NULL};
static const char *const freeze_names[] = {"nothing", "motifs", NULL};
static const char *const backward_names[] = {"dense", "sparse", "auto", NULL};
static const char *const head_norm_names[] = {"post", "pre", NULL};
static const char *const positions_names[] = {"row", "grid", "learned", "none", NULL};
static const char *const attend_names[] = {"all", "active", NULL};
static const char *const embed_order_names[] = {"embed-then-pool", "pool-then-embed", NULL};
static const char *const strands_names[] = {"one", "both", NULL};
static const char *const motif_scale_names[] = {"none", "rms", NULL};
static const char *const schedule_names[] = {"constant", "cosine", "linear", NULL};
#define DOMAIN_NAME(name) #name,
static const char *const domain_names[] = {SPARLING_DOMAINS(DOMAIN_NAME) NULL};
static const char *const precision_names[] = {"float", "bf16", NULL};
static const char *const scale_names[] = {"decibels", "units", NULL}; /* of audio */
static const char *const effort_names[] = {"quick", "normal", "thorough", NULL};

#define FIELD_STRUCT struct sparling_config

const struct config_field sparling_fields[SPARLING_FIELDS] = {
#define FIELDS_FILE "core/methods/sparling/fields.inc"
#include "core/methods/shared/field_rows.inc"
};

const struct config_table sparling_config_table = CONFIG_TABLE(sparling_fields, struct sparling_config);

int sparling_vocabulary(const struct sparling_config *config)
{
    return TOKEN_FIRST + domain_shape(config).tokens;
}

int sparling_decode_steps(const struct sparling_config *config)
{
    return domain_shape(config).longest + (int)config->decode_extra;
}

int sparling_dilation(const struct sparling_config *config, int unit)
{
    double distance = pow((double)config->dilation, unit);
    return distance < SPARLING_DILATION ? (int)distance : SPARLING_DILATION;
}

/* By how many positions the residual units widen the window of g: each of their two convolutions reads the distance
 * between its taps on both sides. */
static int units_reach(const struct sparling_config *config, bool flat)
{
    int reach = 0;
    for (int i = 0; i < (int)config->units; i++)
        reach += 4 * (flat ? sparling_dilation(config, i) : 1);
    return reach;
}

struct sparling_geometry sparling_geometry(const struct sparling_config *config)
{
    struct domain_shape shape = domain_shape(config);
    int pool = (int)config->pool, flat = shape.rows == 1, stride = (int)config->stride;
    return (struct sparling_geometry){
        .rows = shape.rows,
        .cols = shape.cols,
        .stride = stride,
        .inner_rows = blocks_of(shape.rows, stride),
        .inner_cols = blocks_of(shape.cols, stride),
        .first_h = flat ? 1 : (int)config->first_window,
        .first_w = (int)config->first_window,
        .kernel_h = flat ? 1 : 3,
        .kernel_w = 3,
        .max_pool_h = flat ? 1 : pool,
        .max_pool_w = pool,
        .grid_rows = flat ? 1 : shape.rows / pool,
        .grid_cols = shape.cols / pool,
        .reach = stride * (units_reach(config, flat) + (int)config->first_window - 1) + 2 * (stride - 1),
    };
}

bool sparling_thresholds(const struct sparling_config *config)
{
    return config->sparsity == SPARSITY_PER_CHANNEL || config->sparsity == SPARSITY_SINGLE;
}

bool sparling_collects(const struct sparling_config *config)
{
    return sparling_thresholds(config) && (config->accumulate_motifs > 0 || config->accumulate_elements > 0);
}

bool sparling_reinitialises(const struct sparling_config *config)
{
    return config->reinitialise_below > 0 && config->sparsity == SPARSITY_PER_CHANNEL && !sparling_collects(config) &&
           config->freeze == FREEZE_NOTHING;
}

bool sparling_guided(const struct sparling_config *config)
{
    bool labels = config->objective == OBJECTIVE_LABELS && !domain_shape(config).positions;
    return labels && config->presence_weight > 0 && config->sparsity != SPARSITY_IDENTITY;
}

int sparling_parts(const struct sparling_config *config)
{
    bool several = config->presence_samples > 0 && sparling_uneven(config) && sparling_guided(config);
    int64_t parts = several ? config->channels_per_name : 1;
    return (int)(parts < config->channels_motif ? parts : config->channels_motif);
}

int sparling_presence_names(const struct sparling_config *config)
{
    struct domain_shape shape = domain_shape(config);
    if (!sparling_guided(config) || shape.numbers > 0)
        return 0;
    int most = (int)config->channels_motif / sparling_parts(config);
    return shape.tokens < most ? shape.tokens : most;
}

bool sparling_presence_alone(const struct sparling_config *config)
{
    return config->presence_samples > 0 && sparling_guided(config);
}

bool sparling_uneven(const struct sparling_config *config)
{
    return config->density_by_name && config->sparsity == SPARSITY_PER_CHANNEL && !sparling_collects(config) &&
           config->objective == OBJECTIVE_LABELS && !domain_shape(config).positions &&
           domain_shape(config).numbers == 0;
}

/* Returns the number of stages and sets *density to that of the last stage. Counts no further than SPARLING_STAGES + 1,
 * because sparling_check() refuses longer schedules. */
static int follow_schedule(const struct sparling_config *config, double *density)
{
    int stages = 1;
    for (*density = config->density_start;
         stages <= SPARLING_STAGES && *density * config->density_factor >= config->density_final; stages++)
        *density *= config->density_factor;
    return stages;
}

double sparling_last_density(const struct sparling_config *config)
{
    double density;
    (void)follow_schedule(config, &density);
    return density;
}

double sparling_reading(const struct sparling_config *config)
{
    if (config->objective == OBJECTIVE_SINGLE_MOTIFS)
        return 0;
    double most = config->reading_inputs > 0 ? SPARLING_READING_KEPT : SPARLING_READING;
    return floor(fmin((double)config->reading_samples, most * (double)config->total_samples));
}

double sparling_reading_time(const struct sparling_config *config, double samples)
{
    static const double computed = 1 / 3.0, kept = 1 / 15.0; /* a sample whose map g computes, or whose map is kept */
    double first = config->reading_inputs > 0 ? fmin(samples, (double)config->reading_inputs) : samples;
    return computed * first + kept * (samples - first);
}

double sparling_cached_values(const struct sparling_config *config, double inputs)
{
    enum { FEW = 16 };
    struct sparling_geometry map = sparling_geometry(config);
    double all = (double)map.rows * map.cols * (double)config->channels_motif;
    return inputs * fmin(all, 4 * sparling_last_density(config) * all + FEW);
}

int sparling_stages(const struct sparling_config *config)
{
    double density;
    return follow_schedule(config, &density);
}

/* Checks the fields of a configuration with the dilated head, where the fields of the transformer have no effect. */
static void check_dilated(const struct sparling_config *c, const struct method_faults *faults)
{
    if (dilated_units((int)c->context) == 0)
        method_fault(faults, "context", "must be 80, 400, 2000 or 10000; got %.0f", (double)c->context);
}

/* Extents, and the memory for them, grow with the window of g. Whether data have one row may not be known yet. */
static void check_window(const struct sparling_config *c, const struct method_faults *faults)
{
    int64_t window = c->stride * (units_reach(c, true) + c->first_window);
    if (c->units + c->narrow_units > SPARLING_UNITS)
        method_fault(faults, "narrow_units", "must be at most %.0f with %.0f units; got %.0f",
                     (double)(SPARLING_UNITS - c->units), (double)c->units, (double)c->narrow_units);
    if (window > SPARLING_WINDOW)
        method_fault(faults, "dilation", "must give g a window of at most %d positions; with %.0f units it has %.0f",
                     SPARLING_WINDOW, (double)c->units, (double)window);
    if (c->stride > 1 && domain_shape(c).rows == 1)
        method_fault(faults, "stride", "must be 1 for data of one row; got %.0f", (double)c->stride);
    if (c->stride > 1 && !sparling_thresholds(c))
        method_fault(faults, "stride", "may be above 1 only with sparsity per-channel or single; got %.0f",
                     (double)c->stride);
    if (c->first_window % 2 == 0)
        method_fault(faults, "first_window", "must be odd; got %.0f", (double)c->first_window);
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
        method_fault(faults, "channels",
                     "must be even, because half of the position encoding is sines and half cosines; got %.0f",
                     (double)c->channels);
    if (c->positions == POSITIONS_GRID && c->channels % 4 != 0)
        method_fault(faults, "channels", "must be a multiple of 4 with positions grid; got %.0f", (double)c->channels);
    if (c->motif_scale == MOTIF_SCALE_RMS && c->embed_order != POOL_THEN_EMBED)
        method_fault(faults, "motif_scale", "may be rms only with embed_order pool-then-embed");
    if (c->motif_floor > 0 && c->motif_scale != MOTIF_SCALE_RMS)
        method_fault(faults, "motif_floor", "may be above 0 only with motif_scale rms");
    if (c->rank_positions && c->attend != ATTEND_ACTIVE)
        method_fault(faults, "rank_positions", "may be true only with attend active");
    struct sparling_geometry map = sparling_geometry(c);
    if (map.grid_rows < 1 || map.grid_cols < 1)
        method_fault(faults, "pool", "must not exceed the %d x %d positions of the motif map; got %.0f", map.rows,
                     map.cols, (double)c->pool);
}

/* Runs the check of the configured domain. Reports fields of other domains that differ from their defaults, because
 * they have no effect and are probably mistakes. */
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
    for (size_t i = 0; i < SPARLING_FIELDS; i++) {
        const struct config_field *field = &sparling_fields[i];
        size_t k = 0;
        while (k < count && field->offset - all[k]->place >= all[k]->bytes)
            k++;
        if (k < count && all[k] != own && !config_same(field, c, &defaults))
            method_fault(faults, field->name,
                         "belongs to the domain %s, but this job has domain %s; remove the field or change the domain",
                         all[k]->name, own->name);
    }
}

static void check_run(const struct sparling_config *c, const struct method_faults *faults)
{
    struct domain_shape shape = domain_shape(c);
    if (c->strands == STRANDS_BOTH && (shape.rows != 1 || shape.channels != 4 || strcmp(domain_of(c)->name, "dataset")))
        method_fault(
            faults, "strands",
            "may be both only for an uploaded data set of DNA (four channels, one row); got %d channels and %d "
            "rows",
            shape.channels, shape.rows);
    if (c->matrix_scores && (shape.rows != 1 || shape.channels != 4))
        method_fault(faults, "matrix_scores",
                     "may be true only for DNA or RNA (four channels, one row); got %d channels and %d rows",
                     shape.channels, shape.rows);
    if (c->matrix_scores && c->strands == STRANDS_BOTH)
        method_fault(faults, "matrix_scores",
                     "must be false with strands=both, because matrices give one score for both strands");
    if (c->matrix_scores && !c->calibrate)
        method_fault(faults, "matrix_scores",
                     "must be false with calibrate=false, because the calibration fits matrices");
    check_window(c, faults);
    if (shape.positions && c->binning_samples > 0)
        method_fault(faults, "binning_samples", "must be 0 with a label at every position; got %.0f",
                     (double)c->binning_samples);
    if (shape.positions && c->perturb_samples > 0)
        method_fault(faults, "perturb_samples", "must be 0 with a label at every position; got %.0f",
                     (double)c->perturb_samples);
    if (shape.numbers > 0 && c->binning_samples > 0)
        method_fault(faults, "binning_samples", "must be 0 with numbers as targets; got %.0f",
                     (double)c->binning_samples);
    if (c->chance_shuffles > 0 && shape.rows > 1)
        method_fault(faults, "chance_shuffles",
                     "must be 0 in a domain of images, because only positions in sequences are shuffled; got %.0f",
                     (double)c->chance_shuffles);
    if (c->density_final > c->density_start)
        method_fault(faults, "density_final", "must not exceed density_start (%g); got %g", c->density_start,
                     c->density_final);
    else if (sparling_stages(c) > SPARLING_STAGES)
        method_fault(
            faults, "density_factor",
            "makes about %.0f stages from density_start %g to density_final %g; at most %d are allowed, so set "
            "a smaller density_factor or a larger density_final; got %g",
            ceil(log(c->density_final / c->density_start) / log(c->density_factor)), c->density_start, c->density_final,
            SPARLING_STAGES, c->density_factor);
    if (c->objective == OBJECTIVE_SINGLE_MOTIFS && c->sparsity != SPARSITY_IDENTITY)
        method_fault(
            faults, "sparsity",
            "must be identity with objective single-motifs, because that objective trains the scores themselves");
    if ((c->objective == OBJECTIVE_SINGLE_MOTIFS || c->single_samples > 0) && !domain_of(c)->single)
        method_fault(faults, c->objective == OBJECTIVE_SINGLE_MOTIFS ? "objective" : "single_samples",
                     "the domain %s has no samples of one motif", domain_of(c)->name);
    if (c->perturb_samples > 0 && !domain_of(c)->replace)
        method_fault(faults, "perturb_samples", "the domain %s has no perturbation experiment", domain_of(c)->name);
    if (c->objective == OBJECTIVE_SINGLE_MOTIFS && c->single_samples == 0)
        method_fault(faults, "single_samples",
                     "must be above 0 with objective single-motifs, because the single-motif error is its only result");
    if (c->objective == OBJECTIVE_SINGLE_MOTIFS && c->channels_motif < domain_shape(c).symbols)
        method_fault(faults, "motifs",
                     "must be at least the %d symbols of the domain with objective single-motifs; got %.0f",
                     domain_shape(c).symbols, (double)c->channels_motif);
    if (c->channels_per_name > 1 && sparling_guided(c) && !domain_shape(c).numbers && sparling_parts(c) == 1)
        method_fault(faults, "channels_per_name",
                     "may be above 1 only with presence_samples above 0 and density_by_name; got %.0f",
                     (double)c->channels_per_name);
    if (c->accumulate_motifs > 0 && c->accumulate_elements > 0)
        method_fault(faults, "accumulate_elements",
                     "must be 0 if accumulate_motifs is set (%g), because both set the same limit; got %.0f",
                     c->accumulate_motifs, (double)c->accumulate_elements);
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
        method_fault(faults, "hold_below", "must be above 0 with backward sparse; got %g", c->hold_below);
}

void sparling_check(const void *config, const struct method_faults *faults)
{
    const struct sparling_config *c = config;
    check_domain(c, faults);
    check_head(c, faults);
    check_run(c, faults);
}
