/* How the readers of upload formats build a collection, one sample after another. For the files of this
 * folder and core/genomics/uploads. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_BUILD_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_BUILD_H

#include "core/base/rounded.h"
#include "core/data/uploads/collection.h"
#include "core/data/uploads/value_store.h"

/* Different names in the order in which they were added, with a hash table over them. */
struct name_list {
    struct collection_names names;
    int room, bits; /* room: capacity of names; bits: log2 of the size of `table` */
    int32_t *table; /* [1 << bits] indices into names; -1: free */
    int most;       /* largest number of names; 0: the default, NAMES */
};
enum { NAME_BYTES = 256, NAMES = 1 << 20 };
void name_list_close(struct name_list *list);
/* Finds a name or adds it; *number is its index. STATUS_LIMIT: too many names. STATUS_INVALID: a name of
 * NAME_BYTES bytes or more. */
enum status name_list_add(struct name_list *list, const char *name, size_t bytes, int32_t *number, struct error *err);
int32_t name_list_find(const struct name_list *list, const char *name, size_t bytes); /* -1: there is none */

/* The label of a sample as the file has it, until labels/label_texts.c decides how labels are read. */
struct label_text {
    int64_t sample;
    size_t at, bytes; /* bytes [at, at + bytes) of builder.text */
};

/* Appends a copy of a name to a list that only this function makes longer. STATUS_NO_MEMORY. */
enum status collection_names_add(struct collection_names *names, const char *name, struct error *err);

/* A collection that grows. The caller sets c->channels and c->rows before it adds the first sample. */
struct builder {
    struct collection *c;
    struct collection_limits limits;
    enum collection_target wanted; /* the target that the user has chosen; NONE: none */
    enum collection_target usual;  /* the target if the user chooses none; NONE: the labels determine it */
    bool reworded;                 /* the user's target changes how texts are split into names */
    const struct collection_options *options;
    /* What a label's text is. cells: a cell of a table, so blanks are part of a name. headers: a text after a name,
     * which may be a description. empties: an empty text is an empty label, and not a missing one, whatever the target
     * is. once: a set may repeat a name. */
    bool cells, headers, empties, once;
    char *text; /* the texts of all labels */
    size_t text_used, text_room;
    struct label_text *texts; /* [texts_count] in the order of their samples */
    int64_t texts_count, texts_room;
    int64_t *missing; /* [missing_count] the samples without a label, which the end leaves out */
    int64_t missing_count, missing_room;
    char first_missing[48]; /* what messages call the first of them: "row 3" */
    struct value_store store;
    /* samples_room, labels_room, boxes_room: capacities of the arrays of c; labels: number of elements of c->label in
     * use */
    int64_t samples_room, labels_room, boxes_room, labels;
    /* grouped, parted: samples that got a group, a part; groups_room, parts_room: capacities of c->group and c->part */
    int64_t grouped, parted, groups_room, parts_room;
    int64_t *last, last_room; /* [names] the latest sample that got the name by builder_token_once(), + 1 */
    int64_t at;               /* index + 1 of the sample to which labels and groups are added */
    struct name_list vocabulary, groups, symbols; /* symbols: of boxes, which refer to them until the end */
    int64_t *box_sample;                          /* [c->boxes] the sample of each box */
    int64_t box_samples_room;
    struct rounded rounded; /* whole numbers that lost digits, except of pictures and recordings */
    /* For TARGET_NUMBER. numbers: how many were added so far; width: how many numbers the first sample has, and every
     * other sample must have. */
    int64_t numbers;
    int width;
};
void builder_init(struct builder *b, struct collection *c, const struct collection_options *options,
                  const struct collection_limits *limits);
void builder_close(struct builder *b); /* releases the builder; the collection stays with the caller */
/* Adds a sample of `columns` columns; the caller writes its values to *values, [channels][rows][columns], before the
 * next call. */
enum status builder_sample(struct builder *b, int64_t columns, float **values, struct error *err);
/* Adds a sample whose values are bytes: [channels][rows][columns]. */
enum status builder_bytes(struct builder *b, int64_t columns, const unsigned char *bytes, struct error *err);
/* Turns samples of one channel into samples of `channels` equal channels. */
enum status builder_widen(struct builder *b, int channels, struct error *err);
/* Selects the sample to which the next labels and groups are added. Call it for every sample in ascending order, or
 * never: without a call, labels and groups are added to the last sample. */
void builder_turn_to(struct builder *b, int64_t sample);
/* Appends one token to the current sample's label, by name or as an index into the vocabulary. */
enum status builder_token(struct builder *b, const char *token, size_t bytes, struct error *err);
enum status builder_number(struct builder *b, int32_t token, struct error *err);
/* Adds the text of the current sample's label; a sample may have several texts. builder_finish() decides whether texts
 * are names, sequences of words, or sets. If the target is numbers, the text has the numbers of the sample.
 * what, number: what messages call the sample, such as "row" and 3. A text that stands for a missing value (NaN, NA,
 * None, or empty where that is no label) is a missing label. */
