/* Answers the queries "marks" and "marks/{sample}": all marks of the model in inputs of the test part, from which the
 * api draws those of a review, and one of these inputs with a mark.
 *
 * The inputs are the samples that other queries choose by a seed, so {"sample":{"seed":N}} is the sample N here. If the
 * test part has more samples than are asked for, a fixed random order chooses, because a part may be sorted. */
#include <stdlib.h>
#include <string.h>

#include "core/base/random/permutation.h"
#include "core/base/utf8.h"
#include "core/methods/sparling/queries/rated.h"
#include "core/methods/sparling/run_state.h"

/* MOST: largest number of marks of an answer. PICTURE_SIDE: a picture shows at most so many pixels around its mark. */
enum { MOST = 10000, STREAM_SAMPLES = 0x4D41, PICTURE_SIDE = 720 };

/* ---- the samples --------------------------------------------------------------------------------------- */

/* Number of samples of the test part; 0: any number, because samples are generated. The records of a part have the
 * indices from 0 on, so the number is found by bisection. */
static int64_t test_part(const struct open_domain *domain)
{
    int64_t count = 0;
    for (int64_t step = (int64_t)1 << 32; domain->domain->record && step > 0; step /= 2) {
        const struct domain_request last = {.set = DOMAIN_SAMPLE, .seed = TEST_SEED, .index = count + step - 1};
        struct domain_record record;
        if (domain->domain->record(domain->state, &last, &record))
            count += step;
    }
    return count;
}

enum status query_test_samples(const struct open_domain *domain, int64_t most, struct method_input **inputs,
                               size_t *count, struct error *err)
{
    int64_t all = test_part(domain), samples = all > 0 && all < most ? all : most;
    const struct permutation order = permutation_make(all > 0 ? all : 1, 0, STREAM_SAMPLES, 0);
    *count = 0;
    *inputs = calloc((size_t)samples, sizeof **inputs);
    if (!*inputs)
        return error_memory(err, "samples of the test part");
    for (int64_t i = 0; i < samples; i++)
        (*inputs)[i] =
            (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = all > samples ? permutation_at(&order, i) : i};
    *count = (size_t)samples;
    return STATUS_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static void write_piece(const char *text, size_t from, size_t to, const struct sink *out)
{
    enum { LONGEST = 400 };
    char piece[LONGEST + 1];
    size_t bytes = to > from ? utf8_cut(text + from, to - from, LONGEST) : 0;
    memcpy(piece, text + from, bytes);
    piece[bytes] = '\0';
    sink_text(out, NULL, piece);
}

/* Writes the text before the mark, the marked text and the text after it. */
static void write_context(const char *text, const size_t cut[4], const struct sink *out)
{
    sink_begin_list(out, "context");
    for (int i = 0; i < 3; i++)
        write_piece(text, cut[i], cut[i + 1], out);
    sink_end_list(out);
}

static void write_words_around(const struct query_words *words, int first, int last, const struct sink *out)
{
    enum { AROUND = 8 }; /* words */
    const struct word_at *word = words->list.word;
    int count = words->list.count, from = first > AROUND ? first - AROUND : 0;
    if (first >= count || first < 0)
        return;
    last = last < count ? last : count;
    int to = last + AROUND < count ? last + AROUND : count;
    const size_t cut[4] = {word[from].at, word[first].at, word[last - 1].at + word[last - 1].bytes,
                           word[to - 1].at + word[to - 1].bytes};
    write_context(words->text, cut, out);
}

static void write_letters_around(const char *letters, int first, int last, const struct sink *out)
{
    enum { AROUND = 20 }; /* letters */
    size_t count = strlen(letters), at = (size_t)first < count ? (size_t)first : count,
           end = (size_t)last < count ? (size_t)last : count;
    const size_t cut[4] = {at > AROUND ? at - AROUND : 0, at, end > at ? end : at,
                           end + AROUND < count ? end + AROUND : count};
    write_context(letters, cut, out);
}

/* letters: of the sample; NULL: it is not a sequence of letters. */
static void write_mark(const struct method_question *question, const struct annotation *a,
                       const struct read_motif *motif, const char *letters, const struct sink *out)
{
    const struct open_domain *domain = &question->model->domain;
    const struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = question->input->seed};
    struct domain_record record;
    struct box extent = {.col0 = motif->at.col, .col1 = motif->at.col + 1};
    sink_begin_object(out, NULL);
    sink_integer(out, "sample", question->input->seed);
    if (domain->domain->record && domain->domain->record(domain->state, &request, &record)) {
        sink_integer(out, "number", record.number);
        if (record.name)
            sink_text(out, "record", record.name);
    }
    query_motif_write(a, motif, out);
    (void)annotation_extent(a, &motif->at, &extent);
    if (a->words.text)
        write_words_around(&a->words, extent.col0, extent.col1, out);
    else if (letters)
        write_letters_around(letters, extent.col0, extent.col1, out);
    sink_end_object(out);
}

