/* Reads JPEG files through libjpeg-turbo, which reports errors with longjmp. The function that calls setjmp keeps every
 * resource in a struct that outlives the jump, changes no local variable after it, and calls another function for the
 * work. A warning of the library, such as missing data, is an error here, because otherwise a damaged picture would
 * become a sample. Bytes between the parts of a file are no such damage. */
#include "core/formats/jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum {
    SCANS = 200, /* upper limit of the scans of a progressive file; encoders write about ten */
    HEAD_BYTES = 3
};

struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    int max_side;
    int orientation;
    bool stray;
    enum status refused; /* why read_image() stopped, if the library did not report the error */
    char message[JMSG_LENGTH_MAX];
    JSAMPLE *line;
    struct raster *raster;
    struct error *err;
};

static struct reader *reader_of(j_common_ptr jpeg)
{
    return jpeg->client_data;
}

static void jpeg_fail(j_common_ptr jpeg)
{
    struct reader *r = reader_of(jpeg);
    jpeg->err->format_message(jpeg, r->message);
    longjmp(r->jump, 1);
}

static void on_message(j_common_ptr jpeg, int level)
{
    int code = jpeg->err->msg_code;
    if (level >= 0)
        return;
    if (code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR)
        jpeg_fail(jpeg);
    reader_of(jpeg)->stray |= code == JWRN_EXTRANEOUS_DATA;
}

static void jpeg_refuse(struct reader *r, enum status status, const char *why)
{
    r->refused = status;
    (void)snprintf(r->message, sizeof r->message, "%s", why);
    longjmp(r->jump, 1);
}

/* Refuses a file with too many scans: a few bytes can request a scan, and each scan passes over the whole picture. */
static void on_progress(j_common_ptr jpeg)
{
    if (((j_decompress_ptr)jpeg)->input_scan_number > SCANS)
        jpeg_refuse(reader_of(jpeg), STATUS_CORRUPT, "the file has too many scans");
}

static void check_head(struct reader *r)
{
    j_decompress_ptr jpeg = &r->jpeg;
    if (jpeg->image_width > (JDIMENSION)r->max_side || jpeg->image_height > (JDIMENSION)r->max_side)
        jpeg_refuse(r, STATUS_LIMIT, "the picture is larger than allowed; a side has at most 4096 pixels");
    if (jpeg->num_components != 1 && jpeg->num_components != 3)
        jpeg_refuse(r, STATUS_INVALID, "only grey and RGB pictures can be read; convert the file to RGB");
    jpeg->out_color_space = jpeg->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
}

/* Returns the orientation tag of the EXIF data; 1: there is none. */
static int jpeg_orientation(const struct jpeg_decompress_struct *jpeg)
{
    for (jpeg_saved_marker_ptr m = jpeg->marker_list; m; m = m->next)
        if (m->marker == JPEG_APP0 + 1 && m->data_length > 6 && memcmp(m->data, "Exif\0\0", 6) == 0)
            return raster_exif_orientation(m->data + 6, m->data_length - 6);
    return 1;
}

static void read_image(struct reader *r)
{
    j_decompress_ptr jpeg = &r->jpeg;
    jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xFFFF); /* EXIF data */
    (void)jpeg_read_header(jpeg, TRUE);
    check_head(r);
    r->orientation = jpeg_orientation(jpeg);
    (void)jpeg_start_decompress(jpeg);
    int channels = jpeg->output_components, rows = (int)jpeg->output_height, cols = (int)jpeg->output_width;
    size_t plane = (size_t)rows * (size_t)cols;
    r->line = malloc((size_t)cols * (size_t)channels);
    if (!r->line || raster_create(r->raster, channels, rows, cols, NULL))
        jpeg_refuse(r, STATUS_NO_MEMORY, "not enough memory for the picture");
    for (int row = 0; row < rows; row++) {
        (void)jpeg_read_scanlines(jpeg, &r->line, 1);
        for (int i = 0; i < cols * channels; i++)
            r->raster->values[(size_t)(i % channels) * plane + (size_t)row * (size_t)cols + (size_t)(i / channels)] =
                (float)(r->line[i] / 255.0);
    }
    (void)jpeg_finish_decompress(jpeg);
}

static enum status read_guarded(struct reader *r, const void *bytes, size_t count)
{
    if (setjmp(r->jump) != 0) {
        enum status status = r->refused ? r->refused : STATUS_CORRUPT;
        return error_set(r->err, status, NULL, "JPEG: %s", r->message);
    }
    jpeg_create_decompress(&r->jpeg);
    r->jpeg.client_data = r;
    r->jpeg.progress = &r->progress;
    r->jpeg.mem->max_memory_to_use = 256L << 20;
    jpeg_mem_src(&r->jpeg, bytes, (unsigned long)count);
    read_image(r);
    return STATUS_OK;
}

bool jpeg_begins(const void *bytes, size_t count)
{
    return count >= HEAD_BYTES && memcmp(bytes, "\xFF\xD8\xFF", HEAD_BYTES) == 0;
}

enum status jpeg_decode(const void *bytes, size_t count, int max_side, struct raster *raster, struct error *err)
{
    struct reader r = {.raster = raster, .err = err, .max_side = max_side < RASTER_SIDE ? max_side : RASTER_SIDE};
    *raster = (struct raster){0};
    if (!jpeg_begins(bytes, count))
        return error_set(err, STATUS_CORRUPT, NULL, "JPEG: the bytes do not begin like a JPEG file");
    r.jpeg.err = jpeg_std_error(&r.errors);
    r.errors.error_exit = jpeg_fail;
    r.errors.emit_message = on_message;
    r.progress.progress_monitor = on_progress;
    r.jpeg.client_data = &r;
    enum status status = read_guarded(&r, bytes, count);
    raster->stray = r.stray;
    if (!status)
        status = raster_turn(raster, r.orientation, err);
    jpeg_destroy_decompress(&r.jpeg);
    free(r.line);
    if (status)
        raster_close(raster);
    return status;
}
