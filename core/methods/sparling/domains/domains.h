/* The list of SPARLING's domains (domain.h explains how to add one). For D(name, NAME), struct sparling_config has a
 * member `name` of type struct name_config, NAME_FIELDS are its fields, and name_domain is its table. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAINS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_DOMAINS_H

#include "core/methods/sparling/domains/domain_audio.h"
#include "core/methods/sparling/domains/domain_dataset.h"
#include "core/methods/sparling/domains/domain_digitcircle.h"
#include "core/methods/sparling/domains/domain_latex.h"
#include "core/methods/sparling/domains/domain_splicing.h"

#define SPARLING_DOMAINS(D)                                                                                            \
    D(digitcircle, DIGITCIRCLE)                                                                                        \
    D(latex, LATEX)                                                                                                    \
    D(audio, AUDIO)                                                                                                    \
    D(splicing, SPLICING)                                                                                              \
    D(dataset, DATASET)

#endif