/* The letters of an input; NULL: it has none. The caller frees them. */
static enum status spell(const struct inquiry *inquiry, char **letters, struct error *err)
{
    const struct open_domain *domain = inquiry->annotation.domain;
    const struct alphabet *alphabet = domain_alphabet(domain);
    *letters = NULL;
    if (!alphabet)
        return STATUS_OK;
    *letters = malloc((size_t)domain->shape.cols + 1);
    if (!*letters)
        return error_memory(err, "the letters of a sequence");
    (void)alphabet_spell(alphabet, inquiry->planes, (size_t)domain->shape.cols, *letters);
    return STATUS_OK;
}

/* Writes the marks of one sample. *marks: number of marks so far. */
static enum status write_sample(const struct method_question *question, int64_t *marks, const struct sink *out,
                                struct error *err)
{
    struct inquiry own, *inquiry;
    char *letters = NULL;
    enum status status = rated_inquiry(question, &own, &inquiry, err);
    if (!status)
        status = spell(inquiry, &letters, err);
    const struct annotation *a = status ? NULL : &inquiry->annotation;
    if (!status && a->total > a->count)
        status =
            error_set(err, STATUS_CONFLICT, NULL,
                      "sample %lld has %d motifs, more than the %d that a list may have, so marks cannot be listed",
                      (long long)question->input->seed, a->total, (int)ANNOTATION_MOTIFS);
    for (int i = 0; !status && i < a->count; i++) {
        if (!a->motifs[i].maximal)
            continue;
        if (++*marks > MOST)
            status = error_set(err, STATUS_CONFLICT, NULL, "the samples have more than %d marks; ask for fewer samples",
                               (int)MOST);
        else
            write_mark(question, a, &a->motifs[i], letters, out);
    }
    free(letters);
    inquiry_close(&own);
    return status;
}

static enum status write_samples(struct method_question *question, const struct method_input *inputs, size_t count,
                                 const struct sink *out, struct error *err)
{
    enum status status = STATUS_OK;
    int64_t marks = 0;
    sink_begin_list(out, "marks");
    for (size_t i = 0; !status && i < count; i++) {
        question->input = &inputs[i];
        question->index = i;
        status = i > 0 ? work_yield(question->work, err) : STATUS_OK;
        if (!status)
            status = write_sample(question, &marks, out, err);
    }
    sink_end_list(out);
    return status;
}

/* What the columns of a sample are: "s" for points in time, the unit of an alphabet, or "". */
static const char *unit_of(const struct open_domain *domain)
{
    const struct alphabet *alphabet = domain_alphabet(domain);
    if (alphabet)
        return alphabet->unit;
    return domain->domain->duration && domain->domain->duration(domain->state) > 0 ? "s" : "";
}

enum status sparling_marks(const struct method_question *question, const struct sink *out, struct error *err)
{
    const struct domain_shape *shape = &question->model->domain.shape;
    const struct marks_parameters *asked = question->parameters;
    struct method_question whole = *question;
    struct method_input *inputs;
    size_t count, at;
    enum status status = query_test_samples(&question->model->domain, asked->samples, &inputs, &count, err);
    whole.parameters = NULL; /* those of the query "motifs", which has a limit of q */
    if (!status)
        status = rated_begin(&whole, inputs, count, &whole.together, &at, err);
    if (!status) {
        sink_integer(out, "samples", (int64_t)count);
        sink_begin_list(out, "shape");
        sink_integer(out, NULL, shape->rows);
        sink_integer(out, NULL, shape->cols);
        sink_end_list(out);
        sink_integer(out, "channels", shape->channels);
        sink_text(out, "unit", unit_of(&question->model->domain));
        status = write_samples(&whole, inputs, count, out, err);
    }
    rated_close(whole.together);
    free(inputs);
    return status;
}

/* ---- one sample ---------------------------------------------------------------------------------------- */

/* Reads the sample that the path names, and drops all motifs but the mark that is asked for. */
static enum status read_marked(const struct method_question *question, struct method_question *one,
                               struct method_input *input, struct inquiry *inquiry, struct error *err)
{
    const struct mark_parameters *asked = question->parameters;
    int64_t all = test_part(&question->model->domain);
    int kept = 0;
    *input = (struct method_input){.kind = METHOD_INPUT_SAMPLE, .seed = question->item};
    *one = *question;
    one->input = input;
    if (all > 0 && question->item >= all)
        return error_set(err, STATUS_NOT_FOUND, NULL, "the test part has %lld samples", (long long)all);
    enum status status = inquiry_read(one, inquiry, err);
    struct annotation *a = &inquiry->annotation;
    for (int i = 0; !status && i < a->count; i++) {
        const struct motif *motif = &a->motifs[i].at;
        bool wanted = asked->channel < 0
                          ? a->motifs[i].maximal
                          : motif->channel == asked->channel && motif->row == asked->row && motif->col == asked->col;
        if (wanted)
            a->motifs[kept++] = a->motifs[i];
    }
    a->count = kept;
    if (!status && kept == 0 && asked->channel >= 0)
        return error_set(err, STATUS_NOT_FOUND, NULL, "sample %lld has no such mark", (long long)question->item);
    return status;
}

