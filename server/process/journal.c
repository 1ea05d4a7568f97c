/* Formats a line of the log, applies the limit of its component and writes it with one write(2). */
#include "server/process/journal.h"

#include "server/process/crash.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUCKET_LINES 100.0
#define LINES_PER_SECOND 50.0
#define LINE_BYTES 4096

static const char *const level_names[] = {"debug", "info", "warn", "error"};
static const char *const component_names[] = {"server", "http", "scheduler", "executor", "notices"};

struct bucket {
    double lines; /* number of lines that the component may write now */
    double filled_at;
    uint64_t suppressed;
};

struct journal {
    int fd;
    enum log_level least;
    pthread_mutex_t lock;
    struct bucket buckets[JOURNAL_COMPONENTS];
};

static double monotonic_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum status journal_open(struct journal **journal, int fd, enum log_level least, struct error *err)
{
    struct journal *made = calloc(1, sizeof *made);
    if (made == NULL)
        return error_memory(err, "the log");
    made->fd = fd;
    made->least = least;
    (void)pthread_mutex_init(&made->lock, NULL);
    double now = monotonic_seconds();
    for (int i = 0; i < JOURNAL_COMPONENTS; i++)
        made->buckets[i] = (struct bucket){.lines = BUCKET_LINES, .filled_at = now};
    *journal = made;
    return STATUS_OK;
}

void journal_close(struct journal *journal)
{
    if (journal != NULL) {
        (void)pthread_mutex_destroy(&journal->lock);
        free(journal);
    }
}

int journal_level(const char *name)
{
    for (int i = 0; i < (int)(sizeof level_names / sizeof level_names[0]); i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

/* Length of the UTF-8 sequence at `s`, or 0 when there is none. Overlong forms, surrogates and values above U+10FFFF
 * are no sequence. */
static size_t utf8_length(const unsigned char *s)
{
    size_t length;
    unsigned least, value;
    if (s[0] < 0x80)
        return 1;
    else if ((s[0] & 0xE0) == 0xC0)
        length = 2, least = 0x80, value = s[0] & 0x1FU;
    else if ((s[0] & 0xF0) == 0xE0)
        length = 3, least = 0x800, value = s[0] & 0x0FU;
    else if ((s[0] & 0xF8) == 0xF0)
        length = 4, least = 0x10000, value = s[0] & 0x07U;
    else
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
        value = value << 6 | (s[i] & 0x3FU);
    }
    return value < least || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) ? 0 : length;
}

size_t journal_escape(char *out, size_t out_bytes, const char *text)
{
    size_t used = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        char piece[8];
        size_t length = utf8_length(s), taken = length;
        if (*s == '"' || *s == '\\') {
            length = (size_t)snprintf(piece, sizeof piece, "\\%c", *s);
        } else if (*s == '\n') {
            length = (size_t)snprintf(piece, sizeof piece, "\\n");
        } else if (length == 0 || *s < 0x20 || *s == 0x7F) {
            taken = 1;
            length = (size_t)snprintf(piece, sizeof piece, "\\u%04x", *s);
        } else {
            memcpy(piece, s, length);
        }
        if (used + length + 1 > out_bytes)
            break;
        memcpy(out + used, piece, length);
        used += length;
        s += taken;
    }
    if (out_bytes > 0)
        out[used] = '\0';
    return used;
}

/* Takes one line from the component's bucket. Called with the lock held. */
static bool bucket_take(struct bucket *bucket, enum log_level level)
{
    double now = monotonic_seconds();
    bucket->lines += (now - bucket->filled_at) * LINES_PER_SECOND;
    bucket->lines = bucket->lines > BUCKET_LINES ? BUCKET_LINES : bucket->lines;
    bucket->filled_at = now;
    if (bucket->lines < 1.0 && level != LOG_LEVEL_ERROR) {
        bucket->suppressed++;
        return false;
    }
    bucket->lines = bucket->lines < 1.0 ? 0.0 : bucket->lines - 1.0;
    return true;
}

static size_t append_member(char *line, size_t used, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return used;
    used += (size_t)snprintf(line + used, LINE_BYTES - used, ",\"%s\":\"", key);
    used += journal_escape(line + used, LINE_BYTES - 8 - used, value);
    line[used++] = '"';
    return used;
}

static size_t start_line(char *line, enum log_level level, enum journal_component component)
{
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t used = strftime(line, LINE_BYTES, "{\"time\":\"%Y-%m-%dT%H:%M:%S", &utc);
    used += (size_t)snprintf(line + used, LINE_BYTES - used, ".%03ldZ\",\"level\":\"%s\",\"component\":\"%s\"",
                             now.tv_nsec / 1000000, level_names[level], component_names[component]);
    return used;
}

void journal_line(struct journal *journal, enum log_level level, enum journal_component component, const char *request,
                  const char *job, const char *format, ...)
{
    if (journal == NULL || level < journal->least)
        return;
    char message[1024], line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof message, format, args);
    va_end(args);

    (void)pthread_mutex_lock(&journal->lock);
    struct bucket *bucket = &journal->buckets[component];
    if (bucket_take(bucket, level)) {
        size_t used = start_line(line, level, component);
        if (bucket->suppressed > 0) {
            used += (size_t)snprintf(line + used, LINE_BYTES - used, ",\"suppressed\":%llu",
                                     (unsigned long long)bucket->suppressed);
            bucket->suppressed = 0;
        }
        used = append_member(line, used, "request", request);
        used = append_member(line, used, "job", job);
        used = append_member(line, used, "message", message);
        line[used++] = '}';
        line[used++] = '\n';
        /* a failed write has no consequence: the daemon continues without this line */
        crash_note(line, used);
        ssize_t written = write(journal->fd, line, used);
        (void)written;
    }
    (void)pthread_mutex_unlock(&journal->lock);
}
