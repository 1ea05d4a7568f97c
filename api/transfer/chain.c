/* Computes the links of the chain over a job's checkpoints. Exports write them and imports check them. */
#include "api/transfer/chain.h"

#include <stdio.h>
#include <string.h>

#include "protocol/json.h"

static void digest(const char *text, size_t bytes, char link[HASH_TEXT])
{
    unsigned char sha256[HASH_BYTES];
    hash_bytes(text, bytes, sha256);
    hash_hex(sha256, link);
}

bool chain_origin(const cJSON *attestation, char link[HASH_TEXT])
{
    static const char *const names[] = {"config", "dataset", "from", "kind"};
    struct buf text;
    cJSON *origin = cJSON_CreateObject();
    buf_init(&text, 4u << 20);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(attestation, names[i]);
        (void)json_attach(origin, names[i], member != NULL ? cJSON_Duplicate(member, true) : cJSON_CreateNull());
    }
    bool ok = cJSON_GetArraySize(origin) == (int)(sizeof names / sizeof names[0]);
    if (ok) {
        json_canonical(origin, &text);
        ok = !text.failed;
    }
    if (ok)
        digest(text.data, text.size, link);
    buf_close(&text);
    cJSON_Delete(origin);
    return ok;
}

void chain_next(char link[HASH_TEXT], long long seq, long long step, long long samples, const char *sha256)
{
    char text[3 * HASH_TEXT + 80];
    int length = snprintf(text, sizeof text, "%s %lld %lld %lld %.64s", link, seq, step, samples, sha256);
    digest(text, (size_t)length, link);
}
