/* Keeps texts of documents of data sets (shown.h). */
#include "api/datasets/shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct shown_entry *find(struct shown *shown, const char *key)
{
    for (int i = 0; i < SHOWN_KEPT; i++)
        if (shown->entry[i].text != NULL && strcmp(shown->entry[i].key, key) == 0)
            return &shown->entry[i];
    return NULL;
}

bool shown_get(struct shown *shown, const char *key, struct buf *out)
{
    (void)pthread_mutex_lock(&shown->lock);
    const struct shown_entry *entry = key[0] != '\0' ? find(shown, key) : NULL;
    if (entry != NULL)
        buf_text(out, entry->text);
    (void)pthread_mutex_unlock(&shown->lock);
    return entry != NULL;
}

void shown_put(struct shown *shown, const char *key, const char *text, size_t size)
{
    char *copy = size <= SHOWN_SIZE ? strndup(text, size) : NULL;
    (void)pthread_mutex_lock(&shown->lock);
    if (copy != NULL && find(shown, key) == NULL) {
        struct shown_entry *entry = &shown->entry[shown->next];
        shown->next = (shown->next + 1) % SHOWN_KEPT;
        free(entry->text);
        entry->text = copy;
        copy = NULL;
        (void)snprintf(entry->key, sizeof entry->key, "%s", key);
    }
    (void)pthread_mutex_unlock(&shown->lock);
    free(copy);
}

void shown_close(struct shown *shown)
{
    for (int i = 0; i < SHOWN_KEPT; i++)
        free(shown->entry[i].text);
    (void)pthread_mutex_destroy(&shown->lock);
}
