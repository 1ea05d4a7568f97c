/* Finds the columns of `obs` and `var` in AnnData files of any version (frame.h). */
#include "convert/frame.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SHOWN = 6, COLUMNS_LOOKED = 1000 }; /* upper limits of the column names in a message and of those compared */

/* Finds the column with the names of the rows in a table from before AnnData 0.7: the member called index or _index, or
 * else the first member. */
static void find_old_index(struct frame *f)
{
    static const char *const usual[] = {"index", "_index"};
    for (int i = 0; i < 2; i++)
        if (H5Tget_member_index(f->table.type, usual[i]) >= 0) {
            (void)snprintf(f->index, sizeof f->index, "%s", usual[i]);
            return;
        }
    char *first = H5Tget_nmembers(f->table.type) > 0 ? H5Tget_member_name(f->table.type, 0) : NULL;
    (void)snprintf(f->index, sizeof f->index, "%s", first ? first : "");
    H5free_memory(first);
}

enum status frame_open(hid_t file, hid_t group, const char *name, struct frame *frame, struct error *err)
{
    *frame = (struct frame){.what = name, .file = file, .group = -1};
    if (hdf5_is_group(group, name)) {
        enum status status = hdf5_open_group(group, name, &frame->group, err);
        if (!status && !hdf5_text_attribute(frame->group, "_index", frame->index, sizeof frame->index))
            (void)snprintf(frame->index, sizeof frame->index, "%s",
                           hdf5_has(frame->group, "_index") ? "_index" : "index");
        return status;
    }
    enum status status = hdf5_open_array(group, name, &frame->table, err);
    if (status)
        return status;
    if (frame->table.class != H5T_COMPOUND || frame->table.rank != 1)
        return error_set(err, STATUS_INVALID, NULL, "'%s' must be a table", name);
    find_old_index(frame);
    return STATUS_OK;
}

void frame_close(struct frame *frame)
{
    hdf5_close_array(&frame->table);
    if (frame->group > 0)
        H5Gclose(frame->group);
    frame->group = -1;
}

static bool has_column(const struct frame *frame, const char *column)
{
    return frame->table.set > 0 ? H5Tget_member_index(frame->table.type, column) >= 0
                                : strcmp(column, "__categories") != 0 && hdf5_has(frame->group, column);
}

/* Writes the name of column `i` to name[room]. Returns false if there is no such column. */
static bool name_at(const struct frame *f, unsigned i, char *name, size_t room)
{
    if (f->table.set <= 0)
        return H5Lget_name_by_idx(f->group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, room, H5P_DEFAULT) > 0;
    char *member = (int)i < H5Tget_nmembers(f->table.type) ? H5Tget_member_name(f->table.type, i) : NULL;
    if (member)
        (void)snprintf(name, room, "%s", member);
    H5free_memory(member);
    return member != NULL;
}

bool frame_find(const struct frame *frame, const char *wanted, char name[TABLE_TEXT])
{
    char other[TABLE_TEXT];
    int like = 0;
    (void)snprintf(name, TABLE_TEXT, "%s", wanted);
    if (has_column(frame, wanted))
        return true;
    for (unsigned i = 0; i < COLUMNS_LOOKED && name_at(frame, i, other, sizeof other); i++)
        if (strcasecmp(other, wanted) == 0 && has_column(frame, other)) {
            (void)snprintf(name, TABLE_TEXT, "%s", other);
            like++;
        }
    return like == 1;
}

static enum status refuse_column(const struct frame *f, const char *column, struct error *err)
{
    char list[160] = "", name[32];
    size_t used = 0;
    int shown = 0;
    for (unsigned i = 0; shown <= SHOWN && i < COLUMNS_LOOKED && name_at(f, i, name, sizeof name); i++) {
        if (strcmp(name, "__categories") == 0 || strcmp(name, f->index) == 0)
            continue;
        int wrote =
            snprintf(list + used, sizeof list - used, "%s%s", shown > 0 ? ", " : "", shown < SHOWN ? name : "...");
        used += wrote > 0 && (size_t)wrote < sizeof list - used ? (size_t)wrote : 0;
        shown++;
    }
    return error_set(err, STATUS_INVALID, NULL, "%s has no column '%.60s'; it has %s", f->what, column,
                     shown > 0 ? list : "none");
}

/* ---- forms ------------------------------------------------------------------------------------------------- */

/* Opens a column that is a group: categories, or values with a mask. */
static enum status open_parts(struct column *c, hid_t group, struct error *err)
{
    if (!hdf5_has(group, "codes"))
        return column_open_masked(c, group, err);
    enum status status = hdf5_open_array(group, "codes", &c->values, err);
    if (!status)
        status = column_take_values(c, err);
    return status ? status : column_set_categories(c, group, "categories", err);
}

static enum status open_child(const struct frame *f, struct column *c, struct error *err)
{
    hid_t group;
    if (hdf5_is_group(f->group, c->name)) {
        enum status status = hdf5_open_group(f->group, c->name, &group, err);
        if (status)
            return status;
        status = open_parts(c, group, err);
        H5Gclose(group);
        return status;
    }
    enum status status = hdf5_open_array(f->group, c->name, &c->values, err);
    if (status)
        return status;
    status = column_take_values(c, err);
    if (status || !hdf5_is_group(f->group, "__categories"))
        return status;
    status = hdf5_open_group(f->group, "__categories", &group, err);
    if (!status && hdf5_has(group, c->name))
        status = column_set_categories(c, group, c->name, err);
    if (group >= 0)
        H5Gclose(group);
    return status;
}

/* Opens a column of a table from before AnnData 0.7: a member of the compounds. */
static enum status open_member(const struct frame *f, struct column *c, struct error *err)
{
    int member = H5Tget_member_index(f->table.type, c->name);
    hid_t type = member >= 0 ? H5Tget_member_type(f->table.type, (unsigned)member) : -1, uns = -1;
    char list[TABLE_TEXT + 16];
    if (type < 0)
        return error_set(err, STATUS_CORRUPT, NULL, "the column '%.60s' cannot be read", c->name);
    c->values = f->table;
    c->borrowed = true;
    c->rows = f->table.dim[0];
    enum status status = column_set_type(c, type, err);
    H5Tclose(type);
    if (status)
        return status;
    hid_t compound = H5Tcreate(H5T_COMPOUND, c->bytes);
    bool good = compound >= 0 && H5Tinsert(compound, c->name, 0, c->element) >= 0;
    H5Tclose(c->element);
    c->element = compound;
    if (!good)
        return error_memory(err, "a column");
    (void)snprintf(list, sizeof list, "%s_categories", c->name);
    if (!hdf5_is_group(f->file, "uns") || hdf5_open_group(f->file, "uns", &uns, err))
        return STATUS_OK;
    if (c->kind == COLUMN_INTEGER && hdf5_has(uns, list))
        status = column_set_categories(c, uns, list, err);
    H5Gclose(uns);
    return status;
}

enum status column_open(const struct frame *frame, const char *name, struct column *column, struct error *err)
{
    *column = (struct column){.rows = 0};
    (void)snprintf(column->name, sizeof column->name, "%s", name);
    if (!has_column(frame, name))
        return refuse_column(frame, name, err);
    return frame->table.set > 0 ? open_member(frame, column, err) : open_child(frame, column, err);
}
