/* The table of rights. */
#include "api/rights/rights.h"

#define R (1u << ACTION_READ)
#define U (1u << ACTION_USE)
#define C (1u << ACTION_CHANGE)
#define D (1u << ACTION_DELETE)

static const unsigned table[ROLES][RELATIONS] = {
    [ROLE_READER] = {[RELATION_OWNER] = R, [RELATION_TEAM] = R, [RELATION_EVERYONE] = R},
    [ROLE_MEMBER] = {[RELATION_OWNER] = R | U | C | D, [RELATION_TEAM] = R | U, [RELATION_EVERYONE] = R | U},
    /* a manager answers for the space that the team uses, so nothing of the team is hidden from managers */
    [ROLE_MANAGER] = {[RELATION_OWNER] = R | U | C | D,
                      [RELATION_TEAM] = R | U | C | D,
                      [RELATION_PRIVATE] = R | U | C | D,
                      [RELATION_EVERYONE] = R | U},
    [ROLE_ADMIN] = {[RELATION_OWNER] = R | U | C | D,
                    [RELATION_TEAM] = R | U | C | D,
                    [RELATION_PRIVATE] = R | U | C | D,
                    [RELATION_EVERYONE] = R | U | C | D,
                    [RELATION_NONE] = R | U | C | D},
};

bool rights_allow(enum role role, enum relation relation, enum action action)
{
    return role < ROLES && relation < RELATIONS && action < ACTIONS && (table[role][relation] & 1u << action) != 0;
}

bool rights_role(enum api_scope scope, enum role *role)
{
    switch (scope) {
    case API_SCOPE_READ:
        *role = ROLE_READER;
        return true;
    case API_SCOPE_SUBMIT:
        *role = ROLE_MEMBER;
        return true;
    case API_SCOPE_MANAGE:
        *role = ROLE_MANAGER;
        return true;
    case API_SCOPE_ADMIN:
    case API_SCOPE_OPERATOR:
        *role = ROLE_ADMIN;
        return true;
    case API_SCOPE_NONE:
    case API_SCOPE_TRAINER:
        break;
    }
    *role = ROLE_READER;
    return false;
}

const char *rights_role_name(enum role role)
{
    static const char *const names[ROLES] = {"reader", "member", "manager", "admin"};
    return names[role < ROLES ? role : ROLE_READER];
}

const char *rights_action_name(enum action action)
{
    static const char *const names[ACTIONS] = {"read", "use", "change", "delete"};
    return names[action < ACTIONS ? action : ACTION_READ];
}
