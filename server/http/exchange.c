/* One request and its answer. The callbacks of libmicrohttpd move a `struct http_exchange` through its stages:
 *
 *   on_target (created) → on_request, head → on_request, body pieces → on_request, body complete:
 *   suspend, a handler thread works, resume → on_request: queue the answer → on_completed (freed)
 *
 * An exchange belongs to its network thread, except between suspend and resume, when it belongs to one handler
 * thread. Two locks ensure that these threads use it one after the other: the lock of the handler threads and the
 * lock of libmicrohttpd. Header names and values are borrowed from libmicrohttpd, which keeps them until
 * on_completed. */
#include "server/http/http_int.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HEADERS_MAX 100
#define READ_BLOCK (256u * 1024u)
#define STREAM_BLOCK (16u * 1024u)
#define STREAM_SEND_BUFFER                                                                                             \
    (32 * 1024) /* bytes of the socket's send buffer; the default size can grow to megabytes for a slow reader */
/* Upper limit of the bytes of a refused body that are read and dropped, so that the client can read the refusal. If a
 * socket is closed with unread bytes, the kernel sends a reset, which may arrive before the answer. */
#define DISCARD_MAX (1024u * 1024u)

enum stage { STAGE_HEAD, STAGE_BODY, STAGE_WORKING, STAGE_ANSWERED, STAGE_SENT };

struct http_exchange {
    struct http *http;
    struct MHD_Connection *connection;
    struct reaper_watch *watch;
    enum stage stage;
    char *target;
    struct guard_header headers[HEADERS_MAX];
    struct guard_request head;
    bool too_many_headers, close, has_response;
    struct body body;
    struct api_upload *upload; /* instead of `body`, on routes that take the body in pieces */
    size_t body_limit, discarded, taken;
    bool overflow, refused; /* overflow: the body cannot be kept; refused: the response is a refusal that waits for the
                               end of the body */
    struct api_request request;
    struct api_response response;
    struct auth_caller sender;
    char peer[INET6_ADDRSTRLEN], caller[LEDGER_OWNER];
    struct turn turn;
    struct stream *stream; /* NULL unless the answer is an event stream */
    struct timespec started;
};

static const char no_value[] = ""; /* value of a header that has none */

static const char *header_of(void *context, const char *name)
{
    const struct http_exchange *exchange = context;
    return guard_header(&exchange->head, name);
}

static int descriptor_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    assert(info != NULL); /* libmicrohttpd knows the descriptor of every connection */
    return info->connect_fd;
}

/* Whether the client has closed the connection while a handler thread works for it. */
static bool client_gone(void *context)
{
    const struct http_exchange *exchange = context;
    struct pollfd peer = {.fd = descriptor_of(exchange->connection), .events = POLLRDHUP};
    return poll(&peer, 1, 0) == 1;
}

/* ---- answers ------------------------------------------------------------------------------------- */

static void exchange_refuse(struct http_exchange *exchange, int status, const char *title, const char *detail,
                            int retry_after)
{
    if (exchange->has_response)
        api_response_close(&exchange->response);
    api_refuse(exchange->http->options.api, &exchange->request, status, title, detail, retry_after,
               &exchange->response);
    exchange->has_response = true;
}

