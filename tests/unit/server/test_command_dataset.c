/* Runs the command `motifd dataset audio` with the real espeak-ng: it makes a small set, and reports failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/data/audio/audio_corpus.h"
#include "server/commands/commands.h"
#include "server/daemon.h"

static char folder[] = "/tmp/motifd-dataset-XXXXXX";

static int make_folder(void **state)
{
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int remove_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") != 0 || system(command);
}

static int command(const char *const *arguments)
{
    char *argv[12] = {(char *)(uintptr_t) "dataset"};
    int argc = 1;
    for (; *arguments; arguments++)
        argv[argc++] = (char *)(uintptr_t)*arguments;
    return command_dataset(argc, argv);
}
#define COMMAND(...) command((const char *const[]){__VA_ARGS__, NULL})

static void digits_are_recorded_in_different_voices_and_takes(void **state)
{
    struct audio_corpus *corpus = NULL;
    struct stat before, after;
    assert_int_equal(COMMAND("audio", "--data", "sets", "--voices", "3", "--takes", "2"), EXIT_OK);
    assert_int_equal(audio_corpus_load("sets/spoken-digits", 8000, &corpus, NULL), STATUS_OK);
    assert_int_equal(audio_corpus_clips(corpus), 60);
    assert_int_equal(audio_corpus_speakers(corpus), 3);
    assert_int_equal(audio_corpus_classes(corpus), 10);
    for (int speaker = 0; speaker < 3; speaker++)
        for (int digit = 0; digit < 10; digit++) {
            const struct audio_clip *takes;
            double power = 0;
            assert_int_equal(audio_corpus_takes(corpus, speaker, digit, &takes), 2);
            assert_in_range(takes[0].length, 1000, 8000);
            assert_int_not_equal(takes[0].length, takes[1].length); /* two recordings of one word differ in speed */
            for (int i = 0; i < takes[0].length; i++)
                power += (double)takes[0].samples[i] * (double)takes[0].samples[i];
            assert_true(power / takes[0].length > 1e-4);
        }
    audio_corpus_destroy(corpus);
    assert_int_equal(access("sets/spoken-digits.partial", F_OK), -1);

    assert_int_equal(stat("sets/spoken-digits", &before), 0);
    /* the second call finds the folder of the first and leaves it unchanged */
    assert_int_equal(COMMAND("audio", "--data", "sets"), EXIT_OK);
    assert_int_equal(stat("sets/spoken-digits", &after), 0);
    assert_int_equal(before.st_mtime, after.st_mtime);
}

static void a_failure_leaves_no_incomplete_set(void **state)
{
    char *path = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
    assert_int_equal(COMMAND("audio", "--out", "none"), EXIT_FAULT);
    assert_int_equal(setenv("PATH", path, 1), 0);
    free(path);
    assert_int_equal(access("none", F_OK), -1);
    assert_int_equal(access("none.partial", F_OK), -1);
    assert_int_equal(COMMAND("audio", "--out", "no/such/folder"), EXIT_FAULT);
}

static void wrong_usage_exits_with_2(void **state)
{
    assert_int_equal(COMMAND("--help"), EXIT_OK);
    assert_int_equal(COMMAND("audio", "--help"), EXIT_OK);
    assert_int_equal(COMMAND("video"), EXIT_USAGE);
    assert_int_equal(COMMAND("audio", "more"), EXIT_USAGE);
    assert_int_equal(COMMAND("audio", "--voices", "1"), EXIT_USAGE);
    assert_int_equal(COMMAND("audio", "--voices", "31"), EXIT_USAGE);
    assert_int_equal(COMMAND("audio", "--takes", "2x"), EXIT_USAGE);
    assert_int_equal(COMMAND("audio", "--out"), EXIT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_are_recorded_in_different_voices_and_takes),
        cmocka_unit_test(a_failure_leaves_no_incomplete_set),
        cmocka_unit_test(wrong_usage_exits_with_2),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
