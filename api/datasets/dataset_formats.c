/* Lists the formats of uploads with the options that each of them reads, so that clients offer no other options.
 *
 * formats.inc (core/data/uploads) says which options a format reads, and options.inc states the type and the range of
 * each option. The values of the options genome and signal are
 * names of folders that the operator has provided. */
#include "api/datasets/dataset_formats.h"

#include <string.h>

#include "core/data/uploads/collection.h"
#include "storage/files/dataset.h"

/* The options whose values are names of folders that the operator has provided. files: names of files; a folder is an
 * allowed value if it contains one of these files. */
static const struct {
    enum collection_option option;
    const char *const *files;
} operator_folders[] = {{OPTION_GENOME, collection_genome_files}, {OPTION_SIGNAL, collection_signal_files}};
enum { OPERATOR_FOLDERS = sizeof operator_folders / sizeof operator_folders[0] };

/* The allowed values of one of these options. name: [count] names of folders. */
struct folders {
    const char **name;
    size_t count;
};

/* True if the format reads this value of an option. format->layouts and format->negatives are sets of bits: bit i
 * stands for the value with index i in collection_layouts or collection_negatives. No bits: the format reads all
 * values. */
static bool reads(const struct collection_format *format, enum collection_option option, const char *value)
{
    const bool layout = option == OPTION_LAYOUT, negatives = option == OPTION_NEGATIVES;
    const unsigned bits = layout ? format->layouts : negatives ? format->negatives : 0;
    const char *const *names = layout ? collection_layouts : collection_negatives;
    for (unsigned i = 0; bits != 0 && names[i] != NULL; i++)
        if (strcmp(names[i], value) == 0)
            return (bits & 1u << i) != 0;
    return true;
}

static void write_choices(const struct sink *out, const struct config_field *p, const struct collection_format *format,
                          const struct folders *folders, enum collection_option option)
{
    sink_begin_list(out, "choices");
    for (size_t i = 0; folders != NULL && i < folders->count; i++)
        sink_text(out, NULL, folders->name[i]);
    for (const char *const *c = p->choices; c != NULL && *c != NULL; c++)
        if (reads(format, option, *c))
            sink_text(out, NULL, *c);
    sink_end_list(out);
}

static void write_option(const struct sink *out, const struct config_field *p, const struct collection_format *format,
                         enum collection_option option, const struct folders all[OPERATOR_FOLDERS])
{
    const struct folders *folders = NULL;
    for (int i = 0; i < OPERATOR_FOLDERS; i++)
        folders = operator_folders[i].option == option ? &all[i] : folders;
    const bool choice = p->choices != NULL || folders != NULL;
    sink_begin_object(out, NULL);
    sink_text(out, "name", p->name);
    sink_text(out, "type", choice ? "choice" : p->type == FIELD_INT ? "integer" : "text");
    sink_text(out, "meaning", collection_option_meaning(option, format->name));
    if (choice)
        write_choices(out, p, format, folders, option);
    if (p->type == FIELD_INT) {
        sink_integer(out, "min", (int64_t)p->min);
        sink_integer(out, "max", (int64_t)p->max);
    }
    sink_end_object(out);
}

enum status dataset_formats(struct exchange *x, struct error *err)
{
    size_t count;
    struct folders folders[OPERATOR_FOLDERS];
    const struct collection_format *formats = collection_formats(&count);
    for (int i = 0; i < OPERATOR_FOLDERS; i++) {
        enum status status = dataset_list_holding(x->api->options.data, operator_folders[i].files, &x->arena,
                                                  &folders[i].name, &folders[i].count, err);
        if (status != STATUS_OK)
            return status;
    }
    sink_begin_list(x->out, "formats");
    for (size_t i = 0; i < count; i++) {
        sink_begin_object(x->out, NULL);
        sink_text(x->out, "name", formats[i].name);
        sink_text(x->out, "media_type", formats[i].media_type);
        sink_begin_list(x->out, "options");
        for (const struct collection_option_row *o = collection_option_rows; o->field.name != NULL; o++)
            if (formats[i].reads & o->option)
                write_option(x->out, &o->field, &formats[i], o->option, folders);
        sink_end_list(x->out);
        sink_end_object(x->out);
    }
    sink_end_list(x->out);
    return STATUS_OK;
}
