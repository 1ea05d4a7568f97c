/* Prints what core/formats/npy.h reads from files, for check_npy.py. Each file gives one line: "ok RANK DIMS : VALUES"
 * or "STATUS: MESSAGE". */
#include <stdio.h>

#include "core/formats/npy.h"

static enum status read_file(void *context, void *to, size_t most, size_t *got, struct error *err)
{
    FILE *file = context;
    *got = fread(to, 1, most < 7 ? most : 7, file); /* returns small pieces, so that the reader must ask again */
    return ferror(file) ? error_set(err, STATUS_IO, NULL, "cannot be read") : STATUS_OK;
}

static void print(const struct npy *a)
{
    printf("ok %d", a->rank);
    for (int d = 0; d < a->rank; d++)
        printf(" %lld", (long long)a->dim[d]);
    printf(" :");
    for (size_t i = 0; i < a->count; i++)
        if (a->texts)
            printf(" '%s'", a->texts[i]);
        else
            printf(" %.9g", (double)a->values[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        struct npy array;
        struct error err = {0};
        if (!file)
            return 1;
        struct byte_source from = {file, read_file, NULL};
        if (npy_read_from(&from, 1 << 20, &array, &err))
            printf("%s: %s\n", status_name(err.code), err.message);
        else
            print(&array);
        npy_close(&array);
        fclose(file);
    }
    return 0;
}
