/* Reads and writes the names of channels (channel_names.h). */
#include "core/methods/sparling/model/channel_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool channel_name_sound(const struct channel_name *name, int tokens, int channels)
{
    bool sound = name->names >= 0 && name->names <= CHANNEL_NAMES && name->same >= -1 && name->same < channels;
    for (int i = 0; sound && i < (int)name->names; i++)
        sound = name->token[i] >= 0 && name->token[i] < tokens;
    return sound;
}

/* Whether the checkpoint has a table of names for `channels` channels. */
static enum status has_names(const struct snapshot_reader *from, int channels, bool *has, struct error *err)
{
    struct snapshot_entry *entries = NULL;
    size_t count = 0;
    *has = false;
    enum status status = snapshot_contents(from, &entries, &count, err);
    for (size_t i = 0; !status && i < count; i++)
        *has = *has || (strcmp(entries[i].name, CHANNEL_NAMES_ENTRY) == 0 && entries[i].rank == 2 &&
                        entries[i].dim[0] == (uint64_t)channels && entries[i].dim[1] == CHANNEL_NAME_COLUMNS);
    free(entries);
    return status;
}

enum status channel_names_read(const struct snapshot_reader *from, int tokens, int channels,
                               struct channel_name **names, struct error *err)
{
    const uint64_t shape[2] = {(uint64_t)channels, CHANNEL_NAME_COLUMNS};
    struct snapshot *snapshot = NULL;
    bool has, any = false;
    *names = NULL;
    enum status status = has_names(from, channels, &has, err);
    if (status || !has)
        return status;
    struct channel_name *list = calloc((size_t)channels, sizeof *list);
    status = list ? snapshot_create(&snapshot, err) : error_memory(err, "the names of channels");
    if (!status)
        status = snapshot_add(snapshot, SNAPSHOT_STATE, SNAPSHOT_F64, CHANNEL_NAMES_ENTRY, 2, shape, list, err);
    if (!status)
        status = snapshot_read(snapshot, from, 1u << SNAPSHOT_STATE, err);
    snapshot_destroy(snapshot);
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
    if (domain->shape.numbers == 0)
        return i > 0 ? " or " : "";
    bool up = name->strength[i] > 0;
    return i > 0 ? up ? ", raises " : ", lowers " : up ? "raises " : "lowers ";
}

void channel_name_text(const struct channel_name *name, const struct open_domain *domain, char *out, size_t room)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; name && i < (int)name->names && at < room; i++) {
        const char *token = domain->domain->token(domain->state, (int)name->token[i]);
        at += (size_t)snprintf(out + at, room - at, "%s%s", join_of(name, domain, i), token ? token : "?");
    }
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
    for (int i = 0; named && i < (int)name->names; i++) {
        const char *token = domain->domain->token(domain->state, (int)name->token[i]);
        sink_begin_object(out, NULL);
        sink_text(out, "name", token ? token : "?");
        sink_number(out, "strength", name->strength[i]);
        sink_end_object(out);
    }
    sink_end_list(out);
}
