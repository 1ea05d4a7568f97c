/* One lock protects the sums and a list of the owners that hold something. The list is short: its length is at most the
 * number of requests in progress. */
#include "core/base/ledger.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ledger_resource_names[LEDGER_RESOURCES] = {"files", "memory", "store", "upload_places",
                                                             "import_places"};
const char *const ledger_item_names[LEDGER_ITEMS] = {"bodies",  "unpacked", "values",  "answers", "models",
                                                     "results", "texts",    "uploads", "imports"};

struct owner {
    char name[LEDGER_OWNER];
    int64_t held[LEDGER_RESOURCES];
};

struct ledger {
    pthread_mutex_t lock;
    struct ledger_state state;
    int64_t used[LEDGER_RESOURCES];
    struct owner *owner; /* [room], the first state.owners of which hold something */
    int room;
};

static enum ledger_resource ledger_resource_of(enum ledger_item item)
{
    static const enum ledger_resource resources[LEDGER_ITEMS] = {
        [LEDGER_TEXTS] = LEDGER_MEMORY,          [LEDGER_VALUES] = LEDGER_STORE,
        [LEDGER_BODIES] = LEDGER_FILES,          [LEDGER_UNPACKED] = LEDGER_FILES,
        [LEDGER_ANSWERS] = LEDGER_FILES,         [LEDGER_MODELS] = LEDGER_MEMORY,
        [LEDGER_RESULTS] = LEDGER_MEMORY,        [LEDGER_UPLOADS] = LEDGER_UPLOAD_PLACES,
        [LEDGER_IMPORTS] = LEDGER_IMPORT_PLACES,
    };
    return resources[item];
}

enum status ledger_create(const int64_t *limit, struct ledger **ledger, struct error *err)
{
    struct ledger *made = calloc(1, sizeof *made);
    *ledger = made;
    if (made == NULL)
        return error_memory(err, "a ledger");
    (void)pthread_mutex_init(&made->lock, NULL);
    memcpy(made->state.limit, limit, sizeof made->state.limit);
    return STATUS_OK;
}

void ledger_destroy(struct ledger *ledger)
{
    if (ledger == NULL)
        return;
    (void)pthread_mutex_destroy(&ledger->lock);
    free(ledger->owner);
    free(ledger);
}

void ledger_open(struct ledger_account *account, struct ledger *ledger, const char *owner)
{
    *account = (struct ledger_account){.ledger = ledger};
    (void)snprintf(account->owner, sizeof account->owner, "%s", owner);
}

/* Returns the entry of an owner, or adds one; NULL: there is no memory. The caller holds the lock. */
static struct owner *ledger_owner(struct ledger *ledger, const char *name)
{
    int count = ledger->state.owners;
    for (int i = 0; i < count; i++)
        if (strcmp(ledger->owner[i].name, name) == 0)
            return &ledger->owner[i];
    if (count == ledger->room) {
        struct owner *more = realloc(ledger->owner, (size_t)(2 * count + 8) * sizeof *more);
        if (more == NULL)
            return NULL;
        ledger->owner = more;
        ledger->room = 2 * count + 8;
    }
    struct owner *owner = &ledger->owner[ledger->state.owners++];
    *owner = (struct owner){.held = {0}};
    (void)snprintf(owner->name, sizeof owner->name, "%s", name);
    return owner;
}

/* Removes the entry of an owner that holds nothing. The caller holds the lock. */
static void ledger_forget(struct ledger *ledger, struct owner *owner)
{
    for (int r = 0; r < LEDGER_RESOURCES; r++)
        if (owner->held[r] != 0)
            return;
    *owner = ledger->owner[--ledger->state.owners];
}

static int64_t ledger_share(const struct ledger *ledger, const char *owner, enum ledger_resource resource)
{
    int64_t limit = ledger->state.limit[resource];
    bool whole = owner[0] == '\0' || resource == LEDGER_STORE;
    return limit <= 0 ? INT64_MAX : whole ? limit : limit - limit / 2;
}

