/* Parameters: one block contains the values of all trained arrays, a second block their gradients, and a third block
 * the state arrays.
 *
 * A hash of an array's name selects its random numbers. Adding an array to a model, or declaring arrays in another
 * order, therefore leaves the initial values of all other arrays unchanged. */
#include "core/nn/params.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/grown.h"
#include "core/base/random/philox.h"
#include "core/base/zeroed.h"

enum { PARAM_ALIGN = 16 }; /* alignment of the arrays, as a number of reals: one cache line */

/* combined with the seed, so that initial values and dropout use different random numbers */
#define PARAM_SEED 0x6d6f7469665f7031ull

struct param {
    struct weight weight;
    char name[SNAPSHOT_NAME], shared_init[SNAPSHOT_NAME];
    struct init init;
    real *grad; /* the array's place in the gradient block; also set while the array is frozen */
    bool state;
};

struct params {
    struct param **arrays; /* the arrays in order of declaration */
    size_t count, trained;
    real *values, *grads;
    void *value_memory, *grad_memory; /* the blocks that contain `values` and `grads` */
    /* sizes of the blocks with padding; trained_reals: number of trained reals without padding */
    size_t reals, trained_reals, grad_reals;
    bool sealed;
    struct error error;
    struct weight dummy;
};

enum status params_create(struct params **params, struct error *err)
{
    *params = calloc(1, sizeof(**params));
    if (*params == NULL)
        return error_memory(err, "a parameter table");
    return STATUS_OK;
}

void params_destroy(struct params *params)
{
    if (params == NULL)
        return;
    for (size_t i = 0; i < params->count; i++)
        free(params->arrays[i]);
    free(params->arrays);
    free(params->value_memory);
    free(params->grad_memory);
    free(params);
}

static struct param *find(const struct params *params, const char *name)
{
    for (size_t i = 0; i < params->count; i++)
        if (strcmp(params->arrays[i]->name, name) == 0)
            return params->arrays[i];
    return NULL;
}

/* Adds an entry; NULL after a failure, which params_seal() returns. */
static struct param *params_append(struct params *params, const char *name)
{
    if (params->error.code)
        return NULL;
    if (params->sealed || strlen(name) >= SNAPSHOT_NAME || find(params, name) != NULL) {
        error_set(&params->error, STATUS_INTERNAL, NULL,
                  "parameter \"%.80s\": the name is used twice or too long, or the parameters are sealed", name);
        return NULL;
    }
    struct param **arrays = grown(params->arrays, params->count, sizeof *arrays);
    struct param *p = arrays != NULL ? calloc(1, sizeof(*p)) : NULL;
    params->arrays = arrays != NULL ? arrays : params->arrays;
    if (p == NULL) {
        error_memory(&params->error, "the parameter table");
        return NULL;
    }
    memcpy(p->name, name, strlen(name) + 1);
    params->arrays[params->count++] = p;
    return p;
}

static size_t params_padded(size_t count)
{
    return (count + PARAM_ALIGN - 1) / PARAM_ALIGN * PARAM_ALIGN;
}

/* Sets the shape of a new array and adds its size to those of the blocks. */
static struct weight *shape(struct params *params, struct param *p, int rank, const int *dim)
{
    if (p == NULL)
        return &params->dummy;
    p->weight.rank = rank;
    p->weight.count = 1;
    for (int i = 0; i < rank; i++) {
        p->weight.dim[i] = dim[i];
        p->weight.count *= (size_t)dim[i];
        if (dim[i] < 1)
            error_set(&params->error, STATUS_INTERNAL, NULL, "parameter \"%.80s\" has an empty dimension", p->name);
    }
    params->reals += params_padded(p->weight.count);
    if (!p->state) {
        params->grad_reals += params_padded(p->weight.count);
        params->trained_reals += p->weight.count;
    }
    return &p->weight;
}

struct weight *params_add(struct params *params, const char *name, int rank, const int *dim, struct init init)
{
    struct param *p = params_append(params, name);
    const char *shared_init = init.shared_init == NULL ? name : init.shared_init;
    if (p != NULL && strlen(shared_init) < SNAPSHOT_NAME)
        memcpy(p->shared_init, shared_init, strlen(shared_init) + 1);
    if (p != NULL) {
        p->init = init;
        p->init.shared_init = NULL;
        params->trained++;
    }
    return shape(params, p, rank, dim);
}

