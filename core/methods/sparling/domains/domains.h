/* The list of SPARLING's domains (domain.h explains how to add one). For D(name), struct sparling_config has a member
 * `name` of type struct name_config, fields_name.inc has its fields, and name_domain is its table. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAINS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAINS_H

#include "core/data/digitcircle/digitcircle.h"
#include "core/data/latex/latex.h"

#define SPARLING_DOMAINS(D) D(digitcircle) D(latex) D(audio) D(splicing) D(dataset)

/* The generators for a configuration. */
struct digitcircle_config;
struct digitcircle digitcircle_of(const struct digitcircle_config *config);
struct latex_config;
struct latex latex_of(const struct latex_config *config);

#endif
