/* Builds the plan of a training from its configuration (plan.h), and describes it for clients. */
#include "core/methods/sparling/training/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/methods/sparling/evaluation/evaluation.h"
#include "core/methods/sparling/run_state.h"
#include "core/methods/sparling/training/calibrate.h"

static const struct phase_rule calibration_rule = {.activity = ACTIVITY_CALIBRATE, .piece = calibration_piece};
static const struct phase_rule evaluation_rule = {
    .activity = ACTIVITY_EVALUATE, .begin = evaluation_begin_final, .piece = evaluation_piece};

void plan_build(const struct sparling_config *c, struct plan *plan)
{
    bool direct = c->objective == OBJECTIVE_SINGLE_MOTIFS, alone = sparling_presence_alone(c);
    int own = sparling_guided(c) ? OBJECTIVE_OF_G : 0;
    int64_t head = (int64_t)sparling_reading(c), of_g = c->total_samples - head,
            start = (int64_t)(SPARLING_START * (double)c->presence_samples), half = c->total_samples / 2;
    enum rate_curve schedule = c->patience > 0                  ? RATE_FULL
                               : c->schedule == SCHEDULE_COSINE ? RATE_COSINE
                               : c->schedule == SCHEDULE_LINEAR ? RATE_LINEAR
                                                                : RATE_FULL;
    if (c->tally_weight > 0 && sparling_presence_names(c) > 0)
        own |= OBJECTIVE_OF_COUNTS;
    int both = OBJECTIVE_OF_LABELS | own;
    const struct {
        bool wanted;
        struct phase phase;
    } rows[] = {
        {alone && c->starts > 1,
         {PHASE_COMPARE_STARTS, TRAINS_G, own, c->starts * start, RATE_FULL, 0, &compare_starts_rule}},
        {alone && c->starts > 1, {PHASE_BEST_START, TRAINS_G, own, start, RATE_FULL, 0, &best_start_rule}},
        {alone,
         {PHASE_MOTIFS, TRAINS_G, own, c->presence_samples < half ? c->presence_samples : half, RATE_FULL, 0,
          &motif_rule}},
        {direct,
         {PHASE_SINGLE_MOTIFS, TRAINS_G, OBJECTIVE_OF_ONE_MOTIF, of_g, schedule, c->schedule_start,
          &single_motifs_rule}},
        {!direct, {PHASE_JOINT, TRAINS_BOTH, both, of_g, schedule, c->schedule_start, &joint_rule}},
        {!direct && c->patience > 0,
         {PHASE_FALLING_RATE, TRAINS_BOTH, both, (int64_t)(SPARLING_FALL * (double)of_g), RATE_LINEAR, 0,
          &falling_rate_rule}},
        {c->calibrate, {PHASE_CALIBRATION, TRAINS_NOTHING, 0, 0, RATE_FULL, 0, &calibration_rule}},
        {head > 0, {PHASE_HEAD, TRAINS_HEAD, OBJECTIVE_OF_LABELS, head, RATE_LINEAR, 0, &head_rule}},
        {true, {PHASE_EVALUATION, TRAINS_NOTHING, 0, 0, RATE_FULL, 0, &evaluation_rule}},
    };
    plan->count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].wanted)
            plan->row[plan->count++] = rows[i].phase;
}

int plan_find(const struct plan *plan, enum phase_name name)
{
    for (int i = 0; i < plan->count; i++)
        if (plan->row[i].name == name)
            return i;
    return -1;
}

/* ---- the description ------------------------------------------------------------------------------------- */

const char *plan_phase_name(enum phase_name name)
{
    static const char *const names[PHASES] = {[PHASE_COMPARE_STARTS] = "compare-starts",
                                              [PHASE_BEST_START] = "best-start",
                                              [PHASE_MOTIFS] = "motifs",
                                              [PHASE_SINGLE_MOTIFS] = "single-motifs",
                                              [PHASE_JOINT] = "joint",
                                              [PHASE_FALLING_RATE] = "falling-rate",
                                              [PHASE_CALIBRATION] = "calibration",
                                              [PHASE_HEAD] = "head",
                                              [PHASE_EVALUATION] = "evaluation"};
    return names[name];
}