struct weight *params_add_state(struct params *params, const char *name, int count, double value)
{
    struct param *p = params_append(params, name);
    if (p != NULL) {
        p->state = true;
        p->init = init_constant(value);
    }
    return shape(params, p, 1, &count);
}

struct init init_fan_in(int fan_in)
{
    return (struct init){INIT_UNIFORM, 1.0 / sqrt((double)fan_in), NULL};
}

struct init init_xavier(int fan_in, int fan_out)
{
    return (struct init){INIT_UNIFORM, sqrt(6.0 / ((double)fan_in + (double)fan_out)), NULL};
}

struct init init_normal(double deviation)
{
    return (struct init){INIT_NORMAL, deviation, NULL};
}

/* --- memory ------------------------------------------------------------------------------------- */

enum status params_seal(struct params *params, bool with_grad, struct error *err)
{
    if (params->error.code)
        return error_set(err, params->error.code, NULL, "%s", params->error.message);
    if (params->sealed)
        return error_set(err, STATUS_INTERNAL, NULL, "the parameters are already sealed");
    params->values = zeroed_alloc(params->reals * sizeof(real), &params->value_memory);
    params->grads = with_grad ? zeroed_alloc(params->grad_reals * sizeof(real), &params->grad_memory) : NULL;
    if (params->values == NULL || (with_grad && params->grads == NULL))
        return error_set(err, STATUS_NO_MEMORY, NULL, "not enough memory for %zu parameters", params->trained_reals);
    real *value = params->values, *grad = params->grads;
    for (size_t i = 0; i < params->count; i++) {
        struct param *p = params->arrays[i];
        p->weight.value = value;
        value += params_padded(p->weight.count);
        if (!p->state && with_grad) {
            p->grad = p->weight.grad = grad;
            grad += params_padded(p->weight.count);
        }
    }
    params->sealed = true;
    return STATUS_OK;
}

/* --- initial values ----------------------------------------------------------------------------- */

static uint64_t name_hash(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325ull; /* the offset basis of the hash function FNV-1a */
    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 0x100000001b3ull;
    return hash;
}

enum { INIT_BLOCK = 1024 };

static void init_array(struct param *p, uint64_t seed, struct thread_pool *pool)
{
    uint64_t hash = name_hash(p->shared_init);
    struct philox from = philox_stream(seed ^ PARAM_SEED, (uint32_t)hash, hash >> 32);
    double scale = p->init.scale, normal[INIT_BLOCK];
    float uniform[INIT_BLOCK];
    for (size_t at = 0, count; at < p->weight.count && !thread_pool_stopped(pool); at += count) {
        count = p->weight.count - at < INIT_BLOCK ? p->weight.count - at : INIT_BLOCK;
        if (p->init.rule == INIT_UNIFORM)
            philox_fill_uniform(&from, at, uniform, count);
        else if (p->init.rule == INIT_NORMAL)
            philox_fill_normal(&from, at, normal, count);
        for (size_t i = 0; i < count; i++)
            p->weight.value[at + i] = (real)(p->init.rule == INIT_UNIFORM  ? scale * (2.0 * (double)uniform[i] - 1.0)
                                             : p->init.rule == INIT_NORMAL ? scale * normal[i]
                                                                           : scale);
    }
}

void params_init(struct params *params, uint64_t seed, struct thread_pool *pool)
{
    for (size_t i = 0; i < params->count; i++)
        init_array(params->arrays[i], seed, pool);
}

/* --- use ---------------------------------------------------------------------------------------- */

void params_begin_step(struct params *params)
{
    for (size_t i = 0; i < params->count; i++)
        params->arrays[i]->weight.grad_ready = false;
}

void params_freeze(struct params *params, const char *prefix, bool frozen)
{
    for (size_t i = 0; i < params->count; i++) {
        struct param *p = params->arrays[i];
        if (strncmp(p->name, prefix, strlen(prefix)) == 0)
            p->weight.grad = frozen ? NULL : p->grad;
    }
}

