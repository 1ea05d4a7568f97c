/* Tells a service manager how the daemon is doing, by the protocol of sd_notify(3): one datagram to
 * the unix socket that NOTIFY_SOCKET names. Without that variable nothing happens. Any thread. */
#ifndef MOTIF_SERVER_PROCESS_NOTIFY_H
#define MOTIF_SERVER_PROCESS_NOTIFY_H

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=..."; several are separated by newlines. */
void notify_manager(const char *state);

/* Milliseconds between two WATCHDOG=1 that the manager wants (half its limit); 0: none. */
int notify_watchdog_ms(void);

#endif
