/* GET /v1/datasets/{name}/data: an uploaded data set as an .npz file. The file is made while it is sent, from the
 * stored data set, which is mapped into memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/datasets/dataset_show.h"
#include "api/datasets/datasets.h"
#include "api/http/exchange.h"
#include "core/data/dataset.h"
#include "core/data/uploads/collection.h"
#include "core/data/uploads/collection_export.h"
#include "storage/files/dataset.h"

/* What a response reads from; it exists until the response is closed. The data set is mapped into memory, so it stays
 * readable even if it is deleted meanwhile. */
struct data_download {
    struct collection collection;
    struct collection_export *file;
};

static size_t data_read(void *context, uint64_t offset, void *to, size_t count)
{
    const struct data_download *d = context;
    return collection_export_read(d->file, offset, to, count);
}

static void data_close(void *context)
{
    struct data_download *d = context;
    if (d != NULL) {
        collection_export_close(d->file);
        collection_close(&d->collection);
        free(d);
    }
}

/* Opens an upload. The caller closes *out, also after a failure. */
static enum status data_open(const char *root, const char *name, struct data_download **out, struct error *err)
{
    char folder[DATASET_PATH], path[DATASET_PATH + 16];
    struct data_download *d = *out = calloc(1, sizeof *d);
    if (d == NULL)
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for a download");
    enum status status = dataset_folder(root, name, folder, err);
    if (status != STATUS_OK)
        return status;
    (void)snprintf(path, sizeof path, "%s/" COLLECTION_FILE, folder);
    status = collection_open(path, &d->collection, err);
    return status != STATUS_OK ? status : collection_export_open(&d->collection, &d->file, err);
}

void datasets_data(struct exchange *x)
{
    struct error err;
    struct data_download *download = NULL;
    enum dataset_kind kind = DATASET_NONE;
    const char *name = exchange_param(x, "name");
    error_clear(&err);
    enum status status = dataset_find(x->api->options.data, name, &kind, &err);
    if (status == STATUS_OK && kind == DATASET_OURS)
        status = data_open(x->api->options.data, name, &download, &err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && kind != DATASET_OURS)) {
        data_close(download);
        if (kind == DATASET_FOREIGN)
            respond_problem(x, PROBLEM_NOT_FOUND, "%s is a folder of the operator; only uploads can be downloaded.",
                            name);
        else
            dataset_respond_missing(x, name, " Only uploads can be downloaded; a preset generates its samples.");
        return;
    }
    if (status != STATUS_OK) {
        data_close(download);
        respond_error(x, &err);
        return;
    }
    x->response->status = 200;
    x->response->read = data_read;
    x->response->read_close = data_close;
    x->response->read_context = download;
    x->response->read_bytes = collection_export_bytes(download->file);
    response_header(x->response, "Content-Type", "application/x-npz");
    response_header(x->response, "Content-Disposition", "attachment; filename=\"%s.npz\"", name);
    response_header(x->response, "Accept-Ranges", "none");
}
