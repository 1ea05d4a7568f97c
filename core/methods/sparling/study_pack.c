/* A study in a checkpoint: its tables, the seeds under way that another rank has or none, as packs within the pack (study.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/methods/sparling/run.h"
#include "core/methods/sparling/run_int.h"
#include "core/methods/sparling/sparling.h"

#define BLOCK ((size_t)4 << 20) /* of what ranks pass on */

bool study_points_reserve(struct study_points *points, size_t room)
{
    if (room <= points->room)
        return true;
    size_t more = points->room + points->room / 2 + 256;
    more = more > room ? more : room;
    struct study_point *list = more <= SIZE_MAX / sizeof *list ? realloc(points->list, more * sizeof *list) : NULL;
    if (!list)
        return false;
    points->list = list;
    points->room = more;
    return true;
}

static void points_close(struct study_points *points)
{
    free(points->list);
    *points = (struct study_points){0};
}

void study_close(struct study *study)
{
    for (int i = 0; i < STUDY_MOST; i++) {
        points_close(&study->points[i]);
        buf_close(&study->parked[i]);
    }
    free(study->motifs);
    free(study->has);
    free(study->turns);
}

/* ---- entries -------------------------------------------------------------------------------------------- */

static const struct pack_entry *find(const struct pack_entry *contents, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(contents[i].name, name) == 0)
            return &contents[i];
    return NULL;
}

/* A list of points that is not empty. Read: as long as the pack's. */
static enum status declare_points(struct pack *pack, const char *name, struct study_points *points, const struct pack_entry *contents,
                                  size_t count, struct error *err)
{
    if (contents) {
        const struct pack_entry *entry = find(contents, count, name);
        points->count = entry ? (size_t)(entry->bytes / sizeof *points->list) : 0;
        if (!study_points_reserve(points, points->count))
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for what a seed has measured");
    }
    const uint64_t shape[2] = {points->count, STUDY_POINT_COLUMNS};
    return points->count > 0 ? pack_add(pack, PACK_STATE, PACK_F64, name, 2, shape, points->list, err) : STATUS_OK;
}

static enum status declare_parked(struct pack *pack, const char *name, struct buf *parked, const struct pack_entry *contents, size_t count,
                                  struct error *err)
{
    if (contents) {
        const struct pack_entry *entry = find(contents, count, name);
        buf_close(parked);
        buf_init(parked, SIZE_MAX);
        size_t bytes = entry ? (size_t)entry->bytes : 0;
        if (bytes > 0 && !(parked->data = calloc(1, bytes + 1)))
            return error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a seed of the study");
        parked->size = bytes;
        parked->capacity = bytes > 0 ? bytes + 1 : 0;
    }
    const uint64_t shape[1] = {parked->size};
    return parked->size > 0 ? pack_add(pack, PACK_STATE, PACK_U8, name, 1, shape, parked->data, err) : STATUS_OK;
}

static enum status declare_seed(struct method_run *run, struct pack *pack, const struct pack_entry *contents, size_t count, struct error *err)
{
    struct study *s = &run->study;
    enum status status = pack_add_i64(pack, "study.first_seq", &s->first_seq, err);
    if (!status && (!contents || find(contents, count, "study.stage_step")))
        status = pack_add_i64(pack, "study.stage_step", &s->stage_step, err);
    return status || s->now < 0 ? status : declare_points(pack, "study.points", &s->points[s->now], contents, count, err);
}

