/* GET /, /assets/{name} and /motifd.py: the page, its files, and the Python client. The program contains them as gzip
 * and sends them in this form. A client that does not accept gzip gets them unpacked. The two representations have
 * different ETags. */
#include "api/documents/dashboard.h"

#include <stdio.h>
#include <string.h>

#include "api/documents/documents.h"
#include "api/http/exchange.h"
#define ZLIB_CONST /* zlib then declares next_in as a pointer to constants */
#include <zlib.h>

/* The Content-Security-Policy of the page. The page may load its own script, the inline script and style with these
 * hashes, and pictures that it has fetched. It may connect only to this daemon. */
#define PAGE_POLICY                                                                                                    \
    "default-src 'none'; script-src 'self' '%s'; style-src '%s'; img-src 'self' blob: data:; connect-src 'self'; "     \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* True when an Accept-Encoding header, such as "gzip, br;q=0.8", contains gzip or * with a weight above 0. */
static bool takes_gzip(const char *accepted)
{
    while (accepted != NULL && *accepted != '\0') {
        accepted += strspn(accepted, " \t,");
        size_t length = strcspn(accepted, ",");
        size_t name = strcspn(accepted, " \t;,");
        const char *weight = memchr(accepted, '=', length);
        if ((name == 4 && strncmp(accepted, "gzip", 4) == 0) || (name == 1 && *accepted == '*'))
            return weight == NULL || strspn(weight + 1, "0.") < strcspn(weight + 1, " \t,");
        accepted += length;
    }
    return false;
}

static bool unpack(const struct dashboard_file *file, struct arena *arena, struct buf *out)
{
    z_stream stream = {.next_in = file->bytes, .avail_in = (uInt)file->size};
    unsigned char *plain = arena_alloc(arena, file->plain_size);
    if (plain == NULL || inflateInit2(&stream, 15 + 16) != Z_OK)
        return false;
    stream.next_out = plain;
    stream.avail_out = (uInt)file->plain_size;
    int result = inflate(&stream, Z_FINISH);
    (void)inflateEnd(&stream);
    buf_append(out, plain, file->plain_size);
    return result == Z_STREAM_END && stream.total_out == file->plain_size;
}

static void respond_file(struct exchange *x, const struct dashboard_file *file)
{
    bool packed = takes_gzip(exchange_header(x, "Accept-Encoding")), page = file->path[0] == '\0';
    /* another build may have another page or Python client at the same address */
    bool changes = page || file == &python_client_file;
    char etag[64];
    (void)snprintf(etag, sizeof etag, "\"%s%s\"", file->tag, packed ? "-gzip" : "");
    response_header(x->response, "Vary", "Accept-Encoding%s", page ? ", Accept" : "");
    response_header(x->response, "Cache-Control", "%s", changes ? "no-cache" : "public, max-age=31536000, immutable");
    if (page)
        response_header(x->response, "Content-Security-Policy", PAGE_POLICY, dashboard_boot_hash, dashboard_style_hash);
    if (respond_not_modified(x, etag))
        return;
    if (packed) {
        response_header(x->response, "Content-Encoding", "gzip");
        buf_append(&x->response->body, file->bytes, file->size);
    } else if (!unpack(file, &x->arena, &x->response->body)) {
        respond_problem(x, PROBLEM_INTERNAL, "The file could not be unpacked.");
        return;
    }
    respond_body(x, 200, file->type);
}

/* Responds with a text instead of the page: the client accepts only text, or the build does not contain the page. */
static void respond_directory(struct exchange *x)
{
    struct api_system system;
    api_facts(x->api, &system);
    buf_format(
        &x->response->body,
        "motifd %s: trains networks whose motifs can be read, as a service.\n\n"
        "  GET  /openapi.json   every route, its parameters and its answers\n"
        "  GET  /v1/kinds       what can be trained, with all configuration fields and presets\n"
        "  POST /v1/jobs        {\"kind\":\"sparling\",\"preset\":\"digitcircle-quick\"}\n"
        "  GET  /v1/jobs        what is queued, running and done\n"
        "  GET  /v1/system      this daemon\n\n"
        "The client is motifctl.%s\n",
        system.version,
        dashboard_file_count > 0
            ? " A browser gets the dashboard here."
            : "\nThis build has no dashboard. To get it: install nodejs and npm, run\n"
              "`meson setup build --reconfigure -Ddashboard=enabled && ninja -C build`, and start the daemon again.");
    response_header(x->response, "Vary", "Accept-Encoding, Accept");
    respond_body(x, 200, "text/plain; charset=utf-8");
}

void root_show(struct exchange *x)
{
    static const char *const offers[] = {"text/html", "text/plain"};
    if (dashboard_file_count == 0 || media_pick(exchange_header(x, "Accept"), offers, 2) == 1)
        respond_directory(x);
    else
        respond_file(x, &dashboard_files[0]);
}

void python_client_show(struct exchange *x)
{
    respond_file(x, &python_client_file);
}

void asset_show(struct exchange *x)
{
    const char *name = exchange_param(x, "name");
    for (size_t i = 1; i < dashboard_file_count; i++) {
        if (strcmp(dashboard_files[i].path, name) == 0) {
            respond_file(x, &dashboard_files[i]);
            return;
        }
    }
    respond_problem(x, PROBLEM_NOT_FOUND, "The page has no file of this name.");
}
