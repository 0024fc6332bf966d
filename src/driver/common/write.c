/* One file, for steps that write no set of outputs. */
#include "base/file.h"
#include "driver/options.h"

#include <errno.h>
#include <string.h>

bool driver_write(const struct options *options, const char *path, const void *data, size_t size)
{
    struct output_set *outputs = output_set_create(options->arena);
    const char *failed;
    output_set_add(outputs, path, data, size);
    if (output_set_commit(outputs, &failed))
        return true;
    driver_error(options, "cannot write '%s': %s", failed, strerror(errno));
    return false;
}
