/* Uploaded data sets: stores and deletes them. A data set never changes; the SHA-256 of the uploaded
 * bytes and the options of the upload identify it. The document about a data set is written once, when the data set is
 * stored. */
#include "api/datasets/datasets.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/datasets/dataset_names.h"
#include "api/datasets/dataset_options.h"
#include "api/datasets/dataset_show.h"
#include "api/datasets/dataset_users.h"
#include "api/datasets/uploads.h"
#include "api/http/exchange.h"
#include "api/jobs/submission.h"
#include "api/rights/caller.h"
#include "protocol/config_json.h"
#include "protocol/faults.h"
#include "api/models/model_cache.h"
#include "core/data/dataset.h"
#include "core/data/uploads/collection_build.h"
#include "core/data/uploads/collection_show.h"
#include "core/draw/png.h"
#include "storage/files/dataset.h"
#include "storage/files/dataset_digest.h"
#include "storage/jobs/policy.h"
#include "storage/storage.h"

#define PREVIEW_BYTES (8u << 20)

static const char *root_of(const struct exchange *x)
{
    return x->api->options.data;
}

/* ---- before the body arrives --------------------------------------------------------------------------------------
 */

static const struct collection_format *format_of(const char *media_type)
{
    size_t count;
    const struct collection_format *formats = collection_formats(&count);
    for (size_t i = 0; media_type != NULL && i < count; i++)
        if (media_is(media_type, formats[i].media_type) ||
            (formats[i].further_type != NULL && media_is(media_type, formats[i].further_type)))
            return &formats[i];
    return NULL;
}

/* Copies a hash in small letters, as the daemon writes hashes. Returns false if it is not 64 hexadecimal digits. */
static bool read_hash(const char *text, char hash[HASH_TEXT])
{
    if (strlen(text) != HASH_TEXT - 1 || strspn(text, "0123456789abcdefABCDEF") != HASH_TEXT - 1)
        return false;
    for (size_t i = 0; i < HASH_TEXT; i++)
        hash[i] = (char)tolower((unsigned char)text[i]);
    return true;
}

/* Responds 422 with one fault. member: "pointer" or "parameter", which says what `place` is. */
static void respond_fault(struct exchange *x, const char *member, const char *place, const char *detail)
{
    struct api_faults *faults = arena_zalloc(&x->arena, 1, sizeof *faults);
    if (faults == NULL) {
        respond_problem(x, PROBLEM_UNAVAILABLE, "There is not enough memory at the moment.");
        return;
    }
    api_faults_add(faults, place, "%s", detail);
    respond_faults(x, PROBLEM_INVALID, member, faults);
}

/* Checks that the format reads all options that the client has stated. False: the function has responded. */
static bool options_apply(struct exchange *x, const struct upload_request *request)
{
    char detail[COLLECTION_DETAIL];
    const char *unread = collection_unread(request->format, &request->options, detail);
    if (unread)
        respond_fault(x, "parameter", unread, detail);
    return unread == NULL;
}

static bool read_request(struct exchange *x, struct upload_request *request)
{
    const char *format = exchange_query(x, "format"), *hash = exchange_query(x, "sha256"),
               *visibility = exchange_query(x, "visibility");
    *request = (struct upload_request){.offset = exchange_query_integer(x, "offset", 0),
                                       .most = x->api->options.upload_bytes,
                                       .stored = x->api->options.datasets_bytes,
                                       .converter = &x->api->options.converter};
    request->format = format ? collection_format_named(format) : format_of(exchange_header(x, "Content-Type"));
    collection_options_clear(&request->options);
    for (const struct collection_option_row *o = collection_option_rows; o->field.name; o++) {
        const char *value = exchange_query(x, o->field.name);
        if (value)
            (void)collection_option_state(o, &request->options, value); /* query_check() has checked the value */
    }
    (void)snprintf(request->owner, sizeof request->owner, "%s", caller_name(x));
    (void)snprintf(request->team, sizeof request->team, "%s", caller_team(x));
    (void)visibility_parse(visibility, &request->visibility); /* query_check() has checked the value */
    if (!request->format)
        respond_problem(
            x, PROBLEM_MEDIA_TYPE,
            "Name the format of the upload in Content-Type or in ?format=; /openapi.json lists the formats.");
    else if (hash && !read_hash(hash, request->hash))
        respond_problem(x, PROBLEM_BAD_QUERY, "sha256 must be 64 hexadecimal digits.");
    else if (request->offset > 0 && !hash)
        respond_problem(x, PROBLEM_BAD_QUERY, "offset needs sha256, the hash of the whole upload.");
    else
        return options_apply(x, request);
    return false;
}

