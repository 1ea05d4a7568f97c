/* Builds collections from tables of events (event_build.h). */
#include "core/data/uploads/texts/event_build.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/grown.h"
#include "core/formats/text_lines.h"

void event_build_close(struct event_builder *e)
{
    for (int i = 0; i < e->known; i++)
        for (int k = 0; k < EVENT_FACTS; k++)
            free(e->sample[i].fact[k]);
    name_list_close(&e->samples);
    name_list_close(&e->names);
    free(e->sample);
    free(e->event);
}

/* ---- times ------------------------------------------------------------------------------------------------- */

/* Reads a number of exactly `digits` digits, which is in [low, high], and moves *at behind it. */
static bool take_digits(const char **at, int digits, int low, int high, int *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++, ++*at) {
        if (!isdigit((unsigned char)**at))
            return false;
        *value = 10 * *value + (**at - '0');
    }
    return *value >= low && *value <= high;
}

/* Days since 1970-01-01 in the calendar that dates of ISO 8601 have. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = y / 400, in_era = y - era * 400;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

/* Reads a date of ISO 8601 such as 2026-01-31, 2026-01-31 10:00 or 2026-01-31T10:00:00.25+02:00, as seconds. */
static bool read_date(const char *text, double *seconds)
{
    const char *at = text;
    int year, month, day, hour = 0, minute = 0, second = 0, zone[2] = {0, 0};
    double fraction = 0;
    if (!take_digits(&at, 4, 0, 9999, &year) || *at++ != '-' || !take_digits(&at, 2, 1, 12, &month) || *at++ != '-' ||
        !take_digits(&at, 2, 1, 31, &day))
        return false;
    if (*at == 'T' || *at == ' ') {
        at++;
        if (!take_digits(&at, 2, 0, 24, &hour) || *at++ != ':' || !take_digits(&at, 2, 0, 59, &minute))
            return false;
        if (*at == ':' && (at++, !take_digits(&at, 2, 0, 60, &second)))
            return false;
        if ((*at == '.' || *at == ',') && isdigit((unsigned char)at[1])) {
            double unit = 0.1;
            for (at++; isdigit((unsigned char)*at); at++, unit /= 10)
                fraction += unit * (*at - '0');
        }
    }
    int sign = *at == '+' ? 1 : *at == '-' ? -1 : 0;
    if (sign != 0) {
        at++;
        if (!take_digits(&at, 2, 0, 23, &zone[0]) || (*at == ':' && !*++at) ||
            (*at && !take_digits(&at, 2, 0, 59, &zone[1])))
            return false;
    } else {
        at += *at == 'Z';
    }
    *seconds = (double)(days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second -
                        sign * (zone[0] * 3600 + zone[1] * 60)) +
               fraction;
    return *at == '\0';
}

static enum status read_time(struct event_builder *e, const struct event_row *row, double *time, struct error *err)
{
    bool dated = false;
    *time = plain_number((struct plain_line){row->time, strlen(row->time)});
    if (isnan(*time) && !(dated = read_date(row->time, time)))
        return error_set(err, STATUS_INVALID, NULL,
                         "%s %" PRId64 ": the time '%.40s' is neither a number nor a date such as 2026-01-31 or "
                         "2026-01-31T10:00:00Z",
                         row->what, row->number, row->time);
    if (e->count == 0)
        e->dated = dated;
    return dated == e->dated
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, NULL,
                           "%s %" PRId64 ": the time '%.40s' is a %s, but the first one is a %s; write "
                           "all alike",
                           row->what, row->number, row->time, dated ? "date" : "number", dated ? "number" : "date");
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

/* Notes what a row says of its sample. */
static enum status take_facts(struct event_sample *sample, const struct event_row *row, struct error *err)
{
    static const char *const facts[] = {"label", "group", "part"};
    for (int k = 0; k < EVENT_FACTS; k++) {
        const char *text = row->fact[k];
        if (!text || text[0] == '\0')
            continue;
        if (!sample->fact[k] && !(sample->fact[k] = strdup(text)))
            return error_memory(err, "events");
        if (strcmp(sample->fact[k], text) != 0)
            return error_set(err, STATUS_INVALID, NULL,
                             "%s %" PRId64 ": sample '%.60s' has the %s '%.40s', but '%.40s' in an earlier %s; write "
                             "the same in all of its %ss, or only in one",
                             row->what, row->number, row->sample, facts[k], text, sample->fact[k], row->what,
                             row->what);
    }
    return STATUS_OK;
}