static enum status declare_study(struct method_run *run, struct pack *pack, const struct pack_entry *contents, size_t count, struct error *err)
{
    struct study *s = &run->study;
    const uint64_t rows[2] = {STUDY_MOST, STUDY_COLUMNS}, seeds[2] = {STUDY_MOST, STUDY_SEED_COLUMNS};
    const uint64_t found[3] = {(uint64_t)run->config.seeds, STUDY_SAMPLES, STUDY_EACH};
    bool old = contents && !find(contents, count, "study.seeds");
    enum status status = pack_add_i64(pack, "study.at", &s->at, err);
    if (!status)
        status = pack_add_i64(pack, "study.samples_before", &s->samples_before, err);
    if (!status)
        status = old ? pack_add_i64(pack, "study.updates_before", &s->updates_before, err) : pack_add_i64(pack, "study.shown", &s->shown, err);
    if (!status)
        status = pack_add(pack, PACK_STATE, PACK_F64, "study.rows", 2, rows, s->row, err);
    if (!status && !old)
        status = pack_add(pack, PACK_STATE, PACK_F64, "study.seeds", 2, seeds, s->seed, err);
    if (!status)
        status = pack_add(pack, PACK_STATE, PACK_I64, "study.motifs", 3, found, s->motifs, err);
    for (int64_t i = 0; !status && !old && i < run->config.seeds; i++) {
        char name[PACK_NAME];
        snprintf(name, sizeof name, "study.points.%d", (int)i);
        if (contents || s->seed[i].state == (double)STUDY_OVER)
            status = declare_points(pack, name, &s->points[i], contents, count, err);
        snprintf(name, sizeof name, "study.lane.%d", (int)i);
        if (!status)
            status = declare_parked(pack, name, &s->parked[i], contents, count, err);
    }
    return status;
}

static bool sound_points(const struct study_points *points)
{
    for (size_t i = 0; i < points->count; i++) {
        const struct study_point *p = &points->list[i];
        if (!(p->metric >= 0 && p->metric < (double)sparling_method.metric_count && p->metric == floor(p->metric) && p->samples >= 0 &&
              p->samples <= CONFIG_INT_MAX))
            return false;
    }
    return true;
}

static bool sound_seed(const struct study_seed *seed)
{
    return (seed->state == STUDY_AHEAD || seed->state == STUDY_UNDER_WAY || seed->state == STUDY_OVER) && seed->phase >= PHASE_TRAIN &&
           seed->phase <= PHASE_DONE && seed->phase == floor(seed->phase) && seed->updates >= 0 && seed->updates <= CONFIG_INT_MAX &&
           seed->samples >= 0 && seed->samples <= CONFIG_INT_MAX;
}

static bool sound_study(const struct method_run *run)
{
    const struct study *s = &run->study;
    bool done = run->phase == PHASE_DONE;
    int64_t over = 0;
    if (s->at < 0 || s->at > run->config.seeds || s->samples_before < 0 || s->shown < 0 || s->shown >= run->config.seeds)
        return false;
    for (int64_t i = 0; i < run->config.seeds; i++) {
        const struct study_seed *seed = &s->seed[i];
        bool parked = s->parked[i].size > 0, away = seed->state == STUDY_UNDER_WAY && i != s->shown;
        if (!sound_seed(seed) || parked != away || !sound_points(&s->points[i]))
            return false;
        over += i == over && seed->state == STUDY_OVER;
    }
    return s->at == over && done == (over == run->config.seeds) && (done || s->seed[s->shown].state == STUDY_UNDER_WAY);
}

/* ---- a seed by itself --------------------------------------------------------------------------------------- */

/* The motifs that it has been seen to find: in the whole study's checkpoint they are in the table of all. */
static enum status declare_found(struct method_run *run, struct pack *pack, struct error *err)
{
    const uint64_t found[2] = {STUDY_SAMPLES, STUDY_EACH};
    return pack_add(pack, PACK_STATE, PACK_I64, "study.found", 2, found, run->study.motifs + run->study.now * STUDY_SAMPLES * STUDY_EACH, err);
}

enum status study_append(void *context, const void *bytes, size_t count, struct error *err)
{
    buf_append(context, bytes, count);
    return buf_status(context, "a seed of the study", err);
}

static enum status read_parked(void *context, uint64_t offset, void *bytes, size_t count, struct error *err)
{
    const struct buf *from = context;
    if (offset > from->size || count > from->size - offset)
        return error_set(err, STATUS_CORRUPT, NULL, "a seed of the study ends early");
    memcpy(bytes, from->data + offset, count);
    return STATUS_OK;
}