/* Whether the document of a data set states this hash of its bytes. */
static bool has_hash(const char *document, const char *hash)
{
    char own[HASH_TEXT];
    return json_member_text(document, "sha256", own, sizeof own) && strcmp(own, hash) == 0;
}

static void respond_taken(struct exchange *x, const char *name)
{
    respond_problem(x, PROBLEM_CONFLICT,
                    "Another data set is named %s, and data sets never change: choose another name.",
                    dataset_name_within(name));
}

/* Checks that no data set with other bytes has the name. A data set of the same team that the caller may not read takes
 * the name, whatever it contains. False: the function has responded. */
static bool name_free(struct exchange *x, const char *name, const char *hash)
{
    const char *text = NULL;
    size_t size;
    enum dataset_kind kind;
    bool readable = true;
    struct error err;
    error_clear(&err);
    enum status status = dataset_find(root_of(x), name, &kind, &err);
    if (!status && kind == DATASET_NONE)
        return true;
    if (!status)
        status = dataset_name_readable(x, name, &readable, &err);
    if (!status && !readable) {
        respond_taken(x, name);
        return false;
    }
    if (!status && kind == DATASET_OURS)
        status = dataset_read(root_of(x), name, "about.json", &x->arena, &text, &size, &err);
    if (status && status != STATUS_NOT_FOUND) {
        respond_error(x, &err);
        return false;
    }
    if (text == NULL) { /* no upload created this folder, or the data set was deleted meanwhile */
        respond_problem(x, PROBLEM_CONFLICT, "The operator has a folder named %s: choose another name.", name);
        return false;
    }
    if (hash[0] == '\0' || has_hash(text, hash))
        return true; /* the client may be uploading the existing data set again: same_again() compares the two when all
                        bytes have arrived */
    respond_taken(x, name);
    return false;
}

static enum status reserve_for(struct exchange *x, struct api_upload *upload, int64_t least, int64_t most,
                               struct error *err)
{
    const struct reservation_limits limits = {root_of(x), x->api->options.datasets_bytes,
                                              x->api->options.share.dataset_bytes,
                                              x->api->options.share.team_dataset_bytes};
    struct reservation *r = upload_reservation(upload);
    r->owner = upload_request_of(upload)->owner;
    r->team = upload_request_of(upload)->team;
    return reserve(&x->api->reservations, &limits, r, least, most, err);
}

/* Reserves the number of bytes that the client announced (`length`). If it announced none (-1), reserves as many as are
 * free. */
static enum status reserve_arrival(struct exchange *x, struct api_upload *upload, int64_t length, struct error *err)
{
    const struct upload_request *request = upload_request_of(upload);
    int64_t open = request->most - request->offset;
    struct reservation *r = upload_reservation(upload);
    r->part = upload_part(upload);
    enum status status = reserve_for(x, upload, length >= 0 ? length : 1, length >= 0 ? length : open, err);
    if (!status)
        upload_limit(upload, request->offset + (r->bytes - (r->part >= 0 ? request->offset : 0)));
    else if (request->offset == 0)
        upload_drop(upload); /* no bytes of this upload have arrived, so nothing is worth keeping */
    return status;
}

