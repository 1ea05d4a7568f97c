/* Runs motif-convert for uploads that the daemon cannot read itself, and passes on the table that it writes.
 *
 * The program gets the upload as its standard input, opened for reading only, two pipes, an empty environment and no
 * other descriptor. It gives up all other rights itself (convert/sandbox.h). The daemon ends it after
 * CONVERTER_SECONDS, or when the upload is abandoned. */
#ifndef MOTIF_SERVER_PROCESS_CONVERTER_H
#define MOTIF_SERVER_PROCESS_CONVERTER_H

#include "api/http/options.h"

enum { CONVERTER_SECONDS = 600 };

/* The function `convert` of struct api_converter. context: path of the program, a text. Any thread. STATUS_INVALID,
 * STATUS_CORRUPT, STATUS_LIMIT: the file is faulty or too large, or made the program crash; the message begins with the
 * name of the format. STATUS_UNAVAILABLE: the program cannot run. STATUS_CANCELLED: the upload was abandoned. Also any
 * error of conversion->take(). */
enum status converter_run(void *context, const struct api_conversion *conversion, struct error *err);

#endif
