/* Replaces the allocators of cJSON and SQLite, so that their allocations count and fail as well (fault.h). */
#include "tests/support/fault.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <cjson/cJSON.h>
#include <sqlite3.h>

static sqlite3_mem_methods real;
static atomic_bool spared;

void fault_spare_sqlite(bool spare)
{
    atomic_store(&spared, spare);
}

static void *sqlite_malloc(int bytes)
{
    return !atomic_load(&spared) && fault_now() ? NULL : real.xMalloc(bytes);
}
static void *sqlite_realloc(void *at, int bytes)
{
    return !atomic_load(&spared) && fault_now() ? NULL : real.xRealloc(at, bytes);
}
static void *counted_malloc(size_t bytes)
{
    return malloc(bytes);
}

void fault_libraries(void)
{
    cJSON_Hooks hooks = {counted_malloc, free};
    cJSON_InitHooks(&hooks);
    sqlite3_mem_methods mine;
    /* SQLite calls its allocator for every allocation only if lookaside memory is switched off. */
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real) != SQLITE_OK)
        abort();
    mine = real;
    mine.xMalloc = sqlite_malloc;
    mine.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &mine) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK)
        abort();
}
