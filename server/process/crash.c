/* Writes the crash report. All state is static, because a handler has no context. The last lines of the log are in a
 * ring of slots. A writer takes a ticket, marks its slot as being written (odd), copies the line, and marks the slot as
 * complete (even). The handler prints the complete slots and never waits. backtrace() loads a library at its first
 * call, so crash_prepare() calls it once before any crash. Later calls load nothing. */
#include "server/process/crash.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pthread.h>

#include "core/base/descriptor.h"
#include "core/data/uploads/collection.h"

enum { LINES = 32, LINE = 512, FRAMES = 64, STACK = 64 * 1024, MAPS = 200, LINE_OF_CODE = 600 };

struct slot {
    atomic_ulong state; /* 2 * ticket + 1 while the slot is written, 2 * ticket + 2 when it is complete */
    unsigned count;
    char text[LINE];
};

static struct {
    int file, maps; /* file: descriptor of the report; maps: of /proc/self/maps; -1: none */
    char path[512], build[160];
    pthread_key_t stack;
    atomic_ulong tickets;
    atomic_flag reported;
    atomic_int missing; /* pages of data sets that were replaced by zeros */
    uintptr_t page_size;
    struct slot slots[LINES];
    char waiting[8192]; /* text of the report that is not yet written */
    size_t used;
} crash = {.file = -1, .maps = -1, .reported = ATOMIC_FLAG_INIT};
static _Thread_local char job_of_thread[32];

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static const char *const names[] = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT"};
#define SIGNALS ((int)(sizeof signals / sizeof signals[0]))

/* ---- in the handler: nothing here locks or allocates ------------------------------------------------------- */

/* Writes the waiting lines with one call for each file, because other threads may write to standard error as well. */
static void crash_flush(void)
{
    ssize_t written = write(STDERR_FILENO, crash.waiting, crash.used);
    if (crash.file >= 0)
        written = write(crash.file, crash.waiting, crash.used);
    (void)written;
    crash.used = 0;
}

static void crash_put(const char *text, size_t count)
{
    if (crash.used + count > sizeof crash.waiting)
        crash_flush();
    memcpy(crash.waiting + crash.used, text, count); /* count <= LINE_OF_CODE */
    crash.used += count;
}

static void put_text(const char *text)
{
    crash_put(text, strlen(text));
}

static void put_number(uintptr_t value, unsigned base)
{
    char digits[24], *at = digits + sizeof digits;
    do {
        *--at = "0123456789abcdef"[value % base];
        value /= base;
    } while (value > 0);
    crash_put(at, (size_t)(digits + sizeof digits - at));
}

/* Prints only the mappings of code. The report needs them to look up frames, because the addresses of the files differ
 * in each run. */
