/* Tries every order of the events of two small protocols. Uses the tables and rules that the daemon uses, and checks
 * invariants in every state.
 *
 * - Jobs: two clients use the same idempotency key. The scheduler has one worker. A trainer runs in another process,
 *   which the cluster may start a second time. Answers get lost, and the daemon crashes. The rules are in
 *   job_state.c, lease_state.c and submit_key.c.
 * - Uploads: two uploads share one limit, connections break, and the daemon crashes. The rule is in
 *   reservations.c.
 *
 * At every step the disk may become full, or have space again: writes of clients, the scheduler and trainers are then
 * refused, the executor keeps the end of a run in memory and tries again, and so does a daemon that starts with the
 * cleanup after the last one. From every state, events must lead to a state in which all jobs and uploads have ended.
 *
 * A small struct, the world, describes the state of all participants. A breadth-first search applies every possible
 * event to every world that it has found. */
#include "api/datasets/reservations.h"
#include "storage/jobs/job_state.h"
#include "storage/jobs/lease_state.h"
#include "storage/jobs/submit_key.h"
#include "tests/unit/storage/search.h"

/* ---- jobs -------------------------------------------------------------------------------------------- */

enum { CLIENTS = 2, JOBS = 2, PROCESSES = 2, REQUESTS = 1 };
enum { NOTHING, SENT, KNOWN };                 /* what a client knows about its submission */
enum { ABSENT, STARTED, TRAINING, GONE };      /* a trainer process */
enum { NO_RUN, CLAIMED, OFFERED_RUN, ENDING }; /* what the executor does; ENDING: it must record the end of a run */

struct process {
    uint8_t phase, token, epoch, job;
};
/* All members are bytes, so the struct has no padding, and equal worlds have equal bytes. `up` is 1 while the daemon
 * runs. crashes, lost, requests, again: how often these events may still happen. */
struct world {
    uint8_t up, crashes, lost, requests, again;
    uint8_t full, fills;       /* full: 1: the disk is full; fills: how often it may still become full */
    uint8_t unrecovered;       /* 1: the daemon has not cleaned up after the last one yet, because the disk was full */
    uint8_t cancel;            /* 1: the run was cancelled, and the disk was too full to store this */
    uint8_t end;               /* while ENDING: the event to record */
    uint8_t clients, separate; /* separate: 1: trainers in other processes run the jobs; 0: the daemon runs them */
    uint8_t client[CLIENTS], client_job[CLIENTS]; /* client_job: index of the job + 1; 0: none */
    uint8_t key_job[CLIENTS];                     /* index of the job with the client's key + 1; 0: none */
    uint8_t jobs, owner[JOBS], state[JOBS], requested[JOBS];
    uint8_t lease[JOBS], epoch[JOBS], token[JOBS], ending[JOBS]; /* token: which token the lease accepts; 0: none */
    uint8_t run, run_job, run_token, tries, tokens;
    struct process process[PROCESSES];
    uint8_t entered_final; /* set of jobs that have ended */
};

/* Adds a world to the search. First clears members that no later event reads, so that two worlds that differ only in
 * these members count as one. */
static void found(struct search *s, const struct world *now, const char *event)
{
    struct world w = *now;
    for (int job = 0; job < w.jobs; job++) {
        if (w.lease[job] != LEASE_ENDED)
            w.ending[job] = 0;
        if (job_state_final((enum job_state)w.state[job]) && w.lease[job] == LEASE_NONE)
            w.epoch[job] = 0;
    }
    for (int i = 0; i < PROCESSES; i++)
        if (w.process[i].phase == GONE && (w.process[i].token != w.run_token || w.run == NO_RUN))
            w.process[i] = (struct process){GONE, 0, 0, 0};
        else if (w.process[i].phase != TRAINING)
            w.process[i].epoch = 0;
    reach(s, &w, event);
}

static bool job_event(struct world *w, int job, enum job_event event)
{
    enum job_state next;
    enum requested_state requested;
    if (!job_state_next((enum job_state)w->state[job], (enum requested_state)w->requested[job], event, &next,
                        &requested))
        return false;
    w->state[job] = (uint8_t)next;
    w->requested[job] = (uint8_t)requested;
    if (job_state_final(next))
        w->entered_final |= (uint8_t)(1 << job);
    return true;
}

