/* Private to remote*.c. */
#ifndef MOTIF_TRAINER_REMOTE_REMOTE_INT_H
#define MOTIF_TRAINER_REMOTE_REMOTE_INT_H

#include <pthread.h>

#include "api/client/http.h"
#include "api/json/json.h"
#include "core/base/hash.h"
#include "trainer/remote/remote.h"

#define REMOTE_NAME 64
#define REMOTE_POINTS 4096 /* of one report */
#define REMOTE_LINES 16
#define REMOTE_PIECE ((size_t)4 << 20)

struct remote_point {
    char name[REMOTE_NAME];
    int64_t step;
    double value;
};

enum message_kind { MESSAGE_REPORT, MESSAGE_ARTIFACT, MESSAGE_CHECKPOINT };
struct message {
    struct message *next;
    enum message_kind kind;
    size_t bytes; /* held */
    /* report */
    int64_t sequence;
    struct remote_point *points;
    size_t count;
    char *progress; /* NULL: none */
    uint64_t steps, samples;
    double step_seconds, gflops;
    struct {
        enum log_level level;
        char text[256];
    } lines[REMOTE_LINES];
    int line_count;
    /* artifact, checkpoint */
    char name[80], type[80];
    struct storage_checkpoint_new what;
    struct buf body;
};

struct remote {
    struct remote_options options;
    struct http *http, *sender_http; /* of the run's thread, of the sender */
    int64_t epoch;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t work, change; /* for the sender; for who waits until something was sent */
    struct message *head, **tail;
    struct message *pending; /* the report that is being filled; never NULL */
    size_t queued_bytes;
    int64_t sequence;
    bool closing;
    struct error failure; /* the daemon refused something: the run fails */
    double heard;         /* monotonic seconds of the daemon's last answer */
    atomic_bool lost, yield, ended;
    struct message *saving; /* the run's thread: a checkpoint that is being written */
};

/* ---- remote_queue.c: messages, and the thread that sends them ---- */
enum status remote_start(struct remote *remote, struct error *err);
void remote_stop(struct remote *remote); /* what is queued is not sent any more */
/* Adds it, after waiting for room. Takes the message in any case. */
enum status remote_post(struct remote *remote, struct message *message, struct error *err);
/* Puts what is pending into the queue; called with the lock held. */
enum status remote_turn(struct remote *remote, struct error *err);
/* Waits until all that was said is stored. */
enum status remote_settle(struct remote *remote, struct error *err);
void message_free(struct message *message); /* NULL is fine */

/* ---- remote_messages.c: one exchange with the daemon ---- */
/* Sends until there is an answer, the lease is lost or patience ends. What is refused otherwise is an error with the
 * daemon's words. `http` is the calling thread's. */
enum status remote_call(struct remote *remote, struct http *http, const struct http_request *request,
                        struct http_answer *answer, struct error *err);
enum status message_send(struct remote *remote, const struct message *message, struct error *err);
/* Empties a body that was only needed for its JSON. */
cJSON *message_json(const struct http_answer *answer);

#endif