enum status event_build_add(struct event_builder *e, const struct event_row *row, int64_t limit, struct error *err)
{
    struct event event = {.row = row->number};
    if (row->event[strspn(row->event, " ")] == '\0' || strpbrk(row->event, "\t\r\n"))
        return error_set(err, STATUS_INVALID, NULL,
                         "%s %" PRId64 ": the event is empty or contains a tab or a line end; leave the row out, or "
                         "write a name",
                         row->what, row->number);
    if (row->sample[0] == '\0')
        return error_set(err, STATUS_INVALID, NULL, "%s %" PRId64 ": the event has no sample", row->what, row->number);
    if ((e->count + 1) * (int64_t)sizeof *e->event > limit)
        return error_set(err, STATUS_LIMIT, NULL, "there are more than %" PRId64 " events, the most that is allowed",
                         e->count);
    e->samples.most = e->names.most = 1 << 24;
    enum status status = read_time(e, row, &event.time, err);
    if (!status)
        status = name_list_add(&e->names, row->event, strlen(row->event), &event.name, err);
    if (!status)
        status = name_list_add(&e->samples, row->sample, strlen(row->sample), &event.sample, err);
    if (status)
        return status;
    if (event.sample == e->known) {
        struct event_sample *larger = grown(e->sample, (size_t)e->known, sizeof *larger);
        if (!larger)
            return error_memory(err, "events");
        e->sample = larger;
        larger[e->known++] = (struct event_sample){.row = row->number};
    }
    struct event *more = grown(e->event, (size_t)e->count, sizeof *more);
    if (!more)
        return error_memory(err, "events");
    e->event = more;
    more[e->count++] = event;
    return take_facts(&e->sample[event.sample], row, err);
}

static int by_sample_and_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static enum status add_facts(const struct event_sample *sample, const char *id, struct builder *b, const char *what,
                             bool labelled, struct error *err)
{
    const char *label = sample->fact[EVENT_LABEL] ? sample->fact[EVENT_LABEL] : "";
    enum status status = labelled ? builder_label(b, label, strlen(label), what, sample->row, err) : STATUS_OK;
    if (!status && sample->fact[EVENT_GROUP])
        status = builder_group(b, sample->fact[EVENT_GROUP], err);
    if (!status && sample->fact[EVENT_PART])
        status = builder_part(b, sample->fact[EVENT_PART], err);
    return status ? status : builder_record(b, id, err);
}

enum status event_build_finish(struct event_builder *e, struct text_builder *texts, const char *what, bool labelled,
                               struct error *err)
{
    struct buf text;
    enum status status = STATUS_OK;
    buf_init(&text, (size_t)1 << 30);
    if (e->count > 0)
        qsort(e->event, (size_t)e->count, sizeof *e->event, by_sample_and_time);
    for (int64_t i = 0; !status && i < e->count;) {
        const int32_t at = e->event[i].sample;
        const struct event_sample *sample = &e->sample[at];
        const char *part = sample->fact[EVENT_PART] ? sample->fact[EVENT_PART] : sample->fact[EVENT_GROUP];
        buf_clear(&text);
        for (; i < e->count && e->event[i].sample == at; i++)
            buf_format(&text, "%s%s", text.size > 0 ? "\t" : "", e->names.names.name[e->event[i].name]);
        status = buf_status(&text, "the events of a sample", err);
        if (!status)
            status = text_build_add(texts, text.data, !part || collection_part_named(part) <= PART_OF_TRAINING, what,
                                    sample->row, err);
        if (!status)
            status = add_facts(sample, e->samples.names.name[at], texts->b, what, labelled, err);
    }
    buf_close(&text);
    return status;
}