static ssize_t read_body(void *context, uint64_t offset, char *to, size_t count)
{
    struct http_exchange *exchange = context;
    size_t got = exchange->response.read(exchange->response.read_context, offset, to, count);
    return got > 0 ? (ssize_t)got : MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t read_stream(void *context, uint64_t offset, char *to, size_t count)
{
    struct http_exchange *exchange = context;
    ptrdiff_t got = exchange->stream != NULL ? streams_take(exchange->stream, to, count) : -1;
    return got >= 0 ? got : MHD_CONTENT_READER_END_OF_STREAM;
}

static enum MHD_Result send_response(struct http_exchange *exchange)
{
    struct api_response *response = &exchange->response;
    struct MHD_Response *out;
    if (response->events)
        out = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, exchange, NULL);
    else if (response->read != NULL)
        out = MHD_create_response_from_callback(response->read_bytes, READ_BLOCK, read_body, exchange, NULL);
    else /* the bytes of the body stay valid until on_completed */
        out = MHD_create_response_from_buffer(response->body.size, response->body.data, MHD_RESPMEM_PERSISTENT);
    if (out == NULL)
        return MHD_NO;
    bool ok = true;
    for (size_t i = 0; i < response->header_count; i++)
        ok = ok && MHD_add_response_header(out, response->headers[i].name, response->headers[i].value) == MHD_YES;
    if (exchange->close)
        ok = ok && MHD_add_response_header(out, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
    exchange->stage = STAGE_SENT;
    /* The reaper does not cut slow readers of an event stream: streams.c does. */
    reaper_enter(exchange->http->reaper, exchange->watch, response->events ? REAPER_ANSWERING : REAPER_SENDING);
    enum MHD_Result result = ok ? MHD_queue_response(exchange->connection, (unsigned)response->status, out) : MHD_NO;
    MHD_destroy_response(out);
    return result;
}

/* ---- a request's stages -------------------------------------------------------------------------- */

static enum MHD_Result collect_header(void *context, enum MHD_ValueKind kind, const char *name, size_t name_bytes,
                                      const char *value, size_t value_bytes)
{
    struct http_exchange *exchange = context;
    if (exchange->head.header_count == HEADERS_MAX) {
        exchange->too_many_headers = true;
        return MHD_NO;
    }
    exchange->headers[exchange->head.header_count++] = (struct guard_header){
        .name = name,
        .value = value != NULL ? value : no_value,
        .name_bytes = name_bytes,
        .value_bytes = value != NULL ? value_bytes : 0,
    };
    return MHD_YES;
}

/* Returns true if the header was well-formed in the request. libmicrohttpd 0.9.75 reports no error for three kinds
 * of malformed headers: it ends a value at its first NUL, accepts a bare LF as the end of a line, and joins folded
 * lines to the header's name. But it parses in place. So a header is well-formed if its value starts behind the
 * colon and the white space that follow its name, and if two NULs follow the value, in the place of the line's CR
 * and LF. (Version 1.0 refuses all three kinds, and may store headers elsewhere.) */
static bool lies_as_sent(const struct guard_header *header)
{
    const char *at = header->name + header->name_bytes + 1;
    if (header->value == no_value)
        return true;
    for (; at < header->value && (*at == ' ' || *at == '\t'); at++) {
    }
    return at == header->value && header->value[header->value_bytes + 1] == '\0';
}

static bool headers_lie_as_sent(const struct http_exchange *exchange)
{
    for (size_t i = 0; exchange->http->old_parser && i < exchange->head.header_count; i++)
        if (!lies_as_sent(&exchange->headers[i]))
            return false;
    return true;
}

static const struct sockaddr *address_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    assert(info != NULL);
    return info->client_addr;
}

static void name_peer(struct http_exchange *exchange)
{
    const struct sockaddr *address = address_of(exchange->connection);
    const void *bytes = address->sa_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    (void)inet_ntop(address->sa_family, bytes, exchange->peer, sizeof exchange->peer);
}

static void name_request(struct http_exchange *exchange)
{
    uint64_t number = exchange->http->requests++;
    (void)snprintf(exchange->request.id, sizeof exchange->request.id, "%012llx-%llx",
                   (unsigned long long)(exchange->http->salt & 0xFFFFFFFFFFFFULL), (unsigned long long)number);
}

static bool answers_at_once(const struct http_exchange *exchange)
{
    return strcmp(exchange->target, "/healthz") == 0 || strcmp(exchange->target, "/readyz") == 0;
}

/* True if a caller has no permit left. A caller is the name of a token or, without one, the address of the connection.
 */
static bool asks_too_often(struct http_exchange *exchange, int *wait)
{
    uint8_t address[16];
    size_t bytes = strlen(exchange->sender.name);
    const void *caller = exchange->sender.name;
    if (bytes == 0) {
        bytes = rate_address(address_of(exchange->connection), address);
        caller = address;
    }
    double now = (double)exchange->started.tv_sec + (double)exchange->started.tv_nsec * 1e-9;
    return !rate_take(exchange->http->rate, caller, bytes, now, wait);
}

