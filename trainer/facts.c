/* Reads facts about the process and the machine, and restarts the program once if OpenBLAS chose slow kernels. */
#include "trainer/facts.h"

#include <cpuid.h>
#include <dirent.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "core/kernels/blas.h"
#include "trainer/build.h"

#define REEXEC_GUARD "MOTIFD_REEXEC"

static void read_cpu(char *out, size_t out_bytes)
{
    unsigned brand[12] = {0}, a = 0, b = 0, c = 0, d = 0;
    (void)snprintf(out, out_bytes, "unknown");
    if (__get_cpuid(0x80000000U, &a, &b, &c, &d) == 0 || a < 0x80000004U)
        return;
    for (unsigned i = 0; i < 3; i++)
        (void)__get_cpuid(0x80000002U + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2], &brand[4 * i + 3]);
    char text[sizeof brand + 1] = {0};
    memcpy(text, brand, sizeof brand);
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    (void)snprintf(out, out_bytes, "%s", text + strspn(text, " "));
}

static void read_features(char *out, size_t out_bytes)
{
    size_t used = 0;
    out[0] = '\0';
    __builtin_cpu_init();
    const struct {
        const char *name;
        int present;
    } features[] = {
        {"sse4.2", __builtin_cpu_supports("sse4.2")},     {"avx", __builtin_cpu_supports("avx")},
        {"avx2", __builtin_cpu_supports("avx2")},         {"fma", __builtin_cpu_supports("fma")},
        {"avx512f", __builtin_cpu_supports("avx512f")},   {"avx512dq", __builtin_cpu_supports("avx512dq")},
        {"avx512bw", __builtin_cpu_supports("avx512bw")}, {"avx512vl", __builtin_cpu_supports("avx512vl")},
    };
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        if (features[i].present && used < out_bytes)
            used += (size_t)snprintf(out + used, out_bytes - used, "%s%s", used > 0 ? " " : "", features[i].name);
}

void facts_fill(struct facts *facts, const struct kernels *kernels)
{
    cpu_set_t set;
    struct timespec now;
    memset(facts, 0, sizeof *facts);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    facts->started_at = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    (void)snprintf(facts->version, sizeof facts->version, "%s", BUILD_VERSION);
#ifdef __clang__
    (void)snprintf(facts->compiler, sizeof facts->compiler, "clang %s", __clang_version__);
#else
    (void)snprintf(facts->compiler, sizeof facts->compiler, "gcc %s", __VERSION__);
#endif
    (void)snprintf(facts->build, sizeof facts->build, "%s %s %s", BUILD_VERSION, BUILD_TYPE, facts->compiler);
    read_cpu(facts->cpu, sizeof facts->cpu);
    read_features(facts->cpu_features, sizeof facts->cpu_features);
    facts->kernels = kernels->name;
    const char *config = blas_config(), *space = strchr(config, ' ');
    size_t name = space != NULL ? (size_t)(space - config) + 1 + strcspn(space + 1, " ") : strlen(config);
    (void)snprintf(facts->blas, sizeof facts->blas, "%.*s", (int)name, config); /* for example "OpenBLAS 0.3.21" */
    (void)snprintf(facts->blas_core, sizeof facts->blas_core, "%s", blas_core());
    CPU_ZERO(&set);
    facts->cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

uint64_t facts_memory(void)
{
    char text[128] = "", *resident; /* /proc/self/statm: pages in total, resident pages, ... */
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fgets(text, sizeof text, file) == NULL)
            text[0] = '\0';
        (void)fclose(file);
    }
    (void)strtoull(text, &resident, 10);
    return strtoull(resident, NULL, 10) * (unsigned long long)sysconf(_SC_PAGESIZE);
}

/* Reads one number from a file. Returns 0 if the file contains no number, for example "max". */
static int64_t number_in(const char *path)
{
    char text[64];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    int64_t number = fgets(text, sizeof text, file) != NULL ? strtoll(text, NULL, 10) : 0;
    (void)fclose(file);
    return number > 0 ? number : 0;
}

int64_t facts_memory_most(void)
{
    int64_t most = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    char group[200], path[300];
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool named = file != NULL && fscanf(file, "0::%199s", group) == 1;
    if (file != NULL)
        (void)fclose(file);
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", named ? group : "");
    int64_t limit = number_in(path);
    if (limit == 0) /* In a container, the file of the container's own control group is at the root. */
        limit = number_in("/sys/fs/cgroup/memory.max");
    return limit > 0 && (most <= 0 || limit < most) ? limit : most > 0 ? most : 0;
}

double facts_cpu_seconds(void)
{
    struct timespec used = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

int facts_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return -1;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(folder);
    return count - 1; /* not counted: the descriptor that reads this folder */
}

void facts_choose_blas(char **argv)
{
    const char *best = blas_best_core();
    if (best == NULL || strcasecmp(best, blas_core()) == 0 || getenv("OPENBLAS_CORETYPE") != NULL ||
        getenv(REEXEC_GUARD) != NULL)
        return;
    (void)setenv("OPENBLAS_NUM_THREADS", "1",
                 0); /* the program uses its own thread pool, so OpenBLAS starts no threads */
    if (setenv("OPENBLAS_CORETYPE", best, 1) == 0 && setenv(REEXEC_GUARD, "1", 1) == 0) {
        char own[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        own[length > 0 ? length : 0] = '\0';
        /* Executes the file by its path, because ps displays the last part of the path. */
        (void)execv(own, argv);
        (void)execv("/proc/self/exe", argv); /* runs only if the file was deleted or replaced */
    }
    (void)unsetenv("OPENBLAS_CORETYPE"); /* exec failed: continue with the kernels that OpenBLAS chose */
}
