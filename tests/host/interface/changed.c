/* Between an object and the run time (by the linker's --wrap): hands over each descriptor as one of version ABI that needs NEEDS. */
#include "tile_rt.h"

#define CHANGED(kernel)                        \
    struct tile_rt_kernel changed = *(kernel); \
    changed.abi = ABI;                         \
    changed.needs = NEEDS

#define WRAP(name, result, more, ...)                                       \
    result __real_tile_rt_##name(const struct tile_rt_kernel *kernel more); \
    result __wrap_tile_rt_##name(const struct tile_rt_kernel *kernel more); \
    result __wrap_tile_rt_##name(const struct tile_rt_kernel *kernel more)  \
    {                                                                       \
        CHANGED(kernel);                                                    \
        return __real_tile_rt_##name(&changed __VA_ARGS__);                 \
    }
#define COMMA ,
#define CALL COMMA struct CUstream_st *stream COMMA const void *const *arguments

WRAP(launch, int, CALL, , stream, arguments)
WRAP(launch_variant, int, CALL COMMA int variant, , stream, arguments, variant)
WRAP(launch_ex, int, CALL COMMA const struct tile_launch_options *options, , stream, arguments, options)
WRAP(query, int, CALL COMMA struct tile_kernel_info *info, , stream, arguments, info)
WRAP(workspace, size_t, CALL, , stream, arguments)
WRAP(load, int, , )
WRAP(unload, int, , )
