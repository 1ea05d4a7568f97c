/* Tests uploads of every format: they are read and stored, and the stored form is read back. Faulty and hostile uploads
 * are refused with a message that helps. */
#include <archive.h>
#include <archive_entry.h>
#include <math.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/unit.h"
#include "core/formats/archive.h"
#include "core/data/uploads/collection.h"
#include "core/genomics/uploads/dinucleotides.h"
#include "core/formats/csv.h"
#include "core/draw/png.h"

static struct collection_limits limits = COLLECTION_LIMITS;
static struct error err;
static enum collection_target wanted; /* target that read_bytes() asks for */

static enum status read_bytes(const char *format, const void *bytes, size_t size, const char *label,
                              struct collection *c)
{
    struct byte_source_memory memory = {bytes, size, 5};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_options options = {.label = label, .group = "", .target = wanted};
    err = (struct error){0};
    return collection_read(collection_format_named(format), &from, &options, &limits, c, &err);
}

static enum status read_text(const char *format, const char *text, struct collection *c)
{
    return read_bytes(format, text, strlen(text), "", c);
}

static void refuses(const char *format, const char *text, enum status status, const char *message)
{
    struct collection c;
    assert_int_equal(read_text(format, text, &c), status);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
    assert_null(c.values);
}

/* ---- tables ------------------------------------------------------------------------------------------------ */

static void tables_are_read(void **state)
{
    struct collection c;
    assert_int_equal(read_text("csv", "id,\"f,1\",f2,class,group\nr1,1,-2.5e1,10,a\n\nr2,\"3\",4,9,b\r\n", &c),
                     STATUS_OK);
    assert_int_equal(c.kind, COLLECTION_TABLE);
    assert_int_equal(c.target, TARGET_CLASS);
    assert_true(c.count == 2 && c.cols == 2 && c.channels == 1 && c.rows == 1);
    assert_string_equal(c.columns.name[0], "f,1");
    assert_true(c.values[1] == -25 && collection_value(&c, collection_begin(&c, 1) + 0) == 3);
    assert_string_equal(c.vocabulary.name[0], "9"); /* the classes are sorted as numbers */
    assert_true(c.label[0] == 1 && c.label[1] == 0);
    assert_string_equal(c.groups.name[c.group[1]], "b");
    collection_close(&c);
    assert_int_equal(read_text("csv", "a\tb\n1\t2\n", &c), STATUS_OK);
    assert_int_equal(c.target, TARGET_NONE);
    assert_int_equal(c.columns.count, 2);
    collection_close(&c);
    const char named[] = "what,x\nred fox,1\n";
    assert_int_equal(read_bytes("csv", named, sizeof named - 1, "what", &c), STATUS_OK);
    assert_string_equal(c.vocabulary.name[0], "red fox");
    collection_close(&c);
}

static void faulty_tables_are_refused_with_row_and_column(void **state)
{
    refuses("csv", "", STATUS_INVALID, "row 1: there is no header");
    refuses("csv", "a,b\n", STATUS_INVALID, "no samples");
    refuses("csv", "a,b\n1,2\n1,2,3\n", STATUS_INVALID, "row 3 has 3 fields, but the header has 2");
    refuses("csv", "a,b\n1,2\n1,x\n", STATUS_INVALID, "row 3, column 'b': 'x' is not a number");
    refuses("csv", "a,b\n1,nan\n", STATUS_INVALID, "column 'b': 'nan'");
    refuses("csv", "a,b\n1,1e99\n", STATUS_INVALID, "column 'b': '1e99'");
    refuses("csv", "a,b\n1,\"2\n", STATUS_INVALID, "row 2 has an opening quote without");
    refuses("csv", "a,b\n1,\"2\"3\n", STATUS_INVALID, "row 2 has text after a closing quote");
    refuses("csv", "a,b\n1,2\"\n", STATUS_INVALID, "row 2 has a quote inside");
    refuses("csv", "a,a\n1,2\n", STATUS_INVALID, "two columns are called 'a'");
    refuses("csv", "a,,b\n1,2,3\n", STATUS_INVALID, "column 2 has no name");
    refuses("csv", "id,label\nr,1\n", STATUS_INVALID, "no column of features");
    refuses("csv", "a,label\n1,\n", STATUS_INVALID, "row 2 has no label");
    refuses("csv", "a,b\n1,\xff\n", STATUS_INVALID, "row 2 is not UTF-8");
    struct collection c;
    assert_int_equal(read_bytes("csv", "a,b\n1,2\0\n", 9, "", &c), STATUS_INVALID);
    assert_int_equal(read_bytes("csv", "a,b\n1,2\n", 8, "nope", &c), STATUS_INVALID);
    assert_non_null(strstr(err.message, "no column is called 'nope'"));
    limits.bytes = 15;
    refuses("csv", "a,b\n1,2\n1,2\n", STATUS_LIMIT, "more than 15 bytes");
    limits = COLLECTION_LIMITS;
}

