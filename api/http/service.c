/* Functions that handlers of every folder need: facts about the process, the method of a kind, the time. */
#include "api/http/service.h"

#include <string.h>
#include <time.h>

void api_facts(const struct api *api, struct api_system *system)
{
    *system = (struct api_system){.version = "",
                                  .build = "",
                                  .compiler = "",
                                  .cpu = "",
                                  .cpu_features = "",
                                  .kernels = "",
                                  .blas = "",
                                  .blas_core = ""};
    if (api->options.daemon.system != NULL)
        api->options.daemon.system(api->options.daemon.context, system);
}

bool api_draining(const struct api *api)
{
    return api->options.daemon.draining != NULL && api->options.daemon.draining(api->options.daemon.context);
}

const struct method *api_method(const struct api *api, const char *kind)
{
    for (size_t i = 0; i < api->options.method_count; i++)
        if (strcmp(api->options.methods[i]->kind, kind) == 0)
            return api->options.methods[i];
    return NULL;
}

int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
