/* Who may do what: the one table of rights.
 *
 * A caller has a role, which is the scope of its token, and a relation to each job, study and data set
 * (storage/jobs/viewer.h). The table says which actions a role may do with which relation. Everything else asks this
 * table: admit.h for the object of a request, and storage for lists and event streams, to which caller.h passes the
 * set of relations whose rows the caller may read. docs/explanation/teams.md shows the table. Pure functions. */
#ifndef MOTIF_API_RIGHTS_RIGHTS_H
#define MOTIF_API_RIGHTS_RIGHTS_H

#include <stdbool.h>

#include "api/http/message.h"
#include "storage/jobs/viewer.h"

enum role { ROLE_READER, ROLE_MEMBER, ROLE_MANAGER, ROLE_ADMIN, ROLES };

enum action {
    ACTION_READ,   /* see it, download it, query its model */
    ACTION_USE,    /* make a job of one's own from it: train on it, start from its checkpoint, evaluate it */
    ACTION_CHANGE, /* rename, prioritise, cancel, pause, resume, answer reviews, share */
    ACTION_DELETE,
    ACTIONS
};

/* Whether a role may do something with what it has this relation to. */
bool rights_allow(enum role role, enum relation relation, enum action action);

/* The role that a scope is. A scope without rights (NONE) is no role: false. */
bool rights_role(enum api_scope scope, enum role *role);

/* "reader", "member", "manager" or "admin"; "read", "use", "change" or "delete". */
const char *rights_role_name(enum role role);
const char *rights_action_name(enum action action);

#endif
