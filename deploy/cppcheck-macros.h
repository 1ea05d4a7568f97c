/* Defines the loop macros of cJSON for cppcheck, which does not read the headers of libraries. Only deploy/static
 * includes this file. */
#ifndef MOTIF_DEPLOY_CPPCHECK_MACROS_H
#define MOTIF_DEPLOY_CPPCHECK_MACROS_H

#define cJSON_ArrayForEach(item, array) for (item = (array) ? (array)->child : 0; item; item = item->next)

#endif