bool datasets_begin(struct exchange *x, struct api_upload **upload)
{
    struct upload_request request;
    struct error err;
    int64_t there, length = -1;
    const char *length_text = exchange_header(x, "Content-Length");
    error_clear(&err);
    *upload = NULL;
    char name[DATASET_NAME];
    if (!read_request(x, &request) || !dataset_name_new(x, exchange_param(x, "name"), name) ||
        !name_free(x, name, request.hash))
        return false;
    if (length_text && !text_integer(length_text, &length))
        length = -1;
    if (length > request.most - request.offset) {
        respond_problem(x, PROBLEM_TOO_LARGE, "An upload may have at most %lld bytes.", (long long)request.most);
        return false;
    }
    ledger_open(&request.account, x->api->ledger, x->work.account.owner);
    if (ledger_take(&request.account, LEDGER_UPLOADS, 1, &err)) {
        respond_no_place(x, &err, "uploads", x->api->options.uploads_at_once);
        return false;
    }
    dataset_sweep_parts(root_of(x));
    enum status status = upload_begin(root_of(x), &request, upload, &there, &err);
    if (!status && !reserve_arrival(x, *upload, length, &err))
        return true;
    if (!status)
        upload_close(*upload);
    *upload = NULL;
    if (err.code == STATUS_LIMIT) {
        respond_problem(x, PROBLEM_TOO_LARGE, "%s.", err.message);
    } else if (err.code == STATUS_CONFLICT) {
        respond_problem(x, PROBLEM_CONFLICT, "%s.", err.message);
        if (there >= 0)
            response_header(x->response, "Upload-Offset", "%lld", (long long)there);
    } else {
        respond_error(x, &err);
    }
    return false;
}

void datasets_end(struct api *api, struct api_upload *upload)
{
    if (upload != NULL) {
        reservation_release(&api->reservations, upload_reservation(upload));
        upload_close(upload);
    }
}

/* ---- when the body has arrived
 * --------------------------------------------------------------------------------------------- */

struct arrived {
    char name[DATASET_NAME];              /* of the folder */
    const struct upload_request *given;   /* as the client has stated it */
    const struct upload_request *request; /* without options that change nothing (dataset_options.h) */
    struct collection *collection;
    char hash[HASH_TEXT];
    int64_t bytes;
};

static void write_about(const struct arrived *a, struct buf *out)
{
    struct json_sink json;
    json_sink_init(&json, out);
    const struct sink *to = &json.sink;
    sink_begin_object(to, NULL);
    sink_text(to, "name", dataset_name_within(a->name));
    sink_text(to, "sha256", a->hash);
    sink_integer(to, "bytes", a->bytes);
    sink_text(to, "format", a->request->format->name);
    dataset_options_write(a->request, a->given, a->collection, to);
    sink_time(to, "created_at", now_ms());
    collection_describe(a->collection, to);
    sink_end_object(to);
    if (!json_sink_done(&json))
        out->failed = true;
}

static enum status draw_preview(const struct collection *c, struct buf *png, struct error *err)
{
    struct picture *picture = NULL;
    enum status status = collection_preview(c, &picture, err);
    if (!status)
        status = png_encode(picture, png, err);
    picture_destroy(picture);
    return status;
}

/* Where the stored form of a data set is written. */
struct set_writer {
    FILE *file;
    int64_t bytes; /* written so far */
    struct work *work;
};

/* Writes to the file. If there is none, only counts the bytes. */
static enum status put_bytes(void *context, const void *bytes, size_t count, struct error *err)
{
    struct set_writer *to = context;
    enum status status = work_check(to->work, err);
    to->bytes += (int64_t)count;
    return status ? status
           : to->file == NULL || fwrite(bytes, 1, count, to->file) == count
               ? STATUS_OK
               : error_set(err, STATUS_IO, NULL, "a data set cannot be written: the disk may be full");
}

static enum status write_set(const struct collection *c, const char *folder, struct work *work, struct error *err)
{
    struct set_writer set = {.work = work};
    enum status status = dataset_create(folder, COLLECTION_FILE, &set.file, err);
    const struct snapshot_writer to = {&set, put_bytes};
    if (!status)
        status = collection_write(c, &to, err);
    return set.file ? dataset_close_file(set.file, status, err) : status;
}

