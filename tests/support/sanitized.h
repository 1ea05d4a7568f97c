/* Whether a sanitizer slows the program down. In that case, tests repeat the same code less often: the release build
 * makes all repetitions, and a sanitizer looks for errors that a few repetitions show as well. */
#ifndef MOTIF_TESTS_SUPPORT_SANITIZED_H
#define MOTIF_TESTS_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
