/* Keeps sessions in a table in memory. */
#include "server/signin/sessions.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/work.h"

struct session {
    uint8_t hash[AUTH_HASH];
    struct auth_caller caller;
    int64_t until; /* monotonic ms; 0: the place is free */
};

struct sessions {
    pthread_mutex_t lock;
    struct session of[SESSIONS_MOST];
};

enum status sessions_create(struct sessions **sessions, struct error *err)
{
    struct sessions *made = calloc(1, sizeof *made);
    if (made == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return error_memory(err, "sessions");
    }
    *sessions = made;
    return STATUS_OK;
}

void sessions_destroy(struct sessions *sessions)
{
    if (sessions == NULL)
        return;
    (void)pthread_mutex_destroy(&sessions->lock);
    free(sessions);
}

static void hash_text(const char *text, uint8_t hash[AUTH_HASH])
{
    (void)crypto_generichash(hash, AUTH_HASH, (const unsigned char *)text, strlen(text), NULL, 0);
}

void sessions_open(struct sessions *sessions, const struct auth_caller *caller, int64_t seconds,
                   char text[SESSION_TEXT])
{
    uint8_t random[32];
    struct session *place = sessions->of;
    randombytes_buf(random, sizeof random);
    (void)sodium_bin2base64(text, SESSION_TEXT, random, sizeof random, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(random, sizeof random);
    (void)pthread_mutex_lock(&sessions->lock);
    for (size_t i = 1; i < SESSIONS_MOST; i++)
        if (sessions->of[i].until < place->until)
            place = &sessions->of[i];
    *place = (struct session){.caller = *caller, .until = work_now_ms() + seconds * 1000};
    hash_text(text, place->hash);
    (void)pthread_mutex_unlock(&sessions->lock);
}

/* Returns the session of a text, or NULL. The caller holds the lock. */
static struct session *find(struct sessions *sessions, const char *text)
{
    uint8_t hash[AUTH_HASH];
    const int64_t now = work_now_ms();
    hash_text(text, hash);
    for (size_t i = 0; i < SESSIONS_MOST; i++)
        if (sessions->of[i].until > now && sodium_memcmp(sessions->of[i].hash, hash, AUTH_HASH) == 0)
            return &sessions->of[i];
    return NULL;
}

bool sessions_find(struct sessions *sessions, const char *text, struct auth_caller *caller)
{
    (void)pthread_mutex_lock(&sessions->lock);
    const struct session *session = find(sessions, text);
    if (session != NULL)
        *caller = session->caller;
    (void)pthread_mutex_unlock(&sessions->lock);
    return session != NULL;
}

void sessions_end(struct sessions *sessions, const char *text)
{
    (void)pthread_mutex_lock(&sessions->lock);
    struct session *session = find(sessions, text);
    if (session != NULL)
        session->until = 0;
    (void)pthread_mutex_unlock(&sessions->lock);
}
