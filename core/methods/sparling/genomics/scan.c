/* Runs the motif model over windows (scan.h). Windows of equal width, also of different records, are computed together,
 * because the kernels share images among threads. */
#include "core/methods/sparling/genomics/scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    IMAGES = 8,
    CORE = 2048,
    UNKNOWN = 4,
    LETTERS = 4,
    HEADER = 1 << 20 /* largest number of bytes of a header line */
};

struct scan {
    const struct method_question *question;
    struct scan_target to;
    struct thread_pool *pool;
    struct arena arena;
    struct exec exec;
    int cols, channels, flank, most; /* most: width of a window of a long record */
    /* the windows that wait to be computed together; all have the same width */
    struct scan_window window[IMAGES];
    int waiting;
    unsigned char *base; /* [IMAGES][width of the widest window] */
    float *planes;       /* [IMAGES][4][width] */
    /* the current record */
    char record[FASTA_NAME];
    unsigned char *kept; /* [kept_room] bases of the record from position `origin` on */
    size_t held, kept_room;
    int64_t origin, next; /* next: first position that no window has yet */
};

static int widest_window(const struct scan *s)
{
    return s->most > s->cols ? s->most : s->cols;
}

static enum status make_room(struct scan *s, int threads, struct error *err)
{
    size_t width = (size_t)widest_window(s);
    s->kept_room = 2 * width + CORE;
    s->kept = malloc(s->kept_room);
    s->base = malloc(IMAGES * width);
    s->planes = malloc(IMAGES * LETTERS * width * sizeof *s->planes);
    if (!s->kept || !s->base || !s->planes)
        return error_memory(err, "a scan");
    return thread_pool_create(threads, &s->pool, err);
}

enum status scan_create(const struct method_question *question, int threads, const struct scan_target *to,
                        struct scan **scan, struct error *err)
{
    const struct method_model *model = question->model;
    *scan = NULL;
    if (!domain_alphabet(&model->domain))
        return error_set(err, STATUS_CONFLICT, NULL, "this model reads no DNA or RNA, so it finds no sites");
    struct scan *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err, "a scan");
    *s = (struct scan){.question = question,
                       .to = *to,
                       .cols = model->domain.shape.cols,
                       .channels = (int)model->network->config.channels_motif,
                       .flank = model->network->map.reach / 2 + SCAN_FLANK_MORE};
    s->flank += channel_places_reach(&model->places, s->channels);
    s->most = CORE + 2 * s->flank;
    arena_init(&s->arena, (size_t)4 << 20, 0);
    enum status status = make_room(s, threads, err);
    if (status) {
        scan_destroy(s);
        return status;
    }
    thread_pool_stop_when(s->pool, work_stopped, question->work);
    exec_init(&s->exec, model->kernels, s->pool, &s->arena, 0);
    s->exec.bf16 = model->network->config.precision == PRECISION_BF16;
    *scan = s;
    return STATUS_OK;
}

