/* Runs the command `motifd dataset audio` with the real espeak-ng: it makes a small set, and reports failures. */
#include <sys/stat.h>
#include <unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>

#include "tests/support/unit.h"
#include "core/data/audio/audio_corpus.h"
#include "server/commands/commands.h"
#include "server/daemon.h"
#include "tests/support/fault.h"
#include "tests/support/fault_calls.h"
#include "tests/support/open_files.h"
#include "tests/support/printed.h"

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

/* ---- a program in the place of espeak-ng --------------------------------------------------------------------- */

static char said[4000]; /* what the command printed on standard error */

/* The next calls of waitpid fail with these codes. */
static int wait_codes[2], wait_failures;
pid_t __real_waitpid(pid_t pid, int *how, int options);
pid_t __wrap_waitpid(pid_t pid, int *how, int options);
pid_t __wrap_waitpid(pid_t pid, int *how, int options)
{
    if (wait_failures > 0) {
        errno = wait_codes[--wait_failures];
        return -1;
    }
    return __real_waitpid(pid, how, options);
}

/* Puts a script with the name espeak-ng first in PATH. The ninth argument of the script is the file that it must write;
 * it can copy the recordings a.wav and b.wav, which this function makes. */
static void speak_by(const char *script)
{
    char path[80];
    for (int tone = 0; tone < 2; tone++) {
        float samples[2000];
        struct audio_wave wave = {.rate = AUDIO_RATE, .count = 2000, .samples = samples};
        for (int i = 0; i < wave.count; i++)
            samples[i] = (float)sin((tone + 1) * i * 0.1) / 2;
        assert_int_equal(audio_wave_write(tone == 0 ? "a.wav" : "b.wav", &wave, NULL), STATUS_OK);
    }
    (void)mkdir("bin", 0700);
    FILE *file = fopen("bin/espeak-ng", "w");
    assert_non_null(file);
    assert_true(fprintf(file, "#!/bin/sh\ncd %s\n%s\n", folder, script) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod("bin/espeak-ng", 0700), 0);
    (void)snprintf(path, sizeof path, "%s/bin:/usr/bin:/bin", folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
}
static const char good[] = "case $3 in en-us+m1) cp a.wav $9;; *) cp b.wav $9;; esac";

/* Runs the command for two voices; `said` receives its errors. */
static int two_voices(const char *out)
{
    struct printed first = printed_begin(STDOUT_FILENO), second = printed_begin(STDERR_FILENO);
    char unused[4000], place[120];
    (void)snprintf(place, sizeof place, "%s/%s", folder, out);
    int code = COMMAND("audio", "--out", place, "--voices", "2", "--takes", "1");
    printed_end(&first, unused, sizeof unused);
    printed_end(&second, said, sizeof said);
    return code;
}

static void a_program_that_fails_leaves_no_set(void **state)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"exit 3", "espeak-ng failed on the voice en-us+m1"},
        {"kill -9 $$", "espeak-ng failed on the voice en-us+m1"},
        {"[ $3 = en-us+m1 ] && cp a.wav $9", "espeak-ng failed on the voice en-us+m2"},
        {"echo no sound > $9", "spoken.tmp"},
        {"exit 0", "spoken.tmp"},
        {"cp a.wav $9", "are the same: this espeak-ng lacks one of them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        speak_by(cases[i].script);
        if (two_voices("fake") != EXIT_FAULT || strstr(said, cases[i].says) == NULL)
            fail_msg("case %zu: %s", i, said);
        assert_true(access("fake", F_OK) != 0 && access("fake.partial", F_OK) != 0);
    }
}

