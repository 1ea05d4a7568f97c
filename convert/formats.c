/* The list of formats of motif-convert. */
#include "convert/convert.h"

const struct convert_format convert_formats[] = {{"h5ad", convert_h5ad}, {"10x-h5", convert_10x}, {NULL, NULL}};