enum status sparling_mark(const struct method_question *question, const struct sink *out, struct error *err)
{
    struct method_question one;
    struct method_input input;
    struct inquiry inquiry = {.planes = NULL};
    char *letters = NULL;
    enum status status = read_marked(question, &one, &input, &inquiry, err);
    if (!status)
        status = spell(&inquiry, &letters, err);
    if (!status) {
        sink_integer(out, "sample", question->item);
        sink_begin_list(out, "marks");
        for (int i = 0; i < inquiry.annotation.count; i++)
            write_mark(&one, &inquiry.annotation, &inquiry.annotation.motifs[i], letters, out);
        sink_end_list(out);
        alphabet_write(domain_alphabet(inquiry.annotation.domain), "alphabet", out);
        if (letters)
            sink_text(out, "letters", letters);
        else
            sink_null(out, "letters");
        query_words_write(&inquiry.annotation.words, out);
    }
    free(letters);
    inquiry_close(&inquiry);
    return status;
}

/* First pixel of a window of at most `side` of `all` pixels with `middle` in its middle. */
static int window(int middle, int side, int all)
{
    int first = middle - side / 2;
    first = first + side > all ? all - side : first;
    return first > 0 ? first : 0;
}

/* Replaces a large picture by the part around a mark. */
static enum status crop(const struct annotation *a, struct picture **picture, struct error *err)
{
    const struct picture *whole = *picture;
    const struct colour white = {255, 255, 255};
    const struct motif *at = &a->motifs[0].at;
    int rows = whole->rows < PICTURE_SIDE ? whole->rows : PICTURE_SIDE,
        cols = whole->cols < PICTURE_SIDE ? whole->cols : PICTURE_SIDE,
        row =
            window(a->rows > 1 ? (int)((int64_t)at->row * whole->rows / a->rows) : whole->rows / 2, rows, whole->rows),
        col = window((int)((int64_t)at->col * whole->cols / a->cols), cols, whole->cols);
    struct picture *part;
    enum status status = picture_create(rows, cols, white, &part, err);
    if (status)
        return status;
    for (int i = 0; i < rows; i++)
        memcpy(part->pixels + (ptrdiff_t)i * cols, whole->pixels + (ptrdiff_t)(row + i) * whole->cols + col,
               (size_t)cols * sizeof *part->pixels);
    part->incomplete = whole->incomplete;
    picture_destroy(*picture);
    *picture = part;
    return STATUS_OK;
}

/* Draws the input without marks, one pixel for each position. */
static enum status draw_plain(const struct annotation *a, struct picture **out, struct error *err)
{
    const struct colour white = {255, 255, 255}, black = {0, 0, 0};
    const struct open_domain *domain = a->domain;
    int rows = domain->shape.picture_rows, cols = a->cols;
    float *grey = domain->domain->grey ? malloc((size_t)rows * (size_t)cols * sizeof *grey) : NULL;
    if (domain->domain->grey && !grey)
        return error_memory(err, "a picture");
    enum status status = picture_create(rows, cols, white, out, err);
    if (!status && grey)
        domain->domain->grey(domain->state, a->input, grey);
    if (!status)
        picture_grey(*out, 0, 0, grey ? grey : a->input, rows, cols, 1, white, black);
    free(grey);
    return status;
}

enum status sparling_draw_mark(const struct method_question *question, struct picture **out, struct error *err)
{
    const struct mark_parameters *asked = question->parameters;
    struct method_question one;
    struct method_input input;
    struct inquiry inquiry = {.planes = NULL};
    enum status status = read_marked(question, &one, &input, &inquiry, err);
    inquiry.annotation.truth = NULL; /* a person answers by what is seen */
    if (!status && asked->plain)
        status = draw_plain(&inquiry.annotation, out, err);
    else if (!status)
        status = annotation_draw(&inquiry.annotation, 1, 1, out, err);
    if (!status && !asked->plain && asked->channel >= 0 && ((*out)->rows > PICTURE_SIDE || (*out)->cols > PICTURE_SIDE))
        status = crop(&inquiry.annotation, out, err);
    inquiry_close(&inquiry);
    return status;
}
