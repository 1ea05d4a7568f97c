/* Loads the TLS certificate and hands it to GnuTLS for each new connection. */
#include "server/http/certificate.h"

#include <gnutls/x509.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "server/process/files.h"

#define PEM_MAX ((size_t)1 << 20)
#define CHAIN_MAX 16

struct shown {
    struct shown *before;
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned count;
    gnutls_privkey_t key;
};

/* Earlier certificates stay in memory, because a handshake may be using them. Each renewal adds one. */
static struct shown *current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void shown_free(struct shown *shown)
{
    for (unsigned i = 0; i < shown->count; i++)
        gnutls_pcert_deinit(&shown->chain[i]);
    if (shown->key != NULL)
        gnutls_privkey_deinit(shown->key);
    free(shown);
}

/* Checks that certificate and key belong together. GnuTLS compares them only when it loads both into credentials. */
static int check_pair(const gnutls_datum_t *cert, const gnutls_datum_t *key)
{
    gnutls_certificate_credentials_t credentials;
    int code = gnutls_certificate_allocate_credentials(&credentials);
    if (code == 0) {
        code = gnutls_certificate_set_x509_key_mem(credentials, cert, key, GNUTLS_X509_FMT_PEM);
        gnutls_certificate_free_credentials(credentials);
    }
    return code < 0 ? code : 0;
}

static int parse(struct shown *shown, const gnutls_datum_t *cert, const gnutls_datum_t *key, int64_t *expires)
{
    gnutls_x509_crt_t own;
    unsigned room = CHAIN_MAX;
    int code = gnutls_pcert_list_import_x509_raw(shown->chain, &room, cert, GNUTLS_X509_FMT_PEM,
                                                 GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
    if (code < 0)
        return code;
    shown->count = room;
    code = gnutls_pcert_export_x509(&shown->chain[0], &own);
    if (code < 0)
        return code;
    *expires = (int64_t)gnutls_x509_crt_get_expiration_time(own);
    gnutls_x509_crt_deinit(own);
    code = gnutls_privkey_init(&shown->key);
    if (code < 0) {
        shown->key = NULL;
        return code;
    }
    return gnutls_privkey_import_x509_raw(shown->key, key, GNUTLS_X509_FMT_PEM, NULL, 0);
}

static enum status certificate_fail(int code, struct error *err)
{
    if (code == GNUTLS_E_MEMORY_ERROR)
        return error_memory(err, "the TLS certificate");
    return error_set(err, STATUS_INVALID, NULL, "certificate and key are not PEM, or do not match: %s",
                     gnutls_strerror(code));
}

/* Reads the file of an option; an error names the option. */
static char *read_pem(const char *option, const char *path, size_t *bytes, struct error *err)
{
    struct error why = {0};
    char *text = file_read(path, PEM_MAX, bytes, &why);
    if (text == NULL)
        (void)error_set(err, why.code, NULL, "%s: %s", option, why.message);
    return text;
}

enum status certificate_load(const char *cert_path, const char *key_path, int64_t *expires, struct error *err)
{
    size_t cert_bytes = 0, key_bytes = 0;
    struct shown *shown = NULL;
    char *cert = read_pem("--tls-cert", cert_path, &cert_bytes, err), *key = NULL;
    if (cert != NULL)
        key = read_pem("--tls-key", key_path, &key_bytes, err);
    enum status status = key != NULL ? STATUS_OK : err->code;
    if (!status) {
        shown = calloc(1, sizeof *shown);
        const gnutls_datum_t own = {(unsigned char *)cert, (unsigned)cert_bytes};
        const gnutls_datum_t secret = {(unsigned char *)key, (unsigned)key_bytes};
        int code = shown == NULL ? GNUTLS_E_MEMORY_ERROR : check_pair(&own, &secret);
        if (code == 0)
            code = parse(shown, &own, &secret, expires);
        status = code < 0 ? certificate_fail(code, err) : STATUS_OK;
    }
    if (!status) {
        (void)pthread_mutex_lock(&lock);
        shown->before = current;
        current = shown;
        (void)pthread_mutex_unlock(&lock);
    } else if (shown != NULL) {
        shown_free(shown);
    }
    if (key != NULL)
        sodium_memzero(key, key_bytes);
    free(key);
    free(cert);
    return status;
}

int certificate_show(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                     const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **chain,
                     unsigned *chain_count, gnutls_privkey_t *key)
{
    (void)pthread_mutex_lock(&lock);
    struct shown *shown = current;
    (void)pthread_mutex_unlock(&lock);
    if (shown == NULL)
        return -1;
    *chain = shown->chain;
    *chain_count = shown->count;
    *key = shown->key;
    return 0;
}

void certificate_forget(void)
{
    (void)pthread_mutex_lock(&lock);
    while (current != NULL) {
        struct shown *gone = current;
        current = gone->before;
        shown_free(gone);
    }
    (void)pthread_mutex_unlock(&lock);
}
