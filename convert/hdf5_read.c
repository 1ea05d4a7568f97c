/* Reads an untrusted HDF5 file object by object (hdf5_read.h). */
#include "convert/hdf5_read.h"

#include <stdio.h>
#include <string.h>

enum { CACHE_BYTES = 64 << 20, CACHE_SLOTS = 12421, ATTRIBUTE_BYTES = 4096 };

static bool is_child_name(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && !strchr(name, '/');
}

bool hdf5_has(hid_t group, const char *name)
{
    return is_child_name(name) && H5Lexists(group, name, H5P_DEFAULT) > 0;
}

/* Opens a child of a group, if the link to it is a hard link. */
static enum status open_child(hid_t group, const char *name, hid_t *child, struct error *err)
{
    H5L_info_t link;
    *child = -1;
    if (!hdf5_has(group, name))
        return error_set(err, STATUS_INVALID, NULL, "there is no '%.60s'", name);
    if (H5Lget_info(group, name, &link, H5P_DEFAULT) < 0)
        return error_set(err, STATUS_CORRUPT, NULL, "'%.60s' cannot be read; the file is damaged", name);
    if (link.type != H5L_TYPE_HARD)
        return error_set(err, STATUS_INVALID, NULL,
                         "'%.60s' is a link to another place; every part must be in its own place in the file", name);
    *child = H5Oopen(group, name, H5P_DEFAULT);
    return *child >= 0 ? STATUS_OK
                       : error_set(err, STATUS_CORRUPT, NULL, "'%.60s' cannot be opened; the file is damaged", name);
}

bool hdf5_is_group(hid_t group, const char *name)
{
    hid_t child;
    bool is_group = !open_child(group, name, &child, NULL) && H5Iget_type(child) == H5I_GROUP;
    if (child >= 0)
        H5Oclose(child);
    return is_group;
}

enum status hdf5_open_group(hid_t group, const char *name, hid_t *child, struct error *err)
{
    enum status status = open_child(group, name, child, err);
    if (status || H5Iget_type(*child) == H5I_GROUP)
        return status;
    H5Oclose(*child);
    *child = -1;
    return error_set(err, STATUS_INVALID, NULL, "'%.60s' must be a group", name);
}

/* ---- attributes -------------------------------------------------------------------------------------------- */

static bool read_text(hid_t attribute, hid_t type, char *text, size_t room)
{
    char fixed[ATTRIBUTE_BYTES + 1] = "", *variable = NULL;
    size_t size = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_STRING)
        return false;
    if (H5Tis_variable_str(type) > 0) {
        bool good = H5Aread(attribute, type, &variable) >= 0 && variable && strlen(variable) < room;
        if (good)
            memcpy(text, variable, strlen(variable) + 1);
        H5free_memory(variable);
        return good;
    }
    if (size > ATTRIBUTE_BYTES || H5Aread(attribute, type, fixed) < 0 || strlen(fixed) >= room)
        return false;
    memcpy(text, fixed, strlen(fixed) + 1);
    return true;
}

/* An open attribute with its type and its number of elements. All three are negative if there is no such attribute. */
struct attribute {
    hid_t self, type;
    hssize_t count;
};

static struct attribute attribute_open(hid_t object, const char *name)
{
    struct attribute a = {H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1, -1, -1};
    a.type = a.self >= 0 ? H5Aget_type(a.self) : -1;
    hid_t space = a.self >= 0 ? H5Aget_space(a.self) : -1;
    if (space >= 0) {
        a.count = H5Sget_simple_extent_npoints(space);
        H5Sclose(space);
    }
    return a;
}

static void attribute_close(const struct attribute *a)
{
    if (a->type >= 0)
        H5Tclose(a->type);
    if (a->self >= 0)
        H5Aclose(a->self);
}

bool hdf5_text_attribute(hid_t object, const char *name, char *text, size_t room)
{
    struct attribute a = attribute_open(object, name);
    bool good = a.type >= 0 && a.count == 1 && read_text(a.self, a.type, text, room);
    attribute_close(&a);
    return good;
}

bool hdf5_pair_attribute(hid_t object, const char *name, int64_t pair[2])
{
    struct attribute a = attribute_open(object, name);
    bool good = a.type >= 0 && H5Tget_class(a.type) == H5T_INTEGER && a.count == 2 &&
                H5Aread(a.self, H5T_NATIVE_INT64, pair) >= 0;
    attribute_close(&a);
    return good;
}

/* ---- arrays ------------------------------------------------------------------------------------------------ */

/* Checks where the bytes of an array are, and which filters compress them. */
static enum status check_storage(const struct hdf5_array *a, hid_t made, struct error *err)
{
    H5D_layout_t layout = H5Pget_layout(made);
    if (layout < 0)
        return error_set(err, STATUS_CORRUPT, NULL, "'%s' cannot be read; the file is damaged", a->name);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(made) != 0)
        return error_set(err, STATUS_INVALID, NULL, "the values of '%s' are in another file or array", a->name);
    int filters = layout == H5D_CHUNKED ? H5Pget_nfilters(made) : 0;
    for (int i = 0; i < filters; i++) {
        char name[32] = "";
        unsigned flags, config;
        size_t values = 0;
        H5Z_filter_t filter = H5Pget_filter2(made, (unsigned)i, &flags, &values, NULL, sizeof name, name, &config);
        if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32 &&
            filter != H5Z_FILTER_SZIP && filter != H5Z_FILTER_NBIT && filter != H5Z_FILTER_SCALEOFFSET)
            return error_set(err, STATUS_INVALID, NULL,
                             "'%s' is compressed by the filter %d (%.20s); write the file with gzip or without "
                             "compression",
                             a->name, (int)filter, name);
    }
    return filters < 0 ? error_set(err, STATUS_CORRUPT, NULL, "'%s' cannot be read", a->name) : STATUS_OK;
}

