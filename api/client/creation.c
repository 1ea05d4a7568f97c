/* Requests that create a job. Each has an idempotency key. If the answer is lost, the request is sent again with the
 * same key, so that the server does not create a second job. */
#include <math.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "api/client/ctl.h"

#define ATTEMPTS 3
#define WAIT_MOST_S 10 /* after a Retry-After of more seconds, the request is not sent again */

static void random_key(char *out, size_t bytes)
{
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        struct timespec time;
        clock_gettime(CLOCK_REALTIME, &time);
        snprintf(out, bytes, "%lld-%ld-%p", (long long)time.tv_sec, time.tv_nsec, (void *)&random);
        return;
    }
    for (size_t i = 0; i < sizeof(random) && 2 * i + 2 < bytes; i++)
        snprintf(out + 2 * i, bytes - 2 * i, "%02x", random[i]);
}

int ctl_repeat(struct ctl *ctl, const struct http_request *request, cJSON **json)
{
    for (int attempt = 1;; attempt++) {
        struct http_answer answer;
        struct error err = {0};
        if (request->from)
            rewind(request->from);
        enum status status = http_call(ctl->http, request, &answer, &err);
        bool busy = !status && (answer.status == 429 || answer.status == 503);
        double pause = busy && answer.retry_after > 0 ? answer.retry_after : 0.5 * attempt;
        if ((status == STATUS_UNAVAILABLE || busy) && attempt < ATTEMPTS && pause <= WAIT_MOST_S) {
            struct timespec time = {(time_t)pause, (long)((pause - floor(pause)) * 1e9)};
            http_answer_close(&answer);
            nanosleep(&time, NULL);
            continue;
        }
        int code = CTL_SUCCESS;
        if (status)
            code = ctl_fault(ctl, status == STATUS_UNAVAILABLE ? CTL_UNREACHABLE : CTL_FAILED, &err);
        else if (!http_succeeded(answer.status))
            code = ctl_refused(ctl, &answer);
        else if (!(*json = ctl_parse(ctl, answer.body.data, answer.body.size)))
            code = ctl_usage(ctl, "the server's answer is not JSON; is it motifd?");
        http_answer_close(&answer);
        return code;
    }
}

int ctl_create(struct ctl *ctl, const struct http_request *request, const struct options *args, cJSON **json)
{
    char key[64], header[300];
    struct http_request keyed = *request;
    random_key(key, sizeof(key));
    snprintf(header, sizeof(header), "Idempotency-Key: %s",
             options_has(args, "key") ? options_value(args, "key") : key);
    keyed.headers[0] = header;
    return ctl_repeat(ctl, &keyed, json);
}