static void put_maps(void)
{
    static char text[4096];
    static char line[LINE_OF_CODE];
    size_t used = 0;
    ssize_t got;
    int fd = crash.maps;
    for (int lines = 0; fd >= 0 && lines < MAPS && (got = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            if (used < sizeof line)
                line[used++] = text[i];
            if (text[i] != '\n')
                continue;
            const char *rights = memchr(line, ' ', used);
            if (rights != NULL && rights + 4 < line + used && rights[3] == 'x' && memchr(line, '/', used) != NULL) {
                crash_put(line, used);
                lines++;
            }
            used = 0;
        }
}

static void put_log(void)
{
    unsigned long newest = atomic_load(&crash.tickets);
    for (unsigned long ticket = newest > LINES ? newest - LINES : 0; ticket < newest; ticket++) {
        struct slot *slot = &crash.slots[ticket % LINES];
        if (atomic_load(&slot->state) == 2 * ticket + 2)
            crash_put(slot->text, slot->count);
    }
}

static void report(int number, const siginfo_t *info, const char *name)
{
    void *frames[FRAMES];
    put_text("motifd ended by ");
    put_text(name);
    if (number != SIGABRT && info->si_code > 0) {
        put_text(" at address 0x");
        put_number((uintptr_t)info->si_addr, 16);
    } else if (info->si_code <= 0) {
        put_text(" sent by process ");
        put_number((uintptr_t)info->si_pid, 10);
    }
    put_text("\nbuild: ");
    put_text(crash.build);
    put_text("\nthread: ");
    put_number((uintptr_t)syscall(SYS_gettid), 10);
    put_text(job_of_thread[0] != '\0' ? ", job " : ", no job");
    put_text(job_of_thread);
    put_text("\nstack:\n");
    crash_flush(); /* before backtrace(), which may fail on a damaged stack */
    int count = backtrace(frames, FRAMES);
    for (int i = 0; i < count; i++) {
        put_text("  0x");
        put_number((uintptr_t)frames[i], 16);
        put_text("\n");
    }
    put_text("code:\n");
    crash_flush();
    put_maps();
    put_text("log:\n");
    put_log();
    put_text("end of the report\n");
    crash_flush();
}

/* Returns whether a line of /proc/self/maps is a data set that contains the address. */
static bool maps_data_set(const char *line, size_t count, uintptr_t address)
{
    static const char rights[] = " r--p ", name[] = "/" COLLECTION_FILE;
    uintptr_t ends[2] = {0, 0};
    size_t at = 0;
    for (int end = 0; end < 2; end++, at++)
        for (; at < count && strchr("0123456789abcdef", line[at]) != NULL; at++)
            ends[end] = 16 * ends[end] + (uintptr_t)(line[at] <= '9' ? line[at] - '0' : line[at] - 'a' + 10);
    at--; /* the blank before the rights */
    return ends[0] <= address && address < ends[1] && count >= at + sizeof rights &&
           memcmp(line + at, rights, sizeof rights - 1) == 0 && count >= sizeof name - 1 &&
           memcmp(line + count - (sizeof name - 1), name, sizeof name - 1) == 0;
}

static bool in_data_set(uintptr_t address)
{
    char text[512], line[LINE_OF_CODE];
    size_t used = 0;
    ssize_t got;
    bool found = false;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !found && (got = read(fd, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < got && !found; i++)
            if (text[i] == '\n') {
                found = maps_data_set(line, used, address);
                used = 0;
            } else if (used < sizeof line) {
                line[used++] = text[i];
            }
    if (fd >= 0)
        (void)close(fd);
    return found;
}

/* A read of a mapped file behind its end raises SIGBUS. If the file is a data set that somebody has truncated, gives
 * the reader zeros. Returns false for any other fault. */
static bool replace_missing_page(int number, const siginfo_t *info)
{
    if (number != SIGBUS || info->si_code != BUS_ADRERR || !in_data_set((uintptr_t)info->si_addr))
        return false;
    uintptr_t page = (uintptr_t)info->si_addr & ~(crash.page_size - 1);
    int before = errno;
    void *zeros = mmap((void *)page, crash.page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    errno = before;
    atomic_fetch_add(&crash.missing, zeros != MAP_FAILED);
    return zeros != MAP_FAILED;
}

static void handle(int number, siginfo_t *info, void *context)
{
    const char *name = "a signal";
    (void)context;
    if (replace_missing_page(number, info))
        return;
    for (int i = 0; i < SIGNALS; i++) {
        (void)signal(signals[i], SIG_DFL); /* a fault within the report ends the process */
        if (signals[i] == number)
            name = names[i];
    }
    if (!atomic_flag_test_and_set(&crash.reported))
        report(number, info, name);
    (void)raise(number);
}

/* ---- outside the handler ----------------------------------------------------------------------------------- */

static void free_stack(void *stack)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    (void)sigaltstack(&none, NULL);
    free(stack);
}

enum status crash_prepare(const char *beside, const char *build, struct error *err)
{
    void *frame[1];
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int length = snprintf(crash.path, sizeof crash.path, "%s.crash", beside);
    if ((size_t)length >= sizeof crash.path || pthread_key_create(&crash.stack, free_stack) != 0)
        return error_set(err, STATUS_LIMIT, NULL, "no place for a crash report");
    (void)snprintf(crash.build, sizeof crash.build, "%s", build);
    /* The report of an earlier crash stays until the next crash. */
    crash.file = open(crash.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    crash.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    crash.page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)backtrace(frame, 1);
    (void)sigemptyset(&action.sa_mask);
    crash_thread();
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return error_set(err, STATUS_INTERNAL, NULL, "signals cannot be caught");
    return STATUS_OK;
}

#if defined(__SANITIZE_ADDRESS__)
#define HAS_STACKS 1 /* AddressSanitizer gives every thread a stack for handlers, and removes it itself */
#else
#define HAS_STACKS 0
#endif

void crash_thread(void)
{
    if (HAS_STACKS || crash.path[0] == '\0' || pthread_getspecific(crash.stack) != NULL)
        return;
    stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK};
    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0 || pthread_setspecific(crash.stack, stack.ss_sp) != 0)
        free_stack(stack.ss_sp); /* without this additional stack, the handler runs on the thread's own stack; this
                                    fails only if that stack has overflowed */
}

int crash_missing_pages(void)
{
    return atomic_load(&crash.missing);
}

void crash_job(const char *job)
{
    (void)snprintf(job_of_thread, sizeof job_of_thread, "%s", job);
}

void crash_note(const char *line, unsigned long count)
{
    unsigned long ticket = atomic_fetch_add(&crash.tickets, 1);
    struct slot *slot = &crash.slots[ticket % LINES];
    atomic_store(&slot->state, 2 * ticket + 1);
    slot->count = (unsigned)(count < LINE ? count : LINE);
    memcpy(slot->text, line, slot->count);
    slot->text[slot->count - (slot->count > 0)] = '\n';
    atomic_store(&slot->state, 2 * ticket + 2);
}

void crash_finish(void)
{
    for (int i = 0; i < SIGNALS; i++)
        (void)signal(signals[i], SIG_DFL);
    if (crash.file >= 0 && lseek(crash.file, 0, SEEK_END) == 0)
        (void)unlink(crash.path);
    descriptor_close(&crash.file);
    descriptor_close(&crash.maps);
}