static enum status write_files(const struct arrived *a, const struct buf *about, const struct buf *preview,
                               const char *folder, struct work *work, struct error *err)
{
    const char *owner = a->request->owner, *shown = visibility_name(a->request->visibility);
    enum status status = dataset_write(folder, "about.json", about->data, about->size, err);
    if (status)
        return status;
    char identity[HASH_TEXT];
    status = dataset_identity(a->request, a->collection, a->hash, identity, err);
    if (status)
        return status;
    status = dataset_write(folder, "sha256", identity, strlen(identity), err);
    if (status)
        return status;
    if (owner[0] != '\0')
        status = dataset_write(folder, DATASET_OWNER, owner, strlen(owner), err);
    if (!status)
        status = dataset_write(folder, DATASET_VISIBILITY, shown, strlen(shown), err);
    if (status)
        return status;
    status = write_set(a->collection, folder, work, err);
    if (status)
        return status;
    status = dataset_write(folder, "preview.png", preview->data, preview->size, err);
    return status ? status : dataset_digests_write(folder, err);
}

/* The bytes of the digests of the files that write_files() makes. */
static int64_t digests_bytes(const struct arrived *a)
{
    static const char *const files[] = {"about.json", "sha256", COLLECTION_FILE, "preview.png"};
    int64_t bytes = a->request->owner[0] != '\0' ? dataset_digest_bytes(DATASET_OWNER) : 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        bytes += dataset_digest_bytes(files[i]);
    return bytes;
}

/* Stores the data set. The quotas count the bytes of all its files, so the function computes the sizes of the files
 * before it writes the first one. */
static enum status datasets_datasets_keep(struct exchange *x, const struct arrived *a, struct api_upload *upload,
                                          struct error *err)
{
    char folder[DATASET_FILES];
    struct buf about, preview;
    int64_t bytes =
        (int64_t)(strlen(a->hash) + strlen(a->request->owner) + strlen(visibility_name(a->request->visibility)));
    struct set_writer counted = {.work = &x->work};
    const struct snapshot_writer counter = {&counted, put_bytes};
    buf_init(&about, API_DOCUMENT_MAX);
    buf_init(&preview, PREVIEW_BYTES);
    write_about(a, &about);
    enum status status = buf_status(&about, "a document", err);
    if (!status)
        status = draw_preview(a->collection, &preview, err);
    if (!status)
        status = collection_write(a->collection, &counter, err);
    if (!status) {
        bytes += counted.bytes + (int64_t)(about.size + preview.size) + digests_bytes(a);
        upload_reservation(upload)->part = -1; /* the part's file was removed */
        status = reserve_for(x, upload, bytes, bytes, err);
    }
    if (!status)
        status = dataset_stage(root_of(x), folder, err);
    if (!status) {
        status = write_files(a, &about, &preview, folder, &x->work, err);
        if (!status)
            status = dataset_commit(root_of(x), folder, a->name, err);
        else
            dataset_abandon(folder);
    }
    buf_close(&about);
    buf_close(&preview);
    return status;
}

/* Compares the upload with the existing data set of its name. */
static enum status same_again(struct exchange *x, const struct arrived *a, struct dataset_difference *found,
                              struct error *err)
{
    const char *text;
    size_t size;
    enum status status = dataset_read(root_of(x), a->name, "about.json", &x->arena, &text, &size, err);
    if (status)
        return status;
    return dataset_options_compare(a->request, a->collection, a->hash, text, size, found, err);
}

/* Answers an upload under the name of an existing data set, which may be a colleague's. */
static void respond_existing(struct exchange *x, const struct arrived *a)
{
    struct dataset_difference found;
    bool readable = true;
    struct error err;
    error_clear(&err);
    const char *name = dataset_name_within(a->name);
    if (dataset_name_readable(x, a->name, &readable, &err) || (readable && same_again(x, a, &found, &err)))
        respond_error(x, &err);
    else if (readable && !found.any)
        dataset_respond(x, 200, a->name);
    else if (!readable || found.bytes)
        respond_taken(x, a->name);
    else
        respond_problem(x, PROBLEM_CONFLICT,
                        "The data set %s has the same file but other options (%s), and data sets never change: choose "
                        "another name, or delete it first (motifctl datasets delete %s).",
                        name, found.options, name);
}

static void refuse_upload(struct exchange *x, const struct error *err)
{
    if (err->code == STATUS_INVALID || err->code == STATUS_CORRUPT || err->code == STATUS_LIMIT)
        respond_fault(x, "pointer", "", err->message);
    else
        respond_error(x, err);
}

