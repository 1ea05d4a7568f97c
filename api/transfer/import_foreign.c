/* Imports a model that another program wrote, from a tar of its files. A method that can import such a model has a
 * function `adopt` (struct method), which makes the configuration and the checkpoint of the new job. */
#include <string.h>

#include "api/http/exchange.h"
#include "api/transfer/import_int.h"
#include "core/formats/byte_source.h"

/* GROWTH: upper limit of the memory of an import, as a multiple of the file's size. A file whose numbers have two
 * bytes needs the most: memory contains its numbers as floats, the model, and the checkpoint, whose buffer doubles
 * when it is full. */
enum { TAR_BLOCK = 512, TAR_MAGIC = 257, CONFIG_MOST = 1 << 16, GROWTH = 8 };

bool import_is_tar(const struct exchange *x)
{
    const char *body = x->request->body;
    return x->request->body_bytes >= TAR_BLOCK && memcmp(body + TAR_MAGIC, "ustar", 5) == 0;
}

/* Returns the first method that can import models of another program; NULL: there is none. */
static const struct method *adopter(void)
{
    size_t count;
    const struct method *const *methods = methods_all(&count);
    for (size_t i = 0; i < count; i++)
        if (methods[i]->adopt)
            return methods[i];
    return NULL;
}

/* Refuses a file before it is read if reading it could need more memory than a job may use. */
static enum status check_memory(const struct exchange *x, struct error *err)
{
    int64_t most = x->api->options.job_memory, bytes = (int64_t)x->request->body_bytes * GROWTH;
    return most <= 0 || bytes <= most
               ? STATUS_OK
               : error_set(err, STATUS_INVALID, "",
                           "reading a file of this size needs up to %.1f GB of memory; a job may use at most %.1f GB "
                           "(--job-memory of motifd serve)",
                           (double)bytes / 1e9, (double)most / 1e9);
}

static enum status import_foreign_adopt(struct exchange *x, struct buf *config, struct buf *checkpoint,
                                        struct import_model *model, struct error *err)
{
    struct byte_source_memory memory = {(const unsigned char *)x->request->body, x->request->body_bytes, 0};
    const struct byte_source from = byte_source_of_memory(&memory);
    const struct method *method = adopter();
    if (!method)
        return error_set(err, STATUS_INVALID, "", "must be a bundle or a safetensors file");
    enum status status = check_memory(x, err);
    if (status != STATUS_OK)
        return status;
    status = method->adopt(&from, config, checkpoint, err);
    if (status == STATUS_OK && (config->failed || checkpoint->failed))
        status = error_memory(err, "a model");
    if (status == STATUS_CORRUPT || status == STATUS_INVALID || status == STATUS_LIMIT) {
        struct error cause = *err;
        error_clear(err);
        return error_set(err, STATUS_INVALID, "", "%s", cause.message);
    }
    if (status != STATUS_OK)
        return status;
    buf_append(config, "", 1); /* the text ends with NUL */
    return config->failed ? error_memory(err, "a configuration")
                          : import_model_open(x, model, method->kind, config->data, "", err);
}

void import_foreign(struct exchange *x)
{
    struct import_model model = {.method = NULL};
    struct storage_import_checkpoint checkpoint = {.seq = 1, .what = {.stage_end = true}};
    struct buf config, bytes;
    struct error err;
    error_clear(&err);
    buf_init(&config, CONFIG_MOST);
    /* the checkpoint may be larger than the file, because numbers of two bytes become floats */
    buf_init(&bytes, 4 * (size_t)x->api->options.import_bytes);
    enum status status = import_foreign_adopt(x, &config, &bytes, &model, &err);
    checkpoint.bytes = (struct storage_import_bytes){{bytes.data, NULL}, {bytes.size, 0}};
    if (status == STATUS_OK)
        status = import_model_check(x, &model, &checkpoint.bytes, "", &err);
    if (status == STATUS_OK)
        import_checkpoint(x, &model, model.method->adopts, "", NULL, &checkpoint);
    else
        respond_error(x, &err);
    import_model_close(&model);
    buf_close(&config);
    buf_close(&bytes);
}
