/* Follows a job of motifd; needs only libcurl. The second argument is the id of a job, or a job as JSON that the
 * program submits first. The program prints each event of the job's stream and ends when the job ends. When the
 * connection breaks, it connects again with the header Last-Event-ID, so that the stream continues after the last
 * received event.
 *
 *   cc follow.c -lcurl -o follow
 *   ./follow http://127.0.0.1:8080 JOB
 *   ./follow http://127.0.0.1:8080 '{"kind":"sparling","preset":"digitcircle-quick"}' */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The state of the event stream over several connections. */
struct follow {
    char line[65536]; /* the received part of the current line */
    size_t used;
    char type[32], last[32];
    bool ended;
};

/* Handles a line of the stream: "id: 7", "event: state", "data: {...}". */
static void take_line(struct follow *follow, const char *line)
{
    if (strncmp(line, "id: ", 4) == 0)
        snprintf(follow->last, sizeof(follow->last), "%s", line + 4);
    else if (strncmp(line, "event: ", 7) == 0)
        snprintf(follow->type, sizeof(follow->type), "%s", line + 7);
    else if (strncmp(line, "data: ", 6) == 0) {
        printf("%-10s %s\n", follow->type, line + 6);
        bool over = strstr(line, "\"succeeded\"") || strstr(line, "\"failed\"") || strstr(line, "\"cancelled\"");
        follow->ended = strcmp(follow->type, "state") == 0 && over;
    }
}

static size_t on_stream(char *bytes, size_t size, size_t count, void *context)
{
    struct follow *follow = context;
    for (size_t i = 0; i < size * count; i++) {
        if (bytes[i] == '\n') {
            follow->line[follow->used] = 0;
            take_line(follow, follow->line);
            follow->used = 0;
        } else if (follow->used + 1 < sizeof(follow->line)) {
            follow->line[follow->used++] = bytes[i];
        }
    }
    return size * count;
}

/* Submits a job with POST /v1/jobs and reads its id, the first member of the answer. Returns false when the daemon
 * refused the job. */
static bool follow_submit(const char *server, const char *body, char id[32])
{
    char url[256], answer[64] = "";
    CURL *curl = curl_easy_init();
    FILE *out = fmemopen(answer, sizeof(answer), "w");
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    snprintf(url, sizeof(url), "%s/v1/jobs", server);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out); /* only the beginning of the answer is kept; it contains the id */
    (void)curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    fclose(out);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return status == 201 && sscanf(answer, "{\"id\":\"%26[0-9A-Z]\"", id) == 1;
}

/* Reads the stream over one connection. Returns false when the job has ended (204) or does not exist (404). */
static bool stream(const char *server, const char *id, struct follow *follow)
{
    char url[256], seen[64];
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Accept: text/event-stream");
    if (follow->last[0]) {
        snprintf(seen, sizeof(seen), "Last-Event-ID: %s", follow->last);
        headers = curl_slist_append(headers, seen);
    }
    follow->used = 0;
    snprintf(url, sizeof(url), "%s/v1/jobs/%s/events", server, id);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_stream);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, follow);
    (void)curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return status != 404 && status != 204;
}

int main(int argc, char **argv)
{
    static struct follow follow;
    char id[32];
    if (argc != 3) {
        fprintf(stderr, "usage: follow URL JOB|BODY\n");
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    snprintf(id, sizeof(id), "%s", argv[2]);
    if (argv[2][0] == '{' && !follow_submit(argv[1], argv[2], id)) {
        fprintf(stderr, "the daemon refused the job\n");
        return 1;
    }
    while (!follow.ended && stream(argv[1], id, &follow))
        if (!follow.ended)
            /* the connection ended before the job did: reconnect and continue after the last received event */
            sleep(1);
    return follow.ended ? 0 : 1;
}
