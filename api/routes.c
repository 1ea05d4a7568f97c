/* The table of the daemon's fixed routes: for each, its scope, parameters, media types, answers and handler. Routing,
 * admission of requests and the OpenAPI document use this table. query_routes.c adds the routes of the methods. */
#include "api/audit.h"
#include "api/datasets/datasets.h"
#include "api/documents/documents.h"
#include "api/http/message.h"
#include "api/http/problem.h"
#include "api/http/route.h"
#include "api/http/service.h"
#include "api/http/uri.h"
#include "api/inference/inference.h"
#include "api/jobs/job_spec.h"
#include "api/jobs/jobs.h"
#include "api/report/report.h"
#include "api/retention/retention.h"
#include "api/review/review.h"
#include "api/rights/usage.h"
#include "api/studies/studies.h"
#include "api/sign_in.h"
#include "api/tokens.h"
#include "api/trainers/trainers.h"
#include "api/transfer/transfer.h"
#include "core/data/division/division.h"
#include "core/data/uploads/collection.h"
#include "storage/storage.h"

#define JSON "application/json"
#define COUNT_LIMIT 1000
#define INTEGER_MAX 9007199254740991

static const char *const json_types[] = {JSON, NULL};
static const char *const patch_types[] = {JSON, "application/merge-patch+json", NULL};
static const char *const import_types[] = {"application/octet-stream", NULL};
static const char *const states[] = {"queued", "running", "paused", "succeeded", "failed", "cancelled", NULL};

static const char *const visibilities[] = {"private", "team", "everyone", NULL};

static const struct config_field submit_query[] = {
    PARAMETER_FLAG("dry_run", "1: validate and estimate only; nothing is stored"),
    PARAMETERS_END,
};
static const struct config_field list_query[] = {
    PARAMETER_CHOICE("state", states, "only jobs in this state"),
    PARAMETER_TEXT("kind", 40, "only jobs of this kind"),
    PARAMETER_TEXT("name", STORAGE_NAME - 1, "only jobs with exactly this name"),
    PARAMETER_TEXT("tag", JOB_TAG_BYTES - 1, "only jobs with this tag"),
    PARAMETER_TEXT("owner", STORAGE_NAME - 1, "only jobs that the token of this name submitted"),
    PARAMETER_TEXT("preset", 64, "only jobs of this preset"),
    PARAMETER_TEXT("study", STORAGE_ID - 1,
                   "only jobs of the study with this id; none: only jobs that belong to no study"),
    PARAMETER_TEXT(PARAMETER_RESULT, 0,
                   "bound on a member of the result: result.fpe<=0.1, result.accuracy>=0.9 or result.verdict=learned; "
                   "may occur for "
                   "several members"),
    PARAMETER_TEXT("sort", 80,
                   "created_at, started_at, finished_at, name, kind, preset, owner, state, priority or result.NAME, "
                   "smallest first; "
                   "with - in front, largest first (-created_at)"),
    PARAMETER_TEXT("fields", 1000,
                   "members of each job, separated by commas, such as name,state,result.fpe; id is always there. "
                   "config alone: the "
                   "configuration in addition to the other members"),
    PARAMETER_INTEGER("limit", 1, COUNT_LIMIT, "jobs on a page (50)"),
    PARAMETER_TEXT("cursor", 64, "next_cursor of the previous page"),
    PARAMETERS_END,
};
static const struct config_field report_query[] = {
    PARAMETER_TEXT("inputs", 400, "samples that come first in the gallery: their seeds, separated by commas (none)"),
    PARAMETERS_END,
};
static const struct config_field study_list_query[] = {
    PARAMETER_TEXT("kind", 40, "only studies of this kind"),
    PARAMETER_TEXT("name", STORAGE_NAME - 1, "only studies with exactly this name"),
    PARAMETER_TEXT("owner", STORAGE_NAME - 1, "only studies that the token of this name submitted"),
    PARAMETER_INTEGER("limit", 1, COUNT_LIMIT, "studies on a page (50)"),
    PARAMETER_TEXT("cursor", 64, "next_cursor of the previous page"),
    PARAMETERS_END,
};
static const struct config_field study_query[] = {
    PARAMETER_FLAG("brief", "1: without jobs and table"),
    PARAMETERS_END,
};
static const char *const log_axes[] = {"x", "y", "xy", NULL};
static const struct config_field study_chart_query[] = {
    PARAMETER_TEXT("x", 64, "field of the grid on the horizontal axis (its first field)"),
    PARAMETER_TEXT("y", 64, "result on the vertical axis (the first result)"),
    PARAMETER_CHOICE("log", log_axes, "axes that are logarithmic"),
    PARAMETERS_END,
};
static const struct config_field show_query[] = {
    PARAMETER_FLAG("checkpoint", "1: latest means the newest training that has a checkpoint"),
    PARAMETERS_END,
};
static const struct config_field metrics_query[] = {
    PARAMETER_TEXT("name", 2000, "names of series, separated by commas (all series)"),
    PARAMETER_INTEGER("since", 0, INTEGER_MAX, "only points after this step"),
    PARAMETER_INTEGER("until", 0, INTEGER_MAX, "only points up to this step"),
    PARAMETER_INTEGER(
        "max_points", 3, 100000,
        "most points of a series (1500); when more exist, each bucket gives its min, max and last in step order"),
    PARAMETERS_END,
};
static const struct config_field events_query[] = {
    PARAMETER_TEXT("after", 20,
                   "id of the event after which the stream begins; now: the newest event; the header Last-Event-ID "
                   "takes precedence"),
    PARAMETERS_END,
};
static const struct config_field job_events_query[] = {
    PARAMETER_TEXT("after", 20,
                   "id of the event after which the stream begins; now: the newest event; the header Last-Event-ID "
                   "takes precedence"),
    PARAMETER_FLAG("stored", "1: the stream ends after the events that are stored now"),
    PARAMETERS_END,
};
static const struct config_field import_query[] = {
    PARAMETER_TEXT("name", 127, "name of the new job"),
    PARAMETER_TEXT("sha256", 64, "SHA-256 of the file in hex; a file with another hash is refused"),
    PARAMETERS_END,
};

