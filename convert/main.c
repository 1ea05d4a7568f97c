/* motif-convert: reads an uploaded file and writes its table as a stream.
 *
 *   motif-convert FORMAT LAYER LABEL GROUP ID <FILE | ...
 *
 * The daemon starts it for uploads of HDF5 files. libhdf5 is the largest parser of foreign data that the project
 * uses, and a damaged file can make it crash. So it runs in a process of its own, which can only read the one file
 * and write to two pipes (sandbox.h): the table to standard output, the reason of a failure to standard error. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/convert.h"
#include "convert/hdf5_file.h"
#include "convert/sandbox.h"

static bool write_out(void *context, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t now = write(STDOUT_FILENO, (const char *)bytes + done, count - done);
        if (now <= 0)
            return false;
        done += (size_t)now;
    }
    return true;
}

static const struct convert_format *format_named(const char *name)
{
    const struct convert_format *format = convert_formats;
    while (format->name && strcmp(format->name, name) != 0)
        format++;
    return format->name ? format : NULL;
}

static enum status convert_main_run(const struct convert_format *format, const struct convert_options *options,
                                    struct error *err)
{
    static struct table_writer to = {.write = write_out};
    hid_t file;
    enum status status = hdf5_start(err);
    if (status)
        return status;
    off_t bytes = lseek(STDIN_FILENO, 0, SEEK_END);
    status = sandbox_enter(bytes > 0 ? bytes : 0, err);
    if (status)
        return status;
    status = hdf5_file_open(STDIN_FILENO, &file, err);
    if (status)
        return status;
    status = format->convert(file, options, &to, err);
    H5Fclose(file);
    return !status && to.failed ? error_set(err, STATUS_IO, NULL, "the table cannot be written") : status;
}

/* Ends the process without the functions of atexit(), which may need system calls that are forbidden now. */
static void convert_main_leave(const struct error *err)
{
    static const int codes[] = {[STATUS_INVALID] = TABLE_EXIT_FAULT,
                                [STATUS_CORRUPT] = TABLE_EXIT_FAULT,
                                [STATUS_LIMIT] = TABLE_EXIT_LIMIT,
                                [STATUS_NO_MEMORY] = TABLE_EXIT_LIMIT};
    size_t code = (size_t)err->code;
    (void)!write(STDERR_FILENO, err->message, strlen(err->message));
    _exit(code == 0 ? 0 : code < sizeof codes / sizeof codes[0] && codes[code] > 0 ? codes[code] : TABLE_EXIT_OTHER);
}

int main(int argc, char **argv)
{
    struct error err = {0};
    const struct convert_format *format = argc == 6 ? format_named(argv[1]) : NULL;
    if (!format) {
        (void)fprintf(stderr,
                      "usage: motif-convert h5ad|10x-h5 LAYER LABEL GROUP ID <FILE | ...\n"
                      "The daemon starts this program for uploads. An empty text means that this option is not set.\n");
        return TABLE_EXIT_USAGE;
    }
    const struct convert_options options = {argv[2], argv[3], argv[4], argv[5]};
    (void)convert_main_run(format, &options, &err);
    convert_main_leave(&err);
}
