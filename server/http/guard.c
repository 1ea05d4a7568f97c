/* The checks of guard.h, in the order framing, Host, Origin. Each refusal has a status and a sentence. */
#include "server/http/guard.h"

#include <string.h>
#include <strings.h>

/* Headers that must not occur twice with different values. */
static const char *const single_headers[] = {
    "Host",   "Content-Length", "Content-Type", "Authorization", "Idempotency-Key", "Transfer-Encoding",
    "Expect", "Origin",         "Range",        "If-Range",      "Cookie",          "X-Motif",
};

static const char *const known_methods[] = {"GET",    "HEAD",    "POST",  "PUT",    "PATCH",
                                            "DELETE", "OPTIONS", "TRACE", "CONNECT"};

static bool guard_refuse(struct guard_verdict *verdict, int status, const char *title, const char *detail, bool close)
{
    *verdict = (struct guard_verdict){.status = status, .title = title, .detail = detail, .close = close};
    return false;
}

static bool bad(struct guard_verdict *verdict, const char *detail)
{
    return guard_refuse(verdict, 400, "Bad request", detail, true);
}

/* Whether c is a tchar of RFC 9110, section 5.6.2. */
static bool token_char(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!token_char((unsigned char)text[i]))
            return false;
    return bytes > 0;
}

const char *guard_header(const struct guard_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

static bool check_fields(const struct guard_rules *rules, const struct guard_request *request,
                         struct guard_verdict *verdict)
{
    size_t total = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct guard_header *header = &request->headers[i];
        total += header->name_bytes + header->value_bytes;
        if (!is_token(header->name, header->name_bytes))
            return bad(verdict, "a header name contains a character that is not allowed");
        for (size_t b = 0; b < header->value_bytes; b++) {
            unsigned char c = (unsigned char)header->value[b];
            if ((c < 0x20 && c != '\t') || c == 0x7F)
                return bad(verdict, "a header value contains a control character");
        }
    }
    if (total > rules->headers_max)
        return guard_refuse(verdict, 431, "Request header fields too large", "the header fields are larger than 16 KiB",
                            true);
    return true;
}

static bool check_singles(const struct guard_request *request, struct guard_verdict *verdict)
{
    for (size_t s = 0; s < sizeof single_headers / sizeof single_headers[0]; s++) {
        const char *first = guard_header(request, single_headers[s]);
        for (size_t i = 0; first != NULL && i < request->header_count; i++)
            if (strcasecmp(request->headers[i].name, single_headers[s]) == 0 &&
                strcmp(request->headers[i].value, first) != 0)
                return bad(verdict, "a header that may occur once occurs twice with different values");
    }
    return true;
}

/* Reads decimal digits only, at most 18: no sign, no list, no overflow. */
static bool parse_length(const char *text, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789");
    uint64_t value = 0;
    if (digits == 0 || digits > 18 || text[digits] != '\0')
        return false;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint64_t)(text[i] - '0');
    *out = value;
    return true;
}

static bool check_framing(const struct guard_request *request, struct guard_verdict *verdict)
{
    const char *length = guard_header(request, "Content-Length"), *coding = guard_header(request, "Transfer-Encoding");
    const char *expect = guard_header(request, "Expect");
    uint64_t bytes;
    if (length != NULL && !parse_length(length, &bytes))
        return bad(verdict, "Content-Length is not a number of bytes");
    if (length != NULL && coding != NULL)
        return bad(verdict, "Content-Length and Transfer-Encoding contradict each other");
    if (coding != NULL && strcasecmp(coding, "chunked") != 0)
        return guard_refuse(verdict, 501, "Not implemented", "the only supported transfer coding is chunked", true);
    if (coding != NULL && strcmp(request->version, "HTTP/1.0") == 0)
        return bad(verdict, "HTTP/1.0 has no Transfer-Encoding");
    if (expect != NULL && strcasecmp(expect, "100-continue") != 0)
        return guard_refuse(verdict, 417, "Expectation failed", "the only supported expectation is 100-continue", true);
    return true;
}