/* ---- archives ---------------------------------------------------------------------------------------------- */

struct packed {
    char bytes[1 << 20];
    size_t size;
};

static struct archive *begin(struct packed *p, bool zip)
{
    struct archive *a = archive_write_new();
    assert_int_equal(zip ? archive_write_set_format_zip(a) : archive_write_set_format_ustar(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, p->bytes, sizeof p->bytes, &p->size), ARCHIVE_OK);
    return a;
}

static void add(struct archive *a, const char *name, unsigned type, const void *bytes, size_t size)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, type);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (int64_t)size);
    if (type == AE_IFLNK)
        archive_entry_set_symlink(e, "/etc/passwd");
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    if (size > 0)
        assert_int_equal(archive_write_data(a, bytes, size), size);
    archive_entry_free(e);
}

static void end(struct archive *a)
{
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

static void add_png(struct archive *a, const char *name, int rows, int cols)
{
    struct picture *picture;
    struct buf out;
    assert_int_equal(picture_create(rows, cols, (struct colour){0}, &picture, NULL), STATUS_OK);
    buf_init(&out, 1 << 20);
    assert_int_equal(png_encode(picture, &out, NULL), STATUS_OK);
    add(a, name, AE_IFREG, out.data, out.size);
    buf_close(&out);
    picture_destroy(picture);
}

static void refuses_tar(const char *member, unsigned type, const char *message)
{
    static struct packed p;
    struct collection c;
    struct archive *a = begin(&p, false);
    add(a, member, type, "x", type == AE_IFREG ? 1 : 0);
    end(a);
    assert_int_not_equal(read_bytes("tar", p.bytes, p.size, "", &c), STATUS_OK);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
}

static void pictures_with_labels_and_boxes_are_read(void **state)
{
    static struct packed p;
    struct collection c;
    struct archive *a = begin(&p, false);
    const char labels[] = "file,label\nsub/b.png,x y z\na.png,y\n",
               boxes[] = "file,row0,row1,col0,col1,symbol\na.png,0,4,1,3,y\n";
    add(a, "./", AE_IFDIR, NULL, 0);
    add_png(a, "./set/a.png", 4, 6);
    add(a, "set/labels.csv", AE_IFREG, labels, sizeof labels - 1);
    add_png(a, "set/sub/b.png", 4, 6);
    add(a, "set/boxes.csv", AE_IFREG, boxes, sizeof boxes - 1);
    end(a);
    assert_int_equal(read_bytes("tar", p.bytes, p.size, "", &c), STATUS_OK);
    assert_int_equal(c.kind, COLLECTION_IMAGES);
    assert_int_equal(c.target, TARGET_SEQUENCE);
    assert_true(c.count == 2 && c.rows == 4 && c.cols == 6 && c.longest == 3 && c.vocabulary.count == 3);
    assert_true(c.label[0] == 1 && c.label_start[1] == 1 && c.label[3] == 2);
    assert_true(c.boxes == 1 && c.box_start[1] == 1 && c.box[0][0] == 1 && c.box[0][4] == 3);
    collection_close(&c);
    /* An archive that is cut before its final padding is refused. */
    for (size_t cut = 1024; cut + 1536 < p.size; cut += 700)
        assert_int_not_equal(read_bytes("tar", p.bytes, cut, "", &c), STATUS_OK);
}

static void faulty_archives_are_refused_with_the_member(void **state)
{
    static struct packed p;
    struct collection c;
    refuses_tar("../a.png", AE_IFREG, "has a name that is not allowed");
    refuses_tar("/etc/a.png", AE_IFREG, "has a name that is not allowed");
    refuses_tar("x/../../a.png", AE_IFREG, "has a name that is not allowed");
    refuses_tar("a\nb.png", AE_IFREG, "has a name that is not allowed");
    refuses_tar("a.png", AE_IFLNK, "is no plain file");
    refuses_tar("a.exe", AE_IFREG, "member 'a.exe': is not allowed");
    refuses_tar("a.png", AE_IFREG, "member 'a.png'");
    refuses_tar("labels.csv", AE_IFREG, "the archive has no samples");
    struct archive *a = begin(&p, false);
    add_png(a, "a.png", 4, 6);
    add_png(a, "a.png", 4, 6);
    end(a);
    assert_int_equal(read_bytes("tar", p.bytes, p.size, "", &c), STATUS_INVALID);
    assert_string_equal(err.message, "member 'a.png' comes twice; names must be unique");
    a = begin(&p, false);
    add_png(a, "a.png", 4, 6);
    add_png(a, "b.png", 4, 7);
    end(a);
    assert_int_equal(read_bytes("tar", p.bytes, p.size, "", &c), STATUS_INVALID);
    assert_string_equal(err.message,
                        "member 'b.png': is 7 pixels wide, but the first picture is 6; all must have the same size");
    a = begin(&p, false);
    add_png(a, "a.png", 4, 6);
    add(a, "labels.csv", AE_IFREG, "file,label\nb.png,1\n", 19);
    end(a);
    assert_int_equal(read_bytes("tar", p.bytes, p.size, "", &c), STATUS_INVALID);
    assert_string_equal(err.message, "member 'labels.csv': row 2: the archive has no member 'b.png'");
    static const char *const like[] = {"a.png", "sub/a", "set/sub/a.png"}; /* the last part is that of a member */
    for (size_t i = 0; i < sizeof like / sizeof like[0]; i++) {
        char labels[64];
        (void)snprintf(labels, sizeof labels, "file,label\n%s,1\n", like[i]);
        a = begin(&p, false);
        add_png(a, "set/sub/a.png", 4, 6);
        add(a, "set/labels.csv", AE_IFREG, labels, strlen(labels));
        end(a);
        assert_int_equal(read_bytes("tar", p.bytes, p.size, "", &c), STATUS_INVALID);
        assert_non_null(strstr(err.message, "'; it has 'sub/a.png': write the path as it is below the folder"));
    }
}

/* Other names of labels.csv and of its columns, and files of other compressors. */
static void usual_names_and_other_compressors_are_recognised(void **state)
{
    static struct packed p;
    static const char *const headers[] = {"filename,class", "Image,Label", "File_Name,target", ",path,label"};
    static const struct {
        const char *bytes, *cure;
    } packed[] = {{"BZh91AY&SY", "(bunzip2 FILE)"},
                  {"\xFD"
                   "7zXZ",
                   "(unxz FILE)"},
                  {"\x28\xB5\x2F\xFD\x04", "(unzstd FILE)"},
                  {"Rar!\x1A\x07", "(unrar x FILE)"},
                  {"7z\xBC\xAF\x27\x1C", "(7z x FILE)"}};
    struct collection c;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        char labels[64];
        (void)snprintf(labels, sizeof labels, "%s\n%sa.png,x\n", headers[i], headers[i][0] == ',' ? "0," : "");
        struct archive *a = begin(&p, false);
        add_png(a, "a.png", 4, 6);
        add(a, i % 2 ? "Labels.CSV" : "labels.csv", AE_IFREG, labels, strlen(labels));
        end(a);
        if (read_bytes("tar", p.bytes, p.size, "", &c))
            fail_msg("%s: %s", headers[i], err.message);
        assert_true(c.vocabulary.count == 1 && strcmp(c.vocabulary.name[0], "x") == 0);
        collection_close(&c);
    }
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++)
        for (int format = 0; format < 3; format++) {
            static const char *const formats[] = {"tar", "csv", "fasta"};
            assert_int_equal(read_bytes(formats[format], packed[i].bytes, strlen(packed[i].bytes), "", &c),
                             STATUS_INVALID);
            assert_non_null(strstr(err.message, packed[i].cure));
        }
}