static int64_t account_holds(const struct ledger_account *account, enum ledger_resource resource)
{
    int64_t sum = 0;
    for (int i = 0; i < LEDGER_ITEMS; i++)
        if (ledger_resource_of((enum ledger_item)i) == resource)
            sum += account->held[i];
    return sum;
}

/* Finds out whether there is room. The caller holds the lock. */
static enum status ledger_check(struct ledger_account *account, const struct owner *owner, enum ledger_item item,
                                int64_t amount, struct error *err)
{
    struct ledger *ledger = account->ledger;
    enum ledger_resource r = ledger_resource_of(item);
    int64_t share = ledger_share(ledger, account->owner, r), own = account_holds(account, r);
    const char *unit = r == LEDGER_STORE    ? "bytes of data sets"
                       : r == LEDGER_FILES  ? "bytes of temporary files"
                       : r == LEDGER_MEMORY ? "bytes of memory"
                                            : "places";
    const char *setting = r == LEDGER_FILES    ? " (half of --request-files-bytes of motifd serve)"
                          : r == LEDGER_STORE  ? " (--datasets-bytes of motifd serve)"
                          : r == LEDGER_MEMORY ? " (half of --job-memory of motifd serve)"
                                               : "";
    if (amount > share - own)
        return error_set(err, STATUS_LIMIT, NULL, "needs %lld %s for its %s; a request may use at most %lld%s",
                         (long long)own + (long long)amount, unit, ledger_item_names[item], (long long)share, setting);
    if (amount > share - owner->held[r] ||
        (ledger->state.limit[r] > 0 && amount > ledger->state.limit[r] - ledger->used[r])) {
        ledger->state.refused[r]++;
        return error_set(err, STATUS_UNAVAILABLE, NULL, "%s; try again later",
                         r == LEDGER_STORE    ? "uploads in progress hold as many values as data sets may have"
                         : r == LEDGER_FILES  ? "requests hold as many temporary files as they may have"
                         : r == LEDGER_MEMORY ? "requests hold as much memory as they may have"
                                              : "as many requests of this kind are in progress as there may be");
    }
    return STATUS_OK;
}

enum status ledger_take(struct ledger_account *account, enum ledger_item item, int64_t amount, struct error *err)
{
    struct ledger *ledger = account->ledger;
    enum ledger_resource r = ledger_resource_of(item);
    if (ledger == NULL || amount <= 0)
        return STATUS_OK;
    (void)pthread_mutex_lock(&ledger->lock);
    struct owner *owner = ledger_owner(ledger, account->owner);
    enum status status =
        owner != NULL ? ledger_check(account, owner, item, amount, err) : error_memory(err, "a ledger");
    if (!status) {
        account->held[item] += amount;
        owner->held[r] += amount;
        ledger->used[r] += amount;
        ledger->state.held[item] += amount;
        if (ledger->state.held[item] > ledger->state.most[item])
            ledger->state.most[item] = ledger->state.held[item];
    } else if (owner != NULL) {
        ledger_forget(ledger, owner);
    }
    (void)pthread_mutex_unlock(&ledger->lock);
    return status;
}

void ledger_give(struct ledger_account *account, enum ledger_item item, int64_t amount)
{
    struct ledger *ledger = account->ledger;
    enum ledger_resource r = ledger_resource_of(item);
    if (ledger == NULL || amount <= 0)
        return;
    (void)pthread_mutex_lock(&ledger->lock);
    struct owner *owner = ledger_owner(ledger, account->owner);
    account->held[item] -= amount;
    ledger->used[r] -= amount;
    ledger->state.held[item] -= amount;
    if (owner != NULL) { /* the owner holds something, so its entry exists */
        owner->held[r] -= amount;
        ledger_forget(ledger, owner);
    }
    (void)pthread_mutex_unlock(&ledger->lock);
}

void ledger_close(struct ledger_account *account)
{
    for (int i = 0; i < LEDGER_ITEMS; i++)
        ledger_give(account, (enum ledger_item)i, account->held[i]);
}

void ledger_read(struct ledger *ledger, struct ledger_state *out)
{
    (void)pthread_mutex_lock(&ledger->lock);
    *out = ledger->state;
    (void)pthread_mutex_unlock(&ledger->lock);
}
