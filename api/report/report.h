/* GET /v1/jobs/{id}/report: one HTML file about a job that has a result. */
#ifndef MOTIF_API_REPORT_REPORT_H
#define MOTIF_API_REPORT_REPORT_H

#include "api/http/exchange.h"

/* Sends the report. It needs no network and no script, and has less than 5 MB. */
void report_show(struct exchange *x);

#endif
