/* For cppcheck alone, which reads no header of a library: loops of cJSON. deploy/static includes this. */
#ifndef MOTIF_DEPLOY_CPPCHECK_MACROS_H
#define MOTIF_DEPLOY_CPPCHECK_MACROS_H

#define cJSON_ArrayForEach(item, array) for (item = (array) ? (array)->child : 0; item; item = item->next)

#endif
