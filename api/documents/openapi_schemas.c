/* The schemas of answers and bodies, in the short notation of openapi_schemas.h, and the translation of that notation
 * to JSON Schema. A table of short texts is easier to compare with a handler than the JSON that it becomes. */
#include "api/documents/openapi_schemas.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "protocol/json.h"

const struct openapi_schema openapi_schemas[] = {
    {"Problem",
     "type text, title text, status integer, detail text, instance text, *errors [Fault], "
     "*errors_left_out integer",
     NULL, false},
    {"InferenceProblem",
     "type text, title text, status integer, detail text, instance text, error text, *errors [Fault], "
     "*errors_left_out integer",
     NULL, false},
    {"InferenceServer", "name text, version text, extensions [text]", NULL, false},
    {"InferenceLive", "live flag", NULL, false},
    {"InferenceReady", "ready flag", NULL, false},
    {"InferenceModelReady", "name text, ready flag", NULL, false},
    {"InferenceTensor", "name text, datatype text, shape [integer]", NULL, false},
    {"InferenceModel", "name text, versions [text], platform text, inputs [InferenceTensor], outputs [InferenceTensor]",
     NULL, false},
    {"InferenceData", NULL,
     "{'description':'the elements, flat or nested; missing if binary data follow',"
     "'type':'array'}",
     false},
    {"InferenceInput", "name text, datatype text, shape [integer], *parameters object, *data InferenceData", NULL,
     true},
    {"InferenceWanted", "name text, *parameters object", NULL, true},
    {"InferenceRequest",
     "*id text, *parameters object, inputs [InferenceInput], *outputs [InferenceWanted], *model_name text, "
     "*model_version text",
     NULL, true},
    {"InferenceOutput", "name text, datatype text, shape [integer], *parameters object, *data InferenceData", NULL,
     false},
    {"InferenceAnswer", "model_name text, model_version text, *id text, outputs [InferenceOutput]", NULL, false},
    {"ReviewShare",
     "marks integer, answers integer, yes integer, no integer, unsure integer, share number?, low number, high number, "
     "*name text",
     NULL, false},
    {"ReviewEstimate",
     "marks integer, answers integer, yes integer, no integer, unsure integer, share number?, low number, high number, "
     "confidence number, exact flag, names [ReviewShare]",
     NULL, false},
    {"ReviewThreshold",
     "by text, at_most number, false_marks number, of integer, marks integer, answers integer, yes integer, no "
     "integer, "
     "unsure integer, share number?, low number, high number",
     NULL, false},
    {"ReviewVersion",
     "*id text, *place object, answer text, box [integer]?, version integer, by text?, created_at time", NULL, false},
    {"ReviewCard",
     "id text, name text, channel integer, input object, position [integer], extent [integer]?, *seconds [number], "
     "*words [object], *context [text], score number, p number?, q number?, picture text, answer ReviewVersion?",
     NULL, false},
    {"ReviewState",
     "job text, checkpoint AnswerCheckpoint, count integer, seed integer, samples integer, marks integer, "
     "estimate ReviewEstimate, threshold ReviewThreshold?, *threshold_why text, *received integer",
     NULL, false},
    {"Review",
     "job text, checkpoint AnswerCheckpoint, count integer, seed integer, samples integer, marks integer, "
     "estimate ReviewEstimate, threshold ReviewThreshold?, *threshold_why text, shape [integer], unit text, "
     "cards [ReviewCard]",
     NULL, false},
    {"ReviewAnswer",
     "id text, answer text, *box [integer]?, *place object, *version integer, *by text?, *created_at text", NULL, true},
    {"ReviewAnswers", "answers [ReviewAnswer], *job text", NULL, true},
    {"Fault", "*pointer text, *parameter text, detail text", NULL, false},
    {"Dataset",
     "name text, *owner text?, *team text?, *visibility Visibility, *pinned flag, *expires_at time?, sha256 text, "
     "bytes integer, format text, options "
     "object, *stated object, created_at time, kind text, "
     "target text, samples integer, shape object, values object, *rate integer, *columns [object], *lengths object, "
     "*label_lengths object, longest integer, vocabulary [object], *groups [object], boxes integer, "
     "*recognised Recognised, *warnings [Warning], *first [object], *division Division, *kinds [DatasetKind]",
     NULL, false},
    {"Division",
     "*by text, *text text, *folds integer, *fold integer, *parts object, *warnings [Warning], *refused text", NULL,
     false},
    {"Recognised",
     "kind text, labels RecognisedLabels, *columns RecognisedColumns, *table text, *words text, *groups "
     "RecognisedNames, "
     "*rate integer, range [number]",
     NULL, false},
    {"RecognisedLabels", "count integer, names [text], target text, *read_as text", NULL, false},
    {"RecognisedColumns",
     "features integer, label [text], group [text], part [text], id [text], ignored [text], identifier [text], "
     "text [text], left_out [text]",
     NULL, false},
    {"RecognisedNames", "count integer, names [text]", NULL, false},
    {"DatasetKind", "kind text, preset text, accepts flag, reason text?", NULL, false},
    {"Warning", "code text, text text", NULL, false},
    {"DatasetList",
     "datasets [Dataset], bytes integer, most_bytes integer, endings [FileEnding], "
     "formats [UploadFormat]",
     NULL, false},
    {"FileEnding", "ending text, format text", NULL, false},
    {"UploadFormat", "name text, media_type text, options [UploadOption]", NULL, false},
    {"UploadOption", "name text, type text, meaning text, *choices [text], *min integer, *max integer", NULL, false},
    {"AuditEntry",
     "time time, who text, peer text, request text, method text, target text, status integer?, job text?, study text?",
     NULL, false},
    {"Session", "sign_in flag, name text?, team text?, role text?", NULL, false},
    {"AuditList", "changes [AuditEntry], next_cursor text?", NULL, false},
    {"RunRegistration",
     "epoch integer, id text, kind text, task Task, threads integer, ranks integer, config text, params text?, "
     "progress text?, source_job text, source_checkpoint integer",
     NULL, false},
    {"RunReport",
     "sequence integer, *series {[Point]}, *progress text, *steps integer, *samples integer, *step_seconds number, "
     "*gflops number, *lines [[text]]",
     NULL, true},
    {"RunReportAnswer", "requested_state text?, draining flag", NULL, false},
    {"RunCheckpoint",
     "seq integer, step integer, samples integer, density number?, accuracy number?, bytes integer, sha256 text, "
     "stage_end flag",
     NULL, false},
    {"RunCheckpoints", "checkpoints [RunCheckpoint]", NULL, false},
    {"RunAnnouncement",
     "step integer, samples integer, *density number?, *accuracy number?, *stage_end flag, bytes integer, "
     "sha256 text",
     NULL, true},
    {"RunReceived", "received integer, seq integer", NULL, false},
    {"RunEnd", "end text, *document text", NULL, true},
    {"Upload", "sha256 text, received integer", NULL, false},
    {"Health", "status text", NULL, false},
    {"State", NULL, "{'enum':['queued','running','paused','succeeded','failed','cancelled']}", false},
    {"Visibility", NULL,
     "{'description':'who may see it: its owner, the team of the owner, or everyone on this server',"
     "'enum':['private','team','everyone']}",
     false},
    {"Task", NULL, "{'enum':['train','evaluate']}", false},
    {"RequestedState", NULL,
     "{'description':'The state that a client requested and that the running job has not reached yet.',"
     "'enum':['paused','cancelled']}",
     false},
    {"CheckpointPick", NULL,
     "{'description':'latest, best, a sequence number, or density:NUMBER',"
     "'oneOf':[{'type':'integer','minimum':1},{'type':'string'}]}",
     false},
    {"From", "job text, *checkpoint CheckpointPick", NULL, true},
    {"Progress",
     "step integer?, samples integer?, fraction number?, samples_per_second number?, eta_seconds number?, "
     "density number?, target_accuracy number?, accuracy number?, stage text?, phase text?",
     NULL, false},
    {"Phase",
     "name text, trains text?, objectives [text], samples number?, learning_rate LearningRate?, until text?, then "
     "text?",
     NULL, false},
    {"LearningRate", "from number, to number, curve text", NULL, false},
    {"Job",
     "id text, kind text, preset text?, name text?, owner text?, team text?, visibility Visibility, pinned flag, "
     "*expires_at "
     "time?, tags [text], task Task, state State, requested_state "
     "RequestedState?, blocked text?, priority integer, "
     "threads integer, executor text?, ranks integer, traceparent text?, study text?, *config object, *facts object, "
     "*warnings [Fault], plan [Phase], "
     "from "
     "From?, evaluation "
     "object?, phase text?, progress "
     "Progress, result object?, "
     "error object?, created_at time, started_at time?, finished_at time?, links {text}",
     NULL, false},
    {"JobItem",
     "id text, *kind text, *preset text?, *name text?, *owner text?, *team text?, *visibility Visibility, *pinned "
     "flag, *expires_at time?, *tags [text], *task Task, *state State, "
     "*requested_state RequestedState?, *blocked text?, *priority integer, *threads integer, *executor text?, *ranks "
     "integer, "
     "*traceparent text?, *study text?, *config object, *facts object, *warnings [Fault], *plan [Phase], *from From?, "
     "*evaluation object?, *phase text?, *progress Progress, "
     "*result object?, "
     "*error object?, *created_at time, *started_at time?, *finished_at time?, *links {text}",
     NULL, false},
    {"NewStudy",
     "kind text, *preset text?, *config object, *name Name?, *grid Grid?, *seeds Seeds?, *priority Priority, "
     "*threads Threads, *ranks Ranks, *executor Executor, *from From?, *tags Tags?, *visibility Visibility",
     NULL, true},
    {"Grid", NULL,
     "{'description':'the values of each field; the study has a job for each combination','type':'object',"
     "'maxProperties':8,'additionalProperties':{'type':'array','minItems':1,'maxItems':1000,"
     "'items':{'type':['number','boolean','string']}}}",
     false},
    {"Seeds", NULL,
     "{'description':'number of seeds with which each combination is trained','type':'integer','minimum':1,"
     "'maximum':1000}",
     false},
    {"StudyItem",
     "id text, kind text, preset text?, name text?, owner text?, team text?, visibility Visibility, state State, grid "
     "{[Value]}, seeds integer, "
     "count integer, states {integer}, fraction number, created_at time, finished_at time?, links {text}",
     NULL, false},
    {"Study",
     "id text, kind text, preset text?, name text?, owner text?, team text?, visibility Visibility, state State, grid "
     "{[Value]}, seeds integer, "
     "count integer, states {integer}, fraction number, created_at time, finished_at time?, links {text}, "
     "*jobs [JobItem], *table StudyTable",
     NULL, false},
    {"StudyTable", "fields [text], results [text], rows [StudyRow]", NULL, false},
    {"StudyRow", "fields {Value}, jobs integer, done integer, results {StudyResult}", NULL, false},
    {"StudyResult",
     "count integer, median number?, min number?, max number?, mean number?, low number?, "
     "high number?",
     NULL, false},
    {"StudyList", "studies [StudyItem], next_cursor text?", NULL, false},
    {"StudyEstimate",
     "dry_run flag, kind text, preset text?, name text?, grid {[Value]}, seeds integer, count integer, "
     "parameters integer, samples number, flops number, bytes integer, allowed_bytes integer, "
     "checkpoint_bytes integer, predicted_seconds number",
     NULL, false},
    {"JobList", "jobs [JobItem], next_cursor text?", NULL, false},
    {"Name", NULL, "{'type':'string','maxLength':127}", false},
    {"Priority", NULL,
     "{'description':'jobs with a higher priority start first','type':'integer','minimum':-100,'maximum':100}", false},
    {"Threads", NULL, "{'type':'integer','minimum':1}", false},
    {"Ranks", NULL, "{'description':'processes that train together','type':'integer','minimum':1,'maximum':512}",
     false},
    {"Executor", NULL,
     "{'description':'process that trains the job; the operator configures which ones are "
     "available','enum':['thread','process','mpirun','slurm']}",
     false},
    {"NewJobBase",
     "kind text, *preset text?, *config object, *name Name, *priority Priority, *threads Threads, "
     "*ranks Ranks, *executor Executor, *from From?, *tags Tags?, *visibility Visibility",
     NULL, true},
    {"Tags", NULL,
     "{'description':'words by which lists can be filtered','type':'array','maxItems':16,"
     "'items':{'type':'string','minLength':1,'maxLength':63}}",
     false},
    {"JobPatch", "*name Name?, *priority Priority, *tags Tags?, *visibility Visibility, *pinned flag", NULL, true},
    {"DatasetPatch", "*visibility Visibility, *pinned flag", NULL, true},
    {"Policy",
     "*team text?, kind text, *keep_newest integer?, *keep_days integer?, *checkpoint_days integer?, *keep_tagged flag",
     NULL, true},
    {"NewPolicies", "policies [Policy]", NULL, true},
    {"PolicyList", "policies [Policy]", NULL, false},
    {"PolicyName", "team text?, kind text", NULL, false},
    {"DueJob",
     "id text, kind text, name text?, owner text?, team text?, takes text, policy PolicyName, due_at time, bytes "
     "integer",
     NULL, false},
    {"DueDataset", "name text, owner text?, team text?, policy PolicyName, due_at time, bytes integer", NULL, false},
    {"Due", "jobs [DueJob], datasets [DueDataset], bytes integer, more flag", NULL, false},
    {"Usage",
     "owner text?, team text?, role text, jobs {integer}, threads integer, thread_seconds_day number, job_bytes "
     "integer, dataset_bytes integer, limits UsageLimits, *total UsageTotal, *members [UsageMember]",
     NULL, false},
    {"UsageLimits",
     "jobs integer?, threads integer?, job_bytes integer?, dataset_bytes integer?, team_jobs integer?, team_threads "
     "integer?, team_job_bytes integer?, team_dataset_bytes integer?",
     NULL, false},
    {"UsageTotal",
     "jobs {integer}, threads integer, thread_seconds_day number, job_bytes integer, dataset_bytes integer", NULL,
     false},
    {"UsageMember",
     "owner text?, team text?, jobs {integer}, threads integer, thread_seconds_day number, job_bytes integer, "
     "dataset_bytes integer",
     NULL, false},
    {"Sharing", "visibility Visibility", NULL, true},
    {"Estimate",
     "dry_run flag, kind text, preset text?, name text?, priority integer, threads integer, config object, "
     "facts object, warnings [Fault], phase text?, plan [Phase], parameters integer, samples integer, flops_per_sample "
     "number, flops "
     "number, bytes integer, "
     "allowed_bytes integer, checkpoint_bytes integer, predicted_seconds number, prediction Prediction",
     NULL, false},
    {"Prediction", "basis text, gflops_per_thread number, threads integer", NULL, false},
    {"Point", NULL,
     "{'description':'step and value','type':'array','prefixItems':[{'type':'integer'},{'type':['number','null']}],"
     "'minItems':2,'maxItems':2}",
     false},
    {"Metrics", "series {[Point]}, points {integer}", NULL, false},
    {"Checkpoint",
     "seq integer, step integer, samples integer, density number?, accuracy number?, bytes integer, "
     "sha256 text, stage_end flag, pinned flag, created_at time, href text",
     NULL, false},
    {"CheckpointList", "checkpoints [Checkpoint]", NULL, false},
    {"Machine",
     "version text, build text, compiler text, cpu text, cpu_features text, kernels text, blas text, "
     "blas_core text",
     NULL, false},
    {"Link",
     "seq integer, step integer, samples integer, density number?, stage_end flag, bytes integer, sha256 text, "
     "chain text, kept flag, maker text?, created_at time",
     NULL, false},
    {"AttestedData", "names {text}, sha256 text?, digest text?", NULL, false},
    {"Attestation",
     "format text, job text, kind text, preset text?, config object, dataset AttestedData?, from From?, "
     "machine Machine, origin text, checkpoints [Link], chain text",
     NULL, false},
    {"Sample", "seed integer", NULL, true},
    {"SampleInput", "sample Sample", NULL, true},
    {"Array", NULL, "{'description':'numbers, row by row, up to four dimensions','type':'array'}", false},
    {"ArrayInput", "array Array", NULL, true},
    {"Base64", NULL, "{'type':'string','contentEncoding':'base64'}", false},
    {"DataInput", "data Base64, type DataType", NULL, true},
    {"Input", NULL,
     "{'oneOf':[{'$ref':'#/components/schemas/SampleInput'},{'$ref':'#/components/schemas/ArrayInput'},"
     "{'$ref':'#/components/schemas/DataInput'},{'type':'string','description':'a "
     "text'},{'type':'array','description':'the tokens of a text',"
     "'items':{'type':'string'}}]}",
     false},
    {"Inputs", NULL, "{'type':'array','items':{'$ref':'#/components/schemas/Input'},'minItems':1,'maxItems':256}",
     false},
    {"Query", "inputs Inputs, *checkpoint CheckpointPick", NULL, true},
    {"AnswerCheckpoint", "seq integer, step integer, density number?", NULL, false},
    {"MapPlace", NULL,
     "{'description':'row and column of the motif map','type':'array','items':{'type':'integer','minimum':0},"
     "'minItems':2,'maxItems':2}",
     false},
    {"EditTarget", "*channel integer, *position MapPlace, *value number", NULL, true},
    {"Edit", "channel integer, *position MapPlace, *delete flag, *to EditTarget", NULL, true},
    {"Keep", NULL, "{'enum':['all','maximal']}", false},
    {"ChangedInput", "*sample Sample, *array Array, *data Base64, *type DataType, *edits [Edit], *keep Keep", NULL,
     true},
    {"ChangedInputs", NULL,
     "{'type':'array','items':{'$ref':'#/components/schemas/ChangedInput'},'minItems':1,'maxItems':256}", false},
    {"Intervention", "inputs ChangedInputs, *checkpoint CheckpointPick", NULL, true},
    {"ModelLayer", "filters Array, *name text", NULL, true},
    {"LayerModel", "layers [ModelLayer]", NULL, true},
    {"SignalLength", NULL,
     "{'description':'positions, or rows and columns','oneOf':[{'type':'integer','minimum':1},"
     "{'type':'array','items':{'type':'integer','minimum':1},'minItems':1,'maxItems':2}]}",
     false},
    {"Spikes", NULL,
     "{'description':'[position, filter, value], or [row, column, filter, value]','type':'array',"
     "'items':{'type':'array','items':{'type':'number'},'minItems':3,'maxItems':4}}",
     false},
    {"NewComputation",
     "*model LayerModel, *job text, *checkpoint CheckpointPick, *layers [text], *signal Array, *code Spikes, "
     "*length SignalLength, *nonzeros [integer], *config object",
     NULL, true},
    {"Samples", NULL, "{'type':'integer','minimum':1,'maximum':100000000,'default':1000}", false},
    {"Seed", NULL, "{'description':'-2 is the test set, -1 validation','type':'integer','minimum':-2,'default':-2}",
     false},
    {"NewEvaluation", "*samples Samples, *seed Seed, *checkpoint CheckpointPick", NULL, true},
    {"Evaluation", "job text, evaluation_job text, checkpoint integer?, evaluated_at time?", NULL, false},
    {"Artifact", "name text, media_type text, bytes integer, created_at time, href text", NULL, false},
    {"ArtifactList", "artifacts [Artifact]", NULL, false},
    {"Value", NULL, "{'type':['number','boolean','string']}", false},
    {"Field",
     "name text, type text, default Value, *min number?, *max number?, *min_open flag, *max_open flag, "
     "*choices [text], allowed text, unit text, meaning text, group text, level text, domains [text], applies text?",
     NULL, false},
    {"Preset", "name text, meaning text, settings {Value}, config {Value}, grid {[Value]}, seeds integer", NULL, false},
    {"Metric", "name text, unit text, meaning text", NULL, false},
    {"KindQuery",
     "name text, item text?, meaning text, method text, takes text, draws flag, arrays flag, formats [QueryFormat], "
     "files [QueryFormat], parameters [Field]",
     NULL, false},
    {"QueryFormat", "name text, media_type text, endings [text], *pieces text, *meaning text", NULL, false},
    {"KindComputation", "name text, meaning text", NULL, false},
    {"Chart", "title text, metrics [text], targets [text], format text, log flag, stages flag", NULL, false},
    {"Panel", "view text, title text, query text?", NULL, false},
    {"KindFinding", "code text, severity text, verdict text, meaning text, try text", NULL, false},
    {"Kind",
     "kind text, title text, summary text, paper text, fold_field text?, fields [Field], facts [Field], presets "
     "[Preset], metrics "
     "[Metric], queries [KindQuery], computations [KindComputation], comparable flag, charts [Chart], panels [Panel], "
     "findings [KindFinding]",
     NULL, false},
    {"KindList", "kinds [Kind]", NULL, false},
    {"System",
     "version text, build text, compiler text, cpu text, cpu_features [text], kernels text, blas text, "
     "blas_core text, cores integer, workers integer, workers_busy integer, jobs_blocked integer, threads_per_job "
     "integer, "
     "gflops_per_thread number, memory_bytes integer, tokens_required flag, started_at time?, "
     "uptime_seconds number, draining flag, queue_depth integer, queue_limit integer, jobs {integer}, "
     "database_bytes integer, database {integer}, models {integer}, requests {integer}, requests_limits {integer}, "
     "kinds [text]",
     NULL, false},
    {"OpenApi", NULL, "{'type':'object'}", false},
};
const size_t openapi_schema_count = sizeof openapi_schemas / sizeof openapi_schemas[0];