static const char *describe_trained(const struct sparling_config *c, int trains)
{
    if (c->freeze == FREEZE_MOTIFS)
        return trains & TRAINS_HEAD ? "head" : NULL;
    return trains == TRAINS_BOTH ? "motif model and head" : trains == TRAINS_G ? "motif model" : trains ? "head" : NULL;
}

static void describe_objectives(const struct sparling_config *c, int objectives, const char **out)
{
    const struct {
        int objective;
        const char *name;
    } all[] = {{OBJECTIVE_OF_LABELS, "labels"},
               {OBJECTIVE_OF_G, domain_shape(c).numbers > 0 ? "regression" : "presence"},
               {OBJECTIVE_OF_COUNTS, "counts"},
               {OBJECTIVE_OF_ONE_MOTIF, "single motifs"}};
    int count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (objectives & all[i].objective)
            out[count++] = all[i].name;
}

__attribute__((format(printf, 2, 3))) static void write_text(char text[METHOD_PHASE_TEXT], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, METHOD_PHASE_TEXT, format, arguments);
    va_end(arguments);
}

/* The rule by which the phase with the density ends, and its action. */
static void describe_joint(const struct sparling_config *c, struct method_phase *out)
{
    int stages = sparling_stages(c);
    double last = sparling_last_density(c);
    if (c->patience > 0) {
        write_text(out->until, "at density %.3g, %lld validations without a better loss or accuracy, or accuracy %.3g",
                   last, (long long)c->patience, c->target_max);
        if (stages > 1)
            write_text(out->then, "goes back to an earlier density if its accuracy was clearly higher");
    } else if (stages > 1) {
        write_text(out->until, "%d stages from density %.3g to %.3g", stages, c->density_start, last);
    } else {
        write_text(out->until, "the accuracy target at density %.3g", last);
    }
}

static void describe_end(const struct sparling_config *c, enum phase_name name, struct method_phase *out)
{
    switch (name) {
    case PHASE_COMPARE_STARTS:
        write_text(out->until, "each of %lld starts has used its samples", (long long)c->starts);
        write_text(out->then, "the start with the lowest loss goes on");
        return;
    case PHASE_BEST_START:
        write_text(out->until, "the best start is as far as in the comparison");
        return;
    case PHASE_MOTIFS:
        if (c->presence_validations > 0)
            write_text(out->until, "%lld validations without a lower loss", (long long)c->presence_validations);
        write_text(out->then, "the learning rate warms up again");
        return;
    case PHASE_JOINT:
        describe_joint(c, out);
        return;
    case PHASE_FALLING_RATE:
        write_text(out->until, "%.0f %% of the samples since the motifs are added", 100 * SPARLING_FALL);
        return;
    case PHASE_CALIBRATION:
        write_text(out->until, "statistics and thresholds are measured");
        return;
    case PHASE_EVALUATION:
        write_text(out->until, "all errors are measured");
        return;
    case PHASE_SINGLE_MOTIFS:
    case PHASE_HEAD:
    case PHASES:
        return;
    }
}

size_t sparling_plan(const void *config, struct method_phase *out)
{
    static const char *const curves[] = {"constant", "cosine", "linear"};
    const struct sparling_config *c = config;
    struct plan plan;
    plan_build(c, &plan);
    for (int i = 0; i < plan.count; i++) {
        const struct phase *phase = &plan.row[i];
        out[i] = (struct method_phase){.name = plan_phase_name(phase->name),
                                       .trains = describe_trained(c, phase->trains),
                                       .samples = phase->samples > 0 ? (double)phase->samples : NAN,
                                       .curve = phase->trains ? curves[phase->rate] : NULL,
                                       .rate_from = c->learning_rate,
                                       .rate_to = c->learning_rate};
        if (phase->rate != RATE_FULL)
            out[i].rate_to *= c->learning_rate_final;
        describe_objectives(c, phase->objectives, out[i].objectives);
        describe_end(c, phase->name, &out[i]);
    }
    return (size_t)plan.count;
}
