/* Samples and lays out formulas (latex_formula.h).
 *
 * The layout is a recursive descent over the tokens that lays out while it parses. A box is a range of marks with a
 * width, height and depth; to put it beside or above another box, the code shifts its marks. Names of variables follow
 * Appendix G of The TeXbook: u and v are the shifts up and down, phi is the least clearance. */
#include "core/data/latex/latex_formula.h"

#include <math.h>

#include "core/base/random/mt19937.h"

/* Samples formulas depth first from left to right. Each choice of the grammar draws one uniform number, a token draws
 * none; this order of draws defines the data set. The rules expr and term are right-recursive, so the code implements
 * them as loops. */

static const char *const sources[LATEX_VOCABULARY] = {
    "",  "",   "+",       "0",        "1",  "2", "3",  "4", "5", "6", "7", "8", "9", "\\frac{",
    "}", "}{", "\\left(", "\\right)", "_{", "}", "^{", "}", "a", "b", "c", "x", "y", "z"};

const char *latex_token_source(int token)
{
    return token >= 0 && token < LATEX_VOCABULARY ? sources[token] : "?";
}

/* -- sampler ---------------------------------------------------------------------------------- */

struct sampler {
    struct mt19937 *rng;
    int *tokens;
    /* room: capacity of the array; count: number of tokens, including those beyond `room`, for which the sampler must
     * draw random numbers too */
    int symbols, room, count;
};

/* A random choice of the grammar between two alternatives of weights 1/4 and 1. Returns true with probability 1/5. */
static int rarely(struct sampler *s)
{
    return mt19937_uniform(s->rng) >= 1.0 / 1.25;
}

static int latex_grammar_choose(struct sampler *s, int count)
{
    double point = mt19937_uniform(s->rng);
    int index = 0;
    while (index < count - 1 && point >= (double)(index + 1) / count)
        index++;
    return index;
}

static void emit(struct sampler *s, int token)
{
    if (s->count < s->room)
        s->tokens[s->count] = token;
    s->count++;
}

static void draw_symbol(struct sampler *s)
{
    /* positions of x y z a b c in the alphabetical order a b c x y z */
    static const int letters[] = {3, 4, 5, 0, 1, 2};
    int symbol = latex_grammar_choose(s, s->symbols);
    emit(s, symbol < 10 ? LATEX_DIGIT + symbol : LATEX_LETTER + letters[symbol - 10]);
}

static void draw_comb(struct sampler *s)
{
    static const int brackets[3][2] = {{0, 0}, {LATEX_SUP_OPEN, LATEX_SUP_CLOSE}, {LATEX_SUB_OPEN, LATEX_SUB_CLOSE}};
    int form = latex_grammar_choose(s, 3);
    draw_symbol(s);
    if (form > 0) {
        emit(s, brackets[form][0]);
        draw_symbol(s);
        emit(s, brackets[form][1]);
    }
}

static void draw_expr(struct sampler *s)
{
    bool more_terms, more_atoms;
    do {
        more_terms = rarely(s);
        do {
            more_atoms = rarely(s);
            if (rarely(s)) {
                emit(s, LATEX_PAREN_OPEN);
                draw_expr(s);
                emit(s, LATEX_PAREN_CLOSE);
            } else {
                draw_comb(s);
            }
        } while (more_atoms);
        if (more_terms)
            emit(s, LATEX_PLUS);
    } while (more_terms);
}

static void draw_start(struct sampler *s)
{
    if (!rarely(s)) {
        draw_expr(s);
        return;
    }
    emit(s, LATEX_FRAC_OPEN);
    draw_start(s);
    emit(s, LATEX_FRAC_MIDDLE);
    draw_start(s);
    emit(s, LATEX_FRAC_CLOSE);
}