/* Estimates the usual training of a kind on the data set. *suits: the kind trains on such data. */
static enum status estimate_training(const struct method *method, const struct collection *c,
                                     struct method_estimate *out, bool *suits, struct error *err)
{
    struct error unsuited = {0};
    void *config = NULL;
    enum status status = config_start(method, method_preset(method, METHOD_DATASET_PRESET), &config, err);
    *suits = !status && !method->adapt(config, c, &unsuited);
    if (unsuited.code == STATUS_NO_MEMORY)
        status = error_memory(err, "an estimate");
    if (*suits)
        status = method_estimate(method, config, NULL, out, err);
    free(config);
    return status;
}

/* Warns of data whose usual training takes long or more memory than a job may have. */
static enum status warn_of_cost(const struct exchange *x, struct collection *c, struct error *err)
{
    static const double LONG = 3600; /* seconds */
    enum status status = STATUS_OK;
    for (size_t m = 0; !status && m < x->api->options.method_count; m++) {
        const struct method *method = x->api->options.methods[m];
        struct submission usual = {.seq = 0};
        struct error more = {0};
        bool suits = false;
        if (method->adapt)
            status = estimate_training(method, c, &usual.estimate, &suits, err);
        double seconds = submission_predict(x, &usual).seconds;
        if (!suits || (seconds < LONG && !job_memory_check(x->api, &usual.estimate, "", &more)))
            continue;
        status = collection_warn(c, err, "long-training",
                                 "a training of the kind %s with its usual settings takes about %.1f hours on this "
                                 "machine and %.1f GB of memory%s; shorter recordings, a lower rate, smaller pictures "
                                 "or effort=quick take less",
                                 method->kind, seconds / 3600, (double)usual.estimate.memory_bytes / 1e9,
                                 more.code ? ", which is more than a job may use" : "");
    }
    return status;
}

/* Responds for an upload whose work has ended before it was stored. */
static void respond_stopped(struct exchange *x)
{
    if (work_late(&x->work))
        respond_problem(x, PROBLEM_DEADLINE,
                        "Reading the upload took more than %lld s after its last byte, the limit of this daemon; send "
                        "it in parts, or start the daemon with a larger --upload-seconds.",
                        (long long)x->api->options.upload_seconds);
    else
        respond_problem(x, PROBLEM_UNAVAILABLE,
                        "The upload was stopped, because its client has disconnected or the daemon ends.");
}

/* Responds for an upload that was not read to its end. After an I/O error, or if nobody waits for the answer, the
 * partial file stays, so that the client can resume. */
static void refuse_arrived(struct exchange *x, struct api_upload *upload, const struct error *err)
{
    bool stopped = err->code == STATUS_CANCELLED, late = work_late(&x->work);
    if (err->code != STATUS_IO && (!stopped || late))
        upload_drop(upload);
    if (upload_exceeds(upload))
        respond_problem(x, PROBLEM_TOO_LARGE, "%s.", err->message);
    else if (stopped)
        respond_stopped(x);
    else
        refuse_upload(x, err);
}

