/* Sends one request again and again. In each attempt, a later allocation or SQLite call fails. The allocation may be
 * one of the program, of cJSON or of SQLite, in any thread. test_api_memory, test_api_models and test_api_trainers
 * share these functions; they link `library_faults`. */
#ifndef MOTIF_TESTS_UNIT_API_API_SWEEP_H
#define MOTIF_TESTS_UNIT_API_API_SWEEP_H

#include "tests/unit/api/api_fixture.h"

struct request_case {
    const char *method, *target; /* in `target`, "@" stands for the id or the name of the subject */
    const char *body;            /* NULL: no body; "#NAME": the bytes with that name in `bodies` of struct sweep */
    int status;
    int subject; /* a number that the test defines; it selects what the "@" in `target` stands for */
    const char *header[2], *header_value[2];
    bool same; /* the response must have the same bytes each time */
};

struct sweep_bytes {
    const char *name; /* name with its "#", such as "#weights" */
    char *data;
    size_t bytes;
};

/* A kind of fault. sweep_faults contains three: any allocation fails; an allocation of the program or of cJSON
 * fails; a call of SQLite fails. */
struct sweep_fault {
    const char *name;
    void (*arm)(int place, bool forever);
    bool (*disarm)(void); /* returns whether the fault happened */
    int stride;           /* for requests that write: only every `stride`-th allocation or call is made to fail */
};
enum { SWEEP_FAULTS = 3 };
extern const struct sweep_fault sweep_faults[SWEEP_FAULTS];

struct sweep {
    struct api_fixture *f;
    const struct sweep_fault *fault;
    struct sweep_bytes bodies[2];
};

struct answer {
    int status;  /* status of the response; 599: the connection would have been closed */
    bool failed; /* the fault has happened */
    char *bytes; /* body of the response, which the caller frees */
    size_t count;
};

/* Number of failures that the sweeps reported. A test prints up to 40 of them, not only the first. */
extern int complaints;
#define complain(...)                                                                                                  \
    (complaints++ < 40 ? print_error(__VA_ARGS__) : (void)0, complaints < 41 ? print_error("\n") : (void)0)

/* Writes the pattern to `out` with `id` in place of "@". */
void sweep_fill(char *out, size_t room, const char *pattern, const char *id);
const char *sweep_mode(bool forever);

/* Sends one request. `place` allocations or calls succeed, and the next one fails; with `forever`, all later ones fail
 * too. With `place` -1 nothing fails. Reports an incomplete response. */
struct answer sweep_ask(const struct sweep *s, const struct request_case *c, const char *id, int place, bool forever);
/* Repeats a request that changes nothing. In each attempt, the allocation or call that fails comes `stride` later. Ends
 * when the request completes before it reaches that allocation or call. Returns the number of attempts in which the
 * fault happened. */
int sweep_read(const struct sweep *s, const struct request_case *c, const char *id, bool forever, int stride);

#endif