enum status builder_label(struct builder *b, const char *text, size_t bytes, const char *what, int64_t number,
                          struct error *err);
/* Several columns of labels make a set: of the names of the columns whose cells say yes (`indicators`: all cells of the
 * first row are 0 or 1, yes or no, ...), or else of the texts in the cells. builder_indicator() returns whether a cell
 * says yes; -1: neither yes nor no. builder_label_columns() decides that there are `columns` of them. builder_cell()
 * adds a cell of the current sample; name: of its column. */
int builder_indicator(const char *cell);
void builder_label_columns(struct builder *b, int columns, bool indicators);
enum status builder_cell(struct builder *b, bool indicators, const char *name, const char *cell, int64_t row,
                         struct error *err);
/* Notes that the current sample has no label. STATUS_INVALID, unless the user wants such samples to be left out. */
enum status builder_no_label(struct builder *b, const char *what, int64_t number, struct error *err);
/* Whether a text stands for a missing value: "NaN", "NA", "None", ... */
bool builder_says_missing(const struct builder *b, const char *text, size_t bytes);
/* Whether a label's text was added to a sample. */
bool builder_has_label(const struct builder *b, int64_t sample);
/* Appends a token if the current sample does not have it yet. */
enum status builder_token_once(struct builder *b, const char *token, size_t bytes, struct error *err);
/* Appends the name of a sample to the records of the collection. */
enum status builder_record(struct builder *b, const char *name, struct error *err);
/* Notes a column of a table that is no feature. role: static text. */
enum status builder_column(struct builder *b, const char *role, const char *name, struct error *err);
/* Sets the group of the current sample. */
enum status builder_group(struct builder *b, const char *name, struct error *err);
/* States the part of the current sample. STATUS_INVALID: the text is not the name of a part. */
enum status builder_part(struct builder *b, const char *text, struct error *err);
/* Adds a box of any sample. place: row0, row1, col0, col1. The boxes of one sample keep the order in which they were
 * added. builder_finish() refuses a symbol that occurs in no label. */
enum status builder_box(struct builder *b, int64_t sample, const int32_t place[4], const char *symbol,
                        struct error *err);
/* For targets that are numbers; NUMBERS_MOST limits the numbers of a sample. builder_value() appends one number to the
 * target of the current sample. builder_values_check() checks a text of numbers, which are separated by blanks or
 * commas. Every sample must get as many numbers as the first one. STATUS_INVALID: a text is no number, a number is not
 * finite as a float, or a comma may be a decimal sign. */
enum { NUMBERS_MOST = 4096 };
enum status builder_value(struct builder *b, double value, struct error *err);
enum status builder_values_check(const char *text, size_t bytes, struct error *err);
/* Reports that the current sample has too few numbers. */
enum status builder_too_few(const struct builder *b, struct error *err);
/* Names the next number of a sample. Without names, a single number is called "value", and several numbers are called
 * by their indices. */
enum status builder_value_name(struct builder *b, const char *name, struct error *err);

/* Adds a warning. `code` is static text; the rest is formatted like printf(). */
enum status collection_warn(struct collection *c, struct error *err, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The names that a warning lists: the first few, each cut to a few bytes. The caller zeroes the struct first. */
struct collection_list {
    int count; /* number of names that were added, including those that are not in `text` */
    size_t used;
    char text[200];
};
void collection_list_add(struct collection_list *list, const char *name);
/* Measures the values, and adds warnings about samples that are copies of others, and about columns and channels that
 * never change. */
enum status collection_inspect(struct collection *c, struct error *err);

/* The options of labels, which every format with labels reads. */
#define LABEL_OPTIONS (OPTION_TARGET | OPTION_SEPARATOR | OPTION_MISSING | OPTION_FOLD_NAMES | OPTION_ABSENT)
/* The options of regions and of arrays, which a file or the members of an archive may have. */
#define REGION_OPTIONS                                                                                                 \
    (OPTION_LABEL | OPTION_LABEL_COLUMN | OPTION_NEGATIVES | OPTION_GENOME | OPTION_WINDOW | OPTION_SIGNAL |           \
     OPTION_BINS | LABEL_OPTIONS)
#define TEXT_OPTIONS                                                                                                   \
    (OPTION_TEXT | OPTION_TIME | OPTION_WORDS | OPTION_KEEP_CASE | OPTION_VOCABULARY | OPTION_BUCKETS | OPTION_CUT)
#define ARRAY_OPTIONS (OPTION_LAYOUT | LABEL_OPTIONS | OPTION_SCALE | OPTION_ORDER)
#define TABLE_OPTIONS (OPTION_LABEL | OPTION_GROUP | ARRAY_OPTIONS | OPTION_ID | OPTION_IGNORE | TEXT_OPTIONS)

/* The readers of the formats, in formats.inc. */
collection_reader collection_read_npz, collection_read_npy, collection_read_tensors, collection_read_csv,
    collection_read_jsonl, collection_read_tar, collection_read_fasta, collection_read_motifs, collection_read_bed,
    collection_read_hdf5;

#endif
