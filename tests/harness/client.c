/* Requests over libcurl and over raw sockets, and shorthands for JSON answers. */
#include "tests/harness/client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct growing {
    char *text;
    size_t size;
};

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
    struct growing *growing = context;
    char *text = realloc(growing->text, growing->size + size * count + 1);
    if (text == NULL)
        return 0;
    memcpy(text + growing->size, bytes, size * count);
    growing->text = text;
    growing->size += size * count;
    text[growing->size] = '\0';
    return size * count;
}

static struct curl_slist *header_list(const struct call *call)
{
    char line[256];
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    if (call->body != NULL) {
        /* libcurl removes a header that has no value */
        (void)snprintf(line, sizeof line, "Content-Type: %s", call->type != NULL ? call->type : "application/json");
        list = curl_slist_append(list, line);
    }
    for (int i = 0; call->headers != NULL && call->headers[i] != NULL; i++)
        list = curl_slist_append(list, call->headers[i]);
    return list;
}

void call_server(const char *url, const struct call *call, struct reply *reply)
{
    char address[4096];
    struct growing head = {0}, body = {0};
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = header_list(call);
    long status = 0;
    memset(reply, 0, sizeof *reply);
    (void)snprintf(address, sizeof address, "%s%s", url, call->path);
    (void)curl_easy_setopt(curl, CURLOPT_URL, address);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
    (void)curl_easy_setopt(curl, CURLOPT_NOBODY, strcmp(call->method, "HEAD") == 0 ? 1L : 0L);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, 60L);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, &head);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
    if (call->body != NULL) {
        size_t bytes = call->body_bytes > 0 ? call->body_bytes : strlen(call->body);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
    }
    if (call->authority != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, call->authority);
    (void)curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_0 | call->tls_most);
    if (curl_easy_perform(curl) == CURLE_OK)
        (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    reply->status = (int)status;
    reply->headers = head.text;
    reply->body = body.text;
    reply->body_bytes = body.size;
    reply->json = body.text != NULL ? cJSON_ParseWithLength(body.text, body.size) : NULL;
}

void reply_close(struct reply *reply)
{
    free(reply->headers);
    free(reply->body);
    cJSON_Delete(reply->json);
    memset(reply, 0, sizeof *reply);
}

const char *reply_header(const struct reply *reply, const char *name, char value[256])
{
    size_t length = strlen(name);
    value[0] = '\0';
    for (const char *line = reply->headers; line != NULL && *line != '\0';) {
        size_t size = strcspn(line, "\r\n");
        if (size > length && strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *from = line + length + 1 + strspn(line + length + 1, " ");
            size_t count = size - (size_t)(from - line);
            count = count < 255 ? count : 255;
            memcpy(value, from, count);
            value[count] = '\0';
            return value;
        }
        line += size + strspn(line + size, "\r\n");
    }
    return value;
}

void get(const char *url, const char *path, struct reply *reply)
{
    call_server(url, &(struct call){.method = "GET", .path = path}, reply);
}

void post(const char *url, const char *path, const char *json, struct reply *reply)
{
    call_server(url, &(struct call){.method = "POST", .path = path, .body = json}, reply);
}

const char *json_text(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text != NULL ? text : "";
}

double json_number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

/* ---- raw sockets ------------------------------------------------------------------------------------- */

int raw_connect(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

bool raw_send(int fd, const void *bytes, size_t count)
{
    for (size_t sent = 0; sent < count;) {
        ssize_t got = send(fd, (const char *)bytes + sent, count - sent, MSG_NOSIGNAL);
        if (got <= 0)
            return false;
        sent += (size_t)got;
    }
    return true;
}

size_t raw_read(int fd, char *text, size_t size, int ms)
{
    size_t used = 0;
    while (used + 1 < size) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, ms) != 1)
            break;
        ssize_t got = recv(fd, text + used, size - 1 - used, 0);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return used;
}

bool raw_await(int fd, char *text, size_t size, const char *words)
{
    size_t used = 0;
    text[0] = '\0';
    while (strstr(text, words) == NULL && used + 1 < size) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&ready, 1, 60000) == 1 ? recv(fd, text + used, size - 1 - used, 0) : 0;
        if (got <= 0)
            return false;
        used += (size_t)got;
        text[used] = '\0';
    }
    return strstr(text, words) != NULL;
}

bool raw_closed(int fd, int ms)
{
    char byte[512];
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, ms) != 1)
            return false;
        if (recv(fd, byte, sizeof byte, 0) <= 0)
            return true;
    }
}

int raw_status(int port, const void *request, size_t count, char *text, size_t size)
{
    static char scratch[65536];
    int status = 0, fd = raw_connect(port);
    char *to = text != NULL ? text : scratch;
    size_t used = 0, room = text != NULL ? size : sizeof scratch;
    if (fd < 0)
        return 0;
    (void)raw_send(fd, request, count);
    to[0] = '\0';
    while (used + 1 < room && strstr(to, "\r\n\r\n") == NULL) { /* read until the head of the answer is complete */
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&ready, 1, 5000) == 1 ? recv(fd, to + used, room - 1 - used, 0) : 0;
        if (got <= 0)
            break;
        used += (size_t)got;
        to[used] = '\0';
    }
    (void)close(fd);
    return sscanf(to, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}