static const struct config_field onnx_query[] = {
    PARAMETER_TEXT("checkpoint", 40, "latest, best, a sequence number or density:NUMBER (latest)"),
    PARAMETERS_END,
};

static const struct config_field bundle_query[] = {
    PARAMETER_TEXT("checkpoints", 40, "all, latest, best, a sequence number or density:NUMBER (latest)"),
    PARAMETERS_END,
};

/* The options of uploads as parameters. */
#define UPLOAD_TEXT(BIT, option, most, what, ...) PARAMETER_TEXT(#option, most, what),
#define UPLOAD_INTEGER(BIT, option, low, high, none, what, ...) PARAMETER_INTEGER(#option, low, high, what),
#define UPLOAD_CHOICE(BIT, option, all, stated, none, what, ...) PARAMETER_CHOICE(#option, stated, what),
#define UPLOAD_LAYOUT UPLOAD_CHOICE
#define UPLOAD_FLAG(BIT, option, what, ...) PARAMETER_FLAG(#option, what),
static const struct config_field dataset_query[] = {
    PARAMETER_CHOICE("format", collection_format_names,
                     "format of the body; with this parameter the Content-Type has no effect and may be missing"),
#include "core/data/uploads/options.inc"
    PARAMETER_FLAG("dry_run", "1: the answer says how the file is read (recognised); nothing is stored"),
    PARAMETER_CHOICE("visibility", visibilities, "who may see the data set (team)"),
    PARAMETER_TEXT(
        "sha256", 64,
        "SHA-256 of the whole file in hex; the daemon compares it, and an interrupted upload can be resumed"),
    PARAMETER_INTEGER(
        "offset", 0, INTEGER_MAX,
        "number of bytes that arrived in earlier requests (GET /v1/uploads/{sha256}); the body continues after them"),
    PARAMETERS_END,
};

static const struct config_field division_query[] = {
    PARAMETER_CHOICE(
        "dataset_split", division_splits,
        "what is divided: auto (the parts of the file, else groups, else samples), part, groups or samples"),
    PARAMETER_TEXT("dataset_test", 20, "requested share of the test part (0.15)"),
    PARAMETER_TEXT("dataset_validation", 20, "requested share of the validation part (0.1)"),
    PARAMETER_TEXT("dataset_test_group", 4000, "names of the groups of the test part, with commas between them"),
    PARAMETER_INTEGER("dataset_split_seed", 0, INTEGER_MAX, "seed of the division (0)"),
    PARAMETER_INTEGER("folds", 0, 100, "number of equal test parts, of which `fold` is the test part (0: one share)"),
    PARAMETER_INTEGER("fold", 0, 99, "which of the test parts (0)"),
    PARAMETERS_END,
};

#define EPOCH PARAMETER_INTEGER("epoch", 0, INTEGER_MAX, "epoch from the answer to POST /v1/jobs/{id}/run")
static const char *const run_of[] = {"job", "source", NULL};
static const struct config_field epoch_query[] = {EPOCH, PARAMETERS_END};
static const struct config_field run_artifact_query[] = {
    EPOCH, PARAMETER_TEXT("type", 100, "media type of the file (default: application/octet-stream)"), PARAMETERS_END};
static const struct config_field run_of_query[] = {
    EPOCH,
    PARAMETER_CHOICE(
        "of", run_of,
        "whose checkpoints: `job` (default) for those of the job itself, `source` for those of the job from which it "
        "starts or which it evaluates"),
    PARAMETERS_END};
static const struct config_field piece_query[] = {
    EPOCH, PARAMETER_INTEGER("offset", 0, INTEGER_MAX, "offset of the piece in the checkpoint, in bytes"),
    PARAMETERS_END};

#define PROBLEM(status, meaning)                                                                                       \
    {                                                                                                                  \
        status, "application/problem+json", "Problem", meaning                                                         \
    }
#define END                                                                                                            \
    {                                                                                                                  \
        0, NULL, NULL, NULL                                                                                            \
    }

static const struct api_answer submit_answers[] = {
    {201, JSON, "Job", "The job is on disk. Location is its address."},
    {200, JSON, "Estimate", "With dry_run: the estimated cost of the job."},
    PROBLEM(400, "The body is not JSON."),
    PROBLEM(422, "Fields are invalid, or the Idempotency-Key was used for a different request."),
    PROBLEM(403, "The checkpoints and files of the token's jobs have reached the token's limit."),
    PROBLEM(429, "The token has reached its limit of unfinished jobs."),
    PROBLEM(503, "The queue is full or the daemon is shutting down."),
    END};
static const struct api_answer study_submit_answers[] = {
    {201, JSON, "Study", "The study and all its jobs are on disk. Location is its address."},
    {200, JSON, "StudyEstimate", "With dry_run: the estimated cost of all jobs together."},
    PROBLEM(400, "The body is not JSON."),
    PROBLEM(422, "Fields are invalid, or the Idempotency-Key was used for a different request."),
    PROBLEM(403, "The checkpoints and files of the token's jobs have reached the token's limit."),
    PROBLEM(429, "The token would exceed its limit of unfinished jobs."),
    PROBLEM(503, "The queue has no room for all jobs, or the daemon is shutting down."),
    END};
static const struct api_answer study_list_answers[] = {
    {200, JSON, "StudyList", "Newest first."}, PROBLEM(400, "A query parameter is wrong."), END};
static const struct api_answer study_answers[] = {
    {200, JSON, "Study",
     "The study with its jobs and its table: for each combination of values, each result's median, "
     "smallest and largest value over the seeds."},
    {200, "text/csv", NULL, "The table alone: a row for each combination."},
    PROBLEM(404, "There is no such study."),
    END};
static const struct api_answer study_chart_answers[] = {
    {200, "image/png", NULL, "A line for each combination of the other fields; bars show the range over the seeds."},
    {200, "image/svg+xml", NULL, "The same as SVG."},
    PROBLEM(400, "A query parameter is wrong."),
    PROBLEM(404, "There is no such study."),
    PROBLEM(409, "The study has no grid, or no job has a result yet."),
    END};