/* Refuses an array of zeros far larger than its file, and headers that claim more than the file contains. */
static void files_that_unpack_to_too_much_are_refused(void **state)
{
    static struct packed p;
    struct collection c;
    static char header[128], zeros[1 << 16];
    snprintf(header, sizeof header, "%s", "\x93NUMPY\x01");
    header[7] = 0;
    header[8] = 118;
    memset(header + 10, ' ', 118);
    const char shape[] = "{'descr':'|u1','fortran_order':False,'shape':(64,1048576)}";
    memcpy(header + 10, shape, sizeof shape - 1);
    struct archive *a = begin(&p, true);
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, "x.npy");
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, 128 + (64 << 20));
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, header, 128), 128);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(archive_write_data(a, zeros, sizeof zeros), sizeof zeros);
    archive_entry_free(e);
    end(a);
    assert_true(p.size < 1 << 17); /* the archive compresses 64 MiB of zeros to less than 128 KiB */
    limits.bytes = 1 << 20;
    assert_int_equal(read_bytes("npz", p.bytes, p.size, "", &c), STATUS_LIMIT);
    assert_non_null(strstr(err.message, "member 'x.npy'"));
    limits = COLLECTION_LIMITS;
    assert_int_equal(read_bytes("npz", p.bytes, p.size / 2, "", &c), STATUS_CORRUPT);
    assert_int_equal(read_bytes("npy", header, 128, "", &c), STATUS_CORRUPT); /* refused before 64 MiB are allocated */
    /* The limits of an archive also count members that the caller skips. */
    struct archive_reader *reader;
    struct archive_limits bounds = {10, 1 << 20};
    struct byte_source_memory memory = {(const unsigned char *)p.bytes, p.size, 0};
    struct byte_source from = byte_source_of_memory(&memory), member;
    const char *name;
    bool more;
    err = (struct error){0};
    assert_int_equal(archive_reader_create(ARCHIVE_ZIP, &from, &bounds, &reader, &err), STATUS_OK);
    assert_int_equal(archive_reader_next(reader, &name, &member, &more, &err), STATUS_OK);
    assert_int_equal(archive_reader_next(reader, &name, &member, &more, &err), STATUS_LIMIT);
    archive_reader_destroy(reader);
}

