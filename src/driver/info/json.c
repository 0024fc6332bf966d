/* tilecc info --json: what an object holds as one object of JSON on one line; the names are in tilecc(1). */
#include <string.h>

#include "driver/info/info.h"
#include "targets/target.h"

static void put_functions(const struct object *object, const void *cubin, size_t size, struct buffer *out)
{
    struct cubin_kernel *kernels;
    int architecture, count;
    const char *problem;
    if (!cubin_read(object->arena, cubin, size, &architecture, &count, &kernels, &problem))
        return;
    buffer_printf(out, ",\"architecture\":%d,\"functions\":[", architecture);
    for (int i = 0; i < count; i++) {
        buffer_puts(out, i ? ",{\"symbol\":" : "{\"symbol\":");
        buffer_put_json(out, kernels[i].symbol);
        buffer_printf(out, ",\"registers\":%d,\"shared_bytes\":%lld,\"local_bytes\":%lld}", kernels[i].registers,
                      (long long)kernels[i].shared_bytes, (long long)kernels[i].local_bytes);
    }
    buffer_puts(out, "]");
}

static void put_image(const struct object *object, const char *name, const Elf64_Shdr *section, struct buffer *out)
{
    const void *bytes = object->data + section->sh_offset;
    size_t size = section->sh_size;
    const char *kernel, *target;
    info_split_image(object, name, &kernel, &target);
    buffer_puts(out, "{\"name\":");
    buffer_put_json(out, name);
    buffer_puts(out, ",\"kernel\":");
    buffer_put_json(out, kernel);
    buffer_puts(out, ",\"target\":");
    buffer_put_json(out, target);
    buffer_printf(out, ",\"bytes\":%zu", size);
    bool is_packed = packed_is(bytes, size);
    if (is_packed)
        bytes = packed_open(object->arena, bytes, size, &size);
    if (is_packed && bytes)
        buffer_printf(out, ",\"unpacked_bytes\":%zu", size);
    if (bytes && !info_is_ptx(name))
        put_functions(object, bytes, size, out);
    buffer_puts(out, "}");
}

/* Each section whose name begins so, of which `put` writes an object of JSON. */
static int put_sections(const struct object *object, const Elf64_Shdr *names, const char *prefix, struct buffer *out)
{
    bool of_images = strcmp(prefix, IMAGE_SECTION) == 0;
    int count = 0;
    for (unsigned i = 0; i < object->header.e_shnum; i++) {
        Elf64_Shdr section;
        const char *name = object_named_section(object, names, i, prefix, &section);
        if (!name)
            continue;
        if (count++)
            buffer_puts(out, ",");
        if (of_images) {
            put_image(object, name, &section, out);
            continue;
        }
        buffer_puts(out, "{\"name\":");
        buffer_put_json(out, name);
        buffer_printf(out, ",\"host_bytes\":%llu,\"targets\":[", (unsigned long long)section.sh_size);
        info_put_instances(object, names, i, out);
        buffer_puts(out, "]}");
    }
    return count;
}

int info_put_json(const struct object *object, const Elf64_Shdr *names, const char *path, const char *machine,
                  struct buffer *out)
{
    buffer_puts(out, "{\"version\":1,\"object\":");
    buffer_put_json(out, path);
    buffer_printf(out, ",\"machine\":\"%s\",\"bytes\":%zu,\"kernels\":[", machine, object->size);
    int kernels = put_sections(object, names, CODE_SECTION, out);
    buffer_puts(out, "],\"images\":[");
    int images = put_sections(object, names, IMAGE_SECTION, out);
    buffer_puts(out, "]}\n");
    return kernels + images;
}
