/* Builds and runs the dilated residual network of the splicing domain. */
#include "core/nn/dilated.h"

#include <stdio.h>

struct part_name {
    char text[2 * SNAPSHOT_NAME]; /* params_seal() returns an error for names that are too long */
};

static struct part_name dilated_part(const char *name, const char *what, int i)
{
    struct part_name n;
    if (i < 0)
        snprintf(n.text, sizeof n.text, "%s.%s", name, what);
    else
        snprintf(n.text, sizeof n.text, "%s.%s.%d", name, what, i);
    return n;
}

static void build_point(struct conv *layer, struct params *params, struct part_name name, int in, int out)
{
    conv_layer_build(layer, params, name.text, in, out, 1, 1);
}

/* The residual units form groups of four, and the units of a group have equal kernels. The (taps, dilation) of the four
 * groups are (11, 1), (11, 4), (21, 10) and (41, 25). */
void dilated_unit(int i, int *taps, int *dilation)
{
    static const int all_taps[] = {11, 11, 21, 41}, dilations[] = {1, 4, 10, 25};
    *taps = all_taps[i / 4];
    *dilation = dilations[i / 4];
}

int dilated_units(int context)
{
    int sum = 0;
    for (int i = 0; i < DILATED_UNITS; i++) {
        int taps, dilation;
        dilated_unit(i, &taps, &dilation);
        sum += 2 * (taps - 1) * dilation; /* a residual unit has two convolutions */
        if (sum == context && i % 4 == 3)
            return i + 1;
    }
    return 0;
}

void dilated_build(struct dilated *net, struct params *params, const char *name, const struct dilated_config *config)
{
    int width = config->width;
    net->config = *config;
    net->units = dilated_units(config->context);
    build_point(&net->first, params, dilated_part(name, "first", -1), config->inputs, width);
    build_point(&net->skip_first, params, dilated_part(name, "skip", -1), width, width);
    for (int i = 0; i < net->units; i++) {
        int taps, dilation;
        dilated_unit(i, &taps, &dilation);
        residual_unit_build(&net->unit[i], params, dilated_part(name, "units", i).text, width, 1, taps);
        if (i % 4 == 3)
            build_point(&net->skip[i / 4], params, dilated_part(name, "skips", i / 4), width, width);
    }
    build_point(&net->out, params, dilated_part(name, "out", -1), width, config->classes);
}

struct tensor *dilated_forward(struct exec *e, struct dilated *net, struct tensor *x)
{
    x = conv_layer_forward(e, &net->first, x, NULL);
    struct tensor *skip = conv_layer_forward(e, &net->skip_first, x, NULL);
    for (int i = 0; i < net->units; i++) {
        int taps, dilation;
        dilated_unit(i, &taps, &dilation);
        x = residual_unit_dilated(e, &net->unit[i], dilation, x);
        if (i % 4 == 3)
            skip = conv_layer_forward(e, &net->skip[i / 4], x, skip);
    }
    return conv_layer_forward(e, &net->out, skip, NULL);
}