/* ---- sequences, and the stored form ------------------------------------------------------------------------ */

static void sequences_with_labels_are_read(void **state)
{
    struct collection c;
    assert_int_equal(read_text("fasta", ">a 1 2\nACGT\nN\n>b\nGG\n", &c), STATUS_OK);
    assert_true(c.kind == COLLECTION_SEQUENCES && c.target == TARGET_SEQUENCE && c.count == 2 && c.cols == 5 &&
                c.channels == 4);
    assert_int_equal(collection_length(&c, 1), 2);
    assert_true(collection_value(&c, collection_begin(&c, 1) + 4) == 1 &&
                collection_value(&c, collection_begin(&c, 1) + 0) == 0);
    assert_true(c.label_start[1] == 2 && c.label_start[2] == 2);
    collection_close(&c);
    refuses("fasta", "ACGT\n", STATUS_INVALID, "line 1: bases before the first record");
    refuses("fasta", ">a\nAC!\n", STATUS_INVALID, "line 2, column 3: '!' is no letter of a base");
    refuses("fasta", ">a\nAC\n\nG-T\n", STATUS_INVALID, "line 4, column 2: '-' is no letter of a base");
    refuses("fasta", ">a\nAC-\n", STATUS_INVALID, "remove the gaps of an alignment");
    refuses("fasta", ">a\nA C\n", STATUS_INVALID, "column 2: a blank");
    refuses("fasta", ">a\nA\x01\n", STATUS_INVALID, "column 2: 0x01");
    refuses("fasta", ">a\nACE\n", STATUS_INVALID, "amino acids: upload a one-hot x of [n][1][cols][letters] as .npz");
    refuses("fasta", ">a\nAC\n>a\nG\n", STATUS_INVALID, "two records are called a");
    refuses("fasta", ">a\n>b\nG\n", STATUS_INVALID, "record 'a' has no bases");
}

/* U alone means RNA. Codes of several bases become unknown bases with a warning, which says when amino acids are
 * likely.
 */