size_t params_gradient_reals(const struct params *params)
{
    return params->grad_reals;
}

real *params_gradients(struct params *params, const struct weight *first, size_t end, size_t *from)
{
    *from = 0;
    for (size_t i = 0; first != NULL && i < params->count; i++)
        if (&params->arrays[i]->weight == first)
            *from = (size_t)(params->arrays[i]->grad - params->grads);
    for (size_t i = 0; i < params->count; i++) {
        struct param *p = params->arrays[i];
        size_t at = p->grad == NULL ? end : (size_t)(p->grad - params->grads);
        if (at >= *from && at < end && (p->weight.grad == NULL || !p->weight.grad_ready))
            memset(p->grad, 0, p->weight.count * sizeof(real));
    }
    return params->grads;
}

static struct param *trained(const struct params *params, size_t index)
{
    for (size_t i = 0; i < params->count; i++)
        if (!params->arrays[i]->state && index-- == 0)
            return params->arrays[i];
    return NULL;
}

size_t params_arrays(const struct params *params)
{
    return params->trained;
}

struct weight *params_array(struct params *params, size_t index)
{
    struct param *p = trained(params, index);
    return p == NULL ? NULL : &p->weight;
}

const char *params_name(const struct params *params, size_t index)
{
    const struct param *p = trained(params, index);
    return p == NULL ? NULL : p->name;
}

struct weight *params_find(struct params *params, const char *name)
{
    struct param *p = find(params, name);
    return p == NULL ? NULL : &p->weight;
}

int64_t params_count(const struct params *params)
{
    return (int64_t)params->trained_reals;
}

uint64_t params_bytes(const struct params *params)
{
    uint64_t reals = params->reals + (params->grads == NULL ? 0 : params->grad_reals);
    return reals * sizeof(real) + params->count * sizeof(struct param);
}

void params_copy(struct params *to, const struct params *from)
{
    memcpy(to->values, from->values, from->reals * sizeof(real));
}

real *params_values(struct params *params, size_t *reals)
{
    if (reals != NULL)
        *reals = params->reals;
    return params->values;
}

enum status params_snapshot(struct params *params, struct snapshot *snapshot, struct error *err)
{
    enum snapshot_type type = sizeof(real) == 4 ? SNAPSHOT_F32 : SNAPSHOT_F64;
    for (int state = 0; state < 2; state++) {
        for (size_t i = 0; i < params->count; i++) {
            struct param *p = params->arrays[i];
            if (p->state != (state == 1))
                continue;
            uint64_t dim[4] = {0};
            for (int d = 0; d < p->weight.rank; d++)
                dim[d] = (uint64_t)p->weight.dim[d];
            enum status status =
                snapshot_add(snapshot, SNAPSHOT_WEIGHT, type, p->name, p->weight.rank, dim, p->weight.value, err);
            if (status)
                return status;
        }
    }
    return STATUS_OK;
}

enum status params_fit(struct params *params, const struct snapshot_reader *from, struct error *err)
{
    struct snapshot *snapshot = NULL;
    if (params->error.code)
        return error_set(err, params->error.code, NULL, "%s", params->error.message);
    enum status status = snapshot_create(&snapshot, err);
    if (!status)
        status = params_snapshot(params, snapshot, err);
    if (!status)
        status = snapshot_fits(snapshot, from, 1u << SNAPSHOT_WEIGHT, err);
    snapshot_destroy(snapshot);
    return status;
}

static bool all_finite(const real *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

enum status params_check(const struct params *params, struct error *err)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct param *p = params->arrays[i];
        if (!all_finite(p->weight.value, p->weight.count))
            return error_set(err, STATUS_NUMERIC, NULL, "%s contains a value that is not finite", p->name);
        if (p->weight.grad != NULL && p->weight.grad_ready && !all_finite(p->weight.grad, p->weight.count))
            return error_set(err, STATUS_NUMERIC, NULL, "the gradient of %s is not finite", p->name);
    }
    return STATUS_OK;
}
