/* Reads and draws the answer of a motif query. Pure functions. */
#ifndef MOTIF_API_CLIENT_MOTIF_ANSWER_H
#define MOTIF_API_CLIENT_MOTIF_ANSWER_H

#include "api/json/json.h"
#include <stdbool.h>

#include "api/client/draw.h"
#include "core/base/buf.h"
#include "core/base/error.h"

struct motif_box {
    char symbol[32];
    double row0, column0, row1, column1; /* [row0, row1) x [column0, column1) */
};

struct motif_answer {
    int rows, columns, channels; /* shape of the motif map */
    float *grey;                 /* [rows][columns], the input; all 0 when the answer does not contain it */
    struct draw_motif *motifs;
    size_t motif_count;
    struct motif_box *boxes; /* true boxes of the symbols, when they are known */
    size_t box_count;
    bool has_truth;
    char prediction[256], label[256]; /* the model's reading and the true one: symbols separated by spaces, or "" */
};

/* Reads the first answer of a document of POST /v1/jobs/{id}/motifs. Copies everything; motif_answer_close() frees it.
 * STATUS_INVALID when the document is no motif map. */
enum status motif_answer_read(const cJSON *document, struct motif_answer *answer, struct error *err);
void motif_answer_close(struct motif_answer *answer);

/* Appends the picture, one line per active channel, the model's reading and the true one. */
void motif_answer_draw(const struct motif_answer *answer, int columns, bool colour, struct buf *out);

#endif
