/* The one rule by which the texts of labels become names, for every format. A text is one of these:
 * - one name, whatever blanks it has;
 * - words, separated by blanks or by another separator, each of which is a name;
 * - a list such as ["cat", "dog"], each item of which is a name.
 *
 * The target and the separator that the user states decide. Otherwise lists are sets. A cell of a table is one name.
 * The words of any other text are a sequence if the words recur: the file has more different labels than words, or has
 * the same words in another order, a word twice in one label, or a word of a longer label as a label of its own, or if
 * each word is a number or one character. If they do not recur, the text is one name. The texts of FASTA headers that
 * differ nearly everywhere are descriptions, and no labels. */
#ifndef MOTIF_CORE_DATA_UPLOADS_LABELS_LABEL_TEXTS_H
#define MOTIF_CORE_DATA_UPLOADS_LABELS_LABEL_TEXTS_H

#include "core/data/uploads/collection_build.h"

/* Adds the names in the texts of all samples to the samples. *set becomes true if the texts are sets. Adds warnings
 * that say how the texts were read, where the user may have meant something else. STATUS_INVALID: the option
 * `separator` is not one character or a word that it may be. */
enum status label_texts_read(struct builder *b, bool *set, struct error *err);

#endif
