/* Reviews: people answer whether marks of a model are right, and the daemon estimates from the answers how many marks
 * are false.
 *
 * The method lists the marks (METHOD_MARKS_QUERY), core/metrics/review.h draws some of them and computes the estimate,
 * and storage/ keeps the answers. All marks of a checkpoint that were listed once stay in a cache, because the estimate
 * after each answer needs them. */
#ifndef MOTIF_API_REVIEW_REVIEW_H
#define MOTIF_API_REVIEW_REVIEW_H

#include "api/http/exchange.h"

/* GET and POST /v1/jobs/{id}/review, and their parameters and answers. */
extern const struct config_field review_show_query[], review_answer_query[];
extern const struct api_answer review_show_answers[], review_answer_answers[];
void review_show(struct exchange *x);
void review_answer(struct exchange *x);

#endif