static void take_in(struct exchange *x, struct api_upload *upload)
{
    const struct upload_request *given = upload_request_of(upload);
    struct upload_request effective;
    struct arrived a = {.given = given, .request = &effective};
    struct error err;
    enum dataset_kind kind;
    error_clear(&err);
    if (!dataset_name_new(x, exchange_param(x, "name"), a.name))
        return;
    if (x->api->options.upload_seconds > 0)
        x->work.until_ms = work_now_ms() + x->api->options.upload_seconds * 1000;
    if (upload_finish(upload, &x->work, &a.collection, a.hash, &a.bytes, &err)) {
        refuse_arrived(x, upload, &err);
        return;
    }
    effective = dataset_options_effective(given, a.collection);
    upload_drop(upload);
    if (a.request->hash[0] != '\0' && strcmp(a.request->hash, a.hash) != 0) {
        char detail[160];
        (void)snprintf(detail, sizeof detail,
                       "is not the SHA-256 of the bytes that arrived, which is %s over %lld bytes", a.hash,
                       (long long)a.bytes);
        respond_fault(x, "pointer", "/sha256", detail);
        return;
    }
    if (dataset_find(root_of(x), a.name, &kind, &err)) {
        respond_error(x, &err);
        return;
    }
    if (kind != DATASET_NONE) {
        respond_existing(x, &a);
        return;
    }
    if (warn_of_cost(x, a.collection, &err)) {
        respond_error(x, &err);
        return;
    }
    if (exchange_query_flag(x, "dry_run")) {
        write_about(&a, &x->response->body);
        respond_body(x, 200, "application/json");
        return;
    }
    enum status status = datasets_datasets_keep(x, &a, upload, &err);
    if (!status)
        dataset_respond(x, 201, a.name);
    else if (status == STATUS_LIMIT)
        respond_problem(x, PROBLEM_TOO_LARGE, "%s.", err.message);
    else if (status == STATUS_CONFLICT)
        respond_problem(x, PROBLEM_CONFLICT, "Another data set is named %s: choose another name.",
                        dataset_name_within(a.name));
    else if (status == STATUS_CANCELLED)
        respond_stopped(x);
    else
        respond_error(x, &err);
}

void datasets_put(struct exchange *x)
{
    struct api_upload *upload = x->request->upload;
    if (upload) {
        take_in(x, upload);
        return;
    }
    /* if the adapter does not stream, the request contains the whole body */
    if (!datasets_begin(x, &upload))
        return;
    upload_add(upload, x->request->body, x->request->body_bytes);
    take_in(x, upload);
    datasets_end(x->api, upload);
}

/* ---- deleting ---------------------------------------------------------------------------------------------- */

void datasets_delete(struct exchange *x)
{
    const char *name = exchange_param(x, "name");
    struct storage_job user;
    struct error err;
    enum dataset_kind kind;
    error_clear(&err);
    if (dataset_find(root_of(x), name, &kind, &err))
        respond_error(x, &err);
    else if (kind != DATASET_OURS)
        dataset_respond_missing(x, name, "");
    else if (dataset_user_find(x->api, &x->arena, name, &user, &err))
        respond_error(x, &err);
    else if (user.id[0] != '\0' && !caller_may(x, user.owner, user.team, user.visibility, ACTION_READ))
        respond_problem(x, PROBLEM_CONFLICT, "A job of somebody else uses the data set %s and is not finished.", name);
    else if (user.id[0] != '\0')
        respond_problem(x, PROBLEM_CONFLICT, "Job %s uses the data set %s and is not finished.", user.id, name);
    else if (dataset_remove(root_of(x), name, &err))
        respond_error(x, &err);
    else {
        model_cache_forget_dataset(x->api->models, name); /* these models may have opened the deleted files */
        (void)storage_dataset_forget(x->api->options.storage, name, NULL);
        respond_empty(x, 204);
    }
}

void datasets_patch(struct exchange *x)
{
    const char *name = exchange_param(x, "name");
    struct sharing patch = {.pinnable = true};
    struct error err;
    error_clear(&err);
    if (!sharing_read(x, &patch))
        return;
    enum status status =
        patch.pins ? storage_dataset_pin(x->api->options.storage, name, patch.pinned, &err) : STATUS_OK;
    if (!status && patch.shares)
        status = dataset_visibility_set(root_of(x), name, patch.visibility, &err);
    if (status)
        respond_error(x, &err);
    else
        dataset_respond(x, 200, name);
}

void uploads_show(struct exchange *x)
{
    const char *hash = exchange_param(x, "sha256");
    int64_t bytes;
    struct error err;
    error_clear(&err);
    if (dataset_part_bytes(root_of(x), caller_name(x), hash, &bytes, &err)) {
        respond_error(x, &err);
        return;
    }
    if (bytes < 0) {
        respond_problem(x, PROBLEM_NOT_FOUND, "The daemon has no part of such an upload.");
        return;
    }
    sink_begin_object(x->out, NULL);
    sink_text(x->out, "sha256", hash);
    sink_integer(x->out, "received", bytes);
    sink_end_object(x->out);
    respond_json(x, 200);
}
