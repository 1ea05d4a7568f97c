/* Adds a file to an archive that libarchive writes. */
#ifndef MOTIF_TESTS_SUPPORT_ARCHIVE_ADD_H
#define MOTIF_TESTS_SUPPORT_ARCHIVE_ADD_H

#include <archive.h>
#include <archive_entry.h>
#include <stddef.h>
#include <stdint.h>

static inline void archive_add(struct archive *a, const char *name, const void *bytes, size_t size)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    archive_entry_set_size(e, (int64_t)size);
    assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, bytes, size), size);
    archive_entry_free(e);
}

#endif
