/* Configuration of the SPARLING method: the struct, its table, its presets and its costs.
 *
 * Every number in section 5.1 of the paper is a field. Where the authors' code differs from the paper, the default is
 * the code's value. The empty configuration `{}` is the DigitCircle run of the paper; presets override single fields.
 * All functions here are pure; any thread may call them. */
#ifndef MOTIF_CORE_METHODS_SPARLING_CONFIG_H
#define MOTIF_CORE_METHODS_SPARLING_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/config.h"
#include "core/data/division/division.h"
#include "core/methods/method.h"
#include "core/methods/shared/fields.h"
#include "core/methods/sparling/domains/domain.h"
#include "core/methods/sparling/domains/domains.h"

/* Each enum lists the choices of one field of the configuration, in the order of the names in config.c. */
enum sparling_sparsity {
    SPARSITY_PER_CHANNEL,
    SPARSITY_SINGLE,
    SPARSITY_L1,
    SPARSITY_KL,
    SPARSITY_NOISE,
    SPARSITY_NONE,
    SPARSITY_IDENTITY,
    SPARSITY_SCALED_L1
};
enum sparling_freeze { FREEZE_NOTHING, FREEZE_MOTIFS };
enum sparling_objective { OBJECTIVE_LABELS, OBJECTIVE_SINGLE_MOTIFS };
enum sparling_batch_norm { BATCH_NORM_AFFINE, BATCH_NORM_PLAIN, BATCH_NORM_NONE };
enum sparling_quantile { QUANTILE_KTH, QUANTILE_INTERPOLATED };
enum sparling_backward { BACKWARD_DENSE, BACKWARD_SPARSE, BACKWARD_AUTO };
enum sparling_head_norm { HEAD_NORM_POST, HEAD_NORM_PRE };
enum sparling_positions { POSITIONS_ROW, POSITIONS_GRID, POSITIONS_LEARNED, POSITIONS_NONE };
enum sparling_attend { ATTEND_ALL, ATTEND_ACTIVE };
enum sparling_embed_order { EMBED_THEN_POOL, POOL_THEN_EMBED };
enum sparling_strands { STRANDS_ONE, STRANDS_BOTH };
enum sparling_motif_scale { MOTIF_SCALE_NONE, MOTIF_SCALE_RMS };
enum sparling_schedule { SCHEDULE_CONSTANT, SCHEDULE_COSINE, SCHEDULE_LINEAR };
enum sparling_precision { PRECISION_FLOAT, PRECISION_BF16 };

enum audio_scale { AUDIO_DECIBELS, AUDIO_UNITS };
enum dataset_effort { EFFORT_QUICK, EFFORT_NORMAL, EFFORT_THOROUGH };

struct sparling_config {
#define FIELDS_FILE "core/methods/sparling/fields.inc"
#include "core/methods/shared/field_members.inc"
};

enum {
    SPARLING_FIELDS = 0
#define FIELDS_FILE "core/methods/sparling/fields.inc"
#include "core/methods/shared/field_count.inc"
};

