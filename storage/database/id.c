/* Creates job ids: 48 bits of milliseconds and 80 random bits, as 26 characters of Crockford's base 32. So the text
 * order of ids is the order of creation. Within one millisecond, or after the clock was set back, the new id is the
 * last id plus a random number. The last id is read from the database at the start, so the order also holds across
 * restarts. */
#include "storage/storage_int.h"

#include <string.h>
#include <sys/random.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void id_encode(uint64_t high, uint64_t low, char id[STORAGE_ID])
{
    for (int i = STORAGE_ID - 2; i >= 0; i--) {
        id[i] = digits[low & 31];
        low = low >> 5 | high << 59;
        high >>= 5;
    }
    id[STORAGE_ID - 1] = '\0';
}

static bool id_decode(const char *id, uint64_t *high, uint64_t *low)
{
    if (strlen(id) != STORAGE_ID - 1)
        return false;
    *high = *low = 0;
    for (; *id != '\0'; id++) {
        const char *at = strchr(digits, *id);
        if (at == NULL)
            return false;
        *high = *high << 5 | *low >> 59;
        *low = *low << 5 | (uint64_t)(at - digits);
    }
    return true;
}

enum status id_resume(struct id_source *ids, struct db *db, struct error *err)
{
    sqlite3_stmt *stmt;
    ids->high = ids->low = 0;
    enum status status = db_query(db, &stmt, err, "SELECT coalesce(max(id), '') FROM job", "");
    if (status)
        return status;
    if (db_row(db, stmt, &status, err)) {
        char last[STORAGE_ID + 1];
        if (!db_copy(stmt, 0, last, sizeof last))
            status = error_memory(err, "the database");
        else if (last[0] != '\0' && !id_decode(last, &ids->high, &ids->low))
            status = error_set(err, STATUS_CORRUPT, NULL, "a job in the database has a malformed id");
        db_done(stmt);
    }
    return status;
}

enum status id_next(struct id_source *ids, int64_t now_ms, char id[STORAGE_ID], struct error *err)
{
    uint64_t chance[2];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return error_set(err, STATUS_UNAVAILABLE, NULL, "the operating system returned no random numbers");
    uint64_t high = (uint64_t)now_ms << 16 | (chance[0] & 0xffff), low = chance[1];
    if (high >> 16 > ids->high >> 16) {
        ids->high = high;
        ids->low = low;
    } else {
        ids->low += 1 + (chance[0] & 0xffffffff); /* the distance from the last id is random, so that nobody can guess
                                                   * the next id */
        if (ids->low <= (chance[0] & 0xffffffff))
            ids->high++;
    }
    id_encode(ids->high, ids->low, id);
    return STATUS_OK;
}
