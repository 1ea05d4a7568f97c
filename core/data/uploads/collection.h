/* A user's own data: samples with labels, read from a file of any supported format (collection_read()), and stored in
 * one form that jobs train on (collection_write(), collection_open()).
 *
 * A sample is an array [channels][rows][length]. Images all have the same size, and their length is cols. Recordings
 * and sequences have one row and lengths of their own, at most cols. A table's row is [1][1][columns]. Recordings are
 * mono; sequences of bases are one-hot (A, C, G, T). A text has one channel: at each position the number of a word,
 * from 1 on (texts/lexicon.h); 0 is no word.
 *
 * The target of a sample is one of these:
 * - one class;
 * - a sequence of tokens;
 * - a set of labels, in ascending order;
 * - a count for each name: the label is in ascending order, and each name occurs as often as its count;
 * - a class at every position;
 * - one or more numbers. Samples then have no labels, and `vocabulary` names the numbers of a sample in their order.
 * Labels are indices into `vocabulary`, which is sorted by value if all names are numbers, otherwise by bytes.
 *
 * Read-only once made: any number of threads. */
#ifndef MOTIF_CORE_DATA_UPLOADS_COLLECTION_H
#define MOTIF_CORE_DATA_UPLOADS_COLLECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/values.h"
#include "core/base/snapshot.h"
#include "core/data/box.h"
#include "core/data/scale.h"
#include "core/formats/byte_source.h"
#include "core/formats/words.h"

enum collection_kind {
    COLLECTION_TABLE,
    COLLECTION_IMAGES,
    COLLECTION_SEQUENCES,
    COLLECTION_RECORDINGS,
    COLLECTION_MOTIFS, /* position matrices; queries compare channels with them, and jobs do not train on them */
    COLLECTION_TEXTS
};
enum collection_target {
    TARGET_NONE,
    TARGET_CLASS,
    TARGET_SEQUENCE,
    TARGET_LABELS,
    TARGET_POSITIONS,
    TARGET_COUNT,
    TARGET_NUMBER
};
extern const char *const collection_kinds[];   /* "table", "images", ...; NULL-terminated */
extern const char *const collection_targets[]; /* "none", "class", "sequence", "labels", ... */
enum collection_part { PART_OF_TRAINING, PART_OF_VALIDATION, PART_OF_TEST, COLLECTION_PARTS };
extern const char *const collection_parts[]; /* "training", "validation", "test"; NULL-terminated */
/* The part that a file calls `text`, whatever the case of its letters: train or training; validation, valid, val or
 * dev; test or testing. -1: it is none of these words. */
int collection_part_named(const char *text);

/* A list of names: [count], all different. */
struct collection_names {
    int count;
    char **name;
};

/* Something in an upload that is allowed, but that its owner may not have meant. */
struct collection_warning {
    const char *code; /* static text such as "duplicates" */
    char text[400];
};

/* How a reader understood a file, for the answer of an upload. Texts are for people; "" says nothing. */
struct collection_recognised {
    char table[192];  /* the dialect of a table: "';' between fields, decimal commas" */
    char labels[128]; /* how a label's text was read: "a set of names separated by |" */
    char words[224];  /* how texts were split, and what became of their words */
    int columns;      /* the columns of a table that are no features */
    struct collection_column {
        const char *role; /* static text: label, group, id, ignored or identifier */
        char *name;
    } * column;
};

/* Statistics of all values. */
struct collection_moments {
    int64_t count;
    double min, max, sum, squares;
};

/* How the words of texts become numbers (texts/lexicon.h). */
struct collection_wording {
    int32_t words;     /* enum collection_words: where texts are split */
    int32_t keep_case; /* words that differ only in case are different words */
    int32_t buckets;   /* for words that are not in the vocabulary */
    int32_t cut;       /* > 0: longer texts are cut to this many words */
};