/* A signal during the wait does not matter; a lost process does. */
static void a_wait_that_a_signal_ends_is_repeated(void **state)
{
    speak_by(good);
    wait_codes[0] = EINTR;
    wait_failures = 1;
    assert_int_equal(two_voices("waited"), EXIT_OK);
    assert_int_equal(access("waited", F_OK), 0);
    speak_by("exit 0"); /* writes nothing, because a lost process may still run
                         * after the command has removed the files of the set */
    wait_codes[0] = ECHILD;
    wait_failures = 1;
    assert_int_equal(two_voices("lost"), EXIT_FAULT);
    assert_non_null(strstr(said, "the process of espeak-ng was lost"));
    assert_true(access("lost", F_OK) != 0 && access("lost.partial", F_OK) != 0);
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

/* Whichever allocation or system call fails, the command makes the whole set, or it makes none and reports an error. */
static void a_fault_leaves_the_whole_set_or_none(void **state)
{
    speak_by(good);
    for (int kind = 0; kind < 2; kind++) {
        int failed = 0, descriptors = open_descriptors();
        for (int n = 0, stride = fault_stride(23);; n += n < 20 ? 1 : stride) {
            if (kind == 0)
                fault_after(n);
            else
                fault_call_after(n, EIO, false);
            int code = two_voices("set");
            bool happened = kind == 0 ? fault_happened() : fault_call_happened() != NULL;
            bool there = access("set", F_OK) == 0;
            assert_int_equal(there, code == EXIT_OK);
            assert_true(code == EXIT_OK || said[0] != '\0');
            assert_int_equal(access("set.partial", F_OK), -1);
            assert_int_equal(open_descriptors(), descriptors);
            if (there) {
                assert_int_equal(folder_entries("set", ""), 20);
                assert_int_equal(system("rm -r set"), 0);
            }
            failed += code != EXIT_OK;
            if (!happened)
                break;
        }
        assert_true(failed > 10 || kind > 0);
    }
}

/* The folder comes from --data, MOTIFD_DATA or the default; the names of folders and sets have a limit. */
static void the_environment_names_the_folder(void **state)
{
    char longest[1100], expected[120];
    speak_by(good);
    assert_int_equal(setenv("MOTIFD_DATA", "named", 1), 0);
    assert_int_equal(COMMAND("audio", "--voices", "2", "--takes", "1"), EXIT_OK);
    assert_int_equal(access("named/spoken-digits", F_OK), 0);
    assert_int_equal(setenv("MOTIFD_DATA", "", 1), 0);
    assert_int_equal(COMMAND("audio", "--voices", "2", "--takes", "1"), EXIT_OK);
    assert_int_equal(unsetenv("MOTIFD_DATA"), 0);
    (void)snprintf(expected, sizeof expected, "%s/spoken-digits", SETTINGS_DATA);
    assert_int_equal(access(expected, F_OK), 0);
    assert_int_equal(COMMAND("audio", "--voices", "2", "--takes", "1"), EXIT_OK); /* the default folder has the set */
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(COMMAND("audio", "--out", longest), EXIT_USAGE);
    assert_int_equal(COMMAND("audio", "--data", longest), EXIT_USAGE);
    /* an unfinished folder of a run that was killed is filled again; a file in its place is an error */
    assert_int_equal(mkdir("again.partial", 0700), 0);
    assert_int_equal(two_voices("again"), EXIT_OK);
    int fd = open("file.partial", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(two_voices("file"), EXIT_FAULT);
    assert_int_equal(access("file", F_OK), -1);
}

/* On a terminal, the command shows how far it is. */
static void a_terminal_sees_the_progress(void **state)
{
    char shown[4000] = "";
    speak_by(good);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int other = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC), before = dup(STDERR_FILENO);
    assert_int_equal(dup2(other, STDERR_FILENO), STDERR_FILENO);
    int code = COMMAND("audio", "--out", "shown", "--voices", "2", "--takes", "1");
    (void)dup2(before, STDERR_FILENO);
    ssize_t got = read(terminal, shown, sizeof shown - 1);
    (void)close(before);
    (void)close(other);
    (void)close(terminal);
    assert_true(code == EXIT_OK && got > 0);
    assert_non_null(strstr(shown, "1 of 2 voices\r2 of 2 voices\r\n"));
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
        cmocka_unit_test(a_program_that_fails_leaves_no_set),
        cmocka_unit_test(a_wait_that_a_signal_ends_is_repeated),
        cmocka_unit_test(a_fault_leaves_the_whole_set_or_none),
        cmocka_unit_test(the_environment_names_the_folder),
        cmocka_unit_test(a_terminal_sees_the_progress),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
