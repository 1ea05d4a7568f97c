/* Collects the findings of a run, derives its verdict and writes both into the result (findings.h). */
#include "core/methods/findings.h"

#include <stdarg.h>
#include <stdio.h>

const char *const verdict_names[VERDICTS] = {"learned", "partly", "not-learned"};
const char *const finding_severities[] = {"note", "warning", "error"};

void findings_add(struct findings *findings, const struct finding_code *code, const char *format, ...)
{
    va_list arguments;
    if (findings->count == FINDINGS)
        return;
    struct finding *one = &findings->list[findings->count++];
    one->code = code;
    va_start(arguments, format);
    vsnprintf(one->text, sizeof one->text, format, arguments);
    va_end(arguments);
    snprintf(one->next, sizeof one->next, "%s", code->next);
}

void findings_next(struct findings *findings, const char *format, ...)
{
    va_list arguments;
    if (findings->count == 0)
        return;
    struct finding *one = &findings->list[findings->count - 1];
    va_start(arguments, format);
    vsnprintf(one->next, sizeof one->next, format, arguments);
    va_end(arguments);
}

enum verdict findings_verdict(const struct findings *findings)
{
    enum verdict verdict = VERDICT_LEARNED;
    for (int i = 0; i < findings->count; i++)
        if (findings->list[i].code->verdict > verdict)
            verdict = findings->list[i].code->verdict;
    return verdict;
}

void findings_write(const struct findings *findings, const struct sink *out)
{
    sink_text(out, "verdict", verdict_names[findings_verdict(findings)]);
    sink_begin_list(out, "findings");
    for (int severity = FINDING_ERROR; severity >= FINDING_NOTE; severity--)
        for (int i = 0; i < findings->count; i++) {
            const struct finding *one = &findings->list[i];
            if (one->code->severity != (enum finding_severity)severity)
                continue;
            sink_begin_object(out, NULL);
            sink_text(out, "code", one->code->code);
            sink_text(out, "severity", finding_severities[severity]);
            sink_text(out, "text", one->text);
            sink_text(out, "try", one->next);
            sink_end_object(out);
        }
    sink_end_list(out);
}
