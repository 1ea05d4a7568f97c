/* The TLS certificate that new connections are shown. It may be exchanged while the server runs: connections that are
 * open keep theirs. GnuTLS asks for it by a function without a context, so a process has one. */
#ifndef MOTIF_SERVER_HTTP_CERTIFICATE_H
#define MOTIF_SERVER_HTTP_CERTIFICATE_H

#include <gnutls/abstract.h>
#include <stdint.h>

#include "core/base/error.h"

/* PEM files: a chain that begins with the server's own certificate, and its key. They are read, must belong together,
 * and are shown from then on; after a failure what was shown before still is. INVALID: they are no such files.
 * *expires: seconds since 1970. */
enum status certificate_load(const char *cert_path, const char *key_path, int64_t *expires, struct error *err);

/* For MHD_OPTION_HTTPS_CERT_CALLBACK. Any thread. */
int certificate_show(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                     const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                     unsigned *chain_count, gnutls_privkey_t *key);

/* Forgets all of them: when no connection is left. */
void certificate_forget(void);

#endif
