/* The names of a model's channels: the names in the labels that the presence of a channel predicts.
 *
 * The evaluation computes them from labels (evaluation/verdict/association.h), the last checkpoint contains them, and
 * queries, pictures and the result show them beside the numbers of the channels. If targets are numbers, a channel has
 * the names of the numbers that it changes. A strength is then a partial correlation. It is below 0 if the channel
 * lowers the number. With several channels for a name (channels_per_name), a channel may mark evidence against its
 * name; the strength is then below 0, too. channel_name_sign() is the one place that decides what a channel says of a
 * name. */
#ifndef MOTIF_CORE_METHODS_SPARLING_MODEL_CHANNEL_NAMES_H
#define MOTIF_CORE_METHODS_SPARLING_MODEL_CHANNEL_NAMES_H

#include "core/methods/sparling/domains/domain.h"

/* CHANNEL_NAMES: largest number of names of a channel. CHANNEL_NAME_TEXT: largest number of bytes of their text. */
enum { CHANNEL_NAMES = 3, CHANNEL_NAME_TEXT = 200 };

struct channel_name {
    int64_t active; /* number of samples in which the channel has a motif */
    double whole;   /* correlation of the channel with the fact that at least one of its names is in the label; NaN
                       without names */
    int64_t names;  /* number of names; 0: the channel predicts no name */
    /* token: the names; strength: the correlation of the channel with each name alone */
    int64_t token[CHANNEL_NAMES];
    double strength[CHANNEL_NAMES];
    int64_t same;   /* index of another channel that marks the same positions; -1: none */
    double overlap; /* share of this channel's positions with an active position of `same` nearby */
    int number;     /* not saved: number of the channel among those with the same names, from 1 on; 0: it is alone */
};

/* Returns 1 if the motifs of a channel are evidence for a name, -1 if they are evidence against it, and 0 if the
 * channel does not have the name. With numbers as targets: whether the channel raises or lowers the number. name: NULL
 * is allowed. */
int channel_name_sign(const struct channel_name *name, int token);
/* Numbers the channels that have the same names. */
void channel_names_number(struct channel_name *names, int channels);

/* The channels of a model, and a function for snapshot_save() and snapshot_load() that declares them. */
struct channel_name_list {
    struct channel_name *name; /* [channels] */
    int channels;
};
enum status channel_names_declare(void *list, struct snapshot *snapshot, struct error *err);

/* Returns whether the numbers of a struct channel_name that was read from a checkpoint are possible. */
bool channel_name_sound(const struct channel_name *name, int tokens, int channels);
/* Reads the names from a checkpoint: [channels], which the caller frees. *names is NULL if the checkpoint has none, as
 * before the first evaluation. Errors: STATUS_CORRUPT, STATUS_NO_MEMORY. */
enum status channel_names_read(const struct snapshot_reader *from, int tokens, int channels,
                               struct channel_name **names, struct error *err);

/* Writes the names as text, "ring or triangle", "ring (2)", "against ring" or "raises expression", cut to `room` bytes;
 * "" without names. name: NULL is allowed. */
void channel_name_text(const struct channel_name *name, const struct open_domain *domain, char *out, size_t room);
/* Writes the members "name", "strength" and "names" of a channel into an open object. Without names they are null, null
 * and an empty list. name: NULL is allowed. */
void channel_name_write(const struct channel_name *name, const struct open_domain *domain, const struct sink *out);

#endif
