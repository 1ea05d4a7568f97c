/* How readers of tables of events build a collection of texts. Each row is one event of a sample; the rows of a sample
 * may be anywhere in the table. The words of a sample's text are its events in the order of their times; events at the
 * same time keep the order of their rows. Times only order the events and are not kept. */
#ifndef MOTIF_CORE_DATA_UPLOADS_TEXTS_EVENT_BUILD_H
#define MOTIF_CORE_DATA_UPLOADS_TEXTS_EVENT_BUILD_H

#include "core/data/uploads/texts/text_build.h"

/* What the rows of a sample say of it: the same in all rows that have a text there. */
enum event_fact { EVENT_LABEL, EVENT_GROUP, EVENT_PART, EVENT_FACTS };

/* A row of a table of events. Texts are borrowed. fact: NULL: the table has no such column. */
struct event_row {
    const char *what; /* what messages call the row */
    int64_t number;
    const char *sample, *time, *event;
    const char *fact[EVENT_FACTS];
};

struct event_builder {
    struct name_list samples, names; /* names: all different events */
    struct event {
        double time;
        int64_t row;
        int32_t sample, name;
    } * event; /* [count] */
    struct event_sample {
        int64_t row; /* the first one */
        char *fact[EVENT_FACTS];
    } * sample; /* [known] */
    int known;
    int64_t count;
    bool dated; /* times are dates, not numbers */
};
void event_build_close(struct event_builder *e); /* a zeroed struct is allowed */
/* Adds an event. limit: bytes that all events may take. STATUS_INVALID, naming the row: the time is neither a number
 * nor a date, or is not like the first one; the event is empty; an earlier row says something else of the sample. */
enum status event_build_add(struct event_builder *e, const struct event_row *row, int64_t limit, struct error *err);
/* Adds a sample to the collection for each sample of the table, in the order of their first rows. what: what messages
 * call a row. labelled: the table has a column of labels. Call it before text_build_finish(). */
enum status event_build_finish(struct event_builder *e, struct text_builder *texts, const char *what, bool labelled,
                               struct error *err);

#endif