/* Handles a complete head. Returns false when it has set a refusal as the response. */
static bool exchange_admit(struct http_exchange *exchange, const char *method, const char *version)
{
    struct http *http = exchange->http;
    struct guard_verdict verdict;
    uint64_t body_bytes = 0;
    int wait = 0;
    exchange->head = (struct guard_request){
        .method = method, .version = version, .target = exchange->target, .headers = exchange->headers};
    (void)MHD_get_connection_values_n(exchange->connection, MHD_HEADER_KIND, collect_header, exchange);
    exchange->request.method = method;
    exchange->request.target = exchange->target;
    exchange->request.header = header_of;
    exchange->request.header_context = exchange;
    exchange->request.who = exchange->sender.name;
    exchange->request.team = exchange->sender.team;
    exchange->request.peer = exchange->peer;
    exchange->request.gone = client_gone;
    exchange->request.gone_context = exchange;
    if (exchange->too_many_headers) {
        exchange->close = true;
        exchange_refuse(exchange, 431, "Request header fields too large", "there are more than 100 header fields", 0);
        return false;
    }
    if (!headers_lie_as_sent(exchange)) {
        exchange->close = true;
        exchange_refuse(exchange, 400, "Bad request", "a header line is folded, contains NUL or does not end in CR LF",
                        0);
        return false;
    }
    if (!guard_check(&http->rules, &exchange->head, &verdict)) {
        exchange->close = verdict.close;
        exchange_refuse(exchange, verdict.status, verdict.title, verdict.detail, 0);
        return false;
    }
    bool has_body = guard_body(&exchange->head, &body_bytes);
    auth_identify(http->options.auth, guard_header(&exchange->head, "Authorization"), &exchange->sender);
    if (http->options.proxy.trusted != NULL && exchange->sender.scope == API_SCOPE_NONE &&
        guard_header(&exchange->head, "Authorization") == NULL)
        proxy_identify(&http->options.proxy, exchange->peer, &exchange->head, &exchange->sender);
    if (http->options.flow != NULL && exchange->sender.scope == API_SCOPE_NONE && exchange->sender.fault == NULL &&
        guard_header(&exchange->head, "Authorization") == NULL)
        flow_identify(http->options.flow, &exchange->head, &exchange->sender);
    exchange->request.scope = exchange->sender.scope;
    exchange->request.fault = exchange->sender.fault;
    exchange->request.signed_token = exchange->sender.signed_token;
    if (!answers_at_once(exchange) && asks_too_often(exchange, &wait)) {
        http->refused_often++;
        exchange_refuse(exchange, 429, "Too many requests",
                        "the rate limit of this caller is exceeded; try again after the seconds of Retry-After", wait);
        return false;
    }
    if (!api_admit(http->options.api, &exchange->request, &exchange->response, &exchange->body_limit)) {
        exchange->has_response = true;
        return false;
    }
    if (has_body && body_bytes != UINT64_MAX && body_bytes > exchange->body_limit) {
        exchange_refuse(exchange, 413, "Content too large", "the body is larger than this route allows", 0);
        return false;
    }
    if (api_route_streams(api_route_find(http->options.api, method, exchange->target))) {
        if (!api_upload_begin(http->options.api, &exchange->request, &exchange->upload, &exchange->response)) {
            exchange->has_response = true;
            return false;
        }
        exchange->request.upload = exchange->upload;
    }
    api_request_caller(&exchange->request, exchange->caller, sizeof exchange->caller);
    body_init(&exchange->body, &http->bodies, exchange->caller, exchange->body_limit);
    reaper_enter(http->reaper, exchange->watch, REAPER_BODY);
    return true;
}

/* Answers a refused request. Usually the answer waits until the body has been read. It is sent at once if no body
 * follows, if the client waits for permission to send the body, or if the length of the body is unreliable or too large
 * to drop. */