static void letters_that_do_not_keep_their_meaning_are_reported(void **state)
{
    static const struct {
        const char *text, *code, *says;
        bool rna;
    } cases[] = {
        {">a x\nACGTacgtNNNN\n", NULL, NULL, false},
        {">a x\nACGUacgu\n", NULL, NULL, true},
        {">a x\nACGUT\n", "mixed-alphabet", "with T for each U", false},
        {">a x\nACGTACGTACGTRYacgtN\n", "ambiguous-bases", "2 of 18 letters are codes of several bases", false},
        {">p1 binder\nMKVSAGRTWYDNHK\n>p2 loose\nSAGGTRWKYVDCNH\n", "ambiguous-bases",
         "18 of 26 letters are codes of several bases (R, Y, S, ...); each was read as an unknown base, as N "
         "is. If they are amino acids",
         false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct collection c;
        assert_int_equal(read_text("fasta", cases[i].text, &c), STATUS_OK);
        assert_int_equal(c.rna, cases[i].rna);
        bool there = false;
        for (int k = 0; k < c.warnings; k++)
            if (cases[i].code && strcmp(c.warning[k].code, cases[i].code) == 0)
                there = strstr(c.warning[k].text, cases[i].says) != NULL;
            else
                assert_true(strcmp(c.warning[k].code, "ambiguous-bases") &&
                            strcmp(c.warning[k].code, "mixed-alphabet"));
        assert_int_equal(there, cases[i].code != NULL);
        collection_close(&c);
    }
}

/* Makes two windows of a record of 1,010 bases and one of a short record. A window has 1,000 bases with a class each,
 * and 200 bases of context on either side. */
static void genes_become_windows_with_a_class_for_each_base(void **state)
{
    enum { LONG = 1010, WHOLE = 1400, FLANK = 200 };
    static struct packed p;
    static const char gff[] = "##gff-version 3\nc1\ts\tintron\t11\t1005\t.\t+\t.\tParent=t\n";
    static char fasta[LONG + 64];
    struct collection c;
    const int32_t *label;
    int at = snprintf(fasta, sizeof fasta, ">c1\n");
    for (int i = 0; i < LONG; i++)
        fasta[at++] = "ACGT"[i * 7 % 11 % 4];
    snprintf(fasta + at, sizeof fasta - (size_t)at, "\n>c2\nGGGTT\n");
    struct archive *a = begin(&p, false);
    add(a, "g.fa", AE_IFREG, fasta, strlen(fasta));
    add(a, "g.gff3", AE_IFREG, gff, strlen(gff));
    end(a);
    assert_int_equal(read_bytes("tar", p.bytes, p.size, "", &c), STATUS_OK);
    assert_true(c.count == 3 && c.cols == WHOLE && c.channels == 4 && c.target == TARGET_POSITIONS);
    assert_string_equal(c.groups.name[c.group[1]], "c1");
    assert_string_equal(c.groups.name[c.group[2]], "c2");
    for (int64_t s = 0; s < 3; s++) {
        int64_t length = s < 2 ? LONG : 5, first = s == 1 ? 1000 : 0;
        assert_true(collection_length(&c, s) == WHOLE && collection_labels(&c, s, &label) == WHOLE);
        for (int i = 0; i < WHOLE; i++) {
            int64_t base = first + i - FLANK;
            bool there = base >= 0 && base < length, own = there && i >= FLANK && i < WHOLE - FLANK;
            int expected = !own ? -1 : s < 2 && base == 10 ? 2 : s < 2 && base == 1004 ? 1 : 0;
            char letter = !there ? 'N' : s < 2 ? fasta[4 + base] : "GGGTT"[base];
            assert_int_equal(label[i], expected);
            for (int b = 0; b < 4; b++)
                assert_true(collection_value(&c, collection_begin(&c, s) + b * WHOLE + i) ==
                            (letter == "ACGT"[b] ? 1 : 0));
        }
    }
    collection_close(&c);
}

static enum status put(void *context, const void *bytes, size_t count, struct error *e)
{
    return fwrite(bytes, 1, count, context) == count ? STATUS_OK : STATUS_IO;
}

/* The same two motifs in MEME's format, with and without optional keys, and as JASPAR's counts. */
static void motifs_are_read_from_meme_and_jaspar_files(void **state)
{
    static const char *const texts[] = {
        "MEME version 4\n\nALPHABET= ACGT\nstrands: + -\nBackground letter frequencies\nA 0.25 C 0.25 G 0.25 T 0.25\n"
        "MOTIF M1 Arnt\nletter-probability matrix: alength= 4 w= 2 nsites= 8 E= 1e-3\n 0.5 0.25 0.25 0\n"
        " 0 0 0 1.0\nURL http://x\nMOTIF M2\n\nletter-probability matrix: nsites=8\n0 1 0 0\n\n",
        "MEME version 4\r\nMOTIF M1 Arnt extra words\r\nlog-odds matrix: alength= 4 w= 2\r\n-1 2 3 4\r\n1 2 3 4\r\n"
        "letter-probability matrix: nsites= 8 w=2\r\n0.5 0.25 0.25 0\r\n0 0 0 0.99\r\nMOTIF M2\r\n"
        "letter-probability matrix: w= 1 nsites= 8\r\n0 1 0 0",
        "MEME version 4\n\nALPHABET= ACGU\nstrands: +\nBackground letter frequencies\nA 0.25 C 0.25 G 0.25 U 0.25\n"
        "MOTIF M1 Arnt\nletter-probability matrix: alength= 4 w= 2 nsites= 8 E= 0\n 0.5 0.25 0.25 0\n 0 0 0 1\n\n"
        "MOTIF M2\nletter-probability matrix: alength= 4 w= 1 nsites= 8 E= 0\n0 1 0 0\n\n",
        "\n>M1 Arnt\nA  [ 4  0 ]\nC  [ 2 0 ]\nG [2 0]\nT  [0 8]\n>M2\n0\n8\n0\n0\n"};
    static const float first[] = {4, 0, 2, 0, 2, 0, 0, 8}, second[] = {0, 8, 0, 0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct collection c;
        const int32_t *label;
        if (read_text("meme", texts[i], &c) != STATUS_OK)
            fail_msg("text %zu: %s", i, err.message);
        assert_true(c.kind == COLLECTION_MOTIFS && c.count == 2 && c.channels == 4 && c.rows == 1 && c.cols == 2);
        for (int v = 0; v < 12; v++)
            assert_true(collection_value(&c, v) == (v < 8 ? first[v] : second[v - 8]));
        assert_int_equal(collection_labels(&c, 0, &label), 2);
        assert_string_equal(c.vocabulary.name[label[0]], "M1");
        assert_string_equal(c.vocabulary.name[label[1]], "Arnt");
        assert_int_equal(collection_labels(&c, 1, &label), 1);
        assert_string_equal(c.vocabulary.name[label[0]], "M2");
        collection_close(&c);
    }
}

/* The columns of a matrix of JASPAR are found by the letters of its rows, or by the sums of rows and columns. */
static void rows_of_counts_follow_their_letters(void **state)
{
    static const struct {
        const char *text;
        int count;       /* of motifs */
        float first[16]; /* the counts of A, then those of C, ... of the first motif; 0: not compared */
        const char *code, *says;
    } cases[] = {
        {">M TFX\nT  [ 14  2  0 ]\nC  [  2 14  0 ]\nG  [  2  2 20 ]\nA  [  2  2  0 ]\n",
         1,
         {2, 2, 0, 2, 14, 0, 2, 2, 20, 14, 2, 0},
         NULL,
         NULL},
        {">M\ng|1 2\nu: 3 4\na[5 5]\nc = 7 5\n", 1, {5, 5, 7, 5, 1, 2, 3, 4}, NULL, NULL},
        {">M\n14 2 2 2\n2 14 2 2\n0 0 20 0\n5 5 5 5\n",
         1,
         {14, 2, 0, 5, 2, 14, 0, 5, 2, 2, 20, 5, 2, 2, 0, 5},
         "motifs-transposed",
         "1 matrices (the first: M) have a row for each position"},
        {">M\nA 14 2 2 2\nC 2 14 2 2\nG 0 0 20 0\nT 5 5 5 5\n",
         1,
         {14 * 29 / 21.F, 2 * 29 / 21.F, 2, 2 * 29 / 9.F, 2 * 29 / 21.F, 14 * 29 / 21.F, 2},
         NULL,
         NULL},
        {">M\n14 2 0 5\n2 14 0 5\n2 2 20 5\n2 2 0 5\n",
         1,
         {14, 2, 0, 5, 2, 14, 0, 5, 2, 2, 20, 5, 2, 2, 0, 5},
         NULL,
         NULL},
        {">M\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n0 0 0 1\n", 1, {1, 0, 0, 0, 0, 0, 1}, "motifs-transposed", "M"},
        {">U::1\n1 0\n1 0\n1 0\n1 0\n>M\n1\n2\n3\n4\n>V\n0\n0\n0\n0\n",
         1,
         {1, 2, 3, 4},
         "motifs-left-out",
         "2 motifs were left out, because a column of their matrix is empty (the first: U::1)"},
        {"MEME version 4\nMOTIF a\nletter-probability matrix: w= 1\n0 0 0 0\nMOTIF b\nletter-probability matrix: "
         "nsites= 4\n0.25 0.5 0.25 0\n",
         1,
         {1, 2, 1, 0},
         "motifs-left-out",
         "(the first: a)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct collection c;
        if (read_text("jaspar", cases[i].text, &c) != STATUS_OK)
            fail_msg("case %zu: %s", i, err.message);
        assert_int_equal(c.count, cases[i].count);
        for (int v = 0; v < 4 * c.cols && v < 16; v++)
            if (cases[i].first[v] > 0 && fabsf(collection_value(&c, v) - cases[i].first[v]) > 1e-5F)
                fail_msg("case %zu: value %d is %g", i, v, (double)collection_value(&c, v));
        if (cases[i].code) {
            assert_string_equal(c.warning[0].code, cases[i].code);
            assert_non_null(strstr(c.warning[0].text, cases[i].says));
        } else {
            assert_int_equal(c.warnings, 0);
        }
        collection_close(&c);
    }
    refuses("jaspar", ">M\nA 1 2\nC 1 2\nA 1 2\nG 1 2\n", STATUS_INVALID, "line 4: two rows of a matrix have the same");
    refuses("jaspar", ">M\nA 1 2\n1 2\n", STATUS_INVALID,
            "line 3: either all rows of a matrix begin with their letter");
    refuses("jaspar", ">M\n1 2\n1 2\n1 2\n1 2\n1 2\n", STATUS_INVALID, "line 6: a matrix of counts has four rows");
    refuses("jaspar", ">M\n1 2 3 4\n1 2 3 4\n1 2 3 4\n", STATUS_INVALID, "the matrix of M is not complete");
    refuses("jaspar", ">M\n0.5 -1.25\n", STATUS_INVALID, "got '-1.25', as in a matrix of weights; upload the counts");
    refuses("jaspar", "14 2 0\n2 14 0\n", STATUS_INVALID, "before each matrix, write a line '>NAME'");
}

static void faulty_motifs_are_refused_with_the_line(void **state)
{
#define HEAD "MEME version 4\nMOTIF a\n"
    refuses("meme", "MEME version 4\n", STATUS_INVALID, "the file has no motif");
    refuses("meme", "", STATUS_INVALID, "the file has no motif");
    refuses("meme", "MEME version 4\nALPHABET= ACDEFGHIKLMNPQRSTVWY\n", STATUS_INVALID, "line 2: the alphabet");
    refuses("meme", HEAD "letter-probability matrix: alength= 20 w= 1\n", STATUS_INVALID, "line 3: alength must be 4");
    refuses("meme", HEAD "letter-probability matrix: w= 101\n", STATUS_LIMIT, "line 3: w must be between 1 and 100");
    refuses("meme", HEAD "letter-probability matrix: w= 2\n1 0 0 0\n", STATUS_INVALID, "the matrix of a is not");
    refuses("meme", HEAD "letter-probability matrix: w= 1\n1 1 0 0\n", STATUS_INVALID, "line 4: a row of a matrix");
    refuses("meme", HEAD "letter-probability matrix: w= 1\n1 0 0\n", STATUS_INVALID, "line 4: a row of a matrix");
    refuses("meme", HEAD "letter-probability matrix: w= 1\n1 0 nan 0\n", STATUS_INVALID, "line 4: a row of a matrix");
    refuses("meme", HEAD "MOTIF b\n", STATUS_INVALID, "line 3: the matrix of a is not complete");
    refuses("meme", "letter-probability matrix: w= 1\n", STATUS_INVALID, "needs a line MOTIF before it");
    refuses("meme", "MOTIF\n", STATUS_INVALID, "line 1: a motif needs an identifier");
    refuses("meme",
            HEAD "letter-probability matrix: w= 1\n1 0 0 0\nMOTIF a\nletter-probability matrix: w= 1\n1 0 0 0\n",
            STATUS_INVALID, "two motifs have the identifier a");
    refuses("meme", ">a\n1 2\n1\n", STATUS_INVALID, "line 3: all rows");
    refuses("meme", ">a\n1 2\n1 2\n1 2\n", STATUS_INVALID, "the matrix of a is not complete");
    refuses("meme", ">a\n1 0\n1 0\n1 0\n1 0\n", STATUS_INVALID, "has no counts");
    refuses("meme", ">a\n1 x\n", STATUS_INVALID, "line 2: a count must be a number");
#undef HEAD
}

/* ---- compressed text, and negatives ------------------------------------------------------------------------ */

static size_t gzip(const char *text, size_t size, unsigned char *out, size_t room)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static void compressed_text_is_read_member_by_member(void **state)
{
    static const char text[] = ">a up\nACGTACGTAC\n>b\nGGGGCCCC\n";
    unsigned char packed[512];
    struct collection c;
    /* two gzip members that meet in the middle of a line, as in a file of bgzip */
    size_t size = gzip(text, 11, packed, sizeof packed);
    size += gzip(text + 11, sizeof text - 1 - 11, packed + size, sizeof packed - size);
    assert_int_equal(read_bytes("fasta", packed, size, "", &c), STATUS_OK);
    assert_true(c.count == 2 && collection_length(&c, 0) == 10 && collection_length(&c, 1) == 8);
    assert_int_equal(c.records.count, 2);
    assert_string_equal(c.records.name[1], "b");
    collection_close(&c);
    assert_int_equal(read_bytes("fasta", packed, size - 4, "", &c), STATUS_CORRUPT);
    packed[size / 2] ^= 0x55;
    assert_int_equal(read_bytes("fasta", packed, size, "", &c), STATUS_CORRUPT);
    assert_int_equal(read_bytes("fasta", "\x1f", 1, "", &c), STATUS_INVALID);
}

/* A shuffle keeps the number of occurrences of each pair of neighbouring bases, and the first and the last base. */
static void shuffled_sequences_keep_the_counts_of_pairs(void **state)
{
    enum { LONGEST = 200, ROUNDS = 400 };
    struct philox noise = philox_stream(7, 1, 0);
    uint64_t drawn = 0, at = 0;
    int changed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t base[LONGEST], out[LONGEST];
        int pairs[5][5] = {{0}}, count = 1 + (int)(philox_u32(&noise, drawn++) % LONGEST), letters = 1 + round % 5;
        for (int i = 0; i < count; i++)
            base[i] = (uint8_t)(philox_u32(&noise, drawn++) % (uint32_t)letters);
        dinucleotides_shuffle(base, count, &noise, &at, out);
        assert_true(out[0] == base[0] && out[count - 1] == base[count - 1]);
        for (int i = 0; i + 1 < count; i++) {
            pairs[base[i]][base[i + 1]]++;
            pairs[out[i]][out[i + 1]]--;
        }
        for (int i = 0; i < 25; i++)
            assert_int_equal(pairs[i / 5][i % 5], 0);
        changed += memcmp(base, out, (size_t)count) != 0;
    }
    assert_true(changed > ROUNDS / 2);
}

/* AABABBA has six orders with the same pairs and ends. Each must be as frequent as any other. */
static void all_shuffles_are_equally_probable(void **state)
{
    enum { LENGTH = 7, DRAWS = 6000 };
    static const uint8_t base[LENGTH] = {0, 0, 1, 0, 1, 1, 0};
    struct philox noise = philox_stream(3, 2, 0);
    uint64_t at = 0;
    int count[1 << LENGTH] = {0}, orders = 0;
    for (int i = 0; i < DRAWS; i++) {
        uint8_t out[LENGTH];
        int code = 0;
        dinucleotides_shuffle(base, LENGTH, &noise, &at, out);
        for (int j = 0; j < LENGTH; j++)
            code = 2 * code + out[j];
        count[code]++;
    }
    for (int code = 0; code < 1 << LENGTH; code++)
        orders += count[code] > 0;
    for (int code = 0; code < 1 << LENGTH; code++)
        assert_true(count[code] == 0 || abs(count[code] - DRAWS / orders) < 5 * (int)sqrt(DRAWS / (double)orders));
    assert_int_equal(orders, 6);
}

static void negatives_are_shuffled_copies_without_a_label(void **state)
{
    struct byte_source_memory memory = {(const unsigned char *)">a x\nACGTTGCAACGT\n>b\nGG\n>c x y\nCCATG\n", 38, 7};
    struct byte_source from = byte_source_of_memory(&memory);
    struct collection_options options = {.label = "", .group = "", .negatives = NEGATIVES_SHUFFLE};
    struct collection c;
    const int32_t *label;
    memory.left = strlen((const char *)memory.at);
    err = (struct error){0};
    assert_int_equal(collection_read(collection_format_named("fasta"), &from, &options, &limits, &c, &err), STATUS_OK);
    assert_true(c.count == 5 && c.records.count == 5 && c.target == TARGET_SEQUENCE);
    assert_string_equal(c.records.name[3], "a_shuffled");
    assert_string_equal(c.records.name[4], "c_shuffled");
    assert_true(collection_length(&c, 3) == 12 && collection_length(&c, 4) == 5);
    assert_int_equal(collection_labels(&c, 2, &label), 2);
    assert_true(collection_labels(&c, 3, &label) == 0 && collection_labels(&c, 4, &label) == 0);
    collection_close(&c);
    memory = (struct byte_source_memory){(const unsigned char *)"a,label\n1,x\n", 13, 0};
    assert_int_equal(collection_read(collection_format_named("csv"), &from, &options, &limits, &c, &err),
                     STATUS_INVALID);
}

static void the_stored_form_equals_the_collection(void **state)
{
    struct collection c, again;
    FILE *file = tmpfile();
    assert_int_equal(read_text("csv", "a,b,label,group\n1,2,x,p\n3,4,y,q\n5,6,x,p\n", &c), STATUS_OK);
    assert_int_equal(collection_write(&c, &(struct snapshot_writer){file, put}, NULL), STATUS_OK);
    fflush(file);
    assert_int_equal(collection_map(fileno(file), &again, NULL), STATUS_OK);
    assert_true(again.kind == c.kind && again.target == c.target && again.count == 3 && again.cols == 2 &&
                again.longest == 1);
    assert_memory_equal(again.values, c.values, 6 * sizeof(float));
    assert_memory_equal(again.label, c.label, 3 * sizeof(int32_t));
    assert_memory_equal(again.group, c.group, 3 * sizeof(int32_t));
    assert_string_equal(again.columns.name[1], "b");
    assert_string_equal(again.groups.name[1], "q");
    collection_close(&again);
    collection_close(&c);
    assert_int_equal(ftruncate(fileno(file), ftell(file) - 5), 0);
    assert_int_equal(collection_map(fileno(file), &again, NULL), STATUS_CORRUPT);
    fclose(file);
    assert_int_equal(collection_open("/nowhere/at/all", &again, NULL), STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(faulty_tables_are_refused_with_row_and_column),
        cmocka_unit_test(pictures_with_labels_and_boxes_are_read),
        cmocka_unit_test(faulty_archives_are_refused_with_the_member),
        cmocka_unit_test(usual_names_and_other_compressors_are_recognised),
        cmocka_unit_test(files_that_unpack_to_too_much_are_refused),
        cmocka_unit_test(sequences_with_labels_are_read),
        cmocka_unit_test(genes_become_windows_with_a_class_for_each_base),
        cmocka_unit_test(letters_that_do_not_keep_their_meaning_are_reported),
        cmocka_unit_test(motifs_are_read_from_meme_and_jaspar_files),
        cmocka_unit_test(rows_of_counts_follow_their_letters),
        cmocka_unit_test(faulty_motifs_are_refused_with_the_line),
        cmocka_unit_test(compressed_text_is_read_member_by_member),
        cmocka_unit_test(shuffled_sequences_keep_the_counts_of_pairs),
        cmocka_unit_test(all_shuffles_are_equally_probable),
        cmocka_unit_test(negatives_are_shuffled_copies_without_a_label),
        cmocka_unit_test(the_stored_form_equals_the_collection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