struct collection {
    enum collection_kind kind;
    enum collection_target target;
    int64_t count; /* number of samples */
    int channels, rows, cols;
    int rate;    /* RECORDINGS: samples per second; else 0 */
    int longest; /* length of the longest label, in tokens */
    /* The values are in `values` or, if that is NULL, in `bytes`. Sample i begins at index start[i] * channels * rows.
     * collection_value() reads both forms. */
    float *values;
    uint8_t *bytes;
    bool unit;      /* the value of byte b is b / 255 if this is true, else b */
    int64_t *start; /* [count + 1] first column of each sample */
    int32_t *label; /* sample i has label[label_start[i] ... label_start[i + 1]); TARGET_POSITIONS: -1 is unknown */
    int64_t *label_start; /* [count + 1] */
    float *number;        /* TARGET_NUMBER: [count][vocabulary.count], as uploaded */
    bool profile;         /* the numbers of a sample are a profile along its columns */
    /* columns: names of a table's features; groups: the names that `group` refers to */
    struct collection_names vocabulary, columns, groups;
    /* records: [count] the name of each sample in the file: the place of a sequence ("chr1:100-200"), or an id;
     * count 0: the samples have no names */
    struct collection_names records;
    /* TEXTS. words: the names of the numbers from 1 on; texts: [count] as uploaded */
    struct collection_names words, texts;
    struct collection_wording wording;
    enum collection_scale scale; /* how methods scale the values, as the user has stated; AUTO: nothing stated */
    bool unordered;              /* the columns of a sample are items of a bag, whose order means nothing */
    bool rna;                    /* the sequences are RNA, so motifs are on one strand only */
    int32_t *group;              /* [count] index into `groups`, for splits; NULL: no groups */
    unsigned char *part;         /* [count] enum collection_part, as the file states it; NULL: it states none */
    /* boxes: number of all boxes; box_start: [count + 1] index of each sample's first box; NULL: the places of the
     * symbols are unknown */
    int64_t boxes, *box_start;
    int32_t (*box)[5]; /* [boxes] each box is symbol, row0, row1, col0, col1 */
    /* Bits of the options whose values are those that the reader would have used without them (enum collection_option);
     * not part of the stored form. An option can lack its bit although it changes nothing, if only the values show
     * that. */
    unsigned implied;
    bool
        channels_first; /* the axes of the upload's array were [n][channels][rows][cols]; not part of the stored form */
    /* warning, recognised: made by collection_read(); not part of the stored form */
    int warnings;
    struct collection_warning *warning; /* [warnings] */
    struct collection_recognised recognised;
    /* private */
    void *mapping;
    size_t mapped;
    void *store; /* the memory of `values` or `bytes`, if it is a mapped file of its own */
    size_t stored;
    struct work *work;                 /* the budget of reading, until collection_read() ends */
    struct collection_moments moments; /* moments of all values; moments.count is 0 until they are known */
};
void collection_close(struct collection *c); /* a zeroed struct is allowed */

/* collection_length() returns the number of columns of a sample, and collection_begin() the index of its first value;
 * its values are [channels][rows][length]. collection_value() returns a value by its index. collection_labels() returns
 * the number of labels of a sample and sets *label to the first one. */
int64_t collection_length(const struct collection *c, int64_t sample);
static inline int64_t collection_begin(const struct collection *c, int64_t sample)
{
    return c->start[sample] * c->channels * c->rows;
}
static inline float collection_value(const struct collection *c, int64_t index)
{
    return c->values ? c->values[index] : c->unit ? (float)(c->bytes[index] / 255.0) : (float)c->bytes[index];
}
/* Copies values [index, index + count) to `to`. */
void collection_copy(const struct collection *c, int64_t index, int64_t count, float *to);
/* Returns whether samples are sequences of symbols: at each position, one channel is 1 and the others are 0. Where
 * the symbol is unknown, all channels are equal. The function checks only the first samples. */
bool collection_one_hot(const struct collection *c);
/* How methods scale the values of a table: as stated, else as counts or standardised. Whole numbers that are at least 0
 * count as counts if a tenth is zero, some exceed 30, the largest is not 255 (pictures), and there are ten columns or
 * more. The function looks at no more than a thousand rows. */
enum collection_scale collection_scale_of(const struct collection *c);
/* Whether the columns of a table have the same name with consecutive numbers at its end (c0, c1, ...), so that they are
 * probably numbers of one kind, such as points of a signal. */
bool collection_numbered(const struct collection *c);
/* Returns the moments of all values: those in the collection, or, if it has none yet, newly computed ones. */
struct collection_moments collection_measure(const struct collection *c);
/* Moments of the values of a channel of all samples. */
struct collection_moments collection_measure_channel(const struct collection *c, int channel);
int collection_labels(const struct collection *c, int64_t sample, const int32_t **label);
/* The offset in bytes of the values in the mapped file, for callers that read the file themselves. */
int64_t collection_place(const struct collection *c);

