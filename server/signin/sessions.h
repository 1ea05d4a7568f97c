/* Sessions of people who signed in on the page. The browser keeps a random text in a cookie; the process keeps its
 * hash, in memory only, so a restart ends all sessions. */
#ifndef MOTIF_SERVER_SIGNIN_SESSIONS_H
#define MOTIF_SERVER_SIGNIN_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "server/http/auth.h"

#define SESSIONS_MOST 1024 /* a further session replaces the one that would end first */
#define SESSION_TEXT 64    /* bytes of the text in the cookie, with its NUL */

struct sessions;

enum status sessions_create(struct sessions **sessions, struct error *err);
void sessions_destroy(struct sessions *sessions); /* NULL is fine */

/* Opens a session of `seconds`; `text` receives what the cookie contains. */
void sessions_open(struct sessions *sessions, const struct auth_caller *caller, int64_t seconds,
                   char text[SESSION_TEXT]);
/* Finds the caller of a session. False: the text is of no session, or its session has ended. */
bool sessions_find(struct sessions *sessions, const char *text, struct auth_caller *caller);
void sessions_end(struct sessions *sessions, const char *text);

#endif
