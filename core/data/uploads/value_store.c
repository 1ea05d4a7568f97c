/* The values of a collection while it is read (value_store.h). Samples are written through a block of memory to a file.
 * The first samples decide in which form values are stored, as bytes or as floats. When a later sample does not fit the
 * form, all earlier values are rewritten in a wider form. The rewriting begins at the end of the file, because every
 * value moves towards the end. It happens at most twice. */
#include "core/data/uploads/value_store.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* BLOCK: bytes of the block of memory; SAMPLE: largest number of values of one sample */
enum { BLOCK = 1 << 18, SAMPLE = 1 << 27 };

static enum status too_large(const struct value_store *s, struct error *err)
{
    return error_set(err, STATUS_LIMIT, NULL, "the samples take more than %lld bytes, the most that is allowed",
                     (long long)s->limit);
}

void value_store_open(struct value_store *s, const int *file, int64_t limit)
{
    *s = (struct value_store){
        .file = file ? *file : -1, .own = !file, .opened = file != NULL, .limit = limit, .binary = true};
}

void value_store_close(struct value_store *s)
{
    if (s->own && s->opened)
        (void)close(s->file);
    free(s->block);
    free(s->sample);
    free(s->spool);
    *s = (struct value_store){0};
}

int64_t value_store_left(const struct value_store *s)
{
    return s->limit - s->count * (int64_t)value_form_bytes(s->form);
}

/* ---- the file ---------------------------------------------------------------------------------------------- */

static enum status write_at(struct value_store *s, const void *bytes, size_t count, int64_t at, struct error *err)
{
    int64_t more = at + (int64_t)count - s->taken;
    enum status status = work_take(s->work, s->own ? LEDGER_RESULTS : LEDGER_VALUES, more, err);
    if (status)
        return status;
    s->taken += more > 0 ? more : 0;
    for (size_t done = 0; done < count;) {
        ssize_t now = pwrite(s->file, (const char *)bytes + done, count - done, at + (int64_t)done);
        if (now <= 0)
            return error_set(err, STATUS_IO, NULL, "a data set cannot be written: the disk may be full");
        done += (size_t)now;
    }
    return STATUS_OK;
}

static enum status read_at(const struct value_store *s, void *bytes, size_t count, int64_t at, struct error *err)
{
    for (size_t done = 0; done < count;) {
        ssize_t now = pread(s->file, (char *)bytes + done, count - done, at + (int64_t)done);
        if (now <= 0)
            return error_set(err, STATUS_IO, NULL, "a part of a data set cannot be read");
        done += (size_t)now;
    }
    return STATUS_OK;
}

static enum status flush_block(struct value_store *s, struct error *err)
{
    enum status status = s->block_used > 0 ? write_at(s, s->block, s->block_used, s->written, err) : STATUS_OK;
    if (!status)
        s->written += (int64_t)s->block_used;
    s->block_used = 0;
    return status;
}

static enum status open_file(struct value_store *s, struct error *err)
{
    if (s->opened)
        return STATUS_OK;
    s->file = memfd_create("values", MFD_CLOEXEC);
    if (s->file < 0)
        return error_memory(err, "a data set");
    s->opened = true;
    return STATUS_OK;
}

static enum status value_store_append(struct value_store *s, const void *bytes, size_t count, struct error *err)
{
    enum status status = open_file(s, err);
    if (status)
        return status;
    if (!s->block && !(s->block = malloc(BLOCK)))
        return error_memory(err, "a data set");
    while (!status && count > 0) {
        size_t room = BLOCK - s->block_used, now = count < room ? count : room;
        memcpy(s->block + s->block_used, bytes, now);
        s->block_used += now;
        bytes = (const char *)bytes + now;
        count -= now;
        if (s->block_used == BLOCK)
            status = flush_block(s, err);
    }
    return status;
}