int latex_formula(int64_t seed, int64_t index, int low, int high, int symbols, int *tokens)
{
    struct mt19937 rng;
    mt19937_init(&rng, mt19937_sample_seed(seed, index));
    int length = (int)mt19937_integer(&rng, low, (int64_t)high + 1);
    struct sampler s = {.rng = &rng, .tokens = tokens, .symbols = symbols, .room = length};
    while (s.count != length) {
        s.count = 0;
        draw_start(&s);
    }
    return length;
}

/* DISPLAY and TEXT use 10 pt, SCRIPT 7 pt, SCRIPT_SCRIPT 5 pt. */
enum style { DISPLAY, TEXT, SCRIPT, SCRIPT_SCRIPT };

struct setting {
    enum style style;
    bool cramped;
};

struct hbox {
    double width, height, depth;
    int first, last; /* the box contains the marks first to last - 1 */
};

struct setter {
    const int *tokens;
    int count, at;
    struct latex_layout *out;
    bool wrong; /* true: the tokens are no formula */
};

static const double points[LATEX_SIZES] = {10, 7, 5};
static const double SCRIPT_SPACE = 0.5, NULL_DELIMITER = 1.2, DELIMITER_SHORTFALL = 5, DELIMITER_FACTOR = 0.901;
/* the unit of spaces (1 em of the 10 pt symbol font); a binary operator has 4/18 of it on each side */
static const double QUAD = 1.000003;
static const double X_HEIGHT = 0.430555, AXIS = 0.25; /* height of the letter x, and height of the math axis above the
                                                         baseline, in em; the same at every size */

/* Parameters of the symbol fonts cmsy10, cmsy7, cmsy5 and the thickness of the rule in cmex10 and cmex7, in em. */
static const struct {
    double num1, num2, denom1, denom2, sup1, sup2, sup3, sub1, rule;
} symbols[LATEX_SIZES] = {
    {0.676508, 0.393732, 0.685951, 0.344841, 0.412892, 0.362892, 0.288889, 0.15, 0.039999},
    {0.732313, 0.383903, 0.75215, 0.344214, 0.502543, 0.431115, 0.285714, 0.142858, 0.048571},
    {0.925241, 0.387464, 1.025241, 0.531909, 0.503555, 0.403555, 0.294446, 0.2, 0.048571},
};

/* Sizes of characters in em, at each font size: widths of all characters, height and depth of '+', and the italic
 * corrections of y and z (italic_y, italic_z). */
static const double digit_width[LATEX_SIZES] = {0.500002, 0.5694475, 0.680567};
static const double plus_width[LATEX_SIZES] = {0.777781, 0.876988, 1.027796};
static const double plus_height[LATEX_SIZES] = {0.583334, 0.619049, 0.666675};
static const double plus_depth[LATEX_SIZES] = {0.083334, 0.119049, 0.166675};
static const double bracket_width[LATEX_SIZES] = {0.38889, 0.446431, 0.541675};
static const double letter_width[6][LATEX_SIZES] = {{0.52859, 0.619664, 0.774429},  {0.429167, 0.502382, 0.633337},
                                                    {0.432756, 0.510535, 0.649426}, {0.571528, 0.64782, 0.791675},
                                                    {0.490282, 0.579371, 0.730566}, {0.46505, 0.545807, 0.688665}};
static const double italic_y[LATEX_SIZES] = {0.035879, 0.03588, 0.035879};
static const double italic_z[LATEX_SIZES] = {0.043981, 0.041005, 0.037036};

/* Extent and width, in points, of the smallest bracket of the extensible font. This grammar needs no larger one: a
 * letter with a superscript needs an extent of 11.7 pt, and brackets around brackets of 12 pt need 10.8 pt. */
static const double BIG_EXTENT = 12, BIG_WIDTH = 4.58336;

double latex_size_points(int size)
{
    return points[size];
}

const char *latex_class_name(int symbol)
{
    static const char *const names[LATEX_CLASSES] = {"(", ")", "+", "0",       "1", "2", "3", "4", "5", "6",
                                                     "7", "8", "9", "FRACBAR", "a", "b", "c", "x", "y", "z"};
    return symbol >= 0 && symbol < LATEX_CLASSES ? names[symbol] : "?";
}

