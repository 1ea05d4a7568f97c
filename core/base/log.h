/* Log lines of the core. The core does not print; it passes each line to a function that the process supplies. */
#ifndef MOTIF_CORE_BASE_LOG_H
#define MOTIF_CORE_BASE_LOG_H

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

/* The function `line` that receives log lines, with its context. Code that logs gets a pointer to this struct (struct
 * method_env); there is no global log hook. */
struct log_hook {
    void *context;
    void (*line)(void *context, enum log_level level, const char *text);
};

/* Formats a line (at most 511 bytes, the rest is cut) and passes it to hook->line(). Does nothing if `hook` or
 * hook->line is NULL. */
void log_line(const struct log_hook *hook, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
