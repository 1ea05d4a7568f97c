/* `motifctl report`: saves the report of a job. */
#include <stdio.h>

#include "api/client/ctl.h"

static const struct config_field options[] = {
    OPTION_TEXT("output", "FILE", "file to write, whose name ends with .html (JOB.html)"),
    OPTIONS_END,
};

static int report_run(struct ctl *ctl, const struct options *args)
{
    char id[CTL_ID], path[128], name[CTL_ID + 8];
    const char *file = options_value(args, "output");
    int code = ctl_job_id(ctl, args->positional[0], false, id);
    if (code != CTL_SUCCESS)
        return code;
    snprintf(path, sizeof path, "/v1/jobs/%s/report", id);
    snprintf(name, sizeof name, "%s.html", id);
    return ctl_save(ctl, &(struct http_request){.method = "GET", .path = path, .accept = "text/html"},
                    file ? file : name);
}

const struct command command_report = {
    .name = "report",
    .arguments = "JOB",
    .summary = "save a report of a job as one HTML file",
    .text =
        "Use it to keep, print or send what a training has found: verdict, figures with intervals, test inputs with "
        "their motifs, right and wrong\nanswers, logos, settings, versions, hashes, and the commands that repeat "
        "the training. The file has less than 5 MB, and needs neither a\nnetwork nor scripts.",
    .example = "  motifctl report latest\n"
               "  motifctl report 01JD8 --output first.html",
    .options = options,
    .least = 1,
    .most = 1,
    .run = report_run,
};