static const struct api_answer study_action_answers[] = {
    {202, JSON, "Study", "The daemon accepted the request for each job whose state allows it."},
    PROBLEM(404, "There is no such study."),
    PROBLEM(409, "No job's state allows it."),
    END};
static const struct api_answer study_patch_answers[] = {{200, JSON, "Study", "The changed study."},
                                                        PROBLEM(404, "There is no such study."),
                                                        PROBLEM(422, "Fields are invalid."),
                                                        END};
static const struct api_answer study_delete_answers[] = {
    {204, NULL, NULL, "Deleted, with all its jobs."},
    PROBLEM(404, "There is no such study."),
    PROBLEM(409, "A job is not finished, or an unfinished job starts from one of them."),
    END};
static const struct api_answer list_answers[] = {
    {200, JSON, "JobList",
     "Newest first, unless sort asks for another order. Of a result, the list has the single values only."},
    PROBLEM(400, "A query parameter is wrong."),
    END};
static const struct api_answer show_answers[] = {{200, JSON, "Job", "The job, with an ETag."},
                                                 {304, NULL, NULL, "If-None-Match contains the current ETag."},
                                                 PROBLEM(404, "There is no such job."),
                                                 END};
static const struct api_answer patch_answers[] = {{200, JSON, "Job", "The changed job."},
                                                  PROBLEM(404, "There is no such job."),
                                                  PROBLEM(412, "If-Match contains the ETag of another version."),
                                                  PROBLEM(422, "Fields are invalid."),
                                                  END};
static const struct api_answer action_answers[] = {
    {202, JSON, "Job", "The daemon accepted the request; a running job acts at its next step boundary."},
    PROBLEM(404, "There is no such job."),
    PROBLEM(409, "The state of the job does not allow it."),
    END};
static const struct api_answer delete_answers[] = {{204, NULL, NULL, "Deleted."},
                                                   PROBLEM(404, "There is no such job."),
                                                   PROBLEM(409, "The job is not finished."),
                                                   PROBLEM(412, "If-Match contains the ETag of another version."),
                                                   END};
static const struct api_answer metrics_answers[] = {
    {200, JSON, "Metrics", "Series of [step, value]."},
    PROBLEM(404, "There is no such job."),
    PROBLEM(422, "A name is neither a series of the job nor a metric of any method."),
    END};
#define STREAM                                                                                                         \
    {                                                                                                                  \
        200, "text/event-stream", NULL, "Server-sent events: state, progress, metric, checkpoint."                     \
    }
#define STREAM_PROBLEMS                                                                                                \
    PROBLEM(400, "Last-Event-ID or a query parameter is wrong."),                                                      \
        PROBLEM(429, "The token or the address has as many open streams as it may have."),                             \
        PROBLEM(503, "As many streams are open as the daemon allows (--streams), or the daemon is shutting down; "     \
                     "Retry-After gives the time to wait.")
static const struct api_answer events_answers[] = {STREAM, STREAM_PROBLEMS, END};
static const struct api_answer job_events_answers[] = {
    STREAM,
    {204, NULL, NULL, "The job is finished and there are no further events: do not connect again."},
    STREAM_PROBLEMS,
    PROBLEM(404, "There is no such job."),
    END};
static const struct api_answer checkpoints_answers[] = {
    {200, JSON, "CheckpointList", "Oldest first."}, PROBLEM(404, "There is no such job."), END};
static const struct api_answer checkpoint_answers[] = {
    {200, "application/octet-stream", NULL, "The weights as a safetensors file, with a strong ETag."},
    {206, "application/octet-stream", NULL, "The range of bytes that Range requests."},
    {304, NULL, NULL, "If-None-Match contains the current ETag."},
    PROBLEM(404, "There is no such job or checkpoint."),
    PROBLEM(416, "The range is outside the file."),
    END};
static const struct api_answer attestation_answers[] = {
    {200, JSON, "Attestation", "Configuration, machine, and the chain of checkpoint hashes."},
    PROBLEM(404, "There is no such job, or it is an evaluation."),
    END};
static const struct api_answer onnx_answers[] = {
    {200, "application/octet-stream", NULL, "The model, with a strong ETag."},
    {304, NULL, NULL, "If-None-Match contains the current ETag."},
    PROBLEM(400, "The parameter is wrong."),
    PROBLEM(404, "There is no such job or checkpoint, or models of its kind cannot be exported to ONNX."),
    PROBLEM(409, "The job has no checkpoint yet, or its model uses random noise."),
    PROBLEM(429, "Too many queries are running; Retry-After gives the time to wait."),
    PROBLEM(503, "There is not enough memory at the moment, or the daemon is shutting down."),
    PROBLEM(504, "The export took longer than --query-seconds."),
    END};
static const struct api_answer job_report_answers[] = {
    {200, "text/html", NULL, "One HTML file without scripts, which needs no network and has less than 5 MB."},
    PROBLEM(404, "There is no such job."),
    PROBLEM(409, "The job has no result yet."),
    PROBLEM(429, "Too many queries are running; Retry-After gives the time to wait."),
    PROBLEM(503, "There is not enough memory at the moment, or the daemon is shutting down."),
    PROBLEM(504, "The report took longer than --query-seconds."),
    END};
static const struct api_answer bundle_answers[] = {
    {200, "application/octet-stream", NULL, "The bundle, a file in the safetensors format."},
    PROBLEM(400, "The parameter is wrong."),
    PROBLEM(404, "There is no such job or checkpoint."),
    PROBLEM(409, "The job has no checkpoint yet, or its checkpoints together exceed the size limit."),
    END};
static const struct api_answer import_answers[] = {
    {201, JSON, "Job", "A succeeded job that contains the model. Location is its address."},
    PROBLEM(403, "The token has reached its limit of checkpoints and files."),
    PROBLEM(413, "The file is too large."),
    PROBLEM(422, "The file is malformed, its model does not fit its configuration or the memory of a job, or the "
                 "Idempotency-Key was used for a different request."),
    PROBLEM(429, "Too many imports are in progress; Retry-After says when to try again."),
    PROBLEM(503, "There is not enough memory at the moment, or the daemon is shutting down."),
    END};
