/* Runs a fuzz target without libFuzzer. The inputs are first the seeds, then seeds that were changed, cut or joined,
 * and random bytes. The random numbers are the same in every run. The environment variable FUZZ_ROUNDS sets the
 * number of inputs (default 20000). An argument names an archive of further seeds (tests/fuzz/corpus). With --write
 * FOLDER the program only writes each seed of the target to a file in FOLDER, for libFuzzer. */
#include "tests/fuzz/fuzz.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>

enum { BYTES = 16384, MOST_FILES = 10000 };

static struct fuzz_seed *seeds; /* [seed_count] the target's seeds, followed by those from the archive */
static size_t seed_count;

/* Takes the seeds of the target, and the files of an archive, each in a block of exactly its size, so that a sanitizer
 * detects reads beyond the end. */
static void collect(const char *path)
{
    struct archive *archive = archive_read_new();
    struct archive_entry *entry;
    int status = ARCHIVE_EOF;
    seeds = malloc((fuzz_seed_count + MOST_FILES) * sizeof *seeds);
    FUZZ_CHECK(archive != NULL && seeds != NULL);
    memcpy(seeds, fuzz_seeds, fuzz_seed_count * sizeof *seeds);
    seed_count = fuzz_seed_count;
    FUZZ_CHECK(archive_read_support_filter_xz(archive) == ARCHIVE_OK &&
               archive_read_support_format_tar(archive) == ARCHIVE_OK);
    FUZZ_CHECK(path == NULL || archive_read_open_filename(archive, path, 65536) == ARCHIVE_OK);
    while (path != NULL && (status = archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
        size_t size = (size_t)archive_entry_size(entry);
        char *bytes = malloc(size > 0 ? size : 1);
        FUZZ_CHECK(bytes != NULL && seed_count < fuzz_seed_count + MOST_FILES);
        FUZZ_CHECK(archive_read_data(archive, bytes, size) == (la_ssize_t)size);
        seeds[seed_count++] = (struct fuzz_seed){bytes, size};
    }
    FUZZ_CHECK(status == ARCHIVE_EOF && archive_read_free(archive) == ARCHIVE_OK && seed_count > 0);
}

static uint64_t state = 0x9E3779B97F4A7C15u;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

static size_t make(uint8_t *out)
{
    static const char interesting[] = "{}[]\":,\\%&=?/+-.eE0123456789 \t\n\0\x7f\x80\xff'()<>|u";
    if (draw(20) == 0) {
        size_t size = draw(200);
        for (size_t i = 0; i < size; i++)
            out[i] = (uint8_t)draw(256);
        return size;
    }
    const struct fuzz_seed *seed = &seeds[draw((uint32_t)seed_count)];
    size_t size = seed->size < BYTES / 2 ? seed->size : BYTES / 2;
    memcpy(out, seed->bytes, size);
    for (uint32_t change = draw(6); change > 0 && size > 0; change--) {
        size_t at = draw((uint32_t)size);
        switch (draw(6)) {
        case 0:
            out[at] = (uint8_t)draw(256);
            break;
        case 1:
            out[at] = (uint8_t)interesting[draw(sizeof interesting)];
            break;
        case 2: /* remove a part */
            memmove(out + at, out + at + 1, size - at - 1);
            size--;
            break;
        case 3: /* insert a part */
            if (size < BYTES - 1) {
                memmove(out + at + 1, out + at, size - at);
                out[at] = (uint8_t)interesting[draw(sizeof interesting)];
                size++;
            }
            break;
        case 4: /* repeat a part */
            if (size < BYTES / 2) {
                size_t length = draw((uint32_t)(size - at)) + 1;
                memmove(out + at + length, out + at, size - at);
                size += length;
            }
            break;
        default:
            size = at + 1;
            break;
        }
    }
    return size;
}

static int write_seeds(const char *folder)
{
    for (size_t i = 0; i < fuzz_seed_count; i++) {
        char path[4096];
        FUZZ_CHECK(snprintf(path, sizeof path, "%s/seed-%zu", folder, i) < (int)sizeof path);
        FILE *file = fopen(path, "wb");
        FUZZ_CHECK(file != NULL && fwrite(fuzz_seeds[i].bytes, 1, fuzz_seeds[i].size, file) == fuzz_seeds[i].size);
        FUZZ_CHECK(fclose(file) == 0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--write") == 0)
        return write_seeds(argv[2]);
    collect(argc > 1 ? argv[1] : NULL);
    const char *wanted = getenv("FUZZ_ROUNDS");
    long rounds = wanted != NULL ? strtol(wanted, NULL, 10) : 20000;
    uint8_t scratch[BYTES * 2];
    for (size_t i = 0; i < seed_count; i++)
        (void)LLVMFuzzerTestOneInput((const uint8_t *)seeds[i].bytes, seeds[i].size);
    for (long round = 0; round < rounds; round++) {
        size_t size = make(scratch);
        uint8_t *exact = malloc(size > 0 ? size : 1); /* exact size, so that a sanitizer detects reads beyond the end */
        FUZZ_CHECK(exact != NULL);
        memcpy(exact, scratch, size);
        (void)LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    for (size_t i = fuzz_seed_count; i < seed_count; i++)
        free((void *)(uintptr_t)seeds[i].bytes);
    free(seeds);
    return 0;
}
