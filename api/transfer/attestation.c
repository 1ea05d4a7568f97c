/* GET /v1/jobs/{id}/attestation: the origin of a job's checkpoints: configuration, data and machine, and the hash chain
 * over the checkpoints (attestation.h). */
#include "api/transfer/attestation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/jobs/job_document.h"
#include "api/transfer/transfer.h"

static void digest(const char *text, size_t bytes, char link[HASH_TEXT])
{
    unsigned char sha256[HASH_BYTES];
    hash_bytes(text, bytes, sha256);
    hash_hex(sha256, link);
}

bool chain_origin(const cJSON *attestation, char link[HASH_TEXT])
{
    static const char *const names[] = {"config", "dataset", "from", "kind"};
    struct buf text;
    cJSON *origin = cJSON_CreateObject();
    buf_init(&text, 4u << 20);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(attestation, names[i]);
        (void)json_attach(origin, names[i], member != NULL ? cJSON_Duplicate(member, true) : cJSON_CreateNull());
    }
    bool ok = cJSON_GetArraySize(origin) == (int)(sizeof names / sizeof names[0]);
    if (ok) {
        json_canonical(origin, &text);
        ok = !text.failed;
    }
    if (ok)
        digest(text.data, text.size, link);
    buf_close(&text);
    cJSON_Delete(origin);
    return ok;
}

void chain_next(char link[HASH_TEXT], long long seq, long long step, long long samples, const char *sha256)
{
    char text[3 * HASH_TEXT + 80];
    int length = snprintf(text, sizeof text, "%s %lld %lld %lld %.64s", link, seq, step, samples, sha256);
    digest(text, (size_t)length, link);
}

static void write_machine(struct exchange *x)
{
    struct api_system system;
    api_facts(x->api, &system);
    const struct sink *out = x->out;
    sink_begin_object(out, "machine");
    sink_text(out, "version", system.version);
    sink_text(out, "build", system.build);
    sink_text(out, "compiler", system.compiler);
    sink_text(out, "cpu", system.cpu);
    sink_text(out, "cpu_features", system.cpu_features);
    sink_text(out, "kernels", system.kernels);
    sink_text(out, "blas", system.blas);
    sink_text(out, "blas_core", system.blas_core);
    sink_end_object(out);
}

static void write_from(struct exchange *x, const struct storage_job *job)
{
    if (job->source_job[0] == '\0') {
        sink_null(x->out, "from");
        return;
    }
    sink_begin_object(x->out, "from");
    sink_text(x->out, "job", job->source_job);
    sink_integer(x->out, "checkpoint", job->source_checkpoint);
    sink_end_object(x->out);
}

/* ---- data ---------------------------------------------------------------------------------------------- */

/* the entry of this name in a checkpoint contains the SHA-256 of the training data */
#define DATA_ENTRY "run.data"

static enum status read_digest(const struct snapshot_reader *from, char digest[HASH_TEXT], struct error *err)
{
    struct snapshot_entry *entries = NULL;
    unsigned char bytes[HASH_BYTES];
    size_t count = 0;
    enum status status = snapshot_contents(from, &entries, &count, err);
    for (size_t i = 0; !status && i < count; i++) {
        if (strcmp(entries[i].name, DATA_ENTRY) == 0 && entries[i].bytes == HASH_BYTES) {
            status = from->read(from->context, entries[i].offset, bytes, HASH_BYTES, err);
            hash_hex(bytes, digest);
        }
    }
    free(entries);
    return status;
}

/* Reads the digest of the training data from the latest checkpoint. All checkpoints of a job have the same digest.
 * Writes "" if there is no checkpoint. */
static enum status trained_on(struct exchange *x, const struct storage_job *job, char digest[HASH_TEXT],
                              struct error *err)
{
    struct storage_checkpoint_reader *reader = NULL;
    struct storage_checkpoint info;
    struct error none;
    error_clear(&none);
    digest[0] = '\0';
    struct storage_checkpoint_pick pick = {.by = STORAGE_LATEST};
    enum status status = storage_checkpoint_open(x->api->options.storage, job->id, pick, &reader, &info, &none);
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (!status) {
        struct snapshot_reader from = {reader, (uint64_t)info.bytes, storage_checkpoint_read};
        status = read_digest(&from, digest, &none);
    }
    storage_checkpoint_close(reader);
    return !status ? STATUS_OK : error_set(err, status, none.pointer, "%s", none.message);
}

static const char *text_in(const cJSON *config, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, name));
    return text != NULL ? text : "";
}

/* Returns the names of the job's data sets by configuration field. A method with several domains has fields for the
 * data sets of each domain, and the names of these fields begin with the name of the domain. Only the fields of the
 * job's own domain are included. */
static cJSON *data_names(const struct method *method, const cJSON *config)
{
    cJSON *names = cJSON_CreateObject();
    const char *domain = text_in(config, "domain");
    for (const char *const *field = method != NULL ? method->dataset_fields : NULL; field != NULL && *field != NULL;
         field++)
        if (strncmp(*field, domain, strlen(domain)) == 0 && text_in(config, *field)[0] != '\0')
            (void)cJSON_AddStringToObject(names, *field, text_in(config, *field));
    return names;
}

