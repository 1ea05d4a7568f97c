/* The one place where a request's right to the object in its path is decided. */
#ifndef MOTIF_API_RIGHTS_ADMIT_H
#define MOTIF_API_RIGHTS_ADMIT_H

#include "api/http/exchange.h"

/* Finds the job, study or data set that the path names and checks the right that the route needs (enum api_right). The
 * path parameter of a data set becomes the name of its folder. False: the function has responded, 404 if the object
 * does not exist or the caller may not read it, and 403 if the caller may read but not do what the route does. Runs
 * after names of jobs and studies have become ids. */
bool rights_admit(struct exchange *x);

#endif
