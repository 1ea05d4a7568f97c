/* The core does not print. It hands a line to a hook that the process installed, if any. */
#ifndef MOTIF_CORE_BASE_LOG_H
#define MOTIF_CORE_BASE_LOG_H

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

/* A hook is a value that travels with what needs it (struct method_env); there is no global one. */
struct log_hook {
    void *context;
    void (*line)(void *context, enum log_level level, const char *text);
};

void log_line(const struct log_hook *hook, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
