/* Page cursors: base64 of an id and seven bytes of a SHA-256 over the id and the filter. The hash contains no secret,
 * so it detects mistakes but no attacks. A forged cursor gives access only to what the list shows anyway. */
#include "api/http/cursor.h"

#include <sodium/utils.h>
#include <string.h>

#include "core/base/hash.h"

#define ID_BYTES (STORAGE_ID - 1)
#define CHECK_BYTES 7 /* an id and these bytes are 33 bytes, for which base64 needs 44 characters and no padding */

static void cursor_check(const char *id, const char *filter, unsigned char out[HASH_BYTES])
{
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, "cursor 1", 8);
    hash_add(&hash, id, ID_BYTES);
    hash_add(&hash, filter, strlen(filter));
    hash_finish(&hash, out);
}

void cursor_write(const char *id, const char *filter, char out[CURSOR_TEXT])
{
    unsigned char bytes[ID_BYTES + HASH_BYTES];
    memcpy(bytes, id, ID_BYTES);
    cursor_check(id, filter, bytes + ID_BYTES);
    (void)sodium_bin2base64(out, CURSOR_TEXT, bytes, ID_BYTES + CHECK_BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool cursor_read(const char *cursor, const char *filter, char id[STORAGE_ID])
{
    unsigned char bytes[ID_BYTES + CHECK_BYTES], digest[HASH_BYTES];
    size_t length;
    if (sodium_base642bin(bytes, sizeof bytes, cursor, strlen(cursor), NULL, &length, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        length != sizeof bytes)
        return false;
    memcpy(id, bytes, ID_BYTES);
    id[ID_BYTES] = '\0';
    cursor_check(id, filter, digest);
    return strlen(id) == ID_BYTES && memcmp(digest, bytes + ID_BYTES, CHECK_BYTES) == 0;
}
