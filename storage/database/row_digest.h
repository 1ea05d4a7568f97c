/* Digests of rows: the table `row_digest` has a digest of every row of every other table, with the row's key. With it,
 * verify.h finds a row that changed, appeared or disappeared although no statement changed it, as a faulty disk does.
 *
 * Triggers maintain the table, in the transaction that changes the row. row_digests_attach() makes them from the
 * columns of each table, so no writer and no later migration can forget a digest. The digests are in a table of their
 * own because a page that the disk did not write then has rows without their new digests, and because rows with large
 * values are not written twice. Plain columns would depend on every writer, and stored generated columns would need a
 * copy of each table and would make other programs unable to check the file. Reading and checking a file needs no
 * function; changing one with another program fails with "no such function: row_digest", which protects the digests.
 *
 * Not covered: `chunk`, because the row of a checkpoint has the SHA-256 of its chunks, and the tables of digests. The
 * rows of sqlite_sequence, which have no triggers, are covered by the triggers of the tables that they number. */
#ifndef MOTIF_STORAGE_DATABASE_ROW_DIGEST_H
#define MOTIF_STORAGE_DATABASE_ROW_DIGEST_H

#include "storage/database/db.h"

#define ROW_DIGEST_BYTES 16 /* the first bytes of a SHA-256 */

/* SQL that lists the tables whose rows have digests by triggers. Only copies have the table `digest`. */
#define ROW_DIGEST_TABLES                                                                                              \
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"                                  \
    " AND name NOT IN ('chunk', 'digest', 'row_digest')"

/* Adds the SQL function row_digest(value, ...) to a connection: the digest of the values with their types. Every
 * connection that changes rows needs it; db_open() calls this. Returns a code of SQLite. */
int row_digest_register(sqlite3 *handle);

/* SQL expressions for the rows of a table, freed by row_digest_free(). */
struct row_digest_sql {
    char *key;        /* the row's key in `row_digest`: its integer key, or a digest of the columns of its key */
    bool integer_key; /* whether it is the integer */
    char *old_key;    /* the key of the row `old`, for triggers */
    char *digest;     /* its digest, of the table's name and all columns */
    char *counts;     /* its AUTOINCREMENT column; "": none */
};

/* Makes the expressions for a table; `row` is the name that they use for a row: "new" or an alias. `table` may be
 * "sqlite_sequence", which has neither `old_key` nor `counts`. */
enum status row_digest_sql(struct db *db, const char *table, const char *row, struct row_digest_sql *out,
                           struct error *err);
void row_digest_free(struct row_digest_sql *sql); /* `sql` may be all zero */

/* Makes the triggers of all tables, and computes the digests of all rows of a table whose triggers were missing or
 * belonged to other columns. Does nothing if the file has no table `row_digest`. Runs in the caller's transaction. */
enum status row_digests_attach(struct db *db, struct error *err);

#endif
