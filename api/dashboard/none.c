/* The files of the dashboard in a build without the dashboard: there are none. */
#include "api/documents/dashboard.h"

const struct dashboard_file dashboard_files[1];
const size_t dashboard_file_count = 0;
const char dashboard_boot_hash[] = "", dashboard_style_hash[] = "";