static int size_of(struct setting s)
{
    return s.style == SCRIPT ? 1 : s.style == SCRIPT_SCRIPT ? 2 : 0;
}

static struct setting script_of(struct setting s, bool cramped)
{
    return (struct setting){s.style == DISPLAY || s.style == TEXT ? SCRIPT : SCRIPT_SCRIPT, cramped};
}

/* The style of a fraction's numerator and denominator. */
static struct setting half_of(struct setting s, bool cramped)
{
    return (struct setting){s.style == DISPLAY ? TEXT : s.style == TEXT ? SCRIPT : SCRIPT_SCRIPT, cramped};
}

/* -- boxes ------------------------------------------------------------------------------------ */

static void shift(struct setter *s, const struct hbox *box, double x, double y)
{
    for (int i = box->first; i < box->last; i++) {
        s->out->marks[i].x += x;
        s->out->marks[i].y += y;
    }
}

/* Appends `box`, raised by `up`, to the right end of `line`. The marks of `box` follow those of `line`. */
static void latex_layout_append(struct setter *s, struct hbox *line, const struct hbox *box, double up)
{
    shift(s, box, line->width, up);
    line->width += box->width;
    line->height = fmax(line->height, box->height + up);
    line->depth = fmax(line->depth, box->depth - up);
    line->last = box->last;
}

static struct hbox latex_layout_empty(const struct setter *s)
{
    return (struct hbox){.first = s->out->count, .last = s->out->count};
}

/* Adds a mark. Each token makes at most one mark, so only a sequence that is not a formula can fill the array. */
static struct hbox latex_layout_mark(struct setter *s, int symbol, int size, double width, double height, double depth)
{
    double em = points[size];
    if (s->out->count == LATEX_MAX_TOKENS) {
        s->wrong = true;
        s->out->count--;
    }
    struct hbox box = {width * em, height * em, depth * em, s->out->count, s->out->count + 1};
    s->out->marks[s->out->count++] = (struct latex_mark){.symbol = symbol, .size = size};
    return box;
}

/* -- tokens ----------------------------------------------------------------------------------- */

static int peek(const struct setter *s)
{
    return s->at < s->count && !s->wrong ? s->tokens[s->at] : LATEX_END;
}

static bool latex_layout_take(struct setter *s, int token)
{
    bool found = peek(s) == token;
    s->at += found;
    return found;
}

static void expect(struct setter *s, int token)
{
    s->wrong |= !latex_layout_take(s, token);
}

static bool is_digit(int token)
{
    return token >= LATEX_DIGIT && token < LATEX_DIGIT + 10;
}
static bool is_letter(int token)
{
    return token >= LATEX_LETTER && token < LATEX_LETTER + 6;
}

/* -- the grammar ------------------------------------------------------------------------------ */

static struct hbox set_expr(struct setter *s, struct setting style);

/* Lays out a symbol. italic: how far the letter y or z extends beyond its width. The caller adds it if no subscript
 * follows. */
static struct hbox set_symbol(struct setter *s, struct setting style, double *italic)
{
    int token = peek(s), size = size_of(style), letter = token - LATEX_LETTER;
    *italic = 0;
    s->at++;
    if (is_digit(token))
        return latex_layout_mark(s, LATEX_CLASS_DIGIT + token - LATEX_DIGIT, size, digit_width[size], 0.644444, 0);
    if (!is_letter(token)) {
        s->wrong = true;
        return latex_layout_empty(s);
    }
    *italic = points[size] * (letter == 4 ? italic_y[size] : letter == 5 ? italic_z[size] : 0);
    return latex_layout_mark(s, LATEX_CLASS_LETTER + letter, size, letter_width[letter][size],
                             letter == 1 ? 0.694445 : 0.430555, letter == 4 ? 0.194445 : 0);
}

/* Rule 18 of Appendix G, for scripts of a single character: returns how far a superscript is raised, or a subscript is
 * lowered. */