/* NOLINTBEGIN(bugprone-macro-parentheses) */
/* Every preset: its name, the name of its settings in presets.c, its description. */
#define SPARLING_PRESET_LIST(P)                                                                                        \
    P("digitcircle-quick", quick, "Five digits in a 64-pixel image: a full run with its evaluation in minutes.")       \
    P("digitcircle", digitcircle, "The paper's images (100 pixels, ten digits) with a network for two CPU cores.")     \
    P("digitcircle-paper", paper, "The paper's network and schedule, 46 million parameters: days on a CPU.")           \
    P("latex-ocr", latex_ocr, "Short noisy formulas read as LaTeX, with a network for two CPU cores.")                 \
    P("latex-ocr-paper", latex_ocr_paper,                                                                              \
      "Noisy formulas read as LaTeX with the paper's network and schedule: a month or more on a CPU.")                 \
    P("audio-sequence", audio,                                                                                         \
      "Spoken digits in 6-second clips with a network for two CPU cores; run 'motifd dataset audio' first.")           \
    P("audio-sequence-paper", audio_paper,                                                                             \
      "Spoken digits in 15-second clips with the paper's network, 44 million parameters: weeks on a CPU.")             \
    P("splicing", splicing, "Planted motifs of six proteins that make splice sites, with networks for two CPU cores.") \
    P("splicing-paper", splicing_paper,                                                                                \
      "The paper's networks, windows of 15,000 bases and schedule on planted motifs: months on a CPU.")                \
    P("digitcircle-presence", digitcircle_presence,                                                                    \
      "The images of digitcircle, where a presence objective finds the digits before the head learns to read.")        \
    P("digitcircle-quick-presence", quick_presence,                                                                    \
      "The images of digitcircle-quick, trained in the same way as digitcircle-presence.")                             \
    P("latex-ocr-presence", latex_ocr_presence,                                                                        \
      "The formulas of latex-ocr, where a presence objective finds the tokens before the head learns to read.")        \
    P("audio-sequence-presence", audio_presence,                                                                       \
      "The clips of audio-sequence, trained in the same way as latex-ocr-presence; run 'motifd dataset audio' "        \
      "first.")                                                                                                        \
    P("dataset", own, "Your own images, sequences or recordings (PUT /v1/datasets), with a network for two CPU cores.")
#define SPARLING_ONE(...) +1 /* NOLINTEND(bugprone-macro-parentheses) */
enum { SPARLING_PRESETS = 0 SPARLING_PRESET_LIST(SPARLING_ONE) };
#undef SPARLING_ONE
extern const struct config_field sparling_fields[SPARLING_FIELDS];
extern const struct config_table sparling_config_table;
extern const struct method_preset sparling_presets[SPARLING_PRESETS];

enum {
    SPARLING_DILATION = 4096, /* largest distance between taps */
    SPARLING_WINDOW = 4096,   /* most positions of a window of g */
    SPARLING_UNITS = 64,      /* upper limit of the sum of the fields units and narrow_units */
    SPARLING_MOST = 64,       /* upper limit of most_motifs and most_names */
    SPARLING_KEPT = 1000000,  /* upper limit of reading_inputs, and of validation samples whose maps are kept */
    SPARLING_STAGES = 10000   /* upper limit of the densities of a schedule */
};

/* Reports faults that concern several fields, and settings of other domains. */
void sparling_check(const void *config, const struct method_faults *faults);
/* Estimates the parameters, multiply-adds, memory and likely number of samples of a run. Always returns STATUS_OK. */
enum status sparling_estimate(const void *config, const char *data, struct method_estimate *out, struct error *err);

/* Return numbers of trainable parameters. sparling_parameters_g(): of g; sparling_parameters_sparse(): of the batch
 * norm before the sparse layer and of g's own objective; sparling_parameters_h(): of h. */
int64_t sparling_parameters_g(const struct sparling_config *config);
int64_t sparling_parameters_sparse(const struct sparling_config *config);
int64_t sparling_parameters_h(const struct sparling_config *config);
/* Multiply-adds of the dilated head for one position. */
double sparling_dilated_macs(const struct sparling_config *config);
/* Multiply-adds of a forward pass over one input with `tokens` target tokens (6.716e9 for the paper's network and 8
 * tokens). */
double sparling_macs(const struct sparling_config *config, int tokens);
/* Number of samples of the last part of the training, where only the head trains (training/phases/head_phase.c). */
double sparling_reading(const struct sparling_config *config);
/* Time of the first `samples` samples of this part, divided by the time of one sample of the earlier parts. */
double sparling_reading_time(const struct sparling_config *config, double samples);
/* Upper limit of the number of values above zero that the last part of the training keeps for the motif maps of
 * `inputs` inputs: four times as many as the last density lets one expect, and a few for each map. */