enum status study_park(struct method_run *run, struct buf *to, struct error *err)
{
    const struct pack_writer writer = {to, study_append};
    struct pack *pack = NULL;
    buf_close(to);
    buf_init(to, SIZE_MAX);
    enum status status = params_check(run->network->params, err);
    if (!status)
        status = pack_create(&pack, err);
    if (!status)
        status = run_declare(run, pack, err);
    if (!status)
        status = declare_seed(run, pack, NULL, 0, err);
    if (!status)
        status = declare_found(run, pack, err);
    if (!status)
        status = pack_write(pack, &writer, err);
    pack_destroy(pack);
    return status;
}

enum status study_resume(struct method_run *run, const struct buf *from, struct error *err)
{
    const struct pack_reader reader = {(void *)(uintptr_t)from, from->size, read_parked};
    struct pack *pack = NULL;
    struct pack_entry *contents = NULL;
    size_t count = 0;
    enum status status = run_begin(run, err); /* a network and an optimiser of this seed */
    if (!status)
        status = pack_contents(&reader, &contents, &count, err);
    if (!status)
        status = pack_create(&pack, err);
    if (!status)
        status = run_declare(run, pack, err);
    if (!status)
        status = declare_seed(run, pack, contents, count, err);
    if (!status)
        status = declare_found(run, pack, err);
    if (!status)
        status = pack_read(pack, &reader, PACK_ALL, err);
    if (!status)
        status = run_loaded(run, err);
    if (!status && !sound_points(&run->study.points[run->study.now]))
        status = error_set(err, STATUS_CORRUPT, NULL, "what a seed of the study has measured makes no sense");
    pack_destroy(pack);
    free(contents);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------ */

enum status study_pass(struct comm *comm, int root, const struct buf *from, const struct pack_writer *to, struct error *err)
{
    bool mine = comm_rank(comm) == root;
    uint64_t size = mine ? from->size : 0;
    struct error own = {0};
    enum status written = STATUS_OK, status = comm_broadcast(comm, &size, sizeof size, root, err);
    if (status)
        return status;
    char *block = malloc(BLOCK);
    status = study_agree(comm, block ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, NULL, "no memory for a seed of the study"), err);
    for (uint64_t at = 0; !status && at < size; at += BLOCK) {
        size_t count = size - at < BLOCK ? (size_t)(size - at) : BLOCK;
        if (mine)
            /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): all ranks have their block, or none comes here */
            memcpy(block, from->data + at, count);
        status = comm_broadcast(comm, block, count, root, err);
        if (!status && !written && to)
            written = to->write(to->context, block, count, &own);
    }
    free(block);
    if (status)
        return status;
    if (written)
        *err = own;
    return study_agree(comm, written, err);
}

/* The seeds of other ranks come to the one whose seed is shown. */
static enum status collect(struct method_run *run, struct comm *comm, int shown, struct error *err)
{
    struct study *s = &run->study;
    struct buf own;
    buf_init(&own, SIZE_MAX);
    bool away = s->now >= 0 && comm_rank(comm) != shown;
    enum status status = study_agree(comm, away ? study_park(run, &own, err) : STATUS_OK, err);
    for (int r = 0; !status && r < comm_size(comm); r++) {
        if (s->has[r] < 0 || r == shown)
            continue;
        struct buf *kept = &s->parked[s->has[r]];
        buf_close(kept);
        buf_init(kept, SIZE_MAX);
        status = study_pass(comm, r, &own, comm_rank(comm) == shown ? &(struct pack_writer){kept, study_append} : NULL, err);
    }
    buf_close(&own);
    return status;
}

static enum status write_whole(struct method_run *run, const struct pack_writer *to, uint64_t *bytes, struct error *err)
{
    struct pack *pack = NULL;
    enum status status = params_check(run->network->params, err);
    if (!status)
        status = pack_create(&pack, err);
    if (!status)
        status = run_declare(run, pack, err);
    if (!status)
        status = declare_seed(run, pack, NULL, 0, err);
    if (!status)
        status = declare_study(run, pack, NULL, 0, err);
    if (!status)
        status = pack_write(pack, to, err);
    if (!status)
        *bytes = pack_bytes(pack);
    pack_destroy(pack);
    return status;
}

