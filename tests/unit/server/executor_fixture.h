/* Executors with a real store. The programs that they start are shell scripts. A clock of the test replaces the real
 * one: when an executor waits, no time passes, and a function of the test runs, which makes the next event happen. */
#ifndef MOTIF_TESTS_UNIT_SERVER_EXECUTOR_FIXTURE_H
#define MOTIF_TESTS_UNIT_SERVER_EXECUTOR_FIXTURE_H

#include <stdbool.h>

#include "server/executors/executor_int.h"
#include "storage/storage.h"

extern struct storage *storage;
extern struct executor executor;
extern struct job_control control;
extern char folder[], path_of_trainer[80]; /* folder: for programs and other files; path_of_trainer: a program that ends
                                              at once */
extern char job[STORAGE_ID];               /* id of the job of the present case */
extern char text[8192];                    /* what content() and ended() have read */
extern const char *mpirun[60], *slurm_options[60], *srun[60];
extern double elapsed, since; /* elapsed: seconds that the executors have waited; since: `elapsed` at a moment that
                                 the test chooses */
extern int waits;             /* number of waits */
extern bool hanging;          /* the present child hangs; each wait of the executor for it lets time pass */
extern void (*happens)(void); /* what happens during a wait; NULL: nothing */

int executor_setup(void **state);    /* makes the folder and the store */
int executor_teardown(void **state); /* removes them */

/* Writes a shell script into the folder and returns its path, which is valid until the next call. */
const char *program(const char *name, const char *script);
bool there_is(const char *name); /* whether the folder has this file */
void drop(const char *name);     /* removes a file of the folder */
/* Copies the beginning of a file of the folder to `text` and returns it; "" if the file does not exist. */
const char *content(const char *name);

/* Begins a case: a new executor, and a new job that runs. `name`: executor of the job. */
void begin(const char *name, int ranks);
void run(void); /* runs the job until the executor returns */
/* Asserts the state of the job, and that its error document contains `says`; `text` receives the document. */
void ended(enum job_state wanted, const char *says);
void request(enum job_event event);                   /* what a client requests */
void grant(const char *name, const char *foreign_id); /* grants a lease, as an earlier daemon did */
bool lease_is(enum lease_state state);
void report_success(void); /* reports the end of the run, as its trainer does */

#endif