struct notation {
    const char *at;
    bool wrong;
};

#define NAME 48

static void copy_word(char out[NAME], const char *at, size_t length)
{
    length = length < NAME ? length : NAME - 1;
    memcpy(out, at, length);
    out[length] = '\0';
}

static size_t word(const struct notation *n)
{
    size_t length = 0;
    while (isalnum((unsigned char)n->at[length]) || n->at[length] == '_')
        length++;
    return length;
}

static bool openapi_schemas_take(struct notation *n, char c)
{
    n->at += strspn(n->at, " ");
    if (*n->at != c)
        return false;
    n->at++;
    return true;
}

/* Writes a type that is a single word. `maybe`: null is allowed too. */
static void write_word(const struct sink *out, struct notation *n, size_t length, bool maybe)
{
    static const struct {
        const char *name, *type, *format;
    } plain[] = {{"text", "string", NULL},  {"integer", "integer", NULL}, {"number", "number", NULL},
                 {"flag", "boolean", NULL}, {"object", "object", NULL},   {"time", "string", "date-time"}};
    char name[NAME];
    copy_word(name, n->at, length);
    n->at += length;
    if (isupper((unsigned char)name[0])) {
        char path[96];
        (void)snprintf(path, sizeof path, "#/components/schemas/%.47s", name);
        if (maybe) {
            sink_begin_list(out, "oneOf");
            sink_begin_object(out, NULL);
        }
        sink_text(out, "$ref", path);
        if (maybe) {
            sink_end_object(out);
            sink_begin_object(out, NULL);
            sink_text(out, "type", "null");
            sink_end_object(out);
            sink_end_list(out);
        }
        return;
    }
    size_t i = 0;
    while (i < sizeof plain / sizeof plain[0] && strcmp(plain[i].name, name) != 0)
        i++;
    if (i == sizeof plain / sizeof plain[0]) {
        n->wrong = true;
        return;
    }
    if (maybe) {
        sink_begin_list(out, "type");
        sink_text(out, NULL, plain[i].type);
        sink_text(out, NULL, "null");
        sink_end_list(out);
    } else {
        sink_text(out, "type", plain[i].type);
    }
    if (plain[i].format != NULL)
        sink_text(out, "format", plain[i].format);
}

