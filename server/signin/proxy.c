/* Reads the headers of a trusted proxy. */
#include "server/signin/proxy.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "server/signin/list.h"

/* Reads a numeric address; an IPv4 address becomes the IPv6 address that a socket for both shows. */
static bool read_address(const char *text, size_t length, struct in6_addr *out)
{
    char copy[INET6_ADDRSTRLEN];
    struct in_addr v4;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (inet_pton(AF_INET6, copy, out) == 1)
        return true;
    if (inet_pton(AF_INET, copy, &v4) != 1)
        return false;
    memset(out, 0, sizeof *out);
    out->s6_addr[10] = out->s6_addr[11] = 0xFF;
    memcpy(&out->s6_addr[12], &v4, sizeof v4);
    return true;
}

bool proxy_addresses_sound(const char *list)
{
    const char *item;
    size_t length;
    struct in6_addr address;
    while (list_next(&list, &item, &length))
        if (!read_address(item, length, &address))
            return false;
    return true;
}

static bool trusted(const char *list, const char *peer)
{
    const char *item;
    size_t length;
    struct in6_addr from, listed;
    if (!read_address(peer, strlen(peer), &from))
        return false;
    while (list_next(&list, &item, &length))
        if (read_address(item, length, &listed) && memcmp(&from, &listed, sizeof from) == 0)
            return true;
    return false;
}

/* Whether a header occurs at most once. A proxy that adds a header must remove the one that the client sent. */
static bool occurs_once(const struct guard_request *request, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++)
        count += strcasecmp(request->headers[i].name, name) == 0;
    return count <= 1;
}

void proxy_identify(const struct proxy_rules *rules, const char *peer, const struct guard_request *request,
                    struct auth_caller *caller)
{
    const char *names[] = {rules->user_header, rules->team_header, rules->role_header}, *values[3];
    if (!trusted(rules->trusted, peer) || guard_header(request, rules->user_header) == NULL)
        return;
    for (size_t i = 0; i < 3; i++) {
        values[i] = names[i][0] != '\0' ? guard_header(request, names[i]) : NULL;
        if (names[i][0] == '\0' || occurs_once(request, names[i]))
            continue;
        *caller =
            (struct auth_caller){.fault = "A header of the proxy occurs twice: the proxy must replace the one that "
                                          "clients send."};
        return;
    }
    const char *fault = claims_of_proxy(&rules->claims, values[0], values[1], values[2], caller);
    if (fault != NULL)
        *caller = (struct auth_caller){.fault = fault};
    caller->signed_token = fault == NULL;
}
