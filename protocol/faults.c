/* Faults of a client's document: collects them in a list of limited length, and suggests by edit distance which name
 * the client meant. */
#include "protocol/faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "protocol/json.h"

void api_faults_add(struct api_faults *faults, const char *pointer, const char *format, ...)
{
    if (faults->count == API_FAULTS_MAX) {
        faults->more++;
        return;
    }
    struct api_fault *fault = &faults->items[faults->count++];
    (void)snprintf(fault->pointer, sizeof fault->pointer, "%s", pointer);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(fault->detail, sizeof fault->detail, format, args);
    va_end(args);
}

/* name_distance() returns the Levenshtein distance of two names; NAME_MAX_BYTES if one of them has more than
 * NAME_MAX_BYTES bytes. */
#define NAME_MAX_BYTES 48
static size_t name_distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1], length_a = strlen(a), length_b = strlen(b);
    if (length_a > NAME_MAX_BYTES || length_b > NAME_MAX_BYTES)
        return NAME_MAX_BYTES;
    for (size_t j = 0; j <= length_b; j++)
        row[j] = j;
    for (size_t i = 1; i <= length_a; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t above = row[j], change = diagonal + (a[i - 1] != b[j - 1]);
            size_t gap = (above < row[j - 1] ? above : row[j - 1]) + 1;
            row[j] = change < gap ? change : gap;
            diagonal = above;
        }
    }
    return row[length_b];
}

void name_guess_offer(struct name_guess *guess, const char *candidate)
{
    size_t distance = name_distance(guess->given, candidate);
    size_t length = strlen(guess->given), allowed = length < 4 ? 1 : length < 8 ? 2 : 3;
    bool prefix = length >= 3 && strncmp(candidate, guess->given, length) == 0;
    if (prefix && distance > allowed)
        distance = allowed;
    if (distance <= allowed && (guess->best == NULL || distance < guess->distance)) {
        guess->best = candidate;
        guess->distance = distance;
    }
}

void name_guess_fault(const struct name_guess *guess, const char *what, const char *pointer, struct api_faults *faults)
{
    if (guess->best != NULL)
        api_faults_add(faults, pointer, "is not %s; did you mean '%s'?", what, guess->best);
    else
        api_faults_add(faults, pointer, "is not %s", what);
}

void fault_pointer(char out[128], const char *prefix, const char *name)
{
    (void)snprintf(out, 128, "%s", prefix);
    json_pointer_add(out, 128, name, strlen(name));
}
