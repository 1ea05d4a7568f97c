/* Every domain of SPARLING: one line each (see domain.h). D(name, NAME): member `name` of struct sparling_config is a
 * struct name_config, its fields are NAME_FIELDS, its table is name_domain. */
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
