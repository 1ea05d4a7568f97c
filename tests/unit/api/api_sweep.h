/* Sweeps over a request in which one allocation after the other fails (of the program, of cJSON, of SQLite, in any
 * thread), or one SQLite call after the other. test_api_memory, test_api_models and test_api_trainers share it; they
 * link `library_faults`. */
#ifndef MOTIF_TESTS_UNIT_API_API_SWEEP_H
#define MOTIF_TESTS_UNIT_API_API_SWEEP_H

#include "tests/unit/api/api_fixture.h"

struct request_case {
    const char *method, *target; /* "@" stands for the id of the subject, or its name */
    const char *body;            /* "#NAME": bytes of that name */
    int status;
    int subject; /* defined by the test */
    const char *header[2], *header_value[2];
    bool same; /* the response has the same bytes each time */
};

struct sweep_bytes {
    const char *name; /* "#weights" */
    char *data;
    size_t bytes;
};

/* Kinds of faults: any allocation; one of the program or of cJSON; a call of SQLite. */
struct sweep_fault {
    const char *name;
    void (*arm)(int place, bool forever);
    bool (*disarm)(void); /* returns whether the fault happened */
    int stride;           /* distance between places for requests that write */
};
enum { SWEEP_FAULTS = 3 };
extern const struct sweep_fault sweep_faults[SWEEP_FAULTS];

struct sweep {
    struct api_fixture *f;
    const struct sweep_fault *fault;
    struct sweep_bytes bodies[2];
};

struct answer {
    int status;  /* 599: the connection was closed */
    bool failed; /* the fault happened */
    char *bytes; /* the caller frees it */
    size_t count;
};

/* Reports up to 40 failures of a sweep instead of only the first. */
extern int complaints;
#define complain(...)                                                                                                  \
    (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0, complaints < 41 ? print_error("\n") : (void)0)

/* Writes the pattern to `out` with `id` in place of "@". */
void sweep_fill(char *out, size_t room, const char *pattern, const char *id);
const char *sweep_mode(bool forever);

/* Sends one request in which allocation or call number `place` fails; with `forever` all later ones too; -1: none.
 * Reports an incomplete response. */
struct answer sweep_ask(const struct sweep *s, const struct request_case *c, const char *id, int place, bool forever);
/* Sweeps a request that changes nothing, in steps of `stride`, until it meets no failure. Returns the number of places
 * that failed. */
int sweep_read(const struct sweep *s, const struct request_case *c, const char *id, bool forever, int stride);

#endif
