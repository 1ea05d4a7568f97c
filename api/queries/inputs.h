/* Reads the inputs of a query in all forms that clients may send: samples, arrays, files. */
#ifndef MOTIF_API_QUERIES_INPUTS_H
#define MOTIF_API_QUERIES_INPUTS_H

#include "protocol/json.h"
#include "core/base/error.h"
#include "core/data/files/input_file.h"
#include "core/methods/method.h"
#include "storage/storage.h"

struct api_faults;

#define INPUTS_MAX 256 /* maximum number of inputs in a JSON body or a file */
/* Maximum number of inputs that inputs_split() makes of one array. */
#define BATCH_MAX 4096
#define INPUT_NUMBERS_MAX (4u << 20) /* maximum number of values of one array */
/* maximum number of values of all inputs together: a small file can contain a large picture */
#define INPUTS_NUMBERS_MAX (16u << 20)

struct inputs {
    size_t count, numbers; /* count: number of inputs; numbers: number of values in all their arrays */
    struct method_input items[BATCH_MAX];
    float *owned[BATCH_MAX];              /* memory behind items[i].values, or NULL */
    struct method_edit *edits[BATCH_MAX]; /* memory behind items[i].edits, or NULL */
    size_t unpacked;                      /* bytes that compressed files had when unpacked */
    bool edited;                          /* set by the caller: whether inputs may have "edits" and "keep" */
    const struct input_file_table *table; /* set by the caller: what is known about tables; NULL: nothing */
    struct input_file_notes notes;        /* what the readers of files and arrays did on their own */
};
void inputs_close(struct inputs *inputs);

/* Reads {"inputs":[...], "checkpoint"?} and reports all faults. The caller zeroes `inputs` before. *pick does not
 * change if "checkpoint" is missing. */
enum status inputs_from_json(const cJSON *body, struct inputs *inputs, struct storage_checkpoint_pick *pick,
                             struct api_faults *faults, struct error *err);
/* Writes the notes into a list of warnings that the caller has opened. */
void inputs_warn(const struct inputs *inputs, const struct sink *out);
/* Adds the inputs of a file (input_file.h): one, or one for each record of a sequence file. `pointer`: the JSON pointer
 * for errors. STATUS_INVALID when the media type or the bytes are wrong. */
enum status input_from_bytes(const char *media_type, const void *bytes, size_t count, const char *pointer,
                             struct inputs *inputs, struct error *err);

/* Adds an array and takes ownership of `values`, also after an error. STATUS_INVALID if there are too many inputs or
 * numbers. */
enum status inputs_add(struct inputs *inputs, int rank, const int64_t *dim, float *values, struct error *err);

/* Replaces the single array of `inputs` by one input for each position of its first axis. STATUS_INVALID if `inputs`
 * does not contain exactly one array of at least two dimensions. */
enum status inputs_split(struct inputs *inputs, struct error *err);

/* Reads an array of up to four dimensions from nested lists and adds it to `inputs`. STATUS_INVALID if the lists are
 * not rectangular or exceed a limit; STATUS_NO_MEMORY. */
enum status input_array_from_json(const cJSON *list, const char *pointer, struct inputs *inputs, struct error *err);

/* Reads the edits of an intervention. The caller frees *edits with free(), also after an error.
 * STATUS_INVALID, STATUS_NO_MEMORY. */
enum status edits_from_json(const cJSON *list, const char *pointer, struct method_edit **edits, size_t *count,
                            struct error *err);

#endif