enum status study_save(struct method_run *run, const struct pack_writer *to, uint64_t *bytes, struct error *err)
{
    struct study *s = &run->study;
    struct comm *comm = study_apart(run);
    if (!comm)
        return write_whole(run, to, bytes, err);
    int shown = 0;
    struct buf whole;
    buf_init(&whole, SIZE_MAX);
    while (s->has[shown] != s->shown)
        shown++;
    bool mine = comm_rank(comm) == shown;
    enum status status = collect(run, comm, shown, err);
    if (!status)
        status = study_agree(comm, mine ? write_whole(run, &(struct pack_writer){&whole, study_append}, bytes, err) : STATUS_OK, err);
    for (int r = 0; r < comm_size(comm); r++)
        if (s->has[r] >= 0)
            buf_close(&s->parked[s->has[r]]);
    if (!status)
        status = comm_broadcast(comm, bytes, sizeof *bytes, shown, err);
    if (!status)
        status = study_pass(comm, shown, &whole, to, err);
    buf_close(&whole);
    return status;
}

/* Checkpoints of before seeds went to ranks have no table of them: one seed is under way, those before it are over. */
static void fill_in(struct method_run *run)
{
    struct study *s = &run->study;
    bool done = run->phase == PHASE_DONE;
    s->now = s->shown = s->at - done;
    s->samples_before = done ? run->samples : 0;
    for (int64_t i = 0; i < s->now; i++) {
        s->seed[i] = (struct study_seed){.state = STUDY_OVER, .phase = PHASE_EVALUATE, .fraction = 1, .samples = s->row[i].samples,
                                         .updates = s->row[i].samples / (double)run->config.batch};
        s->samples_before += (int64_t)s->row[i].samples;
    }
    s->over = done;
    study_look(run);
    s->over = false;
    s->stage_step = study_updates(run);
}

static enum status settle(struct method_run *run, bool old, struct error *err)
{
    struct study *s = &run->study;
    int64_t now = old ? s->at - (run->phase == PHASE_DONE) : s->shown;
    bool sound = now >= 0 && now < run->config.seeds;
    if (sound && old)
        fill_in(run);
    if (!sound || !sound_study(run))
        return error_set(err, STATUS_CORRUPT, NULL, "the checkpoint's study makes no sense");
    s->now = now;
    s->loaded = true;
    run->config.seed = s->first + now;
    run->exec.seed = (uint64_t)run->config.seed;
    return STATUS_OK;
}

enum status study_load(struct method_run *run, const struct pack_reader *from, struct error *err)
{
    struct study *s = &run->study;
    struct pack *pack = NULL;
    struct pack_entry *contents = NULL;
    size_t count = 0;
    struct study_points points = {0}; /* of the seed that is shown: which one is known once it is read */
    enum status status = pack_contents(from, &contents, &count, err);
    if (!status)
        status = pack_create(&pack, err);
    if (!status)
        status = run_declare(run, pack, err);
    s->now = -1;
    if (!status)
        status = declare_seed(run, pack, contents, count, err);
    if (!status)
        status = declare_points(pack, "study.points", &points, contents, count, err);
    if (!status)
        status = declare_study(run, pack, contents, count, err);
    if (!status)
        status = pack_read(pack, from, PACK_ALL, err);
    if (!status)
        status = run_loaded(run, err);
    if (!status)
        status = settle(run, find(contents, count, "study.seeds") == NULL, err);
    if (!status && !sound_points(&points))
        status = error_set(err, STATUS_CORRUPT, NULL, "what a seed of the study has measured makes no sense");
    if (!status) {
        points_close(&s->points[s->now]);
        s->points[s->now] = points;
        points = (struct study_points){0};
    }
    points_close(&points);
    pack_destroy(pack);
    free(contents);
    return status;
}
