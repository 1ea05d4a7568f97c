/* What a job's checkpoints come from: configuration, machine, and the chain of their hashes (chain.h). */
#include <stdio.h>
#include <string.h>

#include "api/attestation_int.h"
#include "api/chain.h"

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

/* Link 0 of the chain, from the same members as the document has. */
static bool origin_of(const struct storage_job *job, char link[HASH_TEXT])
{
    cJSON *root = cJSON_CreateObject(), *config = NULL;
    bool ok = json_parse(job->config, strlen(job->config), &config, NULL) == STATUS_OK &&
              cJSON_AddItemToObject(root, "config", config) && cJSON_AddStringToObject(root, "kind", job->kind) != NULL;
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
    if (status != STATUS_OK) {
        return status;
    }
    if (!origin_of(job, chain)) {
        return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for an attestation");
    }
    sink_begin_object(out, key);
    sink_text(out, "format", ATTESTATION_FORMAT);
    sink_text(out, "job", job->id);
    sink_text(out, "kind", job->kind);
    sink_text(out, "preset", job->preset[0] != '\0' ? job->preset : NULL);
    stored_json(&x->json, "config", job->config);
    sink_null(out, "dataset");
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
    if (!exchange_job(x, &job)) {
        return;
    }
    if (job.task == JOB_EVALUATE) {
        respond_problem(x, PROBLEM_NOT_FOUND, "Job %s is an evaluation and has no checkpoints; job %s has.", job.id, job.source_job);
    } else if (attestation_write(x, NULL, &job, &err) != STATUS_OK) {
        respond_error(x, &err);
    } else {
        respond_json(x, 200);
    }
}
