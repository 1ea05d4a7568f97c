/* Reads and draws the answer of a motif query. Pure functions. */
#ifndef MOTIF_API_CLIENT_MOTIF_ANSWER_H
#define MOTIF_API_CLIENT_MOTIF_ANSWER_H

#include "protocol/json.h"
#include <stdbool.h>

#include "api/client/draw.h"
#include "core/base/buf.h"
#include "core/base/error.h"

struct motif_box {
    char symbol[32];
    double row0, column0, row1, column1; /* a box of rows [row0, row1) and columns [column0, column1) */
};

struct motif_answer {
    int rows, columns, channels; /* shape of the motif map */
    float *grey;                 /* the input, [rows][columns]; all 0 if the answer does not contain it */
    struct draw_motif *motifs;
    struct motif_extent {
        bool known;
        double row0, row1, column0, column1; /* rows [row0, row1) and columns [column0, column1) */
        double p, q;                         /* error rates of the motif; NaN: unknown */
    } * extents;                             /* [motif_count] the part of the input that each motif covers */
    char *strands;                           /* [motif_count] '+' or '-'; ' ': unknown */
    char *letters;                           /* the input, if it is a sequence of letters or a text, else NULL */
    bool text;                               /* letters is a text, and positions are words */
    struct motif_words {
        int first, last; /* characters [first, last) of the text */
        char text[64];
    } * words; /* [motif_count] the words that each motif marks; all 0: none */
    size_t motif_count;
    struct motif_box *boxes; /* true boxes of the symbols; NULL if they are not known */
    size_t box_count;
    struct motif_channel_name {
        char text[64];
    } * names; /* [channels] name of each channel, derived from labels by the server; "": none */
    bool has_truth;
    bool numbers;                     /* prediction and label are numbers, so whether they are equal is not shown */
    char absent[64];                  /* the name that an empty prediction stands for; "": none */
    char prediction[256], label[256]; /* the predicted and the true label: symbols separated by spaces */
};

/* Reads the first answer of a document of POST /v1/jobs/{id}/motifs. Copies everything; motif_answer_close() frees the
 * copy. STATUS_INVALID: the document is not a motif map. */
enum status motif_answer_read(const cJSON *document, struct motif_answer *answer, struct error *err);
void motif_answer_close(struct motif_answer *answer);

/* Appends a drawing of the input, then one line for each active channel with the extents of its motifs, then the
 * predicted and the true label. If the input is a sequence of letters or a text, the drawing is its text with marks
 * below the motifs. */
void motif_answer_draw(const struct motif_answer *answer, int columns, bool colour, struct buf *out);

#endif
