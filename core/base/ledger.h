/* A ledger of what requests hold at the moment: temporary files, memory and places. A request takes an amount before it
 * uses it, so all requests together never exceed the limits. An owner (a token, or an address without one) may hold at
 * most half of most limits, so others always find room. Any thread may call these functions. */
#ifndef MOTIF_CORE_BASE_LEDGER_H
#define MOTIF_CORE_BASE_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

/* What has a limit. */
enum ledger_resource {
    LEDGER_FILES,  /* bytes of temporary files */
    LEDGER_MEMORY, /* bytes of memory */
    LEDGER_STORE,  /* bytes of data sets; an owner may hold all of them, because other quotas bound them */
    LEDGER_UPLOAD_PLACES,
    LEDGER_IMPORT_PLACES,
    LEDGER_RESOURCES
};
/* What a request holds; each item counts towards one resource. */
enum ledger_item {
    LEDGER_BODIES,   /* files of large bodies */
    LEDGER_UNPACKED, /* files of unpacked uploads */
    LEDGER_VALUES,   /* files of the values of uploads that are read */
    LEDGER_ANSWERS,  /* files of answers of many rows */
    LEDGER_MODELS,   /* memory for models that are imported */
    LEDGER_RESULTS,  /* memory for what a query collects before it writes its answer */
    LEDGER_TEXTS,    /* memory of answers until their readers have them */
    LEDGER_UPLOADS,  /* uploads of data sets */
    LEDGER_IMPORTS,  /* imports of models */
    LEDGER_ITEMS
};
enum { LEDGER_OWNER = 80 };

struct ledger;

/* What one request holds. The caller provides the memory. */
struct ledger_account {
    struct ledger *ledger;    /* NULL: without limits; nothing is counted */
    char owner[LEDGER_OWNER]; /* "": an unknown owner, to whom the share of an owner does not apply */
    int64_t held[LEDGER_ITEMS];
};

/* limit: [LEDGER_RESOURCES]; 0: no limit. STATUS_NO_MEMORY. */
enum status ledger_create(const int64_t *limit, struct ledger **ledger, struct error *err);
void ledger_destroy(struct ledger *ledger); /* all accounts must be closed; NULL is allowed */

/* Opens an account that holds nothing. `ledger` may be NULL. */
void ledger_open(struct ledger_account *account, struct ledger *ledger, const char *owner);
/* Gives back everything. An account that is all zero is allowed, and a second call has no effect. */
void ledger_close(struct ledger_account *account);
/* Takes an amount. STATUS_LIMIT: this request alone would hold more than an owner may hold. STATUS_UNAVAILABLE: there
 * is no room at the moment. STATUS_NO_MEMORY. After an error, nothing was taken. */
enum status ledger_take(struct ledger_account *account, enum ledger_item item, int64_t amount, struct error *err);
/* Gives back an amount that the account holds. */
void ledger_give(struct ledger_account *account, enum ledger_item item, int64_t amount);

/* What all requests hold now, and the most that they held at the same time since the start. */
struct ledger_state {
    int64_t limit[LEDGER_RESOURCES], held[LEDGER_ITEMS], most[LEDGER_ITEMS];
    int64_t refused[LEDGER_RESOURCES]; /* how often there was no room */
    int owners;                        /* owners that hold something */
};
void ledger_read(struct ledger *ledger, struct ledger_state *out);
/* Names for documents: "files", "memory", ...; "bodies", "unpacked", ... */
extern const char *const ledger_resource_names[LEDGER_RESOURCES], *const ledger_item_names[LEDGER_ITEMS];

#endif
