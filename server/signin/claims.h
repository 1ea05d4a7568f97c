/* From the claims of a token to a caller with a name, a team and a role. Pure functions. */
#ifndef MOTIF_SERVER_SIGNIN_CLAIMS_H
#define MOTIF_SERVER_SIGNIN_CLAIMS_H

#include "protocol/json.h"
#include "server/http/auth.h"

struct claims_rules {
    const char *name_claim; /* claim that names the caller, such as "sub" */
    const char *team_claim; /* claim with its team or teams; "": none */
    const char *role_claim; /* claim with its roles; "": none */
    /* "VALUE=TEAM,...": teams of the claim's values; "": each value is a team. The value "*" is that of everybody. */
    const char *teams;
    /* "VALUE=ROLE,...": roles of the claim's values; "*" is the value of everybody. Who has several gets the one that
     * allows most. */
    const char *roles;
};

/* Whether a list maps to roles, or to names of teams, only. */
bool claims_roles_sound(const char *roles);
bool claims_teams_sound(const char *teams);

/* Finds the caller. Its name begins with AUTH_SIGNED_IN, which no name of a token does. Returns NULL, or a sentence why
 * these claims give no access. A claim's name is that of a member or, if there is none, a path of members with dots
 * ("realm_access.roles"). */
const char *claims_identify(const struct claims_rules *rules, const cJSON *claims, struct auth_caller *caller);

/* The same for values that a proxy passes on: `role` and `team` have values separated by commas; NULL: none. The name
 * begins with AUTH_BY_PROXY. */
const char *claims_of_proxy(const struct claims_rules *rules, const char *name, const char *team, const char *role,
                            struct auth_caller *caller);

#endif