void scan_destroy(struct scan *scan)
{
    if (!scan)
        return;
    thread_pool_destroy(scan->pool);
    arena_close(&scan->arena);
    free(scan->kept);
    free(scan->base);
    free(scan->planes);
    free(scan);
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

/* Computes the motif maps of the waiting windows, which are all `width` positions wide. A window as long as the model's
 * inputs is an ordinary input. In all other cases the map contains the scores minus the thresholds, if the bottleneck
 * has thresholds, and positions above 0 are active. This is also true of any window if the model limits the number of
 * motifs of an input (never_empty, network_most()), because a window of a genome may contain any number. */
static struct tensor *maps_of_windows(struct scan *s, int width)
{
    struct network *network = s->question->model->network;
    if (width == s->cols && !network->config.never_empty && network_most(network) == 0)
        return network_motifs(&s->exec, network, s->planes, s->waiting, 1);
    struct domain_shape shape = s->question->model->domain.shape;
    shape.cols = width;
    return network_window(&s->exec, network, s->planes, s->waiting, &shape);
}

static void encode_bases(struct scan *s, int width)
{
    memset(s->planes, 0, (size_t)s->waiting * LETTERS * (size_t)width * sizeof *s->planes);
    for (int n = 0; n < s->waiting; n++)
        for (int i = 0; i < width; i++) {
            int letter = s->window[n].base[i];
            if (letter < LETTERS)
                s->planes[((size_t)n * LETTERS + (size_t)letter) * (size_t)width + (size_t)i] = 1;
        }
}

static enum status compute_windows(struct scan *s, struct error *err)
{
    if (s->waiting == 0)
        return STATUS_OK;
    int width = s->window[0].width;
    size_t map = (size_t)s->channels * (size_t)width;
    enum status status = work_yield(s->question->work, err);
    if (status)
        return status;
    encode_bases(s, width);
    exec_begin(&s->exec, false, 0);
    struct tensor *motifs = maps_of_windows(s, width);
    status = exec_status(&s->exec, err);
    if (status)
        return status;
    float *planes = arena_alloc(&s->arena, (size_t)s->waiting * map * sizeof *planes);
    if (!planes)
        return error_memory(err, "a scan");
    tensor_to_planes(motifs, planes);
    for (int n = 0; !status && n < s->waiting; n++) {
        s->window[n].map = planes + (size_t)n * map;
        status = channel_places_move(&s->question->model->places, s->channels, 1, width, planes + (size_t)n * map, err);
        if (!status)
            status = s->to.window(s->to.context, &s->window[n], err);
    }
    s->waiting = 0;
    return status;
}

/* Adds a window that begins at position `start` of the record. Positions after the bases read so far get the code
 * UNKNOWN. */
static enum status add_window(struct scan *s, int64_t start, int width, int64_t to, bool last, struct error *err)
{
    if (s->waiting == IMAGES || (s->waiting > 0 && s->window[0].width != width)) {
        enum status status = compute_windows(s, err);
        if (status)
            return status;
    }
    unsigned char *base = s->base + (size_t)s->waiting * (size_t)width;
    struct scan_window *w = &s->window[s->waiting++];
    *w = (struct scan_window){.origin = start,
                              .from = s->next,
                              .to = to,
                              .width = width,
                              .base = base,
                              .first = s->next == 0,
                              .last = last,
                              .length = s->origin + (int64_t)s->held};
    memcpy(w->record, s->record, sizeof w->record);
    size_t from = (size_t)(start - s->origin), known = s->held - from;
    known = known < (size_t)width ? known : (size_t)width;
    memcpy(base, s->kept + from, known);
    memset(base + known, UNKNOWN, (size_t)width - known);
    s->next = to;
    return STATUS_OK;
}

/* ---- records ------------------------------------------------------------------------------------------------- */

enum status scan_begin(struct scan *s, const char *record, struct error *err)
{
    size_t size = strlen(record);
    if (size >= sizeof s->record)
        return error_set(err, STATUS_LIMIT, NULL, "the name of a record has more than %d bytes", FASTA_NAME - 1);
    memcpy(s->record, record, size + 1);
    s->held = 0;
    s->origin = s->next = 0;
    return STATUS_OK;
}

static int64_t window_start(const struct scan *s)
{
    return s->next > s->flank ? s->next - s->flank : 0;
}

/* Computes all complete windows except the last one of the record, and drops the bases that no later window needs. It
 * keeps CORE bases before the next full window, because the last window may begin up to CORE bases earlier than a full
 * one. */
static enum status advance_windows(struct scan *s, struct error *err)
{
    enum status status = STATUS_OK;
    while (!status && s->origin + (int64_t)s->held > window_start(s) + s->most)
        status = add_window(s, window_start(s), s->most, s->next + CORE, false, err);
    int64_t first = s->next - s->flank - CORE;
    if (first > s->origin) {
        size_t gone = (size_t)(first - s->origin);
        memmove(s->kept, s->kept + gone, s->held - gone);
        s->held -= gone;
        s->origin = first;
    }
    return status;
}

enum status scan_add(struct scan *s, const unsigned char *bases, size_t count, struct error *err)
{
    while (count > 0) {
        size_t room = s->kept_room - s->held, now = count < room ? count : room;
        memcpy(s->kept + s->held, bases, now);
        s->held += now;
        bases += now;
        count -= now;
        if (s->held < s->kept_room)
            return STATUS_OK;
        enum status status = advance_windows(s, err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

enum status scan_end(struct scan *s, struct error *err)
{
    enum status status = advance_windows(s, err);
    int64_t length = s->origin + (int64_t)s->held;
    if (status)
        return status;
    if (length == 0)
        return error_set(err, STATUS_INVALID, NULL, "the record %s has no bases", s->record);
    if (length <= s->cols)
        return add_window(s, 0, s->cols, length, true, err);
    int width = length < s->most ? (int)length : s->most;
    int64_t start = window_start(s) < length - width ? window_start(s) : length - width;
    return add_window(s, start, width, length, true, err);
}

enum status scan_finish(struct scan *scan, struct error *err)
{
    return compute_windows(scan, err);
}

/* ---- FASTA --------------------------------------------------------------------------------------------------- */

/* The parser takes pieces of any size, because a compressed text is never complete in memory. */
enum fasta_state { AT_START, IN_NAME, BEHIND_NAME, IN_BASES };
struct fasta_parser {
    struct scan *scan;
    enum fasta_state state;
    int64_t line, column; /* column: number of letters of the line that were read */
    size_t header;        /* bytes of the header line behind the name */
    char name[FASTA_NAME];
    size_t name_size;
    bool open; /* a record has begun */
    struct fasta_letters seen;
};

static enum status fasta_fault(const struct fasta_parser *p, const char *detail, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "FASTA, line %lld: %s", (long long)p->line, detail);
}

/* Converts at most `count` letters to bases, and stops at the end of the line or at a letter that is no code of a base.
 * Returns the number of converted letters. */
static size_t convert_letters(const char *letters, size_t count, unsigned char *out, struct fasta_letters *seen)
{
    static const unsigned char codes[256] = {
        ['A'] = 1, ['C'] = 2, ['G'] = 3, ['T'] = 4, ['U'] = 4, ['a'] = 1, ['c'] = 2, ['g'] = 3,
        ['t'] = 4, ['u'] = 4, ['N'] = 5, ['R'] = 6, ['Y'] = 6, ['S'] = 6, ['W'] = 6, ['K'] = 6,
        ['M'] = 6, ['B'] = 6, ['D'] = 6, ['H'] = 6, ['V'] = 6, ['n'] = 5, ['r'] = 6, ['y'] = 6,
        ['s'] = 6, ['w'] = 6, ['k'] = 6, ['m'] = 6, ['b'] = 6, ['d'] = 6, ['h'] = 6, ['v'] = 6};
    size_t n = 0;
    for (; n < count && codes[(unsigned char)letters[n]] > 0; n++) {
        unsigned char code = codes[(unsigned char)letters[n]];
        seen->bases += code < 5;
        seen->ambiguous += code == 6;
        out[n] = code < 5 ? (unsigned char)(code - 1) : 4;
    }
    return n;
}

static enum status take_bases(struct fasta_parser *p, const char *text, size_t size, size_t *used, struct error *err)
{
    unsigned char bases[4096];
    *used = convert_letters(text, size < sizeof bases ? size : sizeof bases, bases, &p->seen);
    if (*used == 0)
        return fasta_letter_fault(p->line, p->column + 1, text[0], err);
    p->column += (int64_t)*used;
    if (!p->open)
        return fasta_fault(p, "bases before the first record; a record begins with a line '>NAME'", err);
    return scan_add(p->scan, bases, *used, err);
}

/* Ends the name at a blank or at the end of the line. */
static enum status end_name(struct fasta_parser *p, struct error *err)
{
    if (p->name_size == 0)
        return fasta_fault(p, "a record needs a name directly after its '>'", err);
    p->name[p->name_size] = '\0';
    p->open = true;
    p->state = BEHIND_NAME;
    p->header = 0;
    return scan_begin(p->scan, p->name, err);
}

static enum status take_name(struct fasta_parser *p, char c, struct error *err)
{
    if (c == ' ' || c == '\t')
        return end_name(p, err);
    if (p->name_size == sizeof p->name - 1 || c == '\0')
        return fasta_fault(p, "the name of the record is too long; at most 63 bytes are allowed", err);
    p->name[p->name_size++] = c;
    return STATUS_OK;
}

/* Skips the rest of a header line, or of a piece. Returns the number of skipped bytes. */
static size_t behind_name(struct fasta_parser *p, const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    size_t skipped = end != NULL ? (size_t)(end - text) : size;
    p->header += skipped;
    return skipped;
}

static enum status begin_line(struct fasta_parser *p, char c, struct error *err)
{
    p->line++;
    p->column = 0;
    p->state = c == '>' ? IN_NAME : IN_BASES;
    p->name_size = 0;
    return c == '>' && p->open ? scan_end(p->scan, err) : STATUS_OK;
}

static enum status parse_piece(struct fasta_parser *p, const char *text, size_t size, struct error *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; !status && i < size;) {
        size_t used = 1;
        bool begins = p->state == AT_START;
        if (begins)
            status = begin_line(p, text[i], err);
        if (status)
            return status;
        if (text[i] == '\n') {
            status = p->state == IN_NAME ? end_name(p, err) : STATUS_OK;
            p->state = AT_START;
        } else if (text[i] == '\r' || (begins && p->state == IN_NAME)) {
            /* skips a carriage return, and the '>' at the start of a name */
        } else if (p->state == IN_NAME) {
            status = take_name(p, text[i], err);
        } else if (p->state == BEHIND_NAME) {
            used = behind_name(p, text + i, size - i);
            status = p->header > HEADER ? fasta_fault(p, "the header has more than 1 MiB", err) : STATUS_OK;
        } else if (p->state == IN_BASES) {
            status = take_bases(p, text + i, size - i, &used, err);
        }
        i += used;
    }
    return status;
}

static enum status end_text(struct fasta_parser *p, struct error *err)
{
    enum status status = p->state == IN_NAME ? end_name(p, err) : STATUS_OK;
    if (status)
        return status;
    if (fasta_letters_odd(&p->seen, 2))
        return error_set(err, STATUS_INVALID, NULL, "FASTA: %s", fasta_no_bases);
    return p->open ? scan_end(p->scan, err) : fasta_fault(p, "the file has no record", err);
}

enum status scan_fasta(struct scan *scan, const struct byte_source *from, struct error *err)
{
    static const size_t most = 1 << 16;
    struct fasta_parser p = {.scan = scan};
    char *piece = malloc(most);
    size_t got = 1;
    enum status status = piece ? STATUS_OK : error_memory(err, "a scan");
    while (!status && got > 0) {
        status = byte_source_read(from, piece, most, &got, err);
        if (!status)
            status = parse_piece(&p, piece, got, err);
    }
    free(piece);
    return status ? status : end_text(&p, err);
}