static enum lease_verdict lease_event(struct world *w, int job, enum lease_event event, int64_t epoch)
{
    struct lease_place place = {(enum lease_state)w->lease[job], w->epoch[job]};
    enum lease_verdict verdict = lease_apply(&place, event, epoch);
    w->lease[job] = (uint8_t)place.state;
    w->epoch[job] = (uint8_t)place.epoch;
    if (verdict == LEASE_ALLOWED && event == LEASE_CLOSE)
        w->token[job] = 0;
    return verdict;
}

/* Submits a job, unless the database already has the key of this client. Both clients use a key with the same text. The
 * rule under test must distinguish the two keys by their owners. */
static void submit(struct search *s, struct world w, int client)
{
    static const char *const owners[CLIENTS] = {"anna", "bob"};
    static const uint8_t request[SUBMIT_FINGERPRINT] = {1};
    const struct submit_key asked = {owners[client], "key", request, 1000};
    if (!w.up || w.full || w.client[client] != NOTHING || client >= w.clients)
        return;
    for (int i = 0; i < CLIENTS; i++) {
        const struct submit_key kept = {owners[i], "key", request, 999};
        if (w.key_job[i] != 0 && submit_key_outcome(&kept, &asked) == STORAGE_REPLAYED) {
            w.client[client] = SENT;
            w.client_job[client] = w.key_job[i];
            found(s, &w, "a client repeats its submission");
            return;
        }
    }
    if (w.jobs == JOBS) {
        s->broken = "a key creates one job";
        return;
    }
    w.owner[w.jobs] = (uint8_t)client;
    w.state[w.jobs] = JOB_QUEUED;
    w.key_job[client] = w.client_job[client] = ++w.jobs;
    w.client[client] = SENT;
    found(s, &w, "a client submits");
}

static void answers(struct search *s, const struct world *now, int client)
{
    struct world w = *now;
    if (!w.up || w.client[client] != SENT)
        return;
    w.client[client] = KNOWN;
    found(s, &w, "the answer arrives");
    if (now->lost > 0) {
        w.lost--;
        w.client[client] = NOTHING;
        w.client_job[client] = 0;
        found(s, &w, "the answer is lost");
    }
}

static void requests(struct search *s, const struct world *now, int client)
{
    static const enum job_event events[] = {JOB_EVENT_PAUSE, JOB_EVENT_RESUME, JOB_EVENT_CANCEL};
    for (size_t i = 0; now->up && !now->full && now->requests > 0 && now->client[client] == KNOWN && i < 3; i++) {
        struct world w = *now;
        if (job_event(&w, w.client_job[client] - 1, events[i])) {
            w.requests--;
            found(s, &w, job_event_name(events[i]));
        }
    }
}

/* An operator may cancel every job at any time. While the disk is full, only a job that runs can be cancelled: its
 * executor keeps the cancel in memory (jobs_change.c). */
static void operator_cancels(struct search *s, const struct world *now, int job)
{
    struct world w = *now;
    if (!w.up || job >= w.jobs)
        return;
    if (!w.full && job_event(&w, job, JOB_EVENT_CANCEL)) {
        found(s, &w, "an operator cancels");
    } else if (w.full && w.run != NO_RUN && w.run_job == job) {
        w.cancel = 1;
        found(s, &w, "an operator cancels on a full disk");
    }
}

/* The disk becomes full, or has space again. The cleanup after the last daemon precedes every other write. */
static void fill_disk(struct search *s, const struct world *now)
{
    struct world w = *now;
    if (!w.full && w.fills > 0) {
        w.full = 1;
        w.fills--;
        found(s, &w, "the disk is full");
    } else if (w.full) {
        w.full = 0;
        for (int job = 0; w.unrecovered && job < w.jobs; job++)
            if (w.state[job] == JOB_RUNNING && !job_event(&w, job, JOB_EVENT_YIELD))
                s->broken = "a late cleanup recovers running jobs";
        w.unrecovered = 0;
        found(s, &w, "the disk has space again");
    }
}

/* The run of the executor has ended. The executor records this (executor_leave()). */
static void end_run(struct world *w, enum job_event event)
{
    w->run = ENDING;
    w->end = (uint8_t)event;
}