enum status value_store_spool(struct value_store *s, const struct byte_source *from, int64_t count, size_t item,
                              struct error *err)
{
    int64_t values = s->count + s->pending;
    if (count > s->limit - values) /* a value takes one byte at least */
        return too_large(s, err);
    enum status status = open_file(s, err);
    if (!status && !s->spool && !(s->spool = malloc(BLOCK)))
        status = error_memory(err, "a data set");
    s->spool_at = ((values + count) * (int64_t)sizeof(float) / BLOCK + 1) * BLOCK;
    s->spool_bytes = count * (int64_t)item;
    s->spool_read = 0;
    s->spool_used = s->spool_left = 0;
    for (int64_t done = 0; !status && done < s->spool_bytes;) {
        int64_t now = s->spool_bytes - done < BLOCK ? s->spool_bytes - done : BLOCK;
        status = byte_source_exactly(from, s->spool, (size_t)now, "the data of the .npy array", err);
        if (!status)
            status = write_at(s, s->spool, (size_t)now, s->spool_at + done, err);
        done += now;
    }
    return status ? status : byte_source_end(from, "the .npy array", err);
}

/* Reads the next block of the kept bytes, and gives its room in the file back. */
static enum status read_block(struct value_store *s, struct error *err)
{
    int64_t left = s->spool_bytes - s->spool_read, now = left < BLOCK ? left : BLOCK;
    enum status status = read_at(s, s->spool, (size_t)now, s->spool_at + s->spool_read, err);
    if (status)
        return status;
    (void)fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, s->spool_at + s->spool_read, now);
    s->spool_read += now;
    s->spool_used = 0;
    s->spool_left = (size_t)now;
    return STATUS_OK;
}

static enum status read_spooled(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    struct value_store *s = context;
    enum status status = s->spool_left == 0 ? read_block(s, err) : STATUS_OK;
    if (status)
        return status;
    *got = most < s->spool_left ? most : s->spool_left;
    memcpy(to, s->spool + s->spool_used, *got);
    s->spool_used += *got;
    s->spool_left -= *got;
    return STATUS_OK;
}

struct byte_source value_store_spooled(struct value_store *s)
{
    return (struct byte_source){s, read_spooled, NULL};
}

/* ---- forms ------------------------------------------------------------------------------------------------- */

static float value_of(unsigned char byte, enum value_form form)
{
    return form == VALUE_UNIT_BYTES ? (float)(byte / 255.0) : (float)byte;
}

/* Whether some byte of this form stands for exactly this value; writes this byte to *byte. No byte stands for -0. */
static bool byte_of(float value, enum value_form form, unsigned char *byte)
{
    float scaled = form == VALUE_UNIT_BYTES ? value * 255 : value;
    if (!(scaled >= 0 && scaled < 256) || signbit(value))
        return false;
    long nearest = lrintf(scaled);
    *byte = (unsigned char)nearest;
    return nearest <= 255 && value_of(*byte, form) == value;
}

static bool all_have(const float *values, int64_t count, enum value_form form)
{
    unsigned char byte;
    for (int64_t i = 0; i < count; i++)
        if (!byte_of(values[i], form, &byte))
            return false;
    return true;
}

/* Converts `count` values from the form `old` to the form `new`. `to` has room for them. */
static void value_store_convert(const void *from, enum value_form old, void *to, enum value_form new, int64_t count)
{
    const unsigned char *bytes = from;
    for (int64_t i = count; i-- > 0;) {
        unsigned char byte = 0;
        float value = value_of(bytes[i], old);
        if (new == VALUE_FLOATS)
            memcpy((float *)to + i, &value, sizeof value);
        else if (byte_of(value, new, &byte))
            ((unsigned char *)to)[i] = byte;
    }
}

/* Rewrites all values in another form. Before the call they are stored as bytes. */
static enum status reform(struct value_store *s, enum value_form form, struct error *err)
{
    enum { STEP = 1 << 16 };
    int64_t width = (int64_t)value_form_bytes(form);
    if (s->count > s->limit / width)
        return too_large(s, err);
    enum status status = flush_block(s, err);
    unsigned char *from = malloc(STEP);
    float *to = malloc(STEP * sizeof *to);
    if (!from || !to)
        status = error_memory(err, "a data set");
    for (int64_t end = s->count; !status && end > 0;) {
        int64_t now = end < STEP ? end : STEP;
        end -= now;
        status = read_at(s, from, (size_t)now, end, err);
        if (status)
            break;
        value_store_convert(from, s->form, to, form, now);
        status = write_at(s, to, (size_t)(now * width), end * width, err);
    }
    free(from);
    free(to);
    s->form = form;
    s->written = s->count * width;
    return status;
}

