/* The rows of the route table; api/http/route.h describes a row. */
#ifndef MOTIF_API_ROUTES_H
#define MOTIF_API_ROUTES_H

#include "api/http/route.h"

extern const struct api_route api_routes[];
extern const size_t api_route_count;

#endif
