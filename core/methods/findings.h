/* Findings about a finished run, and the verdict that follows from them.
 *
 * A method declares each of its findings once, as a row of a constant table (`findings` of struct method). Its judge()
 * adds those that apply. Each row states the best verdict that a run with this finding can have. The verdict of a run
 * is the worst of these verdicts over its findings, or `learned` if it has no findings. Clients read result.verdict and
 * result.findings. */
#ifndef MOTIF_CORE_METHODS_FINDINGS_H
#define MOTIF_CORE_METHODS_FINDINGS_H

#include "core/base/sink.h"

enum verdict { VERDICT_LEARNED, VERDICT_PARTLY, VERDICT_NOT_LEARNED, VERDICTS };
extern const char *const verdict_names[VERDICTS]; /* "learned", "partly", "not-learned" */

enum finding_severity { FINDING_NOTE, FINDING_WARNING, FINDING_ERROR };
extern const char *const finding_severities[]; /* "note", "warning", "error" */

struct finding_code {
    const char *code; /* lower-case letters, digits and '-' */
    enum finding_severity severity;
    enum verdict verdict; /* the best verdict of a run with this finding */
    const char *meaning;  /* one line that says when a run has this finding */
    /* What the user does next: a command in which JOB stands for the job's id, or a sentence. */
    const char *next;
};

enum { FINDINGS = 32, FINDING_TEXT = 400 };

/* The findings of one run. The struct has about 20 KB and is all zero at first. */
struct findings {
    int count;
    struct finding {
        const struct finding_code *code; /* borrowed: a row of a constant table */
        char text[FINDING_TEXT], next[FINDING_TEXT];
    } list[FINDINGS];
};

/* Adds a finding; the text is formatted like printf(). Further findings after the first FINDINGS are dropped. */
void findings_add(struct findings *findings, const struct finding_code *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Replaces the recommended next action (`next`) of the finding that was added last. */
void findings_next(struct findings *findings, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The verdict that follows from the findings. */
enum verdict findings_verdict(const struct findings *findings);

/* Writes the members "verdict" and "findings" of a result. Errors come first, then warnings, then notes; findings of
 * one severity keep their order. */
void findings_write(const struct findings *findings, const struct sink *out);

#endif