static void write_type(const struct sink *out, const char *key, struct notation *n, int depth)
{
    sink_begin_object(out, key);
    bool list = openapi_schemas_take(n, '['), map = !list && openapi_schemas_take(n, '{');
    if ((list || map) && depth < 4) {
        const char *inside = n->at;
        size_t close = strcspn(inside, ",");
        while (close > 0 && inside[close - 1] != (list ? ']' : '}'))
            close--;
        bool maybe = close > 0 && inside[close] == '?';
        if (maybe) {
            sink_begin_list(out, "type");
            sink_text(out, NULL, list ? "array" : "object");
            sink_text(out, NULL, "null");
            sink_end_list(out);
        } else {
            sink_text(out, "type", list ? "array" : "object");
        }
        write_type(out, list ? "items" : "additionalProperties", n, depth + 1);
        n->wrong = n->wrong || !openapi_schemas_take(n, list ? ']' : '}');
        (void)openapi_schemas_take(n, '?');
    } else {
        size_t length = word(n);
        bool maybe = n->at[length] == '?';
        n->wrong = n->wrong || length == 0;
        write_word(out, n, length, maybe);
        (void)openapi_schemas_take(n, '?');
    }
    sink_end_object(out);
}

/* Writes the names of the required members, those without '*'. */
static void write_required(const struct sink *out, const char *shape)
{
    sink_begin_list(out, "required");
    for (const char *at = shape; *at != '\0';) {
        at += strspn(at, " ,");
        char name[NAME];
        copy_word(name, at, strcspn(at, " "));
        if (name[0] != '*')
            sink_text(out, NULL, name);
        at += strcspn(at, ",");
    }
    sink_end_list(out);
}

