/* Handlers of queries to trained models; one for each row of routes.c. Each responds. */
#ifndef MOTIF_API_QUERIES_QUERIES_H
#define MOTIF_API_QUERIES_QUERIES_H

#include "api/http/exchange.h"
#include "storage/storage.h"

struct picture;

void query_motifs(struct exchange *x);
void query_predict(struct exchange *x);
void query_interventions(struct exchange *x);
void query_compare(struct exchange *x);
void query_pathways(struct exchange *x);
void query_channels(struct exchange *x);
void query_channel(struct exchange *x);
void recover_pathway(struct exchange *x);

/* Counts a query that begins to compute. When options.queries_at_once compute already, it returns false and has
 * responded 429. queries_leave() ends what queries_enter() began. */
bool queries_enter(struct exchange *x);
void queries_leave(struct exchange *x);
/* Responds with the picture as PNG. The caller keeps the picture. */
void respond_picture(struct exchange *x, const struct picture *picture, const struct storage_checkpoint *checkpoint);

#endif
