/* The findings about the evidence in the marked extents (marked_evidence.h). */
#include "core/methods/sparling/evaluation/verdict/judge_int.h"

/* The names with each of the findings. */
struct marked_names {
    struct names insufficient, unneeded, beside;
};

static void add_share(struct names *names, const struct method_run *run, int token, int64_t part, int64_t all)
{
    char text[NAME_SHOWN + 16];
    (void)snprintf(text, sizeof text, "%.*s (%.0f %%)", NAME_SHOWN - 8, token_name(run, token),
                   100 * (double)part / (double)all);
    names_add(names, text);
}

static void judge_name(const struct method_run *run, int token, struct marked_names *found)
{
    const struct sufficiency_name *n = &run->evaluation.marked.names[token];
    const struct sufficiency_judge *m = &n->model, *r = &n->reference;
    struct sufficiency_findings model = sufficiency_judge(m), reference = sufficiency_judge(r);
    if (model.insufficient)
        add_share(&found->insufficient, run, token, m->changed[KEEP_MARKED], m->inputs);
    if (model.unneeded)
        add_share(&found->unneeded, run, token, m->inputs - m->changed[FILL_MARKED], m->inputs);
    else if (reference.unneeded)
        add_share(&found->unneeded, run, token, r->inputs - r->changed[FILL_MARKED], r->inputs);
    if (model.beside)
        names_add(&found->beside, token_name(run, token));
}

void judge_marks(const struct method_run *run, struct findings *findings)
{
    struct marked_names found = {.insufficient = {.count = 0}};
    if (run->evaluation.marked.samples == 0)
        return;
    for (int t = 0; t < run->domain.shape.tokens; t++)
        judge_name(run, t, &found);
    if (found.insufficient.count > 0)
        findings_add(findings, &sparling_findings[NOT_SUFFICIENT],
                     "With nothing but their marks, the model reads these names in the given share of inputs: %s.",
                     names_text(&found.insufficient));
    if (found.unneeded.count > 0)
        findings_add(findings, &sparling_findings[NOT_NECESSARY],
                     "Without their marks, these names are still read in the given share of inputs: %s.",
                     names_text(&found.unneeded));
    if (found.beside.count > 0)
        findings_add(findings, &sparling_findings[BESIDE],
                     "The marks of these names tell the model no more than random extents of the same size: %s.",
                     names_text(&found.beside));
}