static void record(struct search *s, const struct world *now)
{
    struct world w = *now;
    int job = w.run_job;
    if (!w.up || w.full || w.run != ENDING)
        return;
    if (w.cancel)
        (void)job_event(&w, job, JOB_EVENT_CANCEL);
    if (!job_event(&w, job, (enum job_event)w.end))
        s->broken = "a run's end changes its job";
    (void)lease_event(&w, job, LEASE_CLOSE, 0);
    w.run = NO_RUN;
    w.run_token = w.cancel = w.end = 0;
    found(s, &w, "the executor records how the run ended");
}

static void claim(struct search *s, const struct world *now)
{
    for (int job = 0; now->up && !now->full && now->run == NO_RUN && job < now->jobs; job++) {
        struct world w = *now;
        if (w.state[job] == JOB_QUEUED && job_event(&w, job, JOB_EVENT_CLAIM)) {
            w.run = CLAIMED;
            w.run_job = (uint8_t)job;
            w.tries = 0;
            found(s, &w, "the scheduler claims a job");
        }
    }
}

/* The executor ends stray processes if it can, closes the old lease and grants a new one to a process that it starts.
 */
static void grant(struct search *s, const struct world *now, bool stray_ends)
{
    struct world w = *now;
    int job = w.run_job, slot = 0;
    if (!w.up || w.full || !w.separate || w.run != CLAIMED || w.cancel || w.tokens == 3)
        return;
    for (int i = 0; i < PROCESSES; i++)
        if (stray_ends)
            w.process[i] = (struct process){GONE, 0, 0, 0};
    while (slot < PROCESSES && (w.process[slot].phase == STARTED || w.process[slot].phase == TRAINING))
        slot++;
    if (slot == PROCESSES)
        return;
    (void)lease_event(&w, job, LEASE_CLOSE, 0);
    if (lease_event(&w, job, LEASE_GRANT, 0) != LEASE_ALLOWED) {
        s->broken = "a closed lease can be granted";
        return;
    }
    w.token[job] = w.run_token = ++w.tokens;
    w.run = OFFERED_RUN;
    w.tries++;
    w.process[slot] = (struct process){STARTED, w.tokens, 0, (uint8_t)job};
    found(s, &w, stray_ends ? "the executor starts a trainer" : "the executor starts a trainer beside a stray one");
}

/* The cluster starts the trainer again, while the first process may still run. */
static void start_again(struct search *s, const struct world *now, int first)
{
    struct world w = *now;
    int other = 1 - first;
    if (w.again == 0 || w.process[first].token == 0 || w.process[first].phase == ABSENT ||
        w.process[other].phase == STARTED || w.process[other].phase == TRAINING ||
        w.process[other].token == w.process[first].token)
        return;
    w.again--;
    w.process[other] = (struct process){STARTED, w.process[first].token, 0, w.process[first].job};
    found(s, &w, "the cluster starts the trainer again");
}

static bool token_accepted(const struct world *w, const struct process *p)
{
    return p->token != 0 && w->token[p->job] == p->token;
}

static void train(struct search *s, const struct world *now, int number)
{
    static const enum job_event endings[] = {JOB_EVENT_SUCCEED, JOB_EVENT_FAIL, JOB_EVENT_YIELD};
    const struct process *p = &now->process[number];
    struct world w = *now;
    int job = p->job;
    if (p->phase != STARTED && p->phase != TRAINING)
        return;
    w.process[number].phase = GONE;
    found(s, &w, "a trainer dies");
    if (!now->up || now->full || !token_accepted(now, p))
        return;
    w = *now;
    if (p->phase == STARTED && lease_event(&w, job, LEASE_REGISTER, 0) == LEASE_ALLOWED) {
        w.process[number].phase = TRAINING;
        w.process[number].epoch = w.epoch[job];
        found(s, &w, "a trainer registers");
    }
    for (size_t i = 0; p->phase == TRAINING && i < 3; i++) {
        w = *now;
        bool repeated = w.lease[job] == LEASE_ENDED;
        if (lease_event(&w, job, LEASE_END, p->epoch) == LEASE_ALLOWED) {
            w.ending[job] = repeated ? w.ending[job] : (uint8_t)endings[i]; /* lease.c keeps the first ending */
            found(s, &w, "a trainer reports the end");
        }
    }
}

/* A thread of the daemon runs the job. */
static void run_inside(struct search *s, const struct world *now)
{
    static const enum job_event endings[] = {JOB_EVENT_SUCCEED, JOB_EVENT_FAIL, JOB_EVENT_YIELD};
    for (size_t i = 0; now->up && !now->separate && now->run == CLAIMED && i < 3; i++) {
        struct world w = *now;
        end_run(&w, endings[i]);
        found(s, &w, job_event_name(endings[i]));
    }
}

