/* Stores and reads the negatives of channels (negatives.h). */
#include "core/methods/sparling/error_rate/negatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status negatives_open(struct negatives *negatives, int channels, struct error *err)
{
    size_t marks = (size_t)channels * NEGATIVES_MARKS;
    *negatives = (struct negatives){.channels = channels,
                                    .channel = calloc((size_t)channels, sizeof *negatives->channel),
                                    .mark = calloc(marks, sizeof *negatives->mark),
                                    .rank = calloc(marks, sizeof *negatives->rank),
                                    .score = calloc(marks, sizeof *negatives->score)};
    if (!negatives->channel || !negatives->mark || !negatives->rank || !negatives->score)
        return error_memory(err, "the error rates of channels");
    negatives_clear(negatives);
    return STATUS_OK;
}

void negatives_close(struct negatives *negatives)
{
    free(negatives->channel);
    free(negatives->mark);
    free(negatives->rank);
    free(negatives->score);
    *negatives = (struct negatives){.channels = 0};
}

void negatives_clear(struct negatives *negatives)
{
    size_t marks = (size_t)negatives->channels * NEGATIVES_MARKS;
    for (int c = 0; c < negatives->channels; c++)
        negatives->channel[c] = (struct channel_negatives){.why = NEGATIVES_UNMEASURED, .companion = -1};
    memset(negatives->mark, 0, marks * sizeof *negatives->mark);
    memset(negatives->rank, 0, marks * sizeof *negatives->rank);
    memset(negatives->score, 0, marks * sizeof *negatives->score);
}

enum status negatives_declare(void *negatives, struct snapshot *snapshot, struct error *err)
{
    struct negatives *n = negatives;
    const uint64_t channels = (uint64_t)n->channels;
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMN("negatives.why", n->channel, channels, why),
        SNAPSHOT_COLUMN("negatives.inputs", n->channel, channels, inputs),
        SNAPSHOT_COLUMN("negatives.effective", n->channel, channels, effective),
        SNAPSHOT_COLUMN("negatives.marks", n->channel, channels, marks),
        SNAPSHOT_COLUMN("negatives.cut", n->channel, channels, cut),
        SNAPSHOT_COLUMN("negatives.scores", n->channel, channels, scores),
        SNAPSHOT_COLUMN("negatives.companion", n->channel, channels, companion),
        SNAPSHOT_ARRAY("negatives.mark", n->mark, channels, NEGATIVES_MARKS),
        SNAPSHOT_ARRAY("negatives.rank", n->rank, channels, NEGATIVES_MARKS),
        SNAPSHOT_ARRAY("negatives.score", n->score, channels, NEGATIVES_MARKS),
    };
    enum status status = snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
    snapshot_optional(snapshot, "negatives.");
    return status;
}

static bool sound_list(const float *list, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (isnan(list[i]) || (i > 0 && list[i] > list[i - 1]))
            return false;
    return true;
}

static bool sound_channel(const struct negatives *negatives, int channel, int tokens)
{
    const struct channel_negatives *c = &negatives->channel[channel];
    const ptrdiff_t at = (ptrdiff_t)channel * NEGATIVES_MARKS;
    bool sound = c->why >= 0 && c->why < NEGATIVES_WHY && c->companion >= -1 && c->companion < tokens &&
                 c->marks >= 0 && c->marks <= NEGATIVES_MARKS && c->scores >= 0 && c->scores <= NEGATIVES_MARKS &&
                 c->inputs >= 0 && c->inputs <= 1000000000 && c->effective >= 0 && c->effective <= (double)c->inputs &&
                 (c->cut == 0 || c->cut == 1);
    for (int64_t i = 0; sound && i < c->marks; i++)
        sound = negatives->rank[at + i] > 0;
    return sound && sound_list(negatives->mark + at, c->marks) && sound_list(negatives->score + at, c->scores);
}

bool negatives_sound(const struct negatives *negatives, int tokens)
{
    for (int c = 0; c < negatives->channels; c++)
        if (!sound_channel(negatives, c, tokens))
            return false;
    return true;
}

enum status negatives_read(const struct snapshot_reader *from, int channels, int tokens, struct negatives *negatives,
                           struct error *err)
{
    enum status status = negatives_open(negatives, channels, err);
    if (status)
        return status;
    status = snapshot_load(negatives_declare, negatives, from, 1u << SNAPSHOT_STATE, err);
    if (status || negatives_sound(negatives, tokens))
        return status;
    return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's error rates of channels are inconsistent");
}

struct false_marks negatives_marks(const struct negatives *negatives, int channel)
{
    const struct channel_negatives *c = &negatives->channel[channel];
    const ptrdiff_t at = (ptrdiff_t)channel * NEGATIVES_MARKS;
    return (struct false_marks){.inputs = c->inputs,
                                .effective = c->effective,
                                .count = c->marks,
                                .cut = c->cut != 0,
                                .score = negatives->mark + at,
                                .rank = negatives->rank + at};
}
