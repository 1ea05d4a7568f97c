/* Reports the daemon's state to a service manager by the protocol of sd_notify(3): one datagram to the unix socket in
 * NOTIFY_SOCKET. Does nothing without that variable. Any thread. */
#ifndef MOTIF_SERVER_PROCESS_NOTIFY_H
#define MOTIF_SERVER_PROCESS_NOTIFY_H

/* Sends "READY=1", "STOPPING=1", "WATCHDOG=1" or "STATUS=..."; newlines separate several assignments. */
void notify_manager(const char *state);

/* Milliseconds between two messages WATCHDOG=1: half the manager's limit; 0: the manager expects none. */
int notify_watchdog_ms(void);

#endif