/* The executor sees that its processes have ended. */
static void collect(struct search *s, const struct world *now)
{
    struct world w = *now;
    int job = w.run_job;
    if (!w.up || w.run != OFFERED_RUN)
        return;
    for (int i = 0; i < PROCESSES; i++)
        if (w.process[i].token == w.run_token && w.process[i].phase != GONE)
            return;
    if (w.lease[job] == LEASE_ENDED)
        end_run(&w, (enum job_event)w.ending[job]);
    else if (w.cancel)
        end_run(&w, JOB_EVENT_YIELD);
    else if (w.tries < 2)
        w.run = CLAIMED;
    else
        end_run(&w, JOB_EVENT_FAIL);
    found(s, &w, "the executor sees that the trainer has ended");
}

/* The executor stops before it starts a trainer, because the job was cancelled, or because the daemon has used up its
 * tokens in this search. */
static void stop_before_start(struct search *s, const struct world *now)
{
    struct world w = *now;
    if (!w.up || !w.separate || w.run != CLAIMED || !(w.cancel || w.requested[w.run_job] == REQUESTED_CANCELLED))
        return;
    end_run(&w, JOB_EVENT_YIELD);
    found(s, &w, "the executor stops before a trainer starts");
}

static void crash(struct search *s, const struct world *now)
{
    struct world w = *now;
    if (w.up && w.crashes > 0) {
        w.up = 0;
        w.crashes--;
        w.run = NO_RUN;
        w.run_token = w.cancel = w.end = w.unrecovered = 0;
        for (int i = 0; i < CLIENTS; i++)
            if (w.client[i] == SENT) {
                w.client[i] = NOTHING;
                w.client_job[i] = 0;
            }
        found(s, &w, "the daemon crashes");
    } else if (!w.up) {
        w.up = 1;
        w.unrecovered = w.full;
        for (int job = 0; !w.full && job < w.jobs; job++)
            if (w.state[job] == JOB_RUNNING && !job_event(&w, job, JOB_EVENT_YIELD))
                s->broken = "a restart recovers running jobs";
        found(s, &w, "the daemon starts again");
    }
}

static const char *check_jobs(const struct world *w)
{
    int writers[JOBS] = {0};
    for (int i = 0; i < PROCESSES; i++) {
        const struct process *p = &w->process[i];
        struct world copy = *w;
        writers[p->job] += p->phase == TRAINING && token_accepted(w, p) &&
                           lease_event(&copy, p->job, LEASE_MESSAGE, p->epoch) == LEASE_ALLOWED;
    }
    for (int job = 0; job < JOBS; job++)
        if (writers[job] > 1)
            return "a job never has two trainers";
    for (int c = 0; c < CLIENTS; c++) {
        if (w->client[c] != NOTHING && (w->client_job[c] == 0 || w->client_job[c] > w->jobs))
            return "an acknowledged job exists";
        if (w->client[c] != NOTHING && w->owner[w->client_job[c] - 1] != c)
            return "a key belongs to one token";
    }
    for (int job = 0; job < w->jobs; job++) {
        bool running = w->state[job] == JOB_RUNNING, executed = w->run != NO_RUN && w->run_job == job;
        if (w->up && running != executed && !(w->unrecovered && running))
            return "a job runs exactly while an executor has it";
        if (!running && w->requested[job] != REQUESTED_NONE)
            return "only a running job has a requested state";
        if ((w->entered_final >> job & 1) != 0 && !job_state_final((enum job_state)w->state[job]))
            return "a final state is never left";
    }
    return NULL;
}

/* From every state, the events alone must lead to a final state of each job: no job is lost. */
static void check_no_job_is_lost(struct search *s)
{
    const struct world *w = (const struct world *)(const void *)s->worlds[s->at];
    for (int job = 0; job < w->jobs; job++) {
        enum job_state next;
        enum requested_state requested;
        enum job_event out = w->state[job] == JOB_RUNNING ? JOB_EVENT_YIELD : JOB_EVENT_CANCEL;
        if (!job_state_final((enum job_state)w->state[job]) &&
            !job_state_next((enum job_state)w->state[job], (enum requested_state)w->requested[job], out, &next,
                            &requested))
            s->broken = "every job can end";
    }
}