/* Upper limits of what a file may contain. */
struct collection_limits {
    int64_t bytes; /* bytes of the values of all samples together: one or four for each value (value_store.h) */
    int64_t samples, labels, members;
};
#define COLLECTION_LIMITS ((struct collection_limits){(int64_t)1 << 29, 1 << 22, 1 << 26, 1 << 20})

/* Which dimensions of an array are channels, rows and columns. LAST: [n][rows][cols][channels]. FIRST:
 * [n][channels][rows][cols]. SIGNALS: [n][cols], [n][channels][cols], or a table whose columns are points of a
 * signal. AUTO: channels last; if the shape looks like channels first (collection_npz.c), channels first with a
 * warning. */
enum collection_layout { LAYOUT_AUTO, LAYOUT_LAST, LAYOUT_FIRST, LAYOUT_SIGNALS };
extern const char
    *const collection_layouts[]; /* "auto", "channels-last", "channels-first", "signals"; NULL-terminated */

/* Which unlabelled sequences are added to an upload of sequences. NONE: none. SHUFFLE: for each record with a label, a
 * shuffled copy that has the same pairs of neighbouring bases (dinucleotides.h). GC: for each region of a genome,
 * another region with about the same number of G and C (regions_negatives.c). */
enum collection_negatives { NEGATIVES_NONE, NEGATIVES_SHUFFLE, NEGATIVES_GC };
extern const char *const collection_negatives[]; /* "none", "shuffle", "gc"; NULL-terminated */

/* What happens to a sample without a label. REFUSE: the upload is refused. DROP: the sample is left out. KEEP: as
 * REFUSE, but texts such as NaN and None are names. */
enum collection_order { ORDER_KEPT, ORDER_NONE };
extern const char *const collection_orders[]; /* "kept", "none"; NULL-terminated */
enum collection_missing { MISSING_REFUSE, MISSING_DROP, MISSING_KEEP };
extern const char *const collection_missing[]; /* "refuse", "drop", "keep"; NULL-terminated */

extern const char *const collection_words[]; /* "unicode", "blanks", "tabs" (words.h); NULL-terminated */

/* Options of an upload that only some formats read (options.inc); each is one bit. The member `reads` of struct
 * collection_format has the bits of the options that a format reads. */
#define UPLOAD_TEXT(BIT, ...) OPTION_PLACE_##BIT,
#define UPLOAD_INTEGER UPLOAD_TEXT
#define UPLOAD_CHOICE UPLOAD_TEXT
#define UPLOAD_LAYOUT UPLOAD_TEXT
#define UPLOAD_FLAG UPLOAD_TEXT
enum {
#include "core/data/uploads/options.inc"
    COLLECTION_OPTIONS
};
#undef UPLOAD_TEXT
#define UPLOAD_TEXT(BIT, ...) OPTION_##BIT = 1 << OPTION_PLACE_##BIT,
enum collection_option {
#include "core/data/uploads/options.inc"
};
#undef UPLOAD_TEXT
#undef UPLOAD_INTEGER
#undef UPLOAD_CHOICE
#undef UPLOAD_LAYOUT
#undef UPLOAD_FLAG

/* What the user states about the file. Texts are borrowed. If a text is "", the format's own rules apply. */
struct collection_options {
    unsigned stated; /* bits of the options that the user has stated */
    const int
        *store; /* descriptor of an empty file for the values, so that memory does not grow with them; NULL: none */
    const char *data;  /* the folder of data sets, which contains genomes and signals */
    struct work *work; /* the budget of reading; NULL: none */
    /* The options: label, label_column, ... */
#define UPLOAD_TEXT(BIT, member, ...) const char *member;
#define UPLOAD_INTEGER(BIT, member, ...) int member;
#define UPLOAD_CHOICE(BIT, member, ...) enum collection_##member member;
#define UPLOAD_LAYOUT UPLOAD_CHOICE
#define UPLOAD_FLAG(BIT, member, ...) int member; /* 0 or 1 */
#include "core/data/uploads/options.inc"
#undef UPLOAD_FLAG
#undef UPLOAD_TEXT
#undef UPLOAD_INTEGER
#undef UPLOAD_CHOICE
#undef UPLOAD_LAYOUT
};

/* A row of options.inc. */
struct collection_option_row {
    struct config_field field; /* the parameter of the route; offset: of the member in struct collection_options */
    enum collection_option option;
    const char *const *names; /* FIELD_CHOICE: the names of all values, also those that a client may not state */
    int usual;                /* value of an integer or a choice if the client states none */
    /* the meaning for the formats in `some`, and for all others */
    const char *some, *some_meaning, *meaning;
};
extern const struct collection_option_row collection_option_rows[]; /* [COLLECTION_OPTIONS]; ends without a name */
extern const char *const collection_stated_targets[]; /* the targets that a client may state; NULL-terminated */