static enum MHD_Result turn_away(struct http_exchange *exchange)
{
    uint64_t body_bytes = 0;
    bool has_body = guard_body(&exchange->head, &body_bytes);
    bool waits = guard_header(&exchange->head, "Expect") != NULL;
    bool endless = body_bytes != UINT64_MAX && body_bytes > DISCARD_MAX;
    if (has_body && !exchange->close && !waits && !endless) {
        exchange->refused = true;
        reaper_enter(exchange->http->reaper, exchange->watch, REAPER_BODY);
        return MHD_YES;
    }
    exchange->close = exchange->close || has_body;
    return send_response(exchange);
}

/* Takes a piece of the body. MHD_NO closes the connection. */
static enum MHD_Result take_body(struct http_exchange *exchange, const char *bytes, size_t count)
{
    if (exchange->upload != NULL && !exchange->overflow && count <= exchange->body_limit - exchange->taken) {
        exchange->taken += count;
        api_upload_add(exchange->upload, bytes, count);
        return MHD_YES;
    }
    if (!exchange->refused && !exchange->overflow && exchange->upload == NULL) {
        body_append(&exchange->body, bytes, count);
        exchange->overflow = exchange->body.fault != BODY_SOUND;
        if (!exchange->overflow)
            return MHD_YES;
    }
    exchange->overflow = true;
    exchange->discarded += count;
    return exchange->discarded <= DISCARD_MAX ? MHD_YES : MHD_NO;
}

static void suspend_connection(void *context)
{
    MHD_suspend_connection(context);
}

static void wake_connection(void *context)
{
    MHD_resume_connection(context);
}

static void cut_connection(void *context)
{
    (void)shutdown(descriptor_of(context),
                   SHUT_RDWR); /* the connection's thread sees the end of the stream and closes the descriptor */
}