/* Returns the form in which all values so far and the values of one further sample can be stored: the present form, or
 * a wider one. */
static enum value_form form_with(const struct value_store *s, const float *values, int64_t count)
{
    if (s->floats || s->form == VALUE_FLOATS)
        return VALUE_FLOATS;
    if (all_have(values, count, s->form))
        return s->form;
    return s->form == VALUE_BYTES && s->binary && all_have(values, count, VALUE_UNIT_BYTES) ? VALUE_UNIT_BYTES
                                                                                            : VALUE_FLOATS;
}

static enum status take_form(struct value_store *s, enum value_form form, struct error *err)
{
    enum status status = form != s->form && s->count > 0 ? reform(s, form, err) : STATUS_OK;
    s->form = form;
    return status;
}

/* ---- samples ----------------------------------------------------------------------------------------------- */

/* Appends the sample that the reader has filled to the block. */
static enum status take_pending(struct value_store *s, struct error *err)
{
    int64_t count = s->pending;
    if (count == 0)
        return STATUS_OK;
    s->pending = 0;
    enum status status = take_form(s, form_with(s, s->sample, count), err);
    int64_t width = (int64_t)value_form_bytes(s->form);
    if (status)
        return status;
    if (count * width > value_store_left(s))
        return too_large(s, err);
    unsigned char *bytes = (unsigned char *)s->sample; /* the loop writes byte i over floats that it has read already */
    for (int64_t i = 0; width == 1 && i < count; i++) {
        unsigned char byte = 0;
        float value;
        memcpy(&value, (const char *)s->sample + (size_t)i * sizeof value, sizeof value);
        (void)byte_of(value, s->form, &byte);
        s->binary = s->binary && (value == 0 || value == 1);
        bytes[i] = byte;
    }
    s->count += count;
    return value_store_append(s, s->sample, (size_t)(count * width), err);
}

enum status value_store_next(struct value_store *s, int64_t count, float **values, struct error *err)
{
    enum status status = take_pending(s, err);
    if (status)
        return status;
    if (count > SAMPLE || count > value_store_left(s))
        return too_large(s, err);
    if ((size_t)count > s->sample_room) {
        float *larger = realloc(s->sample, (size_t)count * sizeof *larger);
        if (!larger)
            return error_memory(err, "a data set");
        s->sample = larger;
        s->sample_room = (size_t)count;
    }
    s->pending = count;
    *values = s->sample;
    return STATUS_OK;
}

enum status value_store_bytes(struct value_store *s, const unsigned char *bytes, int64_t count, struct error *err)
{
    enum status status = take_pending(s, err);
    if (!status && (s->floats || s->form != VALUE_BYTES)) {
        float *values;
        status = value_store_next(s, count, &values, err);
        for (int64_t i = 0; !status && i < count; i++)
            values[i] = (float)bytes[i];
        return status;
    }
    if (!status && count > value_store_left(s))
        return too_large(s, err);
    for (int64_t i = 0; s->binary && i < count; i++)
        s->binary = bytes[i] < 2;
    if (status)
        return status;
    s->count += count;
    return value_store_append(s, bytes, (size_t)count, err);
}