static const struct api_answer evaluation_answers[] = {
    {200, JSON, "Evaluation", "The result of the newest evaluation, or of the job itself."},
    PROBLEM(404, "There is no such job, or no evaluation yet."),
    END};
static const struct api_answer evaluate_answers[] = {
    {201, JSON, "Job", "The job of the evaluation. Location is its address."},
    PROBLEM(404, "There is no such job."),
    PROBLEM(409, "The job has no checkpoint yet."),
    PROBLEM(422, "Fields are invalid, or the Idempotency-Key was used for a different request."),
    PROBLEM(503, "The queue is full."),
    END};
static const struct api_answer artifacts_answers[] = {
    {200, JSON, "ArtifactList", "By name."}, PROBLEM(404, "There is no such job."), END};
static const struct api_answer artifact_answers[] = {
    {200, "*/*", NULL, "The file, with its own media type."}, PROBLEM(404, "There is no such job or artifact."), END};
static const struct api_answer datasets_answers[] = {{200, JSON, "DatasetList", "By name."}, END};
static const struct api_answer dataset_answers[] = {
    {200, JSON, "Dataset", "The data set's document."}, PROBLEM(404, "There is no such data set."), END};
static const struct api_answer preview_answers[] = {
    {200, "image/png", NULL, "A picture of the first samples."}, PROBLEM(404, "There is no such data set."), END};
static const struct api_answer division_answers[] = {
    {200, JSON, "Division", "The samples, groups and names of each part."},
    PROBLEM(400, "A query parameter is wrong."),
    PROBLEM(404, "There is no such data set."),
    PROBLEM(422, "The samples cannot be divided so; the detail has the counts."),
    END};
static const struct api_answer put_answers[] = {
    {201, JSON, "Dataset", "The data set is on disk. Location is its address."},
    {200, JSON, "Dataset", "The same data set existed already, or with dry_run: how the file is read."},
    PROBLEM(400, "A query parameter or the name is wrong."),
    PROBLEM(409, "Another data set has the name, or the upload must continue at Upload-Offset."),
    PROBLEM(413, "The upload is too large, or all data sets together are."),
    PROBLEM(415, "The media type is not supported."),
    PROBLEM(422, "The file is invalid (the detail names the row, column or member), or its SHA-256 differs from the "
                 "announced one."),
    PROBLEM(429, "Too many uploads are in progress."),
    PROBLEM(504, "Reading the upload took longer than --upload-seconds."),
    END};
static const struct api_answer drop_answers[] = {{204, NULL, NULL, "Deleted."},
                                                 PROBLEM(404, "There is no such data set."),
                                                 PROBLEM(409, "An unfinished job uses the data set."),
                                                 END};
static const struct api_answer dataset_patch_answers[] = {{200, JSON, "Dataset", "The changed data set."},
                                                          PROBLEM(404, "There is no such data set."),
                                                          PROBLEM(422, "Fields are invalid."),
                                                          END};
static const struct api_answer upload_answers[] = {{200, JSON, "Upload", "The number of bytes that have arrived."},
                                                   PROBLEM(404, "No part of such an upload is stored."),
                                                   END};
static const struct api_answer kinds_answers[] = {{200, JSON, "KindList", "Every method of this build."}, END};
static const struct api_answer kind_answers[] = {
    {200, JSON, "Kind", "The method."}, PROBLEM(404, "There is no such method."), END};
static const struct api_answer system_answers[] = {{200, JSON, "System", "This daemon."}, END};
static const struct api_answer audit_answers[] = {
    {200, JSON, "AuditList", "Newest first; status is null if the process ended before it answered."},
    PROBLEM(400, "A query parameter is wrong."),
    END};
#define NO_KEY PROBLEM(403, "The request does not have the key of the operator.")
static const struct api_answer token_list_answers[] = {
    {200, "text/plain", NULL, "A line for each token, also for revoked ones."}, NO_KEY, END};
static const struct api_answer token_create_answers[] = {
    {201, "text/plain", NULL, "The text of the token, which is stored nowhere. The daemon now requires tokens."},
    PROBLEM(400, "The name or a query parameter is wrong."),
    NO_KEY,
    PROBLEM(409, "A valid token has this name."),
    END};
static const struct api_answer token_rotate_answers[] = {
    {201, "text/plain", NULL, "The text of the new token, which is stored nowhere."},
    PROBLEM(400, "A query parameter is wrong."),
    NO_KEY,
    PROBLEM(404, "No valid token has this name."),
    END};
static const struct api_answer token_revoke_answers[] = {
    {204, NULL, NULL, "Revoked: the next request with this token is refused."},
    PROBLEM(400, "A query parameter is wrong."),
    NO_KEY,
    PROBLEM(404, "No valid token has this name."),
    END};
#define RUN_PROBLEMS                                                                                                   \
    PROBLEM(401, "The token is not that of the job's trainer, or the trainer's run has ended."),                       \
        PROBLEM(409,                                                                                                   \
                "Another trainer has taken over (the epoch is an earlier one), or the run ended during the request."), \
        END
static const struct api_answer register_answers[] = {
    {200, JSON, "RunRegistration", "The job. The trainer repeats the epoch in every later message."},
    PROBLEM(503, "The job is not running at the moment; try again."),
    RUN_PROBLEMS};
static const struct api_answer report_answers[] = {
    {200, JSON, "RunReportAnswer",
     "The report is on disk. A report whose sequence number was stored before changes nothing. The answer contains the "
     "requested state."},
    PROBLEM(422, "The body is not a valid report."),
    RUN_PROBLEMS};
static const struct api_answer run_artifact_answers[] = {
    {204, NULL, NULL, "The file is on disk."}, PROBLEM(422, "The name is not allowed."), RUN_PROBLEMS};
