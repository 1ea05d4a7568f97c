/* The constants of the Motif Identifiability Theorem. */
#ifndef MOTIF_CORE_METHODS_SPARLING_EVALUATION_THEOREM_H
#define MOTIF_CORE_METHODS_SPARLING_EVALUATION_THEOREM_H

#include "core/base/error.h"
#include "core/base/sink.h"

struct method_run;
struct sink;

/* Writes the constants of the Motif Identifiability Theorem for the domain and the windows of g. */
enum status theorem_result(const struct method_run *run, const struct sink *out, struct error *err);

#endif
