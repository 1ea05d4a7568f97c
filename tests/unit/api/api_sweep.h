/* Requests whose allocations fail, one place after the other: those of the program, of cJSON and of SQLite, in the
 * thread of the request and in others; and the answers of SQLite. What test_api_memory and test_api_models share; both
 * link `library_faults`. */
#ifndef MOTIF_TESTS_UNIT_API_API_SWEEP_H
#define MOTIF_TESTS_UNIT_API_API_SWEEP_H

#include "tests/unit/api/api_fixture.h"

struct request_case {
    const char *method, *target; /* "@" stands for the id of the subject, or its name */
    const char *body;            /* "#NAME": bytes of that name */
    int status;
    int subject; /* meaning belongs to the test */
    const char *header[2], *header_value[2];
    bool same; /* the answer has the same bytes each time */
};

struct sweep_bytes {
    const char *name; /* "#weights" */
    char *data;
    size_t bytes;
};

/* What fails: an allocation, SQLite's among them; one of the program or of cJSON; an answer of SQLite. */
struct sweep_fault {
    const char *name;
    void (*arm)(int place, bool forever);
    bool (*disarm)(void); /* whether it has happened */
    int stride;           /* between places, of requests that write */
};
enum { SWEEP_FAULTS = 3 };
extern const struct sweep_fault sweep_faults[SWEEP_FAULTS];

struct sweep {
    struct api_fixture *f;
    const struct sweep_fault *fault;
    struct sweep_bytes bodies[2];
};

struct answer {
    int status;  /* 599: the connection was broken off */
    bool failed; /* something has */
    char *bytes; /* the caller's */
    size_t count;
};

/* Every fault of a sweep is shown, up to 40, not the first alone. */
extern int complaints;
#define complain(...)                                                                                                  \
    (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0, complaints < 41 ? print_error("\n") : (void)0)

/* `out` gets the pattern with `id` for its "@". */
void sweep_fill(char *out, size_t room, const char *pattern, const char *id);
const char *sweep_mode(bool forever);

/* One request. The fault number `place` from its beginning on happens, with `forever` all behind it too; -1: none.
 * Complains of an answer that is not whole. */
struct answer sweep_ask(const struct sweep *s, const struct request_case *c, const char *id, int place, bool forever);
/* A request that changes nothing, at every place in steps of `stride`; ends where it passes without a failure. How
 * many places failed. */
int sweep_read(const struct sweep *s, const struct request_case *c, const char *id, bool forever, int stride);

#endif
