/* Sends many requests to a daemon over few connections, for soak.py.
 *
 *   soak_client PORT REQUESTS JOB [CONNECTIONS]
 *
 * Each connection has a thread. It writes DEPTH requests at once (HTTP pipelining), reads their answers, and repeats
 * this. A client in C sends some ten times as many requests a second as one in Python, so that a soak of 10^8 requests
 * needs hours, not days. The requests are a fixed mixture of routes that only read, of invalid requests, of dry runs
 * and of requests with large answers. The daemon closes the connection after an unknown path, so such a request is
 * the last of its batch, and the thread opens a new connection. After BREAK requests the thread closes its connection
 * within a body.
 * Prints the number of answers by status. Exit code 1: an answer has another status than 200, 304, 400 or 404, or is
 * incomplete. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DEPTH = 16,
    BREAK = 40000,
    LARGE = 4000,
    UNKNOWN = 20 * DEPTH,
    MOST_CONNECTIONS = 64,
    STATUSES = 600,
    BUFFER = 1 << 16
};

struct client {
    int number, port, socket;
    long requests;
    const char *job;
    long statuses[STATUSES];
    char buffer[BUFFER];
    size_t used; /* bytes of `buffer` that are received and not yet consumed */
    pthread_t thread;
};

static const char small_job[] =
    "{\"kind\":\"pathways\",\"config\":{\"dictionary\":\"dirac-hadamard\",\"filter_length\":16,"
    "\"length\":1,\"nonzeros\":\"1,2\",\"trials\":8}}";

static void quit(const char *why)
{
    (void)fprintf(stderr, "soak_client: %s\n", why);
    exit(1);
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        quit("cannot connect");
    return fd;
}

static void send_all(const struct client *c, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t now = send(c->socket, bytes + sent, size - sent, MSG_NOSIGNAL);
        if (now <= 0)
            quit("the daemon closed a connection while a request was sent");
        sent += (size_t)now;
    }
}

/* Writes the head of request `i` into `text`; returns its length. */
static size_t compose(const struct client *c, long i, char *text, size_t size)
{
    static const char *const usual[] = {"/v1/jobs/%s",
                                        "/healthz",
                                        "/readyz",
                                        "/healthz",
                                        "/v1/jobs/%s/artifacts",
                                        "/healthz",
                                        "/readyz",
                                        "/healthz",
                                        "/v1/jobs?limit=2",
                                        "/healthz",
                                        "/readyz",
                                        "/healthz",
                                        "/v1/jobs/%s/metrics",
                                        "/healthz",
                                        "/v1/jobs/%s/checkpoints",
                                        "/healthz"};
    static const char *const wrong[] = {"/none", "/v1/jobs?limit=x", "/v1/jobs/00000000000000000000000000"};
    static const char *const large[] = {"/openapi.json", "/v1/kinds", "/metrics", "/v1/system", "/v1/jobs?limit=10"};
    char path[200];
    int written = 0;
    if (i % 500 == 250) {
        written = snprintf(text, size,
                           "POST /v1/jobs?dry_run=1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           "Content-Length: %zu\r\n\r\n%s",
                           sizeof small_job - 1, small_job);
        return (size_t)written;
    }
    const char *format = i % LARGE == 1               ? large[i / LARGE % 5]
                         : i % UNKNOWN == UNKNOWN - 1 ? wrong[i / UNKNOWN % 3]
                                                      : usual[(i + c->number) % 16];
    (void)snprintf(path, sizeof path, format, c->job);
    written = snprintf(text, size, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    return (size_t)written;
}

static void receive(struct client *c)
{
    if (c->used == BUFFER)
        quit("the head of an answer is too long");
    ssize_t now = recv(c->socket, c->buffer + c->used, BUFFER - c->used, 0);
    if (now <= 0)
        quit("the daemon closed a connection before the answer was complete");
    c->used += (size_t)now;
}

static void consume(struct client *c, size_t count)
{
    memmove(c->buffer, c->buffer + count, c->used - count);
    c->used -= count;
}

/* Reads one answer; returns whether the daemon closes the connection after it. */
static bool read_answer(struct client *c)
{
    char *end;
    while ((end = memmem(c->buffer, c->used, "\r\n\r\n", 4)) == NULL)
        receive(c);
    *end = '\0';
    int status = 0;
    if (sscanf(c->buffer, "HTTP/1.1 %3d", &status) != 1 || status < 0 || status >= STATUSES)
        quit("an answer has no status");
    c->statuses[status]++;
    const char *length = strcasestr(c->buffer, "\r\nContent-Length:");
    if (length == NULL)
        quit("an answer has no length");
    bool closes = strcasestr(c->buffer, "\r\nConnection: close") != NULL;
    size_t left = strtoul(length + strlen("\r\nContent-Length:"), NULL, 10);
    consume(c, (size_t)(end + 4 - c->buffer));
    while (left > 0) {
        if (c->used == 0)
            receive(c);
        size_t now = left < c->used ? left : c->used;
        consume(c, now);
        left -= now;
    }
    return closes;
}

static void reconnect(struct client *c)
{
    (void)close(c->socket);
    c->used = 0;
    c->socket = connect_to(c->port);
}

static void break_off(struct client *c)
{
    static const char begun[] = "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{";
    send_all(c, begun, sizeof begun - 1);
    reconnect(c);
}

static void *run(void *argument)
{
    struct client *c = argument;
    char text[DEPTH * 512];
    c->socket = connect_to(c->port);
    for (long i = 0; i < c->requests;) {
        size_t size = 0;
        long batch = c->requests - i < DEPTH ? c->requests - i : DEPTH;
        for (long j = 0; j < batch; j++)
            size += compose(c, i + j, text + size, sizeof text - size);
        send_all(c, text, size);
        bool closed = false;
        for (long j = 0; j < batch; j++)
            closed = read_answer(c);
        i += batch;
        if (closed)
            reconnect(c);
        if (i / BREAK != (i - batch) / BREAK)
            break_off(c);
    }
    (void)close(c->socket);
    return NULL;
}

int main(int argc, char **argv)
{
    int connections = argc > 4 ? atoi(argv[4]) : 4;
    if (argc < 4 || connections < 1 || connections > MOST_CONNECTIONS)
        quit("usage: soak_client PORT REQUESTS JOB [CONNECTIONS]");
    struct client *clients = calloc((size_t)connections, sizeof *clients);
    if (clients == NULL)
        quit("not enough memory");
    for (int i = 0; i < connections; i++) {
        struct client *c = &clients[i];
        c->number = i;
        c->port = atoi(argv[1]);
        c->requests = atol(argv[2]) / connections;
        c->job = argv[3];
        if (pthread_create(&c->thread, NULL, run, c) != 0)
            quit("cannot start a thread");
    }
    long sums[STATUSES] = {0};
    for (int i = 0; i < connections; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        for (int s = 0; s < STATUSES; s++)
            sums[s] += clients[i].statuses[s];
    }
    bool wrong = false;
    for (int s = 0; s < STATUSES; s++) {
        if (sums[s] > 0)
            (void)printf("%d: %ld ", s, sums[s]);
        wrong |= sums[s] > 0 && s != 200 && s != 304 && s != 400 && s != 404;
    }
    (void)printf("\n");
    free(clients);
    return wrong ? 1 : 0;
}
