/* A user's own data: samples with labels, read from a file of any supported format (collection_read()), and stored in
 * one form that jobs train on (collection_write(), collection_open()).
 *
 * A sample is an array [channels][rows][length]. Images all have the same size, and their length is cols. Recordings
 * and sequences have one row and lengths of their own, at most cols. A table's row is [1][1][columns]. Recordings are
 * mono at AUDIO_RATE; sequences of bases are one-hot (A, C, G, T).
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

#include "core/base/snapshot.h"
#include "core/data/box.h"
#include "core/formats/byte_source.h"

enum collection_kind {
    COLLECTION_TABLE,
    COLLECTION_IMAGES,
    COLLECTION_SEQUENCES,
    COLLECTION_RECORDINGS,
    COLLECTION_MOTIFS /* position matrices; queries compare channels with them, and jobs do not train on them */
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

/* A list of names: [count], all different. */
struct collection_names {
    int count;
    char **name;
};

/* Something in an upload that is allowed, but that its owner may not have meant. */
struct collection_warning {
    const char *code; /* static text such as "duplicates" */
    char text[240];
};

/* Statistics of all values. */
struct collection_moments {
    int64_t count;
    double min, max, sum, squares;
};

struct collection {
    enum collection_kind kind;
    enum collection_target target;
    int64_t count; /* number of samples */
    int channels, rows, cols;
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
    bool rna;       /* the sequences are RNA, so motifs are on one strand only */
    int32_t *group; /* [count] index into `groups`, for splits; NULL: no groups */
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
    int warnings;
    struct collection_warning *warning; /* [warnings] made by collection_read(); not part of the stored form */
    /* private */
    void *mapping;
    size_t mapped;
    void *store; /* the memory of `values` or `bytes`, if it is a mapped file of its own */
    size_t stored;
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
/* Returns the moments of all values: those in the collection, or, if it has none yet, newly computed ones. */
struct collection_moments collection_measure(const struct collection *c);
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

/* Options of an upload that only some formats read; each is one bit. The member `reads` of struct collection_format has
 * the bits of the options that a format reads. */
enum collection_option {
    OPTION_LABEL = 1 << 0,
    OPTION_LABEL_COLUMN = 1 << 1,
    OPTION_GROUP = 1 << 2,
    OPTION_LAYER = 1 << 3,
    OPTION_LAYOUT = 1 << 4,
    OPTION_NEGATIVES = 1 << 5,
    OPTION_GENOME = 1 << 6,
    OPTION_WINDOW = 1 << 7,
    OPTION_TARGET = 1 << 8,
    OPTION_SIGNAL = 1 << 9,
    OPTION_BINS = 1 << 10
};
/* The name of each option, which is its query parameter. The list ends with name == NULL. */
struct collection_option_name {
    enum collection_option option;
    const char *name;
};
extern const struct collection_option_name collection_option_names[];

/* What the user states about the file. Texts are borrowed. If a text is "", the format's own rules apply. */
struct collection_options {
    unsigned stated;           /* bits of the options that the user has stated */
    const char *label, *group; /* names of the columns of a table that contain its labels and its groups */
    /* Which column (BED), or which word of the header (FASTA), is the label, counted from 1; 0: not stated. */
    int label_column;
    enum collection_layout layout;
    enum collection_target target; /* what the labels are; NONE: the format and the labels determine the target */
    const int
        *store; /* descriptor of an empty file for the values, so that memory does not grow with them; NULL: none */
    enum collection_negatives negatives;
    /* for regions; data: the folder of data sets; genome: the name of the genome's folder in `data` */
    const char *data, *genome;
    int window;         /* for regions: number of bases of a window; 0: the region itself; below 0: 200 */
    const char *signal; /* for regions with numbers as targets: the name of the signal's folder in `data` */
    int bins;           /* for regions with numbers as targets: number of equal parts of a window; 0: one */
};

/* What each upload option means, in the formats that have it. Clients show these texts. */
extern const char collection_label_meaning[], collection_label_column_meaning[], collection_group_meaning[],
    collection_layout_meaning[], collection_layer_meaning[], collection_negatives_meaning[],
    collection_genome_meaning[], collection_window_meaning[], collection_target_meaning[], collection_signal_meaning[],
    collection_bins_meaning[];
/* What an option means in the format of this name. "" if there is no such option. */
const char *collection_option_meaning(enum collection_option option, const char *format);
/* A folder that the operator provides is a genome if it contains a file of the first list, and a signal if it contains
 * a file of the second list. Each list ends with NULL. */
extern const char *const collection_genome_files[], *const collection_signal_files[];

/* A format. A new one needs one file, one line in collection_formats.c, and its names in collection_names.c. */
struct collection_format {
    const char *name; /* name of the format, such as "npz" */
    const char *media_type;
    bool text; /* the file may be compressed by gzip or bgzip */
    /* motif-convert converts files of this format to a table; read() reads that table (table_stream.h) instead of the
     * file */
    bool converted;
    unsigned reads;     /* bits of the options that the format reads */
    unsigned layouts;   /* with OPTION_LAYOUT: bits 1 << LAYOUT_... that the format reads; 0: all */
    unsigned negatives; /* with OPTION_NEGATIVES: bits 1 << NEGATIVES_... that the format reads; 0: all */
    enum status (*read)(const struct byte_source *from, const struct collection_options *options,
                        const struct collection_limits *limits, struct collection *c, struct error *err);
};
extern const char *const collection_format_names[]; /* names of all formats; NULL-terminated */
extern const char *const collection_media_types[];  /* media types that an upload may have; NULL-terminated */
/* A file's ending, such as "tsv", and the name of its format, such as "csv". The list ends with ending == NULL. */
struct collection_ending {
    const char *ending, *format;
};
extern const struct collection_ending collection_endings[];
const struct collection_format *const *collection_formats(size_t *count);
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
