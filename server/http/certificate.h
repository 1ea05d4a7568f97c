/* The TLS certificate for new connections. It can be replaced while the server runs; open connections keep the old one.
 * GnuTLS asks for a certificate through a function without a context, so a process has one certificate. */
#ifndef MOTIF_SERVER_HTTP_CERTIFICATE_H
#define MOTIF_SERVER_HTTP_CERTIFICATE_H

#include <gnutls/abstract.h>
#include <stdint.h>

#include "core/base/error.h"

/* Reads two PEM files: a chain that starts with the server's own certificate, and the private key. New connections get
 * them from now on. After a failure the previous certificate stays. STATUS_INVALID when the files are not a matching
 * pair. *expires: seconds since 1970. */
enum status certificate_load(const char *cert_path, const char *key_path, int64_t *expires, struct error *err);

/* The callback of MHD_OPTION_HTTPS_CERT_CALLBACK. Any thread. */
int certificate_show(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                     const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                     unsigned *chain_count, gnutls_privkey_t *key);

/* Frees all certificates. May be called only when no connection is left. */
void certificate_forget(void);

#endif