/* Finds the host in "name", "name:port" or "[v6]:port". Returns its length, 0 when the text is malformed. */
static size_t host_length(const char *authority, const char **host)
{
    size_t length;
    const char *rest;
    *host = authority;
    if (authority[0] == '[') {
        length = strspn(authority + 1, "0123456789abcdefABCDEF:.");
        if (length == 0 || authority[1 + length] != ']')
            return 0;
        *host = authority + 1;
        rest = authority + length + 2;
    } else {
        length = strspn(authority, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
        rest = authority + length;
    }
    if (*rest == ':') {
        size_t digits = strspn(rest + 1, "0123456789");
        rest += digits <= 5 ? 1 + digits : 0;
    }
    return *rest == '\0' && length < 256 ? length : 0;
}

static bool host_is(const char *host, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(host, name, length) == 0;
}

/* 127.0.0.0/8 in its usual notation: "127." and three numbers. */
static bool host_loopback_v4(const char *host, size_t length)
{
    int dots = 0;
    if (length < 9 || strncmp(host, "127.", 4) != 0)
        return false;
    for (size_t i = 0; i < length; i++)
        if (host[i] == '.')
            dots++;
        else if (host[i] < '0' || host[i] > '9')
            return false;
    return dots == 3;
}

static bool host_listed(const char *host, size_t length, const char *list)
{
    while (*list != '\0') {
        size_t item = strcspn(list, ",");
        if (item == length && strncasecmp(list, host, length) == 0)
            return true;
        list += item + (list[item] == ',');
    }
    return false;
}

static bool check_host(const struct guard_rules *rules, const struct guard_request *request,
                       struct guard_verdict *verdict)
{
    const char *authority = guard_header(request, "Host"), *host = NULL;
    if (authority == NULL && strcmp(request->version, "HTTP/1.0") == 0)
        return true;
    if (authority == NULL)
        return bad(verdict, "HTTP/1.1 requires a Host header");
    size_t length = host_length(authority, &host);
    if (length == 0)
        return bad(verdict, "the Host header is not a host name with an optional port");
    bool own = host_is(host, length, "localhost") || host_is(host, length, "::1") || host_loopback_v4(host, length);
    bool any = !rules->loopback && rules->allow_host[0] == '\0';
    if (!own && !any && !host_listed(host, length, rules->allow_host))
        return guard_refuse(verdict, 421, "Misdirected request",
                            "this daemon does not accept that Host; --allow-host adds names", false);
    return true;
}

/* Refuses requests that change something and come from pages of other sites, because such pages can send simple
 * requests to this daemon. */
static bool check_origin(const struct guard_rules *rules, const struct guard_request *request,
                         struct guard_verdict *verdict)
{
    const char *origin = guard_header(request, "Origin"), *host = guard_header(request, "Host");
    if (origin == NULL || strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0)
        return true;
    /* A proxy in front of this daemon may offer TLS, so https is right for both. */
    bool https = strncasecmp(origin, "https://", 8) == 0, http = strncasecmp(origin, "http://", 7) == 0;
    if (!(https || (http && !rules->tls)) || host == NULL || strcasecmp(origin + (https ? 8 : 7), host) != 0)
        return guard_refuse(verdict, 403, "Forbidden", "requests from pages of another origin are refused", false);
    return true;
}

bool guard_check(const struct guard_rules *rules, const struct guard_request *request, struct guard_verdict *verdict)
{
    bool known = false;
    for (size_t i = 0; i < sizeof known_methods / sizeof known_methods[0]; i++)
        known = known || strcmp(request->method, known_methods[i]) == 0;
    if (!check_fields(rules, request, verdict) || !check_singles(request, verdict) ||
        !check_framing(request, verdict) || !check_host(rules, request, verdict) ||
        !check_origin(rules, request, verdict))
        return false;
    if (!known)
        return guard_refuse(verdict, 501, "Not implemented", "this method is not supported", true);
    if (strlen(request->target) > rules->target_max)
        return guard_refuse(verdict, 414, "URI too long", "the request target is longer than 4096 bytes", true);
    return true;
}

bool guard_body(const struct guard_request *request, uint64_t *bytes)
{
    const char *length = guard_header(request, "Content-Length");
    if (guard_header(request, "Transfer-Encoding") != NULL) {
        *bytes = UINT64_MAX;
        return true;
    }
    *bytes = 0;
    return length != NULL && parse_length(length, bytes) && *bytes > 0;
}