static enum status write_shape(struct json_sink *json, const struct openapi_schema *schema, struct error *err)
{
    const struct sink *out = &json->sink;
    struct notation n = {schema->shape, false};
    sink_begin_object(out, schema->name);
    sink_text(out, "type", "object");
    write_required(out, schema->shape);
    if (schema->closed)
        sink_boolean(out, "additionalProperties", false);
    sink_begin_object(out, "properties");
    while (!n.wrong && *n.at != '\0') {
        char name[NAME];
        (void)openapi_schemas_take(&n, '*');
        size_t length = word(&n);
        copy_word(name, n.at, length);
        n.at += length;
        n.wrong = length == 0 || *n.at != ' ';
        write_type(out, name, &n, 0);
        n.wrong = n.wrong || (*n.at != '\0' && !openapi_schemas_take(&n, ','));
        n.at += strspn(n.at, " ");
    }
    sink_end_object(out);
    sink_end_object(out);
    return n.wrong ? error_set(err, STATUS_INTERNAL, NULL, "the notation of schema %s is wrong", schema->name)
                   : STATUS_OK;
}

enum status openapi_schema_write(struct json_sink *json, const struct openapi_schema *schema, struct error *err)
{
    if (schema->shape != NULL)
        return write_shape(json, schema, err);
    char text[512];
    (void)snprintf(text, sizeof text, "%s", schema->schema);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    enum status status = json_scan(text, strlen(text), err);
    if (!status)
        json_sink_raw(json, schema->name, text);
    return status;
}