/* Sets every option to its usual value. */
void collection_options_clear(struct collection_options *options);
/* Sets one option to its usual value. */
void collection_option_clear(const struct collection_option_row *row, struct collection_options *options);
/* Reads the text of an option that the client states. Texts are borrowed. False: the value is not allowed. */
bool collection_option_state(const struct collection_option_row *row, struct collection_options *options,
                             const char *text);
/* Whether an option has its usual value, which no reader needs to know. */
bool collection_option_is_usual(const struct collection_option_row *row, const struct collection_options *options);
/* Writes the value of an option as text. "": the client has stated none, and there is no name for that. */
enum { COLLECTION_OPTION_TEXT = 1024 };
void collection_option_text(const struct collection_option_row *row, const struct collection_options *options,
                            char out[COLLECTION_OPTION_TEXT]);

/* What an option means in the format of this name. "" if there is no such option. */
const char *collection_option_meaning(enum collection_option option, const char *format);
/* A folder that the operator provides is a genome if it contains a file of the first list, and a signal if it contains
 * a file of the second list. Each list ends with NULL. */
extern const char *const collection_genome_files[], *const collection_signal_files[];

typedef enum status collection_reader(const struct byte_source *from, const struct collection_options *options,
                                      const struct collection_limits *limits, struct collection *c, struct error *err);
enum { COLLECTION_ENDINGS = 4 };

/* A format: a row of formats.inc. */
struct collection_format {
    const char *name;                        /* name of the format, such as "npz" */
    const char *media_type, *further_type;   /* further_type: another media type with this meaning, or NULL */
    const char *endings[COLLECTION_ENDINGS]; /* endings of its files, such as "tsv"; NULL-terminated */
    collection_reader *read;
    bool text; /* the file may be compressed by gzip or bgzip */
    /* motif-convert converts files of this format to a table; read() reads that table (table_stream.h) instead of the
     * file */
    bool converted;
    unsigned reads;     /* bits of the options that the format reads */
    unsigned layouts;   /* with OPTION_LAYOUT: bits 1 << LAYOUT_... that the format reads; 0: all */
    unsigned negatives; /* with OPTION_NEGATIVES: bits 1 << NEGATIVES_... that the format reads; 0: all */
};
extern const char *const collection_format_names[]; /* names of all formats; NULL-terminated */
extern const char *const collection_media_types[];  /* media types that an upload may have; NULL-terminated */
const struct collection_format *collection_formats(size_t *count);         /* [count] */
const struct collection_format *collection_format_named(const char *name); /* NULL: there is none */
/* collection_option_formats() writes the names of the formats that read an option: "csv, bed and h5ad". */
enum { COLLECTION_NAMES = 160, COLLECTION_DETAIL = 240 };
void collection_option_formats(enum collection_option option, char out[COLLECTION_NAMES]);
/* Finds the first stated option, or value of an option, that the format does not read. Returns its name and writes to
 * `detail` which formats read it. NULL: the format reads all of them. */
const char *collection_unread(const struct collection_format *format, const struct collection_options *options,
                              char detail[COLLECTION_DETAIL]);

/* Reads a whole file; the caller closes `c`. Messages name the row, column or member. STATUS_INVALID, STATUS_CORRUPT: a
 * fault of the file. STATUS_LIMIT: the file exceeds `limits`. STATUS_NO_MEMORY, and any error of the source. After an
 * error `c` is zeroed. */
enum status collection_read(const struct collection_format *format, const struct byte_source *from,
                            const struct collection_options *options, const struct collection_limits *limits,
                            struct collection *c, struct error *err);

#define COLLECTION_FILE "set.pack" /* name of the stored form in a data set's folder */

/* Writes the stored form, a stream of core/base/snapshot.h; collection_file.c describes its entries. */
enum status collection_write(const struct collection *c, const struct snapshot_writer *to, struct error *err);
/* Map the stored form into memory: collection_map() from an open file, which the caller may close after the call,
 * collection_open() from a path. The caller closes `c`. STATUS_NOT_FOUND: no such file. STATUS_CORRUPT: it is damaged.
 * STATUS_IO: it cannot be read. */
enum status collection_map(int file, struct collection *c, struct error *err);
enum status collection_open(const char *path, struct collection *c, struct error *err);

#endif