static const struct api_answer run_list_answers[] = {{200, JSON, "RunCheckpoints", "Oldest first."}, RUN_PROBLEMS};
static const struct api_answer run_bytes_answers[] = {
    {200, "application/octet-stream", NULL, "The bytes of the checkpoint, with the whole state of the training."},
    PROBLEM(404, "There is no such checkpoint."),
    RUN_PROBLEMS};
static const struct api_answer received_answers[] = {
    {200, JSON, "RunReceived",
     "The number of bytes that have arrived; the next piece continues there. seq: the number of the stored checkpoint, "
     "0 while it is incomplete."},
    PROBLEM(422, "The bytes differ from the announced length or SHA-256."),
    RUN_PROBLEMS};
static const struct api_answer end_answers[] = {
    {204, NULL, NULL, "The end is on disk. Repeating the request changes nothing."},
    PROBLEM(422, "The body is not a valid end of a run."),
    RUN_PROBLEMS};
static const struct api_answer live_answers[] = {{200, JSON, "Health", "The process answers."}, END};
static const struct api_answer ready_answers[] = {
    {200, JSON, "Health", "The daemon accepts jobs."},
    PROBLEM(503, "The daemon is shutting down, or it cannot write to the database."),
    END};
static const struct api_answer prometheus_answers[] = {{200, "text/plain", NULL, "Prometheus text format."}, END};
static const struct api_answer openapi_answers[] = {{200, JSON, "OpenApi", "This document."}, END};
static const struct api_answer root_answers[] = {
    {200, "text/html", NULL, "The dashboard."},
    {200, "text/plain", NULL, "A short description of the API, if Accept prefers text or the build has no dashboard."},
    {304, NULL, NULL, "If-None-Match contains the current ETag."},
    END};
static const struct api_answer asset_answers[] = {
    {200, "text/javascript", NULL, "The page's script; caches may keep it without limit."},
    {200, "text/css", NULL, "The page's style."},
    {304, NULL, NULL, "If-None-Match contains the current ETag."},
    PROBLEM(404, "The page has no file of this name."),
    END};
static const struct api_answer python_client_answers[] = {
    {200, "text/x-python", NULL, "The client as one module; it needs the standard library and NumPy."},
    {304, NULL, NULL, "If-None-Match contains the current ETag."},
    END};

#define INFERENCE_PROBLEM(status, meaning)                                                                             \
    {                                                                                                                  \
        status, "application/problem+json", "InferenceProblem", meaning                                                \
    }
static const char *const infer_types[] = {JSON, "application/octet-stream", NULL};
static const struct api_answer inference_server_answers[] = {{200, JSON, "InferenceServer", "This server."}, END};
static const struct api_answer inference_live_answers[] = {{200, JSON, "InferenceLive", "The process answers."}, END};
static const struct api_answer inference_ready_answers[] = {
    {200, JSON, "InferenceReady", "The daemon answers requests."},
    INFERENCE_PROBLEM(503, "The daemon is shutting down, or it cannot write to the database."),
    END};
static const struct api_answer inference_model_answers[] = {
    {200, JSON, "InferenceModel", "The tensors and versions (checkpoints) of the model."},
    INFERENCE_PROBLEM(404, "There is no such job or checkpoint, or models of its kind have no tensors."),
    INFERENCE_PROBLEM(409, "The job has no checkpoint yet."),
    INFERENCE_PROBLEM(429, "Too many queries are running; Retry-After gives the time to wait."),
    END};
static const struct api_answer inference_model_ready_answers[] = {
    {200, JSON, "InferenceModelReady", "The model answers inferences."},
    INFERENCE_PROBLEM(404, "There is no such job or checkpoint, or models of its kind have no tensors."),
    INFERENCE_PROBLEM(409, "The job has no checkpoint yet."),
    END};
static const struct api_answer infer_answers[] = {
    {200, JSON, "InferenceAnswer", "The outputs."},
    {200, "application/octet-stream", NULL,
     "If an output is requested as binary data: the JSON, followed by the data of these outputs in their order. "
     "Inference-Header-Content-Length gives the number of bytes of the JSON."},
    INFERENCE_PROBLEM(400, "The body is not JSON, or Inference-Header-Content-Length is wrong."),
    INFERENCE_PROBLEM(404, "There is no such job or checkpoint, or models of its kind have no tensors."),
    INFERENCE_PROBLEM(409, "The job has no checkpoint yet."),
    INFERENCE_PROBLEM(413, "The body or an output is too large."),
    INFERENCE_PROBLEM(422, "A tensor is invalid or does not fit the model."),
    INFERENCE_PROBLEM(429, "Too many queries are running; Retry-After gives the time to wait."),
    INFERENCE_PROBLEM(503, "There is not enough memory at the moment."),
    INFERENCE_PROBLEM(504, "The query took longer than --query-seconds."),
    END};

#define GET(right, pattern, name, scope, query, answers, handle, summary)                                              \
    {                                                                                                                  \
        "GET", pattern, name, summary, scope, 0, false, NULL, NULL, query, answers, handle, NULL, right                \
    }
#define INFERENCE_GET(right, pattern, name, scope, answers, handle, summary)                                           \
    {                                                                                                                  \
        "GET", pattern, name, summary, scope, 0, false, NULL, NULL, NULL, answers, handle, &inference_dialect, right   \
    }
#define INFER(pattern, name, summary)                                                                                  \
    {                                                                                                                  \
        "POST", pattern, name, summary, API_SCOPE_READ, API_BODY_MAX, false, infer_types, "InferenceRequest", NULL,    \
            infer_answers, inference_infer, &inference_dialect, RIGHT_FETCH                                            \
    }
#define ACT(verb, handle, summary)                                                                                     \
    {                                                                                                                  \
        "POST", "/v1/jobs/{id}/" verb, verb "Job", summary, API_SCOPE_SUBMIT, 0, false, NULL, NULL, NULL,              \
            action_answers, handle, NULL, RIGHT_CHANGE                                                                 \
    }

#define ACT_ON_STUDY(verb, handle, summary)                                                                            \
    {                                                                                                                  \
        "POST", "/v1/studies/{id}/" verb, verb "Study", summary, API_SCOPE_SUBMIT, 0, false, NULL, NULL, NULL,         \
            study_action_answers, handle, NULL, RIGHT_CHANGE                                                           \
    }