static void open_stream(struct http_exchange *exchange)
{
    struct api_response *response = &exchange->response;
    struct stream_line line = {
        .context = exchange->connection,
        .caller = exchange->caller,
        .viewer = &response->events_viewer,
        .fd = descriptor_of(exchange->connection),
        .suspend = suspend_connection,
        .wake = wake_connection,
        .cut = cut_connection,
    };
    int send_buffer = STREAM_SEND_BUFFER;
    (void)setsockopt(line.fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    exchange->stream =
        streams_open(exchange->http->options.streams, &line, response->events_job, response->events_after,
                     response->events_stored, response->body.data, response->body.size);
    if (exchange->stream == NULL) {
        exchange->has_response = true;
        if (streams_caller_full(exchange->http->options.streams, exchange->caller)) {
            exchange_refuse(
                exchange, 429, "Too many requests",
                "this token or address has as many open event streams as it may have; close one or try again later", 5);
            return;
        }
        exchange_refuse(exchange, 503, "Service unavailable",
                        "too many event streams are open; close one or try again later", 5);
    }
}

void exchange_work(void *item)
{
    struct http_exchange *exchange = item;
    api_handle(exchange->http->options.api, &exchange->request, &exchange->response);
    if (exchange->response.events && strcmp(exchange->head.method, "HEAD") != 0)
        open_stream(exchange);
    exchange->has_response = true;
    exchange->stage = STAGE_ANSWERED;
    MHD_resume_connection(exchange->connection);
}

/* Answers a request whose body could not be kept. */
static enum MHD_Result send_refused_body(struct http_exchange *exchange)
{
    exchange->close = true;
    if (exchange->body.fault == BODY_NO_ROOM)
        exchange_refuse(exchange, 503, "Service unavailable",
                        "there is no room for the body at the moment; try again later", 5);
    else
        exchange_refuse(exchange, 413, "Content too large", "the body is larger than this route allows", 0);
    return send_response(exchange);
}

/* Handles a complete request. */
static enum MHD_Result exchange_answer(struct http_exchange *exchange)
{
    struct http *http = exchange->http;
    if (exchange->refused)
        return send_response(exchange);
    exchange->request.body = exchange->overflow ? NULL : body_complete(&exchange->body);
    exchange->request.body_bytes = exchange->body.size;
    if (exchange->overflow || exchange->body.fault != BODY_SOUND)
        return send_refused_body(exchange);
    reaper_enter(http->reaper, exchange->watch, REAPER_ANSWERING);
    if (answers_at_once(exchange)) {
        api_handle(http->options.api, &exchange->request, &exchange->response);
        exchange->has_response = true;
        return send_response(exchange);
    }
    exchange->stage = STAGE_WORKING;
    MHD_suspend_connection(exchange->connection);
    exchange->turn = (struct turn){.owner = exchange->caller, .item = exchange};
    if (!handler_threads_submit(http->handlers, &exchange->turn)) {
        http->refused_full++;
        exchange_refuse(exchange, 429, "Too many requests",
                        "too many requests are waiting; try again after the seconds of Retry-After", 1);
        exchange->stage = STAGE_ANSWERED;
        MHD_resume_connection(exchange->connection);
    }
    return MHD_YES;
}

/* ---- libmicrohttpd's callbacks --------------------------------------------------------------------- */

void *exchange_on_target(void *context, const char *target, struct MHD_Connection *connection)
{
    struct http *http = context;
    struct http_exchange *exchange = calloc(1, sizeof *exchange);
    char *copy = strdup(target);
    if (exchange == NULL || copy == NULL) {
        free(exchange);
        free(copy);
        return NULL;
    }
    exchange->http = http;
    exchange->connection = connection;
    exchange->target = copy;
    (void)clock_gettime(CLOCK_MONOTONIC, &exchange->started);
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    assert(info != NULL);
    exchange->watch = info->socket_context;
    name_request(exchange);
    name_peer(exchange);
    http->in_progress++;
    return exchange;
}

enum MHD_Result exchange_on_request(void *context, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *upload, size_t *upload_bytes,
                                    void **state)
{
    struct http_exchange *exchange = *state;
    if (exchange == NULL)
        return MHD_NO;
    switch (exchange->stage) {
    case STAGE_HEAD:
        exchange->stage = STAGE_BODY;
        return exchange_admit(exchange, method, version) ? MHD_YES : turn_away(exchange);
    case STAGE_BODY:
        if (*upload_bytes > 0) {
            enum MHD_Result result = take_body(exchange, upload, *upload_bytes);
            *upload_bytes = 0;
            return result;
        }
        return exchange_answer(exchange);
    case STAGE_ANSWERED:
        return send_response(exchange);
    case STAGE_WORKING: /* only a handler thread resumes a connection, so this does not happen */
    case STAGE_SENT:
        break;
    }
    *upload_bytes = 0; /* drops the rest of the body of a refused request */
    return MHD_YES;
}

void exchange_on_completed(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode code)
{
    struct http_exchange *exchange = *state;
    if (exchange == NULL)
        return;
    struct http *http = exchange->http;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    double ms = (double)(now.tv_sec - exchange->started.tv_sec) * 1e3 +
                (double)(now.tv_nsec - exchange->started.tv_nsec) * 1e-6;
    if (exchange->has_response) {
        int status = exchange->response.status;
        bool quiet = status < 400 && exchange->head.method != NULL &&
                     (strcmp(exchange->head.method, "GET") == 0 || strcmp(exchange->head.method, "HEAD") == 0);
        journal_line(http->options.journal,
                     quiet           ? LOG_LEVEL_DEBUG
                     : status >= 500 ? LOG_LEVEL_WARN
                                     : LOG_LEVEL_INFO,
                     JOURNAL_HTTP, exchange->request.id, NULL, "%s %s %d in %.1f ms%s", exchange->head.method,
                     exchange->target, status, ms,
                     code == MHD_REQUEST_TERMINATED_COMPLETED_OK ? "" : ", not completed");
        api_response_close(&exchange->response);
    }
    streams_close(exchange->stream);
    body_close(&exchange->body);
    api_upload_close(http->options.api, exchange->upload);
    if (exchange->close)
        reaper_linger(http->reaper, exchange->watch);
    reaper_enter(http->reaper, exchange->watch, REAPER_IDLE);
    free(exchange->target);
    free(exchange);
    *state = NULL;
    http->in_progress--;
}

void exchange_on_connection(void *context, struct MHD_Connection *connection, void **state,
                            enum MHD_ConnectionNotificationCode code)
{
    struct http *http = context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        http->connections++;
        *state = reaper_watch(http->reaper, descriptor_of(connection));
    } else {
        reaper_forget(http->reaper, *state);
        *state = NULL;
        http->connections--;
    }
}