static enum status check_shape(struct hdf5_array *a, struct error *err)
{
    hsize_t dim[H5S_MAX_RANK] = {1, 1};
    hid_t space = H5Dget_space(a->set);
    a->rank = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    bool good = a->rank >= 0 && a->rank <= H5S_MAX_RANK && H5Sget_simple_extent_dims(space, dim, NULL) >= 0;
    if (space >= 0)
        H5Sclose(space);
    if (!good)
        return error_set(err, STATUS_CORRUPT, NULL, "the shape of '%s' cannot be read; the file is damaged", a->name);
    if (a->rank > 2)
        return error_set(err, STATUS_INVALID, NULL, "'%s' has %d dimensions; at most 2 are allowed", a->name, a->rank);
    for (int i = 0; i < 2; i++) {
        a->dim[i] = i < a->rank ? (int64_t)dim[i] : 1;
        if (a->dim[i] < 0 || a->dim[i] > (int64_t)1 << 40)
            return error_set(err, STATUS_LIMIT, NULL, "'%s' is too large", a->name);
    }
    return STATUS_OK;
}

static enum status check_array(struct hdf5_array *a, struct error *err)
{
    hid_t made = H5Dget_create_plist(a->set);
    a->type = H5Dget_type(a->set);
    if (made < 0 || a->type < 0) {
        if (made >= 0)
            H5Pclose(made);
        return error_set(err, STATUS_CORRUPT, NULL, "'%s' cannot be read; the file is damaged", a->name);
    }
    a->class = H5Tget_class(a->type);
    enum status status = check_storage(a, made, err);
    H5Pclose(made);
    return status ? status : check_shape(a, err);
}

/* Opens the array with a cache that is large enough for whole chunks of usual files. */
static hid_t with_cache(hid_t group, const char *name)
{
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    hid_t set = access >= 0 && H5Pset_chunk_cache(access, CACHE_SLOTS, CACHE_BYTES, 1.0) >= 0
                    ? H5Dopen2(group, name, access)
                    : -1;
    if (access >= 0)
        H5Pclose(access);
    return set;
}

enum status hdf5_open_array(hid_t group, const char *name, struct hdf5_array *array, struct error *err)
{
    hid_t child;
    *array = (struct hdf5_array){.set = -1, .type = -1};
    (void)snprintf(array->name, sizeof array->name, "%s", name);
    enum status status = open_child(group, name, &child, err);
    if (status)
        return status;
    bool is_array = H5Iget_type(child) == H5I_DATASET;
    H5Oclose(child);
    if (!is_array)
        return error_set(err, STATUS_INVALID, NULL, "'%s' must be an array", array->name);
    array->set = with_cache(group, name);
    status = array->set >= 0
                 ? check_array(array, err)
                 : error_set(err, STATUS_CORRUPT, NULL, "'%s' cannot be opened; the file is damaged", array->name);
    if (status)
        hdf5_close_array(array);
    return status;
}

void hdf5_close_array(struct hdf5_array *array)
{
    if (array->type > 0)
        H5Tclose(array->type);
    if (array->set > 0)
        H5Dclose(array->set);
    array->set = array->type = -1;
}

bool hdf5_is_number(const struct hdf5_array *array)
{
    return array->class == H5T_INTEGER || array->class == H5T_FLOAT || array->class == H5T_ENUM;
}

enum status hdf5_read(const struct hdf5_array *array, int64_t begin, int64_t count, hid_t memory, void *to,
                      struct error *err)
{
    hsize_t start[2] = {(hsize_t)begin, 0}, size[2] = {(hsize_t)count, (hsize_t)array->dim[1]};
    if (begin < 0 || count < 0 || begin + count > array->dim[0])
        return error_set(err, STATUS_CORRUPT, NULL, "'%s' is shorter than expected", array->name);
    if (count == 0 || array->dim[1] == 0)
        return STATUS_OK;
    hid_t file = H5Dget_space(array->set), room = array->rank > 0 ? H5Screate_simple(array->rank, size, NULL) : H5S_ALL;
    bool good = file >= 0 && room >= 0 &&
                (array->rank == 0 || H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) >= 0) &&
                H5Dread(array->set, memory, room, array->rank > 0 ? file : H5S_ALL, H5P_DEFAULT, to) >= 0;
    if (file >= 0)
        H5Sclose(file);
    if (room > 0)
        H5Sclose(room);
    return good ? STATUS_OK
                : error_set(err, STATUS_CORRUPT, NULL,
                            "'%s' cannot be read: the file is damaged, or a chunk of it is too large", array->name);
}
