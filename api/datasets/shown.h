/* Keeps what the documents of data sets say beyond the stored text (division and kinds), and divisions. To plan a
 * division takes seconds for 100,000 samples, and data sets do not change, so each is planned once. Any thread may call
 * any function.
 */
#ifndef MOTIF_API_DATASETS_SHOWN_H
#define MOTIF_API_DATASETS_SHOWN_H

#include <pthread.h>
#include <stdbool.h>

#include "core/base/buf.h"

/* SHOWN_SIZE: longer texts are not kept */
enum { SHOWN_KEPT = 64, SHOWN_KEY = 256, SHOWN_SIZE = 1 << 20 };

struct shown {
    pthread_mutex_t lock;
    struct shown_entry {
        char key[SHOWN_KEY], *text;
    } entry[SHOWN_KEPT];
    int next; /* index of the entry that is replaced next */
};

/* key: the name of a data set, its hash, and what else decides; "": nothing is kept for it. Appends the text that is
 * kept for it; false: none is. */
bool shown_get(struct shown *shown, const char *key, struct buf *out);
/* Keeps a copy of a text. Without memory it keeps none. */
void shown_put(struct shown *shown, const char *key, const char *text, size_t size);
void shown_close(struct shown *shown);

#endif
