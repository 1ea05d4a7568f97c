/* Feeds a scan with the records that a question is about: those of the job's data set, or those of the question's
 * body. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/formats/gunzip.h"
#include "core/methods/sparling/genomics/sites.h"
#include "core/methods/sparling/run_state.h"

enum { THREADS_MOST = 8 };

static int scan_threads(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > THREADS_MOST ? THREADS_MOST : (int)online;
}

static struct domain_request request_of(const struct sites_parameters *asked, int64_t index)
{
    struct domain_request request = {.set = DOMAIN_SAMPLE, .index = index};
    if (asked->set == SITES_ALL)
        request.set = DOMAIN_RECORD;
    else
        request.seed = asked->set == SITES_TEST ? TEST_SEED : VALIDATION_SEED;
    return request;
}
struct sample_room {
    float *planes;
    unsigned char *base;
    struct domain_truth *truth;
};

static enum status add_sample(struct scan *scan, const struct open_domain *domain, const struct sample_room *room,
                              const struct domain_request *request, const struct domain_record *record,
                              struct error *err)
{
    char name[32];
    snprintf(name, sizeof name, "sample-%lld", (long long)record->number);
    enum status status = domain_sample(domain, request, room->planes, room->truth, err);
    if (status)
        return status;
    bases_of_planes(room->planes, domain->shape.cols, record->length, room->base);
    status = scan_begin(scan, record->name ? record->name : name, err);
    if (status)
        return status;
    status = scan_add(scan, room->base, (size_t)record->length, err);
    return status ? status : scan_end(scan, err);
}

static enum status add_samples(const struct method_question *question, struct scan *scan, struct error *err)
{
    const struct sites_parameters *asked = question->parameters;
    const struct open_domain *domain = &question->model->domain;
    struct sample_room room = {malloc(domain_inputs(&domain->shape) * sizeof(float)),
                               malloc((size_t)domain->shape.cols), NULL};
    enum status status = domain_truths_create(&domain->shape, 1, &room.truth, err);
    if (!status && (!room.planes || !room.base))
        status = error_memory(err, "sites");
    if (!status && !domain->domain->record)
        status =
            error_set(err, STATUS_CONFLICT, NULL, "the samples of this job have no records; send sequences with POST");
    for (int64_t i = asked->first; !status && i < asked->first + asked->samples; i++) {
        struct domain_request request = request_of(asked, i);
        struct domain_record record;
        if (!domain->domain->record(domain->state, &request, &record))
            break;
        status = add_sample(scan, domain, &room, &request, &record, err);
    }
    domain_truths_destroy(room.truth);
    free(room.planes);
    free(room.base);
    return status;
}

/* ---- bodies -------------------------------------------------------------------------------------------------- */

static bool has_regions(const struct method_question *question)
{
    static const char *const types[] = {"text/x-bed", "text/x-narrowpeak"};
    for (size_t i = 0; question->text && question->text_type && i < sizeof types / sizeof types[0]; i++)
        if (strncmp(question->text_type, types[i], strlen(types[i])) == 0)
            return true;
    return false;
}

enum coordinates sites_coordinates(const struct method_question *question)
{
    const struct sites_parameters *asked = question->parameters;
    return has_regions(question) ? COORDINATES_BEDTOOLS : (enum coordinates)asked->coordinates;
}

/* Scans one window of the genome. base: room for its bases. */
static enum status add_window(struct scan *scan, const struct collection *c, int64_t sample, unsigned char *base,
                              struct error *err)
{
    int64_t length = collection_length(c, sample), begin = collection_begin(c, sample);
    for (int64_t i = 0; i < length; i++) {
        base[i] = BASE_UNKNOWN;
        for (int b = 0; b < BASES; b++)
            if (collection_value(c, begin + b * length + i) > 0)
                base[i] = (unsigned char)b;
    }
    enum status status = scan_begin(scan, c->records.name[sample], err);
    if (status)
        return status;
    status = scan_add(scan, base, (size_t)length, err);
    return status ? status : scan_end(scan, err);
}

/* Refuses regions of which an upload would convert a value with a warning, because an answer has no warnings. */
static enum status check_warnings(const struct collection *c, struct error *err)
{
    for (int i = 0; i < c->warnings; i++)
        if (strcmp(c->warning[i].code, "strands-unknown") == 0 || strcmp(c->warning[i].code, "summits-outside") == 0)
            return error_set(err, STATUS_INVALID, NULL,
                             "%s; a query has no warnings, so it is refused: correct the file", c->warning[i].text);
    return STATUS_OK;
}

/* Scans the regions of the body as an upload would cut them from the genome. */
static enum status add_regions(const struct method_question *question, struct scan *scan, struct error *err)
{
    const struct sites_parameters *asked = question->parameters;
    struct byte_source_memory memory = {(const unsigned char *)question->text, question->text_bytes, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    from.work = question->work;
    const struct collection_options options = {.work = question->work,
                                               .label = "",
                                               .group = "",
                                               .data = question->model->data,
                                               .genome = asked->genome,
                                               .window = (int)asked->window};
    const struct collection_limits limits = COLLECTION_LIMITS;
    struct collection c;
    enum status status = collection_read(collection_format_named("bed"), &from, &options, &limits, &c, err);
    if (status)
        return status;
    unsigned char *base = malloc((size_t)c.cols);
    status = base ? check_warnings(&c, err) : error_memory(err, "regions");
    for (int64_t i = 0; !status && i < c.count; i++)
        status = add_window(scan, &c, i, base, err);
    free(base);
    collection_close(&c);
    return status;
}

/* largest number of bytes of a compressed text when it is unpacked; a text that is not compressed has the same limit */
#define UNPACKED ((int64_t)1 << 30)

/* Scans the body, which may be compressed. */
static enum status add_text(const struct method_question *question, struct scan *scan, struct error *err)
{
    struct byte_source_memory memory = {(const unsigned char *)question->text, question->text_bytes, 0};
    struct byte_source from = byte_source_of_memory(&memory);
    from.work = question->work;
    struct gunzip *gunzip = NULL;
    enum status status = gunzip_open(&from, &gunzip, err);
    if (status)
        return status;
    gunzip_limit(gunzip, UNPACKED);
    struct byte_source text = gunzip_source(gunzip);
    struct error cause = {0};
    status = scan_fasta(scan, &text, &cause);
    gunzip_close(gunzip);
    if (status == STATUS_CORRUPT) /* the client's body is damaged, not a file of the server */
        status = STATUS_INVALID;
    return status ? error_set(err, status, NULL, "%s", cause.message) : STATUS_OK;
}

enum status sites_scan(const struct method_question *question, const struct scan_target *to, struct error *err)
{
    struct scan *scan = NULL;
    enum status status = scan_create(question, scan_threads(), to, &scan, err);
    if (!status)
        status = has_regions(question) ? add_regions(question, scan, err)
                 : question->text      ? add_text(question, scan, err)
                                       : add_samples(question, scan, err);
    if (!status)
        status = scan_finish(scan, err);
    scan_destroy(scan);
    return status;
}
