/* Samples formulas depth first from left to right. Each choice of the grammar draws one uniform number, a token draws
 * none; this order of draws defines the data set. The rules expr and term are right-recursive, so the code implements
 * them as loops. */
#include "core/data/latex/latex_grammar.h"

#include <stdbool.h>

#include "core/base/random/mt19937.h"

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
