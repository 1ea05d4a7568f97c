/* The sampling rates of the recordings of an archive. Recordings keep the rate of their files. If the rates differ, all
 * recordings get the lowest one after the last member; or each gets the rate that the user states. Private to
 * collection_tar.c. One thread at a time. */
#ifndef MOTIF_CORE_DATA_UPLOADS_RECORDINGS_H
#define MOTIF_CORE_DATA_UPLOADS_RECORDINGS_H

#include "core/data/uploads/collection_build.h"
#include "core/formats/audio_wave.h"

struct recordings {
    int stated; /* the rate that the user states; 0: none */
    int *rate;  /* [samples] rates of the files */
    int64_t count;
    int lowest, highest;
    int64_t changed;
    struct audio_resampler *resampler;
    int from; /* the rate that the resampler reads */
};
void recordings_close(struct recordings *r);

/* Computes the space of the next recording from its header, before it is decoded. STATUS_LIMIT: the samples take more
 * space than is left; the message says how much, and which option reduces it. */
enum status recordings_check(const struct recordings *r, const struct builder *b, const struct audio_wave *wave,
                             struct error *err);
/* Notes the rate of the next recording, and changes it if the user states another one. */
enum status recordings_add(struct recordings *r, struct audio_wave *wave, struct error *err);
/* Makes the rates of all recordings equal, sets the rate of the collection, and warns if a recording was changed. */
enum status recordings_finish(struct recordings *r, struct builder *b, struct error *err);

#endif
