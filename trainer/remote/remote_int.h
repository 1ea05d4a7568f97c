/* Private to trainer/remote: the queue of messages and the exchange with the daemon. */
#ifndef MOTIF_TRAINER_REMOTE_REMOTE_INT_H
#define MOTIF_TRAINER_REMOTE_REMOTE_INT_H

#include <pthread.h>

#include "protocol/http_client.h"
#include "protocol/json.h"
#include "core/base/hash.h"
#include "trainer/remote/remote.h"

#define REMOTE_NAME 64
#define REMOTE_POINTS 4096 /* upper limit of the points in one report */
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
    size_t bytes; /* bytes of memory that the message uses */
    /* Members of MESSAGE_REPORT: */
    int64_t sequence;
    struct remote_point *points;
    size_t count;
    char *progress; /* progress document; NULL: none */
    uint64_t steps, samples;
    double step_seconds, gflops;
    struct {
        enum log_level level;
        char text[256];
    } lines[REMOTE_LINES];
    int line_count;
    /* Members of MESSAGE_ARTIFACT and MESSAGE_CHECKPOINT: */
    char name[80], type[80];
    struct storage_checkpoint_new what;
    struct buf body;
};

struct remote {
    struct remote_options options;
    struct http *http, *sender_http; /* `http` is for the run's thread, `sender_http` for the sender thread */
    int64_t epoch;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t work, change; /* work: wakes the sender; change: wakes callers after a message was sent */
    struct message *head, **tail;
    struct message *pending; /* the report that is being filled; never NULL */
    size_t queued_bytes;
    int queued_checkpoints;
    int64_t sequence;
    bool closing;
    struct error failure; /* set when the daemon has refused a message; the run then fails */
    double last_answer;   /* monotonic seconds of the daemon's last answer */
    atomic_bool lost, yield, cancelled, ended;
    struct message *saving; /* the checkpoint that is being written; only the run's thread uses it */
};

/* ---- remote_queue.c: the queue, and the thread that sends it ----------------------------------------- */
enum status remote_start(struct remote *remote, struct error *err);
void remote_stop(struct remote *remote); /* ends the sender thread and drops the messages that it has not sent */
/* Queues a message. Waits while the queue is full; if the message is a checkpoint, also while another checkpoint is
 * queued. Owns the message from then on, also if this fails. */
enum status remote_post(struct remote *remote, struct message *message, struct error *err);
/* Moves the pending report to the queue. The caller holds the lock. */
enum status remote_flush(struct remote *remote, struct error *err);
/* Removes from the queue the checkpoints that the sender has not begun to send; a cancelled job needs none. */
void remote_drop_checkpoints(struct remote *remote);
/* Waits until the daemon has stored all messages. */
enum status remote_settle(struct remote *remote, struct error *err);
void message_free(struct message *message); /* `message` may be NULL */

/* ---- remote_messages.c: requests to the daemon ------------------------------------------------------- */
/* Sends a request and repeats it until the daemon answers with a status other than 429 and 5xx, the lease is lost or
 * `patience_s` seconds have passed. An answer that refuses the request is an error that quotes the daemon. `http`
 * belongs to the calling thread. */
enum status remote_call(struct remote *remote, struct http *http, const struct http_request *request,
                        struct http_answer *answer, struct error *err);
/* Sends one message and waits until the daemon has stored it. */
enum status message_send(struct remote *remote, const struct message *message, struct error *err);
/* Parses the body of an answer as JSON; NULL if it is not JSON. The caller frees the result. */
cJSON *message_json(const struct http_answer *answer);

#endif
