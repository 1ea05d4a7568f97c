/* The table of hooks in a build without genomics (genomics.h). */
#include "core/genomics/genomics.h"

const struct genomics genomics = {0};