static bool jobs_ended(const void *world)
{
    struct world w;
    memcpy(&w, world, sizeof w);
    for (int job = 0; job < w.jobs; job++)
        if (!job_state_final((enum job_state)w.state[job]))
            return false;
    return w.run == NO_RUN;
}

static void explore_jobs(const char *what, struct world first)
{
    struct search s;
    search_begin(&s, &first, sizeof first);
    for (s.at = 0; s.at < s.count; s.at++) {
        struct world w;
        memcpy(&w, s.worlds[s.at], sizeof w);
        s.broken = check_jobs(&w);
        if (s.broken == NULL)
            check_no_job_is_lost(&s);
        for (int c = 0; c < CLIENTS && s.broken == NULL; c++) {
            submit(&s, w, c);
            answers(&s, &w, c);
            requests(&s, &w, c);
            start_again(&s, &w, c);
            train(&s, &w, c);
        }
        for (int job = 0; job < JOBS; job++)
            operator_cancels(&s, &w, job);
        fill_disk(&s, &w);
        record(&s, &w);
        stop_before_start(&s, &w);
        claim(&s, &w);
        grant(&s, &w, true);
        grant(&s, &w, false);
        run_inside(&s, &w);
        collect(&s, &w);
        crash(&s, &w);
        if (s.broken != NULL)
            break;
    }
    if (s.broken == NULL)
        check_every_state_ends(&s, jobs_ended, "from every state, all jobs can end");
    printf("%s: %zu states, %zu steps\n", what, s.count, s.steps);
    if (s.broken != NULL)
        explain(&s);
    const char *broken = s.broken;
    size_t count = s.count;
    search_end(&s);
    assert_null(broken);
    assert_true(count > 1000);
}

static void every_order_of_two_clients_and_a_crash_keeps_the_invariants(void **state)
{
    (void)state;
    explore_jobs("two clients",
                 (struct world){.up = 1, .crashes = 2, .lost = 1, .requests = 1, .fills = 2, .clients = 2});
}

static void every_order_of_a_client_two_trainers_and_a_crash_keeps_the_invariants(void **state)
{
    (void)state;
    explore_jobs(
        "trainers",
        (struct world){
            .up = 1, .crashes = 1, .lost = 1, .requests = 1, .again = 1, .fills = 1, .clients = 1, .separate = 1});
}

static void every_order_of_two_clients_a_trainer_and_a_crash_keeps_the_invariants(void **state)
{
    (void)state;
    explore_jobs("two clients and a trainer", (struct world){.up = 1, .crashes = 1, .clients = 2, .separate = 1});
    explore_jobs("two clients, a trainer and a full disk",
                 (struct world){.up = 1, .fills = 1, .clients = 2, .separate = 1});
}

/* ---- uploads ----------------------------------------------------------------------------------------- */

enum { LIMIT = 5, UPLOADS = 2 };
enum { IDLE, RESERVED, KEPT, BROKEN_OFF };

struct disk {
    uint8_t up, crashes, deletes;
    uint8_t full, fills;                   /* full: 1: the disk is full; fills: how often it may still become full */
    uint8_t phase[UPLOADS], size[UPLOADS]; /* size: what the client announced */
    uint8_t reserved[UPLOADS];             /* bytes of the reservation, including those that have arrived */
    uint8_t part[UPLOADS], stored[UPLOADS], charged[UPLOADS];
};

static int64_t on_disk(const struct disk *d)
{
    return d->part[0] + d->part[1] + d->stored[0] + d->stored[1];
}

static void begin_upload(struct search *s, const struct disk *now, int i)
{
    for (uint8_t size = 1; size <= 4; size++) {
        struct disk d = *now;
        int other = 1 - i;
        bool again = d.phase[i] == BROKEN_OFF;
        if (!d.up || d.full || (d.phase[i] != IDLE && !again) || (again && size != d.size[i]))
            continue;
        /* A repeated upload continues its part. The bytes of the part are on the disk already and need no space. */
        int64_t need = size - d.part[i], most = need;
        int64_t waiting = d.phase[other] == RESERVED ? d.reserved[other] - d.part[other] : 0;
        if (!reservation_room(LIMIT, on_disk(&d), waiting, need, &most))
            continue;
        d.phase[i] = RESERVED;
        d.size[i] = size;
        d.reserved[i] = (uint8_t)(most + d.part[i]);
        reach(s, &d, "an upload begins");
    }
}

