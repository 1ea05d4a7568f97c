/* Fuzz target of the whole server, which runs in this process: libmicrohttpd's parser, the guard before it,
 * admission, routes, storage. An input is what a client sends over one connection. The answer must be empty, or
 * consist of whole HTTP/1.1 responses. Their statuses must be those of the API's contract, and never 500. The server
 * must also serve the next connection. */
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "core/kernels/kernels.h"
#include "server/http/auth.h"
#include "server/http/http.h"
#include "server/process/journal.h"
#include "server/http/streams.h"
#include "storage/storage.h"

#define FIN_AFTER_MS 1
#define DEADLINE_MS 300 /* milliseconds after which the server closes a connection that the client has not closed */
#define PATIENCE_MS 20000

const struct fuzz_seed fuzz_seeds[1]; /* no seeds here: they are files in corpus/http */
const size_t fuzz_seed_count = 0;

/* ---- the server, made once ------------------------------------------------------------------------------ */

static struct {
    char folder[64], path[96];
    struct storage *storage;
    struct journal *journal;
    struct api *api;
    struct auth auth;
    struct streams *streams;
    struct http *http;
} served;

static void stop(void)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-lock"};
    char path[128];
    http_stop(served.http, 0);
    api_destroy(served.api);
    storage_close(served.storage);
    streams_destroy(served.streams);
    journal_close(served.journal);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        (void)snprintf(path, sizeof path, "%s%s", served.path, endings[i]);
        (void)unlink(path);
    }
    (void)rmdir(served.folder);
}

static void start(void)
{
    struct error err = {0};
    const char *base = getenv("TMPDIR");
    (void)snprintf(served.folder, sizeof served.folder, "%.40s/motifd-fuzz-XXXXXX", base != NULL ? base : "/tmp");
    FUZZ_CHECK(mkdtemp(served.folder) != NULL);
    (void)snprintf(served.path, sizeof served.path, "%s/fuzz.db", served.folder);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    FUZZ_CHECK(nowhere >= 0 && journal_open(&served.journal, nowhere, LOG_LEVEL_DEBUG, &err) == STATUS_OK);
    struct storage_options storage = {.path = served.path, .durability = STORAGE_DURABLE_NOT, .queue_limit = 20};
    FUZZ_CHECK(storage_open(&storage, &served.storage, &err) == STATUS_OK);
    struct streams_options streams = {.heartbeat_ms = 0};
    FUZZ_CHECK(streams_create(&streams, &served.streams, &err) == STATUS_OK);
    FUZZ_CHECK(streams_start(served.streams, served.storage, &err) == STATUS_OK);
    struct api_options api = {.storage = served.storage, .kernels = kernels_best(), .threads_max = 4};
    api.methods = methods_all(&api.method_count);
    FUZZ_CHECK(api_create(&api, &served.api, &err) == STATUS_OK);
    FUZZ_CHECK(auth_init(&served.auth, served.storage, true, "", &err) == STATUS_OK);
    struct http_options http = {
        .host = "127.0.0.1",
        .loopback = true,
        .allow_host = "",
        .threads = 1,
        .handlers = 2,
        .connections = 64,
        .connections_per_address = 64,
        .beside = served.path,
        .deadlines = {.idle_ms = DEADLINE_MS, .header_ms = DEADLINE_MS, .grace_ms = DEADLINE_MS, .rate = 1000},
        .api = served.api,
        .auth = &served.auth,
        .journal = served.journal,
        .streams = served.streams};
    FUZZ_CHECK(http_start(&http, &served.http, &err) == STATUS_OK);
    FUZZ_CHECK(atexit(stop) == 0);
}

/* ---- one connection ------------------------------------------------------------------------------------- */

/* Calls poll() for one descriptor. Calls it again when a signal has interrupted it, such as libFuzzer's alarm. */
static int wait_for(struct pollfd *ready, int ms)
{
    int some_way;
    do {
        some_way = poll(ready, 1, ms);
    } while (some_way < 0 && errno == EINTR);
    return some_way;
}

static int connect_to_it(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(http_port(served.http)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    /* close() then sends a reset, so that closed connections leave no port in TIME_WAIT */
    struct linger at_once = {.l_onoff = 1};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FUZZ_CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    (void)connect(fd, (struct sockaddr *)&address, sizeof address);
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    FUZZ_CHECK(wait_for(&ready, PATIENCE_MS) == 1);
    return fd;
}

/* Sends and reads at the same time, so that neither side waits for the other. Returns the answer with a NUL. */
static size_t exchange(const uint8_t *data, size_t size, char *answer, size_t room)
{
    int fd = connect_to_it();
    size_t sent = 0, got = 0;
    bool ended = false;
    for (bool open = true; open && got < room - 1;) {
        struct pollfd ready = {.fd = fd, .events = (short)(POLLIN | (sent < size ? POLLOUT : 0))};
        int some_way = wait_for(&ready, sent < size || ended ? PATIENCE_MS : FIN_AFTER_MS);
        /* After the FIN, the server must answer or close the connection within PATIENCE_MS. */
        FUZZ_CHECK(some_way == 1 || !ended);
        /* The server has not answered for FIN_AFTER_MS, so the client ends its direction of the connection (FIN). It
         * must not send the FIN together with the last bytes, because the server would then notice the FIN only at its
         * next event. */
        if (some_way == 0) {
            (void)shutdown(fd, SHUT_WR);
            ended = true;
        }
        if ((ready.revents & POLLOUT) != 0) {
            ssize_t some = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
            sent = some > 0 ? sent + (size_t)some : size;
        }
        if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
            ssize_t some = recv(fd, answer + got, room - 1 - got, 0);
            open = some > 0;
            got += some > 0 ? (size_t)some : 0;
        }
    }
    (void)close(fd);
    answer[got] = '\0';
    return got;
}

static void check_answer(const char *answer, size_t size)
{
    static const int known[] = {100, 200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 406, 409,
                                411, 412, 413, 414, 415, 416, 417, 421, 422, 429, 431, 501, 503, 505};
    int status = 0;
    if (size == 0)
        return;
    if (sscanf(answer, "HTTP/1.%*1[01] %3d ", &status) != 1) {
        (void)fprintf(stderr, "no answer of HTTP/1.1: %.400s\n", answer);
        abort();
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] == status)
            return;
    (void)fprintf(stderr, "no status of the contract: %.400s\n", answer);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char answer[1 << 20];
    if (served.http == NULL)
        start();
    check_answer(answer, exchange(data, size, answer, sizeof answer));
    return 0;
}
