/* Every domain of SPARLING: one line each (see domain.h). D(name, NAME): member `name` of struct sparling_config is a
 * struct name_config, its fields are NAME_FIELDS, its table is name_domain. */
#ifndef MOTIF_CORE_METHODS_SPARLING_DOMAINS_H
#define MOTIF_CORE_METHODS_SPARLING_DOMAINS_H

#include "core/methods/sparling/domain_audio.h"
#include "core/methods/sparling/domain_dataset.h"
#include "core/methods/sparling/domain_digitcircle.h"
#include "core/methods/sparling/domain_latex.h"
#include "core/methods/sparling/domain_splicing.h"

#define SPARLING_DOMAINS(D) \
    D(digitcircle, DIGITCIRCLE) \
    D(latex, LATEX) \
    D(audio, AUDIO) \
    D(splicing, SPLICING) \
    D(dataset, DATASET)

#endif
