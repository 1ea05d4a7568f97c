/* Tests the loading of a TLS certificate and its key. If the two fit each other, new connections get the certificate.
 * If GnuTLS fails, the failure is reported, and new connections still get the certificate that was loaded before. */
#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/unit.h"
#include "server/http/certificate.h"
#include "tests/support/fault.h"

static char folder[] = "/tmp/motifd-certificate-XXXXXX", cert[80], key[80], other_key[80];
static int64_t wanted_expiry;

/* Functions of GnuTLS fail on demand: `failing` calls succeed, and the next one fails with the code `failure`. If
 * `failing` is -1, no call fails. */
static int failing = -1, failure;
static bool fails(void)
{
    return failing >= 0 && failing-- == 0;
}
#define CALL(name, parameters, arguments)                                                                              \
    int __real_##name parameters;                                                                                      \
    int __wrap_##name parameters;                                                                                      \
    int __wrap_##name parameters                                                                                       \
    {                                                                                                                  \
        return fails() ? failure : __real_##name arguments;                                                            \
    }
CALL(gnutls_certificate_allocate_credentials, (gnutls_certificate_credentials_t * made), (made))
CALL(gnutls_pcert_export_x509, (gnutls_pcert_st * from, gnutls_x509_crt_t *to), (from, to))
CALL(gnutls_privkey_init, (gnutls_privkey_t * made), (made))
CALL(gnutls_privkey_import_x509_raw,
     (gnutls_privkey_t to, const gnutls_datum_t *data, gnutls_x509_crt_fmt_t format, const char *password,
      unsigned flags),
     (to, data, format, password, flags))
CALL(gnutls_pcert_list_import_x509_raw,
     (gnutls_pcert_st * list, unsigned *count, const gnutls_datum_t *data, gnutls_x509_crt_fmt_t format,
      unsigned flags),
     (list, count, data, format, flags))
enum { CALLS = 5 };

static void put(const char *path, const gnutls_datum_t *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text->data, 1, text->size, file), text->size);
    assert_int_equal(fclose(file), 0);
}

/* Writes a new key to `key_path` and, unless it is NULL, a certificate that this key has signed to `cert_path`. */
static void make_pair(const char *key_path, const char *cert_path)
{
    gnutls_x509_privkey_t secret;
    gnutls_x509_crt_t own;
    gnutls_datum_t text;
    assert_int_equal(gnutls_x509_privkey_init(&secret), 0);
    assert_int_equal(
        gnutls_x509_privkey_generate(secret, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), 0);
    assert_int_equal(gnutls_x509_privkey_export2(secret, GNUTLS_X509_FMT_PEM, &text), 0);
    put(key_path, &text);
    gnutls_free(text.data);
    if (cert_path != NULL) {
        wanted_expiry = (int64_t)time(NULL) + 1000;
        assert_int_equal(gnutls_x509_crt_init(&own), 0);
        assert_int_equal(gnutls_x509_crt_set_version(own, 3), 0);
        assert_int_equal(gnutls_x509_crt_set_serial(own, "\1", 1), 0);
        assert_int_equal(gnutls_x509_crt_set_dn(own, "CN=motifd", NULL), 0);
        assert_int_equal(gnutls_x509_crt_set_activation_time(own, time(NULL)), 0);
        assert_int_equal(gnutls_x509_crt_set_expiration_time(own, (time_t)wanted_expiry), 0);
        assert_int_equal(gnutls_x509_crt_set_key(own, secret), 0);
        assert_int_equal(gnutls_x509_crt_sign2(own, own, secret, GNUTLS_DIG_SHA256, 0), 0);
        assert_int_equal(gnutls_x509_crt_export2(own, GNUTLS_X509_FMT_PEM, &text), 0);
        put(cert_path, &text);
        gnutls_free(text.data);
        gnutls_x509_crt_deinit(own);
    }
    gnutls_x509_privkey_deinit(secret);
}

static int setup(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    (void)snprintf(key, sizeof key, "%s/key.pem", folder);
    (void)snprintf(other_key, sizeof other_key, "%s/other.pem", folder);
    make_pair(other_key, NULL);
    make_pair(key, cert);
    return 0;
}

static int teardown(void **state)
{
    certificate_forget();
    return unlink(cert) + unlink(key) + unlink(other_key) + rmdir(folder);
}

/* Returns the length of the certificate chain that a new connection gets, or -1 if no certificate is loaded. */
static int shown(void)
{
    gnutls_pcert_st *chain;
    gnutls_privkey_t secret;
    unsigned count = 0;
    return certificate_show(NULL, NULL, 0, NULL, 0, &chain, &count, &secret) == 0 ? (int)count : -1;
}

static void a_pair_that_fits_is_shown(void **state)
{
    int64_t expires = 0;
    certificate_forget();
    assert_int_equal(shown(), -1);
    assert_int_equal(certificate_load(cert, key, &expires, NULL), STATUS_OK);
    assert_int_equal(expires, wanted_expiry);
    assert_int_equal(shown(), 1);
}

static void files_that_do_not_fit_are_refused(void **state)
{
    const char *const cases[][2] = {{cert, other_key}, {key, key}, {cert, cert}, {"/no/such", key}, {cert, "/no/such"}};
    const char *const says[] = {"do not match", "certificate and key", "certificate and key", "--tls-cert: cannot open",
                                "--tls-key: cannot open"};
    int64_t expires;
    certificate_forget();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = {0};
        assert_int_not_equal(certificate_load(cases[i][0], cases[i][1], &expires, &err), STATUS_OK);
        if (strstr(err.message, says[i]) == NULL)
            fail_msg("case %zu: %s", i, err.message);
        assert_int_equal(shown(), -1);
    }
}

/* Each function of GnuTLS fails in turn, and so does each allocation. */
static void a_failure_keeps_the_certificate_before(void **state)
{
    static const int codes[] = {GNUTLS_E_MEMORY_ERROR, GNUTLS_E_ASN1_DER_ERROR};
    int64_t expires;
    assert_int_equal(certificate_load(cert, key, &expires, NULL), STATUS_OK);
    for (int i = 0; i < 2; i++) {
        failure = codes[i];
        for (int call = 0; call < CALLS; call++) {
            struct error err = {0};
            failing = call;
            enum status status = certificate_load(cert, key, &expires, &err);
            assert_int_equal(failing, -1); /* the call has happened */
            assert_int_equal(status, i == 0 ? STATUS_NO_MEMORY : STATUS_INVALID);
            assert_int_equal(shown(), 1);
        }
    }
    for (int n = 0;; n++) {
        struct error err = {0};
        fault_after(n);
        enum status status = certificate_load(cert, key, &expires, &err);
        bool happened = fault_happened();
        assert_int_equal(status, happened ? STATUS_NO_MEMORY : STATUS_OK);
        assert_int_equal(shown(), 1);
        if (!happened)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pair_that_fits_is_shown),
        cmocka_unit_test(files_that_do_not_fit_are_refused),
        cmocka_unit_test(a_failure_keeps_the_certificate_before),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
