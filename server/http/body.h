/* The body of a request while it arrives.
 *
 * A body of up to BODY_MEMORY bytes stays in memory. A larger one moves to a file without a name, so that many models
 * that arrive at once take disk and not memory. The complete body is mapped into memory, which the kernel can reclaim.
 * One thread at a time may use a body; any number of threads may use a store. */
#ifndef MOTIF_SERVER_HTTP_BODY_H
#define MOTIF_SERVER_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/ledger.h"

#define BODY_MEMORY (1u << 20)

/* Where large bodies are stored, and what counts their bytes (LEDGER_BODIES). */
struct body_store {
    const char *beside; /* path of the database; its folder contains the files, too; borrowed */
    struct ledger *ledger;
};

enum body_fault {
    BODY_SOUND,
    BODY_TOO_LARGE, /* more bytes than the limit of this body */
    BODY_NO_ROOM    /* no memory, no space on the disk, or the ledger has no room */
};

struct body {
    const struct body_store *store;
    struct ledger_account account;
    struct buf memory;
    int file; /* -1: the body is in memory */
    size_t size, limit;
    void *mapped; /* the complete body, mapped from the file; NULL until body_complete() */
    enum body_fault fault;
};

/* owner: who sends the body, for the ledger. limit: upper limit of the bytes of this body. `store` must outlive the
 * body. */
void body_init(struct body *body, const struct body_store *store, const char *owner, size_t limit);
/* Appends bytes. After a failure, which `fault` names, the body is empty and stays empty. */
void body_append(struct body *body, const void *bytes, size_t count);
/* Returns the complete body, which is valid until body_close(). NULL: the body is empty, or it failed (`fault`). */
const void *body_complete(struct body *body);
/* Frees the memory or the file. A struct that is all zero is allowed. */
void body_close(struct body *body);

#endif
