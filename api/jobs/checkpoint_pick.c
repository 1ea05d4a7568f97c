/* Reads which checkpoint of a job a client requests: by its number, by density, the latest or the best. */
#include "api/jobs/checkpoint_pick.h"

#include <stdlib.h>
#include <string.h>

#include "api/http/uri.h"

bool checkpoint_pick_text(const char *text, struct storage_checkpoint_pick *pick)
{
    if (strcmp(text, "latest") == 0) {
        *pick = (struct storage_checkpoint_pick){.by = STORAGE_LATEST};
        return true;
    }
    if (strcmp(text, "best") == 0) {
        *pick = (struct storage_checkpoint_pick){.by = STORAGE_BEST};
        return true;
    }
    if (strncmp(text, "density:", 8) == 0) {
        char *end;
        double density = strtod(text + 8, &end);
        bool plain = text[8 + strspn(text + 8, "0123456789.eE+-")] == '\0';
        *pick = (struct storage_checkpoint_pick){.by = STORAGE_DENSITY, .density = density};
        return plain && end != text + 8 && *end == '\0' && density > 0 && density <= 1;
    }
    int64_t seq = 0;
    bool number = text_integer(text, &seq) && seq > 0;
    *pick = (struct storage_checkpoint_pick){.by = STORAGE_SEQ, .seq = seq};
    return number;
}

bool checkpoint_pick_json(const cJSON *value, struct storage_checkpoint_pick *pick)
{
    if (cJSON_IsString(value))
        return checkpoint_pick_text(value->valuestring, pick);
    if (!cJSON_IsNumber(value) || value->valuedouble < 1 || value->valuedouble != (double)(int64_t)value->valuedouble)
        return false;
    *pick = (struct storage_checkpoint_pick){.by = STORAGE_SEQ, .seq = (int64_t)value->valuedouble};
    return true;
}