/* Returns {"names", "sha256", "digest"}. sha256: the beginning of the hash of an upload (core/data/dataset.h), from the
 * configuration. digest: the hash of other training data, from the checkpoints. Returns null if the job has neither of
 * these hashes. */
static cJSON *data_of(const struct method *method, const cJSON *config, const char *digest)
{
    const char *sha256 = text_in(config, "dataset_hash");
    if (sha256[0] == '\0' && digest[0] == '\0')
        return cJSON_CreateNull();
    cJSON *data = cJSON_CreateObject();
    (void)json_attach(data, "names", data_names(method, config));
    (void)json_attach(data, "sha256", sha256[0] != '\0' ? cJSON_CreateString(sha256) : cJSON_CreateNull());
    (void)json_attach(data, "digest", digest[0] != '\0' ? cJSON_CreateString(digest) : cJSON_CreateNull());
    return data;
}

static bool write_data(struct exchange *x, const cJSON *data)
{
    struct buf text;
    buf_init(&text, 1u << 16);
    json_canonical(data, &text);
    buf_append(&text, "", 1);
    bool ok = !text.failed;
    if (ok)
        json_sink_raw(&x->json, "dataset", text.data);
    buf_close(&text);
    return ok;
}

/* ---- the document -------------------------------------------------------------------------------------- */

/* Computes link 0 of the chain from the members of the document. Frees `config` and `data`. */
static bool origin_of(const struct storage_job *job, cJSON *config, cJSON *data, char link[HASH_TEXT])
{
    cJSON *root = cJSON_CreateObject();
    bool ok = json_attach(root, "config", config);
    ok = json_attach(root, "dataset", data) && ok && /* frees `data` even after a failure */
         cJSON_AddStringToObject(root, "kind", job->kind) != NULL;
    if (ok && job->source_job[0] != '\0') {
        cJSON *from = cJSON_AddObjectToObject(root, "from");
        ok = cJSON_AddStringToObject(from, "job", job->source_job) != NULL &&
             cJSON_AddNumberToObject(from, "checkpoint", (double)job->source_checkpoint) != NULL;
    }
    ok = ok && chain_origin(root, link);
    cJSON_Delete(root);
    return ok;
}

static void write_link(struct exchange *x, const struct storage_link *link, const char *sha256, const char *chain)
{
    const struct sink *out = x->out;
    sink_begin_object(out, NULL);
    sink_integer(out, "seq", link->seq);
    sink_integer(out, "step", link->step);
    sink_integer(out, "samples", link->samples);
    sink_number(out, "density", link->density);
    sink_boolean(out, "stage_end", link->stage_end);
    sink_integer(out, "bytes", link->bytes);
    sink_text(out, "sha256", sha256);
    sink_text(out, "chain", chain);
    sink_boolean(out, "kept", link->kept);
    sink_text(out, "maker", link->maker[0] != '\0' ? link->maker : NULL);
    sink_time(out, "created_at", link->created_at);
    sink_end_object(out);
}

enum status attestation_write(struct exchange *x, const char *key, const struct storage_job *job, struct error *err)
{
    struct storage_link *links;
    size_t count;
    char chain[HASH_TEXT], sha256[HASH_TEXT];
    const struct sink *out = x->out;
    enum status status = storage_chain_list(x->api->options.storage, job->id, &x->arena, &links, &count, err);
    if (status)
        return status;
    char digest[HASH_TEXT];
    cJSON *config = NULL;
    status = trained_on(x, job, digest, err);
    if (status)
        return status;
    status = json_parse(job->config, strlen(job->config), &config, err);
    if (status)
        return status;
    cJSON *data = data_of(api_method(x->api, job->kind), config, digest);
    sink_begin_object(out, key);
    sink_text(out, "format", ATTESTATION_FORMAT);
    sink_text(out, "job", job->id);
    sink_text(out, "kind", job->kind);
    sink_text(out, "preset", job->preset[0] != '\0' ? job->preset : NULL);
    stored_json(&x->json, "config", job->config);
    bool ok = write_data(x, data);
    if (!origin_of(job, config, data, chain) || !ok)
        return error_memory(err, "an attestation");
    write_from(x, job);
    write_machine(x);
    sink_text(out, "origin", chain);
    sink_begin_list(out, "checkpoints");
    for (size_t i = 0; i < count; i++) {
        hash_hex(links[i].sha256, sha256);
        chain_next(chain, links[i].seq, links[i].step, links[i].samples, sha256);
        write_link(x, &links[i], sha256, chain);
    }
    sink_end_list(out);
    sink_text(out, "chain", chain);
    sink_end_object(out);
    return STATUS_OK;
}

void attestation_show(struct exchange *x)
{
    struct storage_job job;
    struct error err;
    error_clear(&err);
    if (!exchange_job(x, &job))
        return;
    if (job.task == JOB_EVALUATE) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s is an evaluation and has no checkpoints; job %s has.", job.id,
                        job.source_job);
    } else if (attestation_write(x, NULL, &job, &err)) {
        respond_error(x, &err);
    } else {
        respond_json(x, 200);
    }
}
