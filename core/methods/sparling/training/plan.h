/* The plan of a training: its phases as rows, built once from the configuration.
 *
 * A row states what trains, on which objectives, for how many samples, with which learning rate, and by which rule the
 * phase ends. phases.c carries the rows out, one after another; train.c reads from the present row what an update
 * computes. To add a phase, add its name below, its row in plan_build() and, if no rule fits, a rule in a file of its
 * own. */
#ifndef MOTIF_CORE_METHODS_SPARLING_TRAINING_PLAN_H
#define MOTIF_CORE_METHODS_SPARLING_TRAINING_PLAN_H

#include "core/methods/sparling/config.h"

/* In the order in which they follow each other. */
enum phase_name {
    PHASE_COMPARE_STARTS, /* trains several sets of initial weights for a short time each */
    PHASE_BEST_START,     /* trains the best of them again, up to the end of the comparison */
    PHASE_MOTIFS,         /* trains g alone on its own objective */
    PHASE_SINGLE_MOTIFS,  /* trains g alone on samples of one known motif (Appendix K) */
    PHASE_JOINT,          /* trains g and the head, while the density falls */
    PHASE_FALLING_RATE,   /* the same at the last density, while the learning rate falls */
    PHASE_CALIBRATION,    /* computes statistics and thresholds of the final g */
    PHASE_HEAD,           /* trains the head alone on the maps of the final g */
    PHASE_EVALUATION,
    PHASES
};

/* What trains. */
enum { TRAINS_NOTHING, TRAINS_G = 1, TRAINS_HEAD = 2, TRAINS_BOTH = TRAINS_G | TRAINS_HEAD };

/* What an update minimises: the loss of the labels that the head reads; g's own objective (presence.c, guide.c); the
 * count objective (label_counts.c); the cross-entropy of samples with one motif. */
enum { OBJECTIVE_OF_LABELS = 1, OBJECTIVE_OF_G = 2, OBJECTIVE_OF_COUNTS = 4, OBJECTIVE_OF_ONE_MOTIF = 8 };

/* Learning rate within the span of a phase, from its full value to learning_rate_final. */
enum rate_curve { RATE_FULL, RATE_COSINE, RATE_LINEAR };

/* What a run does at present. Checkpoints save these values, so they must not change. */
enum activity { ACTIVITY_TRAIN, ACTIVITY_VALIDATE, ACTIVITY_EVALUATE, ACTIVITY_DONE, ACTIVITY_CALIBRATE };

struct method_run;

/* What a validation has shown and decided. */
struct validation_outcome {
    double loss;     /* validation loss of the labels */
    double own_loss; /* loss of g's own objective; only if the phase has this objective */
    bool own_better; /* whether g reads a single name clearly better than before */
    int own_unread;  /* number of names that g does not read yet; -1: unknown */
    /* set by validated(): */
    bool stage_ended; /* the next checkpoint is the last one of its density */
    int advance;      /* number of rows by which the plan advances; 0: the phase goes on */
};

/* How a phase begins and ends. All functions may be NULL. Errors are those of the computation. */
struct phase_rule {
    enum activity activity; /* at the beginning of the phase */
    /* The action at the beginning, and the one at the end. */
    enum status (*begin)(struct method_run *run, struct error *err);
    void (*end)(struct method_run *run);
    /* Called after each validation: decides whether the stage and the phase have ended. */
    enum status (*validated)(struct method_run *run, struct validation_outcome *v, struct error *err);
    /* Does a piece of a phase without updates. *done: it was the last one. */
    enum status (*piece)(struct method_run *run, bool *done, struct error *err);
    /* The sample counts between which the learning rate follows its curve. */
    void (*span)(const struct method_run *run, int64_t *from, int64_t *to);
};

/* Defined in compare_starts.c, motif_phase.c, joint_phase.c and head_phase.c. */
extern const struct phase_rule compare_starts_rule, best_start_rule, motif_rule, single_motifs_rule, joint_rule,
    falling_rate_rule, head_rule;

struct phase {
    enum phase_name name;
    int trains, objectives;
    int64_t samples; /* largest number of samples; 0: the phase has no updates */
    enum rate_curve rate;
    double rate_start; /* share of the span after which the learning rate begins to follow its curve */
    const struct phase_rule *rule;
};

struct plan {
    struct phase row[PHASES];
    int count;
};

/* Writes the plan of a configuration. */
void plan_build(const struct sparling_config *config, struct plan *plan);
/* Returns the row of the plan with this name, or -1. */
int plan_find(const struct plan *plan, enum phase_name name);
/* Returns the name of a phase; static text. */
const char *plan_phase_name(enum phase_name name);
/* Describes the plan, as method.h states it. */
size_t sparling_plan(const void *config, struct method_phase *out);

/* Returns whether g trains without the head, on its own objective. */
static inline bool phase_of_g_alone(const struct phase *phase)
{
    return phase->trains == TRAINS_G && (phase->objectives & OBJECTIVE_OF_G);
}

#endif