static void step_upload(struct search *s, const struct disk *now, int i)
{
    struct disk d = *now;
    if (now->up && now->phase[i] == RESERVED && (now->part[i] < now->size[i] || now->full)) {
        if (!now->full) {
            d.part[i]++;
            reach(s, &d, "bytes arrive");
            d = *now;
        }
        d.phase[i] = BROKEN_OFF;
        d.reserved[i] = 0;
        reach(s, &d, now->full ? "the upload is refused, because the disk is full" : "the connection breaks");
    } else if (now->up && now->phase[i] == RESERVED) {
        d.stored[i] = d.charged[i] = d.part[i];
        d.part[i] = d.reserved[i] = 0;
        d.phase[i] = KEPT;
        reach(s, &d, "the data set is complete");
    }
    d = *now;
    if (now->up && (now->phase[i] == BROKEN_OFF || (now->deletes > 0 && now->phase[i] == KEPT))) {
        d.deletes = (uint8_t)(d.deletes - (now->phase[i] == KEPT));
        d.phase[i] = IDLE;
        d.size[i] = d.part[i] = d.stored[i] = d.charged[i] = 0;
        reach(s, &d, "the data set is deleted, or its part is swept");
    }
}

static void fill_uploads(struct search *s, const struct disk *now)
{
    struct disk d = *now;
    if (!d.full && d.fills > 0) {
        d.full = 1;
        d.fills--;
        reach(s, &d, "the disk is full");
    } else if (d.full) {
        d.full = 0;
        reach(s, &d, "the disk has space again");
    }
}

/* No upload holds a reservation or a part. */
static bool uploads_ended(const void *world)
{
    struct disk d;
    memcpy(&d, world, sizeof d);
    return d.phase[0] != RESERVED && d.phase[1] != RESERVED && d.part[0] + d.part[1] == 0;
}

static void crash_disk(struct search *s, const struct disk *now)
{
    struct disk d = *now;
    if (d.up && d.crashes > 0) {
        d.up = 0;
        d.crashes--;
        for (int i = 0; i < UPLOADS; i++)
            if (d.phase[i] == RESERVED) {
                d.phase[i] = BROKEN_OFF;
                d.reserved[i] = 0;
            }
        reach(s, &d, "the daemon crashes");
    } else if (!d.up) {
        d.up = 1;
        reach(s, &d, "the daemon starts again");
    }
}

static const char *check_disk(const struct disk *d)
{
    if (on_disk(d) > LIMIT)
        return "uploads together stay within the limit";
    for (int i = 0; i < UPLOADS; i++)
        if (d->charged[i] != d->stored[i])
            return "bytes charged are bytes stored";
    return NULL;
}

static void every_order_of_two_uploads_keeps_the_limit(void **state)
{
    struct search s;
    struct disk first = {.up = 1, .crashes = 2, .deletes = 2, .fills = 2};
    (void)state;
    search_begin(&s, &first, sizeof first);
    for (s.at = 0; s.at < s.count; s.at++) {
        struct disk d;
        memcpy(&d, s.worlds[s.at], sizeof d);
        s.broken = check_disk(&d);
        if (s.broken != NULL)
            break;
        for (int i = 0; i < UPLOADS; i++) {
            begin_upload(&s, &d, i);
            step_upload(&s, &d, i);
        }
        crash_disk(&s, &d);
        fill_uploads(&s, &d);
    }
    if (s.broken == NULL)
        check_every_state_ends(&s, uploads_ended, "from every state, all uploads can end");
    printf("uploads: %zu states, %zu steps\n", s.count, s.steps);
    if (s.broken != NULL)
        explain(&s);
    const char *broken = s.broken;
    size_t count = s.count;
    search_end(&s);
    assert_null(broken);
    assert_true(count > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_two_clients_and_a_crash_keeps_the_invariants),
        cmocka_unit_test(every_order_of_a_client_two_trainers_and_a_crash_keeps_the_invariants),
        cmocka_unit_test(every_order_of_two_clients_a_trainer_and_a_crash_keeps_the_invariants),
        cmocka_unit_test(every_order_of_two_uploads_keeps_the_limit),
    };
    return cmocka_run_group_tests_name("protocols", tests, NULL, NULL);
}