const struct api_route api_routes[] = {
    {"POST", "/v1/jobs", "submitJob", "Submit a job", API_SCOPE_SUBMIT, API_JSON_MAX, false, json_types, "NewJob",
     submit_query, submit_answers, jobs_submit, NULL, RIGHT_NOTHING},
    GET(RIGHT_NOTHING, "/v1/jobs", "listJobs", API_SCOPE_READ, list_query, list_answers, jobs_list,
        "List jobs, newest first or sorted"),
    {"POST", "/v1/studies", "submitStudy", "Submit a study: a job for each combination of values and each seed",
     API_SCOPE_SUBMIT, API_JSON_MAX, false, json_types, "NewStudy", submit_query, study_submit_answers, studies_submit,
     NULL, RIGHT_NOTHING},
    GET(RIGHT_NOTHING, "/v1/studies", "listStudies", API_SCOPE_READ, study_list_query, study_list_answers, studies_list,
        "List studies, newest first"),
    GET(RIGHT_READ, "/v1/studies/{id}", "showStudy", API_SCOPE_READ, study_query, study_answers, studies_show,
        "Show a study with its jobs and the table of its results"),
    GET(RIGHT_READ, "/v1/studies/{id}/chart", "showStudyChart", API_SCOPE_READ, study_chart_query, study_chart_answers,
        studies_chart, "Draw a result of a study against a field of its grid"),
    ACT_ON_STUDY("cancel", studies_cancel, "Cancel all unfinished jobs of a study"),
    ACT_ON_STUDY("pause", studies_pause, "Pause all queued and running jobs of a study"),
    ACT_ON_STUDY("resume", studies_resume, "Continue all paused jobs of a study"),
    {"PATCH", "/v1/studies/{id}", "shareStudy", "Change who may see a study and its jobs", API_SCOPE_SUBMIT,
     API_JSON_MAX, false, patch_types, "Sharing", NULL, study_patch_answers, studies_patch, NULL, RIGHT_CHANGE},
    {"DELETE", "/v1/studies/{id}", "deleteStudy", "Delete a finished study and all its jobs", API_SCOPE_SUBMIT, 0,
     false, NULL, NULL, NULL, study_delete_answers, studies_delete, NULL, RIGHT_DELETE},
    GET(RIGHT_READ, "/v1/jobs/{id}", "showJob", API_SCOPE_READ, show_query, show_answers, jobs_show, "Show a job"),
    {"PATCH", "/v1/jobs/{id}", "changeJob", "Change the name, priority, tags, visibility or pin of a job",
     API_SCOPE_SUBMIT, API_JSON_MAX, false, patch_types, "JobPatch", NULL, patch_answers, jobs_patch, NULL,
     RIGHT_CHANGE},
    {"DELETE", "/v1/jobs/{id}", "deleteJob", "Delete a finished job and all that belongs to it", API_SCOPE_SUBMIT, 0,
     false, NULL, NULL, NULL, delete_answers, jobs_delete, NULL, RIGHT_DELETE},
    ACT("cancel", jobs_cancel, "Cancel a job; a running one stops at its next step boundary"),
    ACT("pause", jobs_pause, "Pause a job; a running one saves a checkpoint and frees its worker"),
    ACT("resume", jobs_resume, "Resume a paused job from its checkpoint"),
    GET(RIGHT_READ, "/v1/jobs/{id}/metrics", "readMetrics", API_SCOPE_READ, metrics_query, metrics_answers,
        metrics_read, "Time series of a job"),
    GET(RIGHT_READ, "/v1/jobs/{id}/events", "followJob", API_SCOPE_READ, job_events_query, job_events_answers,
        events_job, "Event stream of a job, from its beginning or after Last-Event-ID"),
    GET(RIGHT_NOTHING, "/v1/events", "followAll", API_SCOPE_READ, events_query, events_answers, events_all,
        "Event stream of all jobs, from now on or after Last-Event-ID"),
    GET(RIGHT_READ, "/v1/jobs/{id}/checkpoints", "listCheckpoints", API_SCOPE_READ, NULL, checkpoints_answers,
        checkpoints_list, "Stored checkpoints of a job"),
    GET(RIGHT_FETCH, "/v1/jobs/{id}/checkpoints/{seq}", "getCheckpoint", API_SCOPE_READ, NULL, checkpoint_answers,
        checkpoints_get, "Weights of a checkpoint as safetensors; ranges allowed"),
    GET(RIGHT_READ, "/v1/jobs/{id}/attestation", "readAttestation", API_SCOPE_READ, NULL, attestation_answers,
        attestation_show, "Origin of a job's checkpoints and the chain of their hashes"),
    GET(RIGHT_FETCH, "/v1/jobs/{id}/bundle", "getBundle", API_SCOPE_READ, bundle_query, bundle_answers, bundle_show,
        "Export a job as one file for import by another daemon"),
    GET(RIGHT_FETCH, "/v1/jobs/{id}/onnx", "getOnnx", API_SCOPE_READ, onnx_query, onnx_answers, onnx_show,
        "Export the model of a job as ONNX"),
    GET(RIGHT_FETCH, "/v1/jobs/{id}/report", "getReport", API_SCOPE_READ, report_query, job_report_answers, report_show,
        "Report of a job as one HTML file: verdict, figures, test inputs with motifs, settings, origin, commands"),
    GET(RIGHT_READ, "/v1/jobs/{id}/review", "getReview", API_SCOPE_READ, review_show_query, review_show_answers,
        review_show, "Draw marks of the test part for a review, and estimate from the answers how many are false"),
    {"POST", "/v1/jobs/{id}/review", "answerReview", "Answer whether marks are right, or import such answers",
     API_SCOPE_SUBMIT, API_BODY_MAX, false, json_types, "ReviewAnswers", review_answer_query, review_answer_answers,
     review_answer, NULL, RIGHT_CHANGE},
    {"POST", "/v1/imports", "importModel", "Import a bundle, a model as safetensors, or a folder of SAELens as tar",
     API_SCOPE_SUBMIT, API_IMPORT_MAX, false, import_types, NULL, import_query, import_answers, imports_create, NULL,
     RIGHT_NOTHING},
    GET(RIGHT_READ, "/v1/jobs/{id}/evaluation", "readEvaluation", API_SCOPE_READ, NULL, evaluation_answers,
        evaluation_read, "The newest evaluation of a job"),
    {"POST", "/v1/jobs/{id}/evaluation", "submitEvaluation", "Evaluate a checkpoint of a job", API_SCOPE_SUBMIT,
     API_JSON_MAX, true, json_types, "NewEvaluation", NULL, evaluate_answers, evaluation_submit, NULL, RIGHT_USE},
    GET(RIGHT_READ, "/v1/jobs/{id}/artifacts", "listArtifacts", API_SCOPE_READ, NULL, artifacts_answers, artifacts_list,
        "Pictures and tables of a job"),
    GET(RIGHT_FETCH, "/v1/jobs/{id}/artifacts/{name}", "getArtifact", API_SCOPE_READ, NULL, artifact_answers,
        artifacts_get, "One picture or table"),
    GET(RIGHT_NOTHING, "/v1/datasets", "listDatasets", API_SCOPE_READ, NULL, datasets_answers, datasets_list,
        "List uploaded data sets"),
    {"PUT", "/v1/datasets/{name}", "putDataset", "Upload a data set", API_SCOPE_SUBMIT, API_UPLOAD_MAX, false,
     collection_media_types, NULL, dataset_query, put_answers, datasets_put, NULL, RIGHT_NOTHING},
    GET(RIGHT_READ, "/v1/datasets/{name}", "showDataset", API_SCOPE_READ, NULL, dataset_answers, datasets_show,
        "Shapes, vocabulary and statistics of a data set"),
    GET(RIGHT_READ, "/v1/datasets/{name}/preview", "previewDataset", API_SCOPE_READ, NULL, preview_answers,
        datasets_preview, "A picture of a data set's first samples"),
    GET(RIGHT_READ, "/v1/datasets/{name}/division", "divideDataset", API_SCOPE_READ, division_query, division_answers,
        datasets_division, "How a job divides the samples into training, validation and test"),
    {"PATCH", "/v1/datasets/{name}", "shareDataset", "Change who may see a data set, and whether it is pinned",
     API_SCOPE_SUBMIT, API_JSON_MAX, false, patch_types, "DatasetPatch", NULL, dataset_patch_answers, datasets_patch,
     NULL, RIGHT_CHANGE},
    {"DELETE", "/v1/datasets/{name}", "deleteDataset", "Delete a data set that no unfinished job uses",
     API_SCOPE_SUBMIT, 0, false, NULL, NULL, NULL, drop_answers, datasets_delete, NULL, RIGHT_DELETE},
    GET(RIGHT_NOTHING, "/v1/uploads/{sha256}", "showUpload", API_SCOPE_READ, NULL, upload_answers, uploads_show,
        "Number of bytes received of an interrupted upload"),
    GET(RIGHT_NOTHING, "/v1/kinds", "listKinds", API_SCOPE_READ, NULL, kinds_answers, kinds_list,
        "Methods, with fields and presets"),
    GET(RIGHT_NOTHING, "/v1/kinds/{kind}", "showKind", API_SCOPE_READ, NULL, kind_answers, kinds_show, "One method"),
    GET(RIGHT_NOTHING, "/v1/system", "showSystem", API_SCOPE_READ, NULL, system_answers, system_show,
        "Version, machine, load, sizes"),
    GET(RIGHT_NOTHING, "/v1/usage", "showUsage", API_SCOPE_READ, usage_query, usage_answers, usage_show,
        "What the caller uses and may use; for managers and administrators also what the members of the team use"),
    GET(RIGHT_NOTHING, "/v1/policies", "listPolicies", API_SCOPE_READ, NULL, policies_answers, policies_show,
        "Policies of retention for the caller's team; for administrators all"),
    {"PUT", "/v1/policies", "setPolicies", "Replace all policies of retention", API_SCOPE_ADMIN, API_JSON_MAX, false,
     json_types, "NewPolicies", policy_query, policies_set_answers, policies_set, NULL, RIGHT_NOTHING},
    GET(RIGHT_NOTHING, "/v1/policies/dry-run", "showDue", API_SCOPE_READ, NULL, due_answers, policies_dry_run,
        "What the policies would delete now of the caller's team; for administrators of all"),
    GET(RIGHT_NOTHING, "/v1/audit", "listAudit", API_SCOPE_ADMIN, audit_query, audit_answers, audit_list,
        "Audit log: requests that change something, refusals and sign-ins, and who sent them"),
    GET(RIGHT_NOTHING, "/v1/session", "showSession", API_SCOPE_NONE, NULL, session_answers, session_show,
        "Who the caller is, and whether the page can sign people in"),
    GET(RIGHT_NOTHING, "/v1/sign-in", "beginSignIn", API_SCOPE_NONE, NULL, sign_in_answers, sign_in_handle,
        "Send the browser to the issuer"),
    GET(RIGHT_NOTHING, "/v1/sign-in/callback", "finishSignIn", API_SCOPE_NONE, callback_query, sign_in_answers,
        sign_in_handle, "Take the answer of the issuer, and open a session"),
    {"POST", "/v1/sign-out", "signOut", "End the session of the page", API_SCOPE_NONE, 0, false, NULL, NULL, NULL,
     sign_out_answers, sign_in_handle, NULL, RIGHT_NOTHING},
    GET(RIGHT_NOTHING, "/v1/tokens", "listTokens", API_SCOPE_OPERATOR, NULL, token_list_answers, tokens_handle,
        "List tokens, for `motifd token`"),
    {"POST", "/v1/tokens", "createToken", "Create a token, for `motifd token`", API_SCOPE_OPERATOR, 0, false, NULL,
     NULL, token_create_query, token_create_answers, tokens_handle, NULL, RIGHT_NOTHING},
    {"POST", "/v1/tokens/rotation", "rotateToken", "Replace the secret of a token, for `motifd token`",
     API_SCOPE_OPERATOR, 0, false, NULL, NULL, token_rotate_query, token_rotate_answers, tokens_handle, NULL,
     RIGHT_NOTHING},
    {"DELETE", "/v1/tokens", "revokeToken", "Revoke a token, for `motifd token`", API_SCOPE_OPERATOR, 0, false, NULL,
     NULL, token_revoke_query, token_revoke_answers, tokens_handle, NULL, RIGHT_NOTHING},
    {"POST", "/v1/jobs/{id}/run", "beginRun", "A trainer registers for the job and receives its description",
     API_SCOPE_TRAINER, 0, false, NULL, NULL, NULL, register_answers, trainer_register, NULL, RIGHT_TRAINER},
    {"POST", "/v1/jobs/{id}/run/reports", "reportRun",
     "Receive points of series and progress from a trainer, and answer with the requested state", API_SCOPE_TRAINER,
     API_JSON_MAX, false, json_types, "RunReport", epoch_query, report_answers, trainer_report, NULL, RIGHT_TRAINER},
    {"PUT", "/v1/jobs/{id}/run/artifacts/{name}", "putRunArtifact", "Store a file of the result", API_SCOPE_TRAINER,
     STORAGE_ARTIFACT_BYTES, false, import_types, NULL, run_artifact_query, run_artifact_answers, trainer_artifact,
     NULL, RIGHT_TRAINER},
    GET(RIGHT_TRAINER, "/v1/jobs/{id}/run/checkpoints", "listRunCheckpoints", API_SCOPE_TRAINER, run_of_query,
        run_list_answers, trainer_checkpoints, "Checkpoints that a run may read"),
    GET(RIGHT_TRAINER, "/v1/jobs/{id}/run/checkpoints/{seq}", "getRunCheckpoint", API_SCOPE_TRAINER, run_of_query,
        run_bytes_answers, trainer_checkpoint, "Bytes of a stored checkpoint"),
    {"POST", "/v1/jobs/{id}/run/checkpoints", "announceRunCheckpoint",
     "Announce a checkpoint that the trainer sends in pieces", API_SCOPE_TRAINER, API_JSON_MAX, false, json_types,
     "RunAnnouncement", epoch_query, received_answers, trainer_announce, NULL, RIGHT_TRAINER},
    {"PUT", "/v1/jobs/{id}/run/upload", "putRunPiece", "Store a piece of the announced checkpoint", API_SCOPE_TRAINER,
     8u << 20, false, import_types, NULL, piece_query, received_answers, trainer_piece, NULL, RIGHT_TRAINER},
    {"POST", "/v1/jobs/{id}/run/end", "endRun", "Report how the run ended", API_SCOPE_TRAINER, API_BODY_MAX, false,
     json_types, "RunEnd", epoch_query, end_answers, trainer_end, NULL, RIGHT_TRAINER},
    INFERENCE_GET(RIGHT_NOTHING, "/v2", "inferenceServer", API_SCOPE_READ, inference_server_answers, inference_server,
                  "Open Inference Protocol: the server"),
    INFERENCE_GET(RIGHT_NOTHING, "/v2/health/live", "inferenceLive", API_SCOPE_NONE, inference_live_answers,
                  inference_live, "Open Inference Protocol: whether the process responds"),
    INFERENCE_GET(RIGHT_NOTHING, "/v2/health/ready", "inferenceReady", API_SCOPE_NONE, inference_ready_answers,
                  inference_ready, "Open Inference Protocol: whether the daemon answers requests"),
    INFERENCE_GET(RIGHT_READ, "/v2/models/{id}", "inferenceModel", API_SCOPE_READ, inference_model_answers,
                  inference_model, "Open Inference Protocol: the tensors of a model"),
    INFERENCE_GET(RIGHT_READ, "/v2/models/{id}/versions/{seq}", "inferenceVersion", API_SCOPE_READ,
                  inference_model_answers, inference_model,
                  "Open Inference Protocol: the tensors of a checkpoint's model"),
    INFERENCE_GET(RIGHT_READ, "/v2/models/{id}/ready", "inferenceModelReady", API_SCOPE_READ,
                  inference_model_ready_answers, inference_model_ready,
                  "Open Inference Protocol: whether a model is ready"),
    INFERENCE_GET(RIGHT_READ, "/v2/models/{id}/versions/{seq}/ready", "inferenceVersionReady", API_SCOPE_READ,
                  inference_model_ready_answers, inference_model_ready,
                  "Open Inference Protocol: whether a checkpoint's model is ready"),
    INFER("/v2/models/{id}/infer", "infer", "Open Inference Protocol: the outputs of a model for tensors"),
    INFER("/v2/models/{id}/versions/{seq}/infer", "inferVersion",
          "Open Inference Protocol: the outputs of a checkpoint's model for tensors"),
    GET(RIGHT_NOTHING, "/healthz", "live", API_SCOPE_NONE, NULL, live_answers, health_live,
        "Whether the process responds"),
    GET(RIGHT_NOTHING, "/readyz", "ready", API_SCOPE_NONE, NULL, ready_answers, health_ready,
        "Whether the daemon accepts jobs"),
    GET(RIGHT_NOTHING, "/metrics", "metrics", API_SCOPE_READ, NULL, prometheus_answers, health_metrics,
        "Metrics for Prometheus"),
    GET(RIGHT_NOTHING, "/openapi.json", "openapi", API_SCOPE_NONE, NULL, openapi_answers, openapi_show,
        "The OpenAPI document"),
    GET(RIGHT_NOTHING, "/", "root", API_SCOPE_NONE, NULL, root_answers, root_show, "The dashboard"),
    GET(RIGHT_NOTHING, "/assets/{name}", "asset", API_SCOPE_NONE, NULL, asset_answers, asset_show,
        "Script of the dashboard"),
    GET(RIGHT_NOTHING, "/motifd.py", "pythonClient", API_SCOPE_NONE, NULL, python_client_answers, python_client_show,
        "The Python client"),
};
const size_t api_route_count = sizeof api_routes / sizeof api_routes[0];
