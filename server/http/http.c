/* Starts and stops libmicrohttpd: its own threads, epoll, TLS by GnuTLS. acceptor.c accepts connections, exchange.c
 * handles the requests. */
#include "server/http/http_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/certificate.h"
#include "core/base/descriptor.h"

#define HEADER_BYTES_MAX (16u * 1024u)
#define CONNECTION_MEMORY (64u * 1024u)
#define QUEUE_MAX 256

/* The api decodes the target itself, strictly, so nothing is decoded here. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text)
{
    return strlen(text);
}

static void on_library_error(void *context, const char *format, va_list args)
{
    struct http *http = context;
    char line[256];
    (void)vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = '\0';
    journal_line(http->options.journal, LOG_LEVEL_DEBUG, JOURNAL_HTTP, NULL, NULL, "libmicrohttpd: %s", line);
}

static enum status open_listener(struct http *http, bool *v6, struct error *err)
{
    struct sockaddr_storage address = {0};
    struct sockaddr_in *v4_address = (struct sockaddr_in *)(void *)&address;
    struct sockaddr_in6 *v6_address = (struct sockaddr_in6 *)(void *)&address;
    socklen_t bytes = sizeof *v4_address;
    *v6 = inet_pton(AF_INET6, http->options.host, &v6_address->sin6_addr) == 1;
    if (*v6) {
        v6_address->sin6_family = AF_INET6;
        v6_address->sin6_port = htons(http->options.port);
        bytes = sizeof *v6_address;
    } else if (memset(&address, 0, sizeof address),
               inet_pton(AF_INET, http->options.host, &v4_address->sin_addr) == 1) {
        v4_address->sin_family = AF_INET;
        v4_address->sin_port = htons(http->options.port);
    } else {
        return error_set(err, STATUS_INVALID, NULL, "not a numeric address: %s", http->options.host);
    }
    int one = 1;
    http->listener = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (http->listener < 0 || setsockopt(http->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(http->listener, (struct sockaddr *)&address, bytes) != 0 || listen(http->listener, 511) != 0) {
        return error_set(err, STATUS_IO, NULL, "cannot listen on %s port %d: %s", http->options.host,
                         http->options.port, strerror(errno));
    }
    bytes = sizeof address;
    if (getsockname(http->listener, (struct sockaddr *)&address, &bytes) != 0)
        return error_set(err, STATUS_IO, NULL, "cannot find out the port: %s", strerror(errno));
    http->port = ntohs(*v6 ? v6_address->sin6_port : v4_address->sin_port);
    return STATUS_OK;
}

/* TLS 1.2 with forward secrecy and authenticated ciphers, and 1.3. */
static const char tls_priorities[] =
    "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM";

/* Casts const away from a text that libmicrohttpd does not change. */
static void *unconst(const char *text)
{
    return (void *)(uintptr_t)text;
}

static enum status start_daemon(struct http *http, bool v6, struct error *err)
{
    bool tls = http->options.tls;
    struct MHD_OptionItem secured[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)certificate_show},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, unconst(tls_priorities)},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG |
                     MHD_ALLOW_SUSPEND_RESUME | (v6 ? (unsigned)MHD_USE_IPv6 : 0u) | (tls ? (unsigned)MHD_USE_TLS : 0u);
    unsigned threads = http->options.threads > 1 ? (unsigned)http->options.threads : 0;
    /* clang-format off: one option per line */
    http->daemon = MHD_start_daemon(
        flags, http->port, NULL, NULL, exchange_on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_library_error,
        http, /* must be first: it is used while the other options are read */
        MHD_OPTION_THREAD_POOL_SIZE, threads, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)http->options.connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)http->options.connections_per_address, MHD_OPTION_URI_LOG_CALLBACK, exchange_on_target, http,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, http, MHD_OPTION_NOTIFY_COMPLETED, exchange_on_completed, http,
        MHD_OPTION_NOTIFY_CONNECTION, exchange_on_connection, http, MHD_OPTION_ARRAY, tls ? secured : &secured[2],
        MHD_OPTION_END);
    /* clang-format on */
    if (http->daemon == NULL)
        return error_set(err, STATUS_IO, NULL, "the %s server cannot be started", tls ? "HTTPS" : "HTTP");
    return STATUS_OK;
}

/* The callbacks of the acceptor. */
static void add_connection(void *context, int descriptor, const struct sockaddr *peer, socklen_t bytes)
{
    struct http *http = context;
    (void)MHD_add_connection(http->daemon, descriptor, peer, bytes); /* closes the descriptor if it fails */
}

static bool connections_full(void *context)
{
    struct http *http = context;
    return http->connections >= http->options.connections;
}

enum status http_start(const struct http_options *options, struct http **http, struct error *err)
{
    struct http *made = calloc(1, sizeof *made);
    bool v6 = false;
    if (made == NULL)
        return error_memory(err, "the HTTP server");
    made->options = *options;
    made->bodies = (struct body_store){.beside = options->beside, .ledger = api_ledger(options->api)};
    made->listener = -1;
    made->rules = (struct guard_rules){
        .loopback = options->loopback,
        .tls = options->tls,
        .allow_host = options->allow_host,
        .target_max = API_TARGET_MAX,
        .headers_max = HEADER_BYTES_MAX,
    };
    made->old_parser = strncmp(MHD_get_version(), "0.", 2) == 0;
    randombytes_buf(&made->salt, sizeof made->salt);
    enum status status = reaper_create(&options->deadlines, &made->reaper, err);
    if (!status)
        status = rate_create(options->rate_limit, &made->rate, err);
    if (!status)
        status = handler_threads_create(options->handlers, QUEUE_MAX, exchange_work, &made->handlers, err);
    if (!status)
        status = open_listener(made, &v6, err);
    if (!status)
        status = start_daemon(made, v6, err);
    if (!status)
        status = acceptor_start(&made->listener, &(struct acceptor_calls){add_connection, connections_full, made},
                                &made->acceptor, err);
    if (status) {
        http_stop(made, 0);
        return status;
    }
    *http = made;
    return STATUS_OK;
}

uint16_t http_port(const struct http *http)
{
    return http->port;
}

void http_stop(struct http *http, int wait_ms)
{
    if (http == NULL)
        return;
    acceptor_stop(http->acceptor); /* from here on the kernel refuses new connections; open ones continue */
    descriptor_close(&http->listener);
    if (http->options.streams != NULL)
        streams_end(http->options.streams);
    for (int waited = 0; waited < wait_ms && http->in_progress > 0; waited += 5)
        (void)usleep(5000);
    api_interrupt(http->options.api);
    /* Stop the handler threads first: they resume the connections that they hold, and no connection may be suspended
     * when libmicrohttpd stops. */
    if (http->handlers != NULL)
        handler_threads_stop(http->handlers);
    if (http->daemon != NULL)
        MHD_stop_daemon(http->daemon);
    handler_threads_destroy(http->handlers);
    reaper_destroy(http->reaper);
    rate_destroy(http->rate);
    free(http);
}

void http_stats_read(struct http *http, struct http_stats *out)
{
    reaper_stats_read(http->reaper, &out->connections);
    out->refused_full = http->refused_full;
    out->refused_often = http->refused_often;
}
