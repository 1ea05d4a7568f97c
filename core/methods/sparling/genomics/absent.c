/* The table of SPARLING's hooks in a build without genomics (hooks.h). */
#include "core/methods/sparling/genomics/hooks.h"

const struct sparling_genomics sparling_genomics = {0};
