/* Reads and writes the names of channels (channel_names.h). */
#include "core/methods/sparling/model/channel_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int channel_name_sign(const struct channel_name *name, int token)
{
    for (int64_t i = 0; name && i < name->names; i++)
        if (name->token[i] == token)
            return name->strength[i] < 0 ? -1 : 1;
    return 0;
}

static bool same_names(const struct channel_name *a, const struct channel_name *b)
{
    bool same = a->names == b->names;
    for (int64_t i = 0; same && i < a->names; i++)
        same = a->token[i] == b->token[i] && (a->strength[i] < 0) == (b->strength[i] < 0);
    return same;
}

void channel_names_number(struct channel_name *names, int channels)
{
    for (int c = 0; c < channels; c++) {
        int before = 0, all = 0;
        for (int k = 0; names[c].names > 0 && k < channels; k++) {
            before += k < c && same_names(&names[c], &names[k]);
            all += same_names(&names[c], &names[k]);
        }
        names[c].number = all > 1 ? before + 1 : 0;
    }
}

bool channel_name_sound(const struct channel_name *name, int tokens, int channels)
{
    bool sound = name->names >= 0 && name->names <= CHANNEL_NAMES && name->same >= -1 && name->same < channels;
    for (int64_t i = 0; sound && i < name->names; i++)
        sound = name->token[i] >= 0 && name->token[i] < tokens;
    return sound;
}

enum status channel_names_declare(void *list, struct snapshot *snapshot, struct error *err)
{
    const struct channel_name_list *l = list;
    const struct snapshot_row rows[] = {
        SNAPSHOT_COLUMN("evidence.channel.active", l->name, l->channels, active),
        SNAPSHOT_COLUMN("evidence.channel.whole", l->name, l->channels, whole),
        SNAPSHOT_COLUMN("evidence.channel.names", l->name, l->channels, names),
        SNAPSHOT_COLUMN("evidence.channel.token", l->name, l->channels, token),
        SNAPSHOT_COLUMN("evidence.channel.strength", l->name, l->channels, strength),
        SNAPSHOT_COLUMN("evidence.channel.same", l->name, l->channels, same),
        SNAPSHOT_COLUMN("evidence.channel.overlap", l->name, l->channels, overlap),
    };
    return snapshot_add_rows(snapshot, SNAPSHOT_STATE, "", SNAPSHOT_ROWS(rows), err);
}

/* Declares the names as entries that a stream may lack. */
static enum status declare_optional(void *list, struct snapshot *snapshot, struct error *err)
{
    enum status status = channel_names_declare(list, snapshot, err);
    snapshot_optional(snapshot, "");
    return status;
}

enum status channel_names_read(const struct snapshot_reader *from, int tokens, int channels,
                               struct channel_name **names, struct error *err)
{
    struct channel_name *list = calloc((size_t)channels, sizeof *list);
    struct channel_name_list all = {list, channels};
    bool any = false;
    *names = NULL;
    enum status status = list ? snapshot_load(declare_optional, &all, from, 1u << SNAPSHOT_STATE, err)
                              : error_memory(err, "the names of channels");
    for (int i = 0; !status && i < channels; i++) {
        if (!channel_name_sound(&list[i], tokens, channels))
            status = error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's names of channels are inconsistent");
        any = any || list[i].names > 0;
    }
    if (status || !any) {
        free(list);
        list = NULL;
    }
    *names = list;
    return status;
}

/* The words before and between names: "ring or triangle" or, if targets are numbers, "raises expression, lowers
 * stability". */
static const char *join_of(const struct channel_name *name, const struct open_domain *domain, int i)
{
    if (domain->shape.numbers == 0 && name->strength[i] < 0)
        return i > 0 ? ", against " : "against ";
    if (domain->shape.numbers == 0)
        return i > 0 ? " or " : "";
    bool up = name->strength[i] > 0;
    return i > 0 ? up ? ", raises " : ", lowers " : up ? "raises " : "lowers ";
}

void channel_name_text(const struct channel_name *name, const struct open_domain *domain, char *out, size_t room)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; name && i < name->names && at < room; i++) {
        const char *token = domain->domain->token(domain->state, (int)name->token[i]);
        at += (size_t)snprintf(out + at, room - at, "%s%s", join_of(name, domain, i), token ? token : "?");
    }
    if (name && name->number > 0 && at < room)
        (void)snprintf(out + at, room - at, " (%d)", name->number);
}

void channel_name_write(const struct channel_name *name, const struct open_domain *domain, const struct sink *out)
{
    char text[CHANNEL_NAME_TEXT];
    bool named = name && name->names > 0;
    channel_name_text(name, domain, text, sizeof text);
    if (named)
        sink_text(out, "name", text);
    else
        sink_null(out, "name");
    if (named && isfinite(name->whole))
        sink_number(out, "strength", name->whole);
    else
        sink_null(out, "strength");
    sink_begin_list(out, "names");
    for (int i = 0; named && i < name->names; i++) {
        const char *token = domain->domain->token(domain->state, (int)name->token[i]);
        sink_begin_object(out, NULL);
        sink_text(out, "name", token ? token : "?");
        sink_number(out, "strength", name->strength[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
}