double sparling_cached_values(const struct sparling_config *config, double inputs);
/* Expected number of motifs outside the margins in chance_samples samples, at the density of the first stage.
 */
double sparling_chance_motifs(const struct sparling_config *config);

/* Token indices: START, END, then the tokens of the domain. */
enum { TOKEN_START = 0, TOKEN_END = 1, TOKEN_FIRST = 2 };
int sparling_vocabulary(const struct sparling_config *config);
/* Largest number of tokens that decoding produces. */
int sparling_decode_steps(const struct sparling_config *config);

/* Sizes of maps, kernels and windows. For a sequence (one row), kernels and pooling windows have one row. */
struct sparling_geometry {
    int rows, cols;             /* sizes of the motif map */
    int stride;                 /* g reads blocks of stride x stride positions of the motif map */
    int inner_rows, inner_cols; /* sizes of the maps of g: a position for each block */
    int first_h, first_w;       /* kernel of g's first convolution */
    int kernel_h, kernel_w;     /* kernels of g's residual units */
    int max_pool_h, max_pool_w;
    int grid_rows, grid_cols; /* sizes of the pooled map */
    int reach;                /* largest distance of two positions of the motif map whose windows overlap */
};
/* Distance between the taps of a convolution of residual unit `unit`, in data of one row; at most SPARLING_DILATION. */
int sparling_dilation(const struct sparling_config *config, int unit);
struct sparling_geometry sparling_geometry(const struct sparling_config *config);
/* Whether the bottleneck has thresholds that follow the density. */
bool sparling_thresholds(const struct sparling_config *config);
/* sparling_collects() returns whether thresholds collect the values of several batches (accumulate_motifs,
 * accumulate_elements). sparling_reinitialises() returns whether unused channels are reinitialised
 * (reinitialise_below). Each returns false where the rest of the configuration excludes it, so a preset that sets these
 * fields works with every bottleneck, head and domain. */
bool sparling_collects(const struct sparling_config *config);
bool sparling_reinitialises(const struct sparling_config *config);
/* sparling_guided() returns whether g has an objective of its own: the presence objective or, with numbers as targets,
 * a regression (training/guide.c). The presence objective predicts which names occur in a label; channel k stands for
 * name k. It needs the transformer's head. sparling_presence_names() returns the number of names that have a channel,
 * or 0 if the configuration has no such objective or another head. sparling_parts() returns the number of channels that
 * each of these names may have: name k has the channels k, k + names, k + 2 names, and so on (sparling_name_of()).
 * sparling_presence_alone() returns whether a first phase trains with g's own objective alone. */
bool sparling_guided(const struct sparling_config *config);
int sparling_presence_names(const struct sparling_config *config);
int sparling_parts(const struct sparling_config *config);
bool sparling_presence_alone(const struct sparling_config *config);
/* Whether the densities of channels follow the frequencies of their names (density_by_name). */
bool sparling_uneven(const struct sparling_config *config);
/* The lowest density of the schedule: the last density_start * density_factor^k >= density_final. */
double sparling_last_density(const struct sparling_config *config);
/* Number of densities in the schedule, the first and the last included; SPARLING_STAGES + 1 stands for more. */
int sparling_stages(const struct sparling_config *config);
/* Estimated share of the training samples that are drawn before the last density begins. */
#define SPARLING_ANNEALING 0.5
/* Shares that training and estimate use. FALL: length of the learning rate's fall at the end, as a share of the samples
 * since the first phase (training/phases/joint_phase.c). READING: upper limit of the part in which only the head
 * trains, as a share of total_samples (training/phases/head_phase.c); READING_KEPT: the same with reading_inputs.
 * START: samples of a start that is compared with others, as a share of presence_samples
 * (training/phases/compare_starts.c). */
#define SPARLING_FALL 0.35
#define SPARLING_READING 0.25
#define SPARLING_READING_KEPT 0.9
#define SPARLING_START (1.0 / 3)

#endif
