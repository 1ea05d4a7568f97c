/* The linker sends allocations of the program's own objects here (--wrap). */
#include "tests/support/fault.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static atomic_bool armed, others_spared;
static pthread_t owner; /* who armed it last */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int countdown; /* allocations still to succeed */
static bool forever, happened;

static void arm(int count, bool for_ever)
{
    pthread_mutex_lock(&lock);
    owner = pthread_self();
    countdown = count;
    forever = for_ever;
    happened = false;
    pthread_mutex_unlock(&lock);
    atomic_store(&armed, true);
}

void fault_after(int count) { arm(count, false); }
void fault_from(int count) { arm(count, true); }

void fault_spare_others(bool spare) { atomic_store(&others_spared, spare); }

bool fault_happened(void)
{
    atomic_store(&armed, false);
    pthread_mutex_lock(&lock);
    bool so = happened;
    pthread_mutex_unlock(&lock);
    return so;
}

bool fault_now(void)
{
    if (!atomic_load(&armed)) {
        return false;
    }
    pthread_mutex_lock(&lock);
    if (atomic_load(&others_spared) && !pthread_equal(owner, pthread_self())) {
        pthread_mutex_unlock(&lock);
        return false;
    }
    bool fails = countdown == 0 && (forever || !happened);
    happened |= fails;
    if (countdown > 0) {
        countdown--;
    }
    pthread_mutex_unlock(&lock);
    return fails;
}

int fault_left(void)
{
    pthread_mutex_lock(&lock);
    int left = countdown;
    pthread_mutex_unlock(&lock);
    return left;
}

void *__wrap_malloc(size_t bytes) { return fault_now() ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t bytes) { return fault_now() ? NULL : __real_calloc(count, bytes); }
void *__wrap_realloc(void *at, size_t bytes) { return fault_now() ? NULL : __real_realloc(at, bytes); }
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fault_now() ? NULL : __real_aligned_alloc(alignment, bytes);
}
