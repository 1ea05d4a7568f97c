/* The GFF3 reader: line by line, no allocation. */
#include "core/formats/gff3.h"

#include <string.h>

struct gff3 gff3_open(const char *text, size_t size)
{
    return (struct gff3){plain_lines(text, size)};
}

enum status gff3_fault(const struct gff3 *gff, const char *detail, struct error *err)
{
    return error_set(err, STATUS_INVALID, NULL, "GFF3, line %lld: %s", (long long)gff->lines.number, detail);
}

static struct plain_line parent_of(struct plain_line attributes)
{
    struct plain_line field;
    while (plain_field(&attributes, ';', &field))
        if (field.size > 7 && memcmp(field.at, "Parent=", 7) == 0)
            return (struct plain_line){field.at + 7, field.size - 7};
    return (struct plain_line){attributes.at, 0};
}

static enum status gff3_split(const struct gff3 *gff, struct plain_line line, struct gff3_feature *feature,
                              struct error *err)
{
    struct plain_line field[9];
    for (int i = 0; i < 9; i++)
        if (!plain_field(&line, '\t', &field[i]))
            return gff3_fault(gff, "a feature has nine fields separated by tabs", err);
    *feature = (struct gff3_feature){.sequence = field[0],
                                     .source = field[1],
                                     .type = field[2],
                                     .strand = field[6],
                                     .parent = parent_of(field[8]),
                                     .from = plain_integer(field[3], INT64_MAX / 2),
                                     .to = plain_integer(field[4], INT64_MAX / 2)};
    return STATUS_OK;
}

enum status gff3_next(struct gff3 *gff, struct gff3_feature *feature, bool *more, struct error *err)
{
    struct plain_line line;
    while ((*more = plain_next(&gff->lines, &line))) {
        /* sequences follow '##FASTA'; this reader ends here, because the caller reads sequences from a FASTA file */
        if (plain_is(line, "##FASTA")) {
            *more = false;
            break;
        }
        if (line.size > 0 && line.at[0] != '#')
            return gff3_split(gff, line, feature, err);
    }
    return STATUS_OK;
}