enum status value_store_repeat(struct value_store *s, const int64_t *begin, int64_t count, int64_t scale, int times,
                               struct error *err)
{
    enum status status = take_pending(s, err);
    int64_t width = (int64_t)value_form_bytes(s->form), largest = 0;
    if (!status && s->count > s->limit / width / times)
        status = too_large(s, err);
    if (!status)
        status = flush_block(s, err);
    for (int64_t i = 0; i < count; i++)
        largest = begin[i + 1] - begin[i] > largest ? begin[i + 1] - begin[i] : largest;
    char *sample = malloc((size_t)(largest * scale * width) + 1);
    if (!status && !sample)
        status = error_memory(err, "a data set");
    for (int64_t i = count; !status && i-- > 0;) {
        int64_t from = begin[i] * scale * width, size = (begin[i + 1] - begin[i]) * scale * width;
        status = read_at(s, sample, (size_t)size, from, err);
        for (int k = times; !status && k-- > 0;)
            status = write_at(s, sample, (size_t)size, from * times + k * size, err);
    }
    free(sample);
    s->count *= times;
    s->written = s->count * width;
    return status;
}

enum status value_store_shorten(struct value_store *s, int64_t *begin, int64_t count,
                                enum status (*change)(void *context, int64_t sample, const float *from, int64_t count,
                                                      float *to, int64_t *made, struct error *err),
                                void *context, struct error *err)
{
    enum status status = take_pending(s, err);
    int64_t largest = 0, from = 0, width = (int64_t)sizeof(float);
    if (!status)
        status = flush_block(s, err);
    for (int64_t i = 0; i < count; i++)
        largest = begin[i + 1] - begin[i] > largest ? begin[i + 1] - begin[i] : largest;
    float *sample = malloc((size_t)(2 * largest + 1) * sizeof *sample);
    if (!status && !sample)
        status = error_memory(err, "a data set");
    for (int64_t i = 0; !status && i < count; i++) {
        int64_t size = begin[i + 1] - from, made = 0;
        status = read_at(s, sample, (size_t)(size * width), from * width, err);
        if (!status)
            status = change(context, i, sample, size, sample + largest, &made, err);
        if (!status)
            status = write_at(s, sample + largest, (size_t)(made * width), begin[i] * width, err);
        from = begin[i + 1];
        begin[i + 1] = begin[i] + made;
    }
    free(sample);
    s->count = begin[count];
    s->written = s->count * width;
    return status;
}

enum status value_store_keep(struct value_store *s, const int64_t *begin, int64_t count, int64_t scale,
                             const int64_t *keep, struct error *err)
{
    enum status status = take_pending(s, err);
    int64_t width = (int64_t)value_form_bytes(s->form), to = 0, largest = 0;
    if (!status)
        status = flush_block(s, err);
    for (int64_t i = 0; i < count; i++)
        largest = begin[i + 1] - begin[i] > largest ? begin[i + 1] - begin[i] : largest;
    char *sample = malloc((size_t)(largest * scale * width) + 1);
    if (!status && !sample)
        status = error_memory(err, "a data set");
    for (int64_t i = 0; !status && i < count; i++) {
        int64_t size = (begin[i + 1] - begin[i]) * scale * width;
        if (keep[i] < 0)
            continue;
        status = read_at(s, sample, (size_t)size, begin[i] * scale * width, err);
        if (!status)
            status = write_at(s, sample, (size_t)size, to, err);
        to += size;
    }
    free(sample);
    s->count = to / width;
    s->written = to;
    return status;
}

enum status value_store_again(struct value_store *s, int64_t first, int64_t count, unsigned char *to, struct error *err)
{
    enum status status = take_pending(s, err);
    if (!status)
        status = flush_block(s, err);
    return status ? status : read_at(s, to, (size_t)count, first, err);
}

enum status value_store_finish(struct value_store *s, void **at, size_t *size, struct error *err)
{
    enum status status = take_pending(s, err);
    if (!status)
        status = flush_block(s, err);
    if (status)
        return status;
    *size = (size_t)s->written;
    if (s->spool && ftruncate(s->file, s->written)) /* behind the values is the room of bytes that were kept */
        return error_set(err, STATUS_IO, NULL, "a data set cannot be written");
    *at = mmap(NULL, *size, PROT_READ, MAP_SHARED, s->file, 0);
    if (*at == MAP_FAILED) {
        *at = NULL;
        return error_memory(err, "a data set");
    }
    return STATUS_OK;
}