static double script_shift(const struct hbox *script, struct setting style, bool above)
{
    int size = size_of(style);
    double em = points[size], x_height = X_HEIGHT * em;
    if (!above)
        return fmax(symbols[size].sub1 * em, script->height - 0.8 * x_height);
    double least = style.cramped            ? symbols[size].sup3
                   : style.style == DISPLAY ? symbols[size].sup1
                                            : symbols[size].sup2;
    return fmax(least * em, script->depth + 0.25 * x_height);
}

static struct hbox set_comb(struct setter *s, struct setting style)
{
    double italic, script_italic;
    struct hbox line = set_symbol(s, style, &italic);
    bool above = latex_layout_take(s, LATEX_SUP_OPEN), below = !above && latex_layout_take(s, LATEX_SUB_OPEN);
    if (!below)
        line.width += italic;
    if (!above && !below)
        return line;
    struct setting small = script_of(style, below || style.cramped);
    struct hbox script = set_symbol(s, small, &script_italic);
    script.width += script_italic;
    expect(s, above ? LATEX_SUP_CLOSE : LATEX_SUB_CLOSE);
    double distance = script_shift(&script, style, above);
    latex_layout_append(s, &line, &script, above ? distance : -distance);
    line.width += SCRIPT_SPACE;
    return line;
}

/* Draws the smallest bracket that covers `extent`, centred on the axis. First it tries the brackets of the text fonts,
 * from the size of `style` up. If all are too small, it draws the big bracket. */
static struct hbox set_bracket(struct setter *s, int symbol, struct setting style, double extent)
{
    int own = size_of(style), size = own;
    while (size > 0 && points[size] < extent)
        size--;
    bool big = points[size] < extent;
    double em = points[size], half = 0.5 * (big ? BIG_EXTENT : em), axis = AXIS * points[own];
    struct hbox box = latex_layout_mark(s, symbol, size, bracket_width[size], 0, 0);
    struct latex_mark *drawn = &s->out->marks[box.first];
    drawn->big = big;
    drawn->y = axis - AXIS * em; /* moves the glyph's own axis to the axis of the formula */
    box.width = big ? BIG_WIDTH : box.width;
    box.height = half + axis;
    box.depth = half - axis;
    return box;
}

static struct hbox set_parens(struct setter *s, struct setting style)
{
    /* a preliminary bracket: the bracket is set again when the size of its contents is known */
    struct hbox line = set_bracket(s, LATEX_CLASS_OPEN, style, 0);
    struct hbox inner = set_expr(s, style);
    expect(s, LATEX_PAREN_CLOSE);
    double axis = AXIS * points[size_of(style)];
    double half = fmax(inner.height - axis, inner.depth + axis);
    double extent = fmax(2 * half * DELIMITER_FACTOR, 2 * half - DELIMITER_SHORTFALL);

    struct hbox close = set_bracket(s, LATEX_CLASS_CLOSE, style, extent);
    struct latex_mark *open_mark = &s->out->marks[line.first], *close_mark = &s->out->marks[close.first];
    *open_mark = *close_mark;
    open_mark->symbol = LATEX_CLASS_OPEN;
    line.width = close.width;
    line.height = close.height;
    line.depth = close.depth;
    latex_layout_append(s, &line, &inner, 0);
    latex_layout_append(s, &line, &close, 0);
    return line;
}

/* Lays out atoms side by side. A pair of brackets (\left \right) is what TeX calls an inner atom. In display and text
 * style, TeX puts a thin space between an inner atom and a character, and between two inner atoms. */
static struct hbox set_term(struct setter *s, struct setting style, bool *inner_first, bool *inner_last)
{
    struct hbox line = latex_layout_empty(s);
    for (bool first = true;; first = false) {
        bool inner = latex_layout_take(s, LATEX_PAREN_OPEN);
        struct hbox atom = inner ? set_parens(s, style) : set_comb(s, style);
        if (first)
            *inner_first = inner;
        else if (size_of(style) == 0 && (inner || *inner_last))
            line.width += QUAD * points[0] * 3 / 18;
        *inner_last = inner;
        latex_layout_append(s, &line, &atom, 0);
        int next = peek(s);
        if (next != LATEX_PAREN_OPEN && !is_digit(next) && !is_letter(next))
            return line;
    }
}

