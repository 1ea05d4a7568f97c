/* The words of a text in the answer of a query (query_words.h). */
#include "core/methods/sparling/queries/query_words.h"

#include <stdio.h>

#include "core/base/utf8.h"
#include "core/methods/sparling/queries/query_model.h"

enum { SHOWN = 255 }; /* bytes of a word */

enum status query_words_find(const struct method_question *question, struct query_words *words, struct error *err)
{
    const struct open_domain *domain = &question->model->domain;
    const struct method_input *input = question->input;
    const struct domain_request request = {.set = DOMAIN_EXAMPLE, .index = input->seed};
    *words = (struct query_words){.text = input->text, .list.work = question->work};
    if (input->kind == METHOD_INPUT_SAMPLE && domain->domain->text)
        words->text = domain->domain->text(domain->state, &request);
    return words->text ? domain->domain->split(domain->state, words->text, &words->list, err) : STATUS_OK;
}

void query_words_close(struct query_words *words)
{
    words_close(&words->list);
}

void query_words_write(const struct query_words *words, const struct sink *out)
{
    if (words->text)
        sink_text(out, "text", words->text);
}

void query_words_marked(const struct query_words *words, const struct motif *motif, const struct box *extent,
                        const struct sink *out)
{
    int first = extent ? extent->col0 : motif->col, last = extent ? extent->col1 : motif->col + 1;
    char word[SHOWN + 1];
    if (!words->text)
        return;
    sink_begin_list(out, "words");
    for (int i = first; i < last && i < words->list.count; i++) {
        const struct word_at *at = &words->list.word[i];
        const char *text = words->text + at->at;
        (void)snprintf(word, sizeof word, "%.*s", (int)utf8_cut(text, at->bytes, SHOWN), text);
        sink_begin_object(out, NULL);
        sink_text(out, "word", word);
        sink_integer(out, "start", at->first);
        sink_integer(out, "end", at->last);
        sink_end_object(out);
    }
    sink_end_list(out);
}
