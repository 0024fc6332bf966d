/* tilecc info --extract=TARGET[:KERNEL]: the images of a target as files in the working directory, each called as its section
 * is: softmax_f16__12.sm_90a.cubin, softmax_f16__12.sm_90a.ptx.  All of them or none. */
#include <string.h>

#include "base/file.h"
#include "driver/info/info.h"

/* "sm_90a:softmax_f16" */
struct wanted {
    const char *target, *kernel; /* kernel: NULL: each */
};

static struct wanted read_wanted(struct arena *arena, const char *words)
{
    const char *colon = strchr(words, ':');
    if (!colon)
        return (struct wanted){words, NULL};
    return (struct wanted){arena_substring(arena, words, (size_t)(colon - words)), colon + 1};
}

/* PTX is named by its compute_90a. */
static bool is_wanted(const struct object *object, const struct wanted *wanted, const char *name, bool is_ptx)
{
    const char *kernel, *target, *asked = wanted->target;
    info_split_image(object, name, &kernel, &target);
    if (is_ptx) {
        if (strncmp(asked, "compute_", 8) != 0)
            return false;
        asked = arena_printf(object->arena, "sm_%s.ptx", asked + 8);
    }
    return strcmp(target, asked) == 0 && (!wanted->kernel || strcmp(kernel, wanted->kernel) == 0);
}

/* A name from the file becomes one in the folder, whatever it holds. */
static bool is_plain(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') && !(*c >= '0' && *c <= '9') && *c != '_' &&
            *c != '.')
            return false;
    return *name && *name != '.';
}

/* NULL, or what is wrong with it. */
static const char *add_image(const struct object *object, struct output_set *files, const char *name,
                             const Elf64_Shdr *section, bool is_ptx)
{
    const void *bytes = object->data + section->sh_offset;
    size_t size = section->sh_size;
    if (!is_plain(name))
        return arena_printf(object->arena, "the image '%s' has no name of a file", object_shown(object, name));
    if (packed_is(bytes, size))
        bytes = packed_open(object->arena, bytes, size, &size);
    if (!bytes)
        return arena_printf(object->arena, "the image '%s' is packed in a way that is not known here", name);
    const void *end = is_ptx ? memchr(bytes, 0, size) : NULL; /* the driver wants it, a file does not */
    if (end)
        size = (size_t)((const char *)end - (const char *)bytes);
    output_set_add(files, is_ptx ? name : arena_printf(object->arena, "%s.cubin", name), bytes, size);
    return NULL;
}

const char *info_extract(const struct object *object, const Elf64_Shdr *names, const char *words,
                         struct output_set *files)
{
    struct wanted wanted = read_wanted(object->arena, words);
    int count = 0;
    for (unsigned i = 0; i < object->header.e_shnum; i++) {
        Elf64_Shdr section;
        const char *name = object_named_section(object, names, i, IMAGE_SECTION, &section);
        if (!name)
            continue;
        bool is_ptx = info_is_ptx(name);
        if (!is_wanted(object, &wanted, name, is_ptx))
            continue;
        const char *problem = add_image(object, files, name, &section, is_ptx);
        if (problem)
            return problem;
        count++;
    }
    return count ? NULL
                 : arena_printf(object->arena, "it holds no image of %s; `tilecc info` lists what is there", words);
}