static struct hbox set_expr(struct setter *s, struct setting style)
{
    int size = size_of(style);
    double space = size == 0 ? QUAD * points[0] * 4 / 18 : 0;
    bool unused[2];
    struct hbox line = set_term(s, style, &unused[0], &unused[1]);
    while (latex_layout_take(s, LATEX_PLUS)) {
        struct hbox plus =
            latex_layout_mark(s, LATEX_CLASS_PLUS, size, plus_width[size], plus_height[size], plus_depth[size]);
        line.width += space;
        latex_layout_append(s, &line, &plus, 0);
        line.width += space;
        struct hbox term = set_term(s, style, &unused[0], &unused[1]);
        latex_layout_append(s, &line, &term, 0);
    }
    return line;
}

static struct hbox set_start(struct setter *s, struct setting style);

/* Lays out a fraction by Rule 15 of Appendix G of The TeXbook. */
static struct hbox set_fraction(struct setter *s, struct setting style)
{
    int size = size_of(style);
    double em = points[size], axis = AXIS * em, rule = symbols[size].rule * em;
    bool display = style.style == DISPLAY;
    struct hbox bar = latex_layout_mark(s, LATEX_CLASS_BAR, size, 0, 0, 0);
    struct hbox top = set_start(s, half_of(style, style.cramped));
    expect(s, LATEX_FRAC_MIDDLE);
    struct hbox bottom = set_start(s, half_of(style, true));
    expect(s, LATEX_FRAC_CLOSE);

    double u = em * (display ? symbols[size].num1 : symbols[size].num2);
    double v = em * (display ? symbols[size].denom1 : symbols[size].denom2);
    double phi = display ? 3 * rule : rule;
    u = fmax(u, axis + 0.5 * rule + phi + top.depth);
    v = fmax(v, phi + bottom.height - (axis - 0.5 * rule));
    double width = fmax(top.width, bottom.width);
    shift(s, &top, NULL_DELIMITER + 0.5 * (width - top.width), u);
    shift(s, &bottom, NULL_DELIMITER + 0.5 * (width - bottom.width), -v);
    struct latex_mark *drawn = &s->out->marks[bar.first];
    *drawn = (struct latex_mark){.symbol = LATEX_CLASS_BAR,
                                 .size = size,
                                 .x = NULL_DELIMITER,
                                 .y = axis - 0.5 * rule,
                                 .width = width,
                                 .height = rule};
    return (struct hbox){width + 2 * NULL_DELIMITER, u + top.height, v + bottom.depth, bar.first, bottom.last};
}

static struct hbox set_start(struct setter *s, struct setting style)
{
    return latex_layout_take(s, LATEX_FRAC_OPEN) ? set_fraction(s, style) : set_expr(s, style);
}

enum status latex_lay_out(const int *tokens, int count, struct latex_layout *layout, struct error *err)
{
    *layout = (struct latex_layout){.count = 0};
    if (count > LATEX_MAX_TOKENS)
        return error_set(err, STATUS_LIMIT, NULL, "a formula has at most %d tokens; got %d", LATEX_MAX_TOKENS, count);
    if (count == 0)
        return STATUS_OK;
    struct setter s = {.tokens = tokens, .count = count, .out = layout};
    struct hbox box = set_start(&s, (struct setting){DISPLAY, false});
    if (s.wrong || s.at != count)
        return error_set(err, STATUS_INVALID, NULL, "token %d does not fit the grammar", s.at < count ? s.at : count);
    layout->width = box.width;
    layout->height = box.height;
    layout->depth = box.depth;
    return STATUS_OK;
}
