/* The instances of a kernel in an object, from its descriptor (struct tile_rt_kernel): pointers are followed by their
 * relocations.  A file that is broken shows less. */
#include "driver/info/info.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TARGETS = 64, MOST_VARIANTS = 4096, MOST_KEYS = 64 };

/* A place in a section. */
struct spot {
    unsigned section;
    uint64_t offset;
};

static bool relocations_of(const struct object *object, unsigned section, Elf64_Shdr *relocations)
{
    for (unsigned i = 0; i < object->header.e_shnum; i++)
        if (object_section(object, i, relocations) && relocations->sh_type == SHT_RELA &&
            relocations->sh_info == section)
            return true;
    return false;
}

static bool read_spot(const struct object *object, struct spot spot, void *into, size_t size)
{
    Elf64_Shdr section;
    return object_section(object, spot.section, &section) && section.sh_type != SHT_NOBITS &&
           spot.offset <= section.sh_size && size <= section.sh_size - spot.offset &&
           object_read(object, section.sh_offset + spot.offset, into, size);
}

/* Where the pointer at the spot points. */
static bool follow(const struct object *object, struct spot spot, struct spot *to)
{
    Elf64_Shdr relocations;
    Elf64_Rela relocation;
    Elf64_Sym symbol;
    if (!relocations_of(object, spot.section, &relocations))
        return false;
    for (uint64_t k = 0; k < relocations.sh_size / sizeof relocation; k++) {
        if (!object_read(object, relocations.sh_offset + k * sizeof relocation, &relocation, sizeof relocation))
            return false;
        if (relocation.r_offset != spot.offset)
            continue;
        if (!object_symbol(object, &relocations, &relocation, &symbol))
            return false;
        *to = (struct spot){symbol.st_shndx, symbol.st_value + (uint64_t)relocation.r_addend};
        return true;
    }
    return false;
}

static struct spot member(struct spot spot, size_t offset) { return (struct spot){spot.section, spot.offset + offset}; }

/* The text that the pointer at the spot points to, or "". */
static const char *text_of(const struct object *object, struct spot spot)
{
    struct spot text;
    Elf64_Shdr section;
    if (!follow(object, spot, &text) || !object_section(object, text.section, &section) ||
        section.sh_type == SHT_NOBITS || text.offset >= section.sh_size)
        return "";
    const char *words = (const char *)object->data + section.sh_offset + text.offset;
    return memchr(words, 0, section.sh_size - text.offset) ? object_shown(object, words) : "";
}

/* The entry's functions hand their descriptor to the run time; on x86-64 its address counts from behind 4 bytes. */
static bool find_kernel(const struct object *object, unsigned code, struct tile_rt_kernel *kernel, struct spot *at)
{
    Elf64_Shdr relocations, section;
    Elf64_Rela relocation;
    Elf64_Sym symbol;
    struct spot ignored;
    if (!relocations_of(object, code, &relocations))
        return false;
    for (uint64_t k = 0; k < relocations.sh_size / sizeof relocation; k++) {
        if (!object_read(object, relocations.sh_offset + k * sizeof relocation, &relocation, sizeof relocation))
            return false;
        if (!object_symbol(object, &relocations, &relocation, &symbol) ||
            !object_section(object, symbol.st_shndx, &section) || !(section.sh_flags & SHF_WRITE))
            continue;
        for (unsigned skipped = 0; skipped <= 4; skipped += 4) {
            *at = (struct spot){symbol.st_shndx, symbol.st_value + (uint64_t)relocation.r_addend + skipped};
            if (read_spot(object, *at, kernel, offsetof(struct tile_rt_kernel, choices)) &&
                kernel->abi == TILE_RT_ABI &&
                follow(object, member(*at, offsetof(struct tile_rt_kernel, targets)), &ignored))
                return true;
        }
    }
    return false;
}

static struct spot variant_at(struct spot variants, uint32_t index)
{
    return member(variants, index * sizeof(struct tile_rt_variant));
}

/* Where the wrapper takes the variant beyond its facts, behind "when " as the text of its conditions ends; or NULL. */
static const char *condition_of(const struct object *object, struct spot variant)
{
    const char *text = text_of(object, member(variant, offsetof(struct tile_rt_variant, text)));
    const char *behind = strstr(text, "; when ");
    return behind ? behind + strlen("; when ") : strncmp(text, "when ", 5) == 0 ? text + strlen("when ") : NULL;
}

/* How many values the key has among the variants; 0: cannot be read. */
static unsigned count_values(const struct object *object, struct spot variants, uint32_t count, uint32_t key)
{
    int64_t *seen = ARENA_ARRAY(object->arena, int64_t, count), value;
    unsigned found = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct spot keys;
        if (!follow(object, member(variant_at(variants, i), offsetof(struct tile_rt_variant, keys)), &keys) ||
            !read_spot(object, member(keys, key * sizeof value), &value, sizeof value))
            return 0;
        unsigned k = 0;
        while (k < found && seen[k] != value)
            k++;
        if (k == found)
            seen[found++] = value;
    }
    return found;
}

/* "18 instances = 9 of B x 2 by facts", where the number is that product. */
static void print_product(const struct object *object, struct spot kernel, const struct tile_rt_kernel *fields,
                          struct spot variants, uint32_t count)
{
    struct buffer text = {0};
    struct spot keys, names;
    uint64_t product = 1;
    uint32_t number;
    bool known = fields->key_count <= MOST_KEYS;
    for (uint32_t k = 0; known && k < fields->key_count; k++) {
        unsigned values = count_values(object, variants, count, k);
        known = values > 0 && follow(object, member(kernel, offsetof(struct tile_rt_kernel, keys)), &keys) &&
                read_spot(object, member(keys, k * sizeof number), &number, sizeof number) &&
                follow(object, member(kernel, offsetof(struct tile_rt_kernel, names)), &names);
        struct tile_rt_name key;
        struct spot at = member(names, number * sizeof key);
        known = known && read_spot(object, at, &key, sizeof key) && key.set_count == 1;
        if (!known)
            break;
        product *= values;
        const char *name = text_of(object, member(at, offsetof(struct tile_rt_name, text)));
        buffer_printf(&text, "%s%u of %s", k ? " x " : "", values, name);
    }
    printf("%u instance%s", (unsigned)count, count == 1 ? "" : "s");
    if (known && count > 1 && count % product == 0) {
        printf(" = %s", text.size ? text.data : "");
        bool has_set = false;
        for (uint32_t i = 0; i < count; i++)
            has_set = has_set || condition_of(object, variant_at(variants, i));
        if (count / product > 1)
            printf("%s%u by facts%s", text.size ? " x " : "", (unsigned)(count / product),
                   has_set ? " and schedules" : "");
    }
    printf("\n");
    buffer_free(&text);
}

/* The numbers that `<kernel>_variant` takes, with the name of each instance; what it became stands with a GPU's
 * images. */
static void print_numbers(const struct object *object, struct spot variants, uint32_t count, bool whole)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *summary = text_of(object,
                                      member(variant_at(variants, i), offsetof(struct tile_rt_variant, summary)));
        size_t size = strlen(summary);
        const char *end = whole ? NULL : strstr(summary, ": ");
        if (end)
            size = (size_t)(end - summary);
        const char *when = condition_of(object, variant_at(variants, i));
        if (size)
            printf("            %u: %.*s%s%s\n", (unsigned)i, (int)size, summary, when ? "; when " : "",
                   when ? when : "");
    }
}

/* A target of a kernel; false: the file is broken. */
static bool read_target(const struct object *object, struct spot targets, uint32_t index, struct tile_rt_target *target,
                        const char **name, struct spot *variants)
{
    struct spot spot = member(targets, index * sizeof *target);
    *name = text_of(object, member(spot, offsetof(struct tile_rt_target, name)));
    return read_spot(object, spot, target, sizeof *target) && target->variant_count <= MOST_VARIANTS &&
           follow(object, member(spot, offsetof(struct tile_rt_target, variants)), variants);
}

static void put_instance(const struct object *object, const Elf64_Shdr *names, struct spot at, uint32_t number,
                         bool is_cpu, struct buffer *out)
{
    struct tile_rt_variant variant;
    struct spot image;
    Elf64_Shdr section;
    buffer_printf(out, "%s{\"number\":%u,\"summary\":", number ? "," : "", (unsigned)number);
    buffer_put_json(out, text_of(object, member(at, offsetof(struct tile_rt_variant, summary))));
    const char *when = condition_of(object, at);
    if (when) {
        buffer_puts(out, ",\"when\":");
        buffer_put_json(out, when);
    }
    if (read_spot(object, at, &variant, sizeof variant)) {
        if (is_cpu)
            buffer_printf(out, ",\"scratch_bytes\":%lld", (long long)variant.scratch_bytes);
        else
            buffer_printf(out,
                          ",\"threads\":%d,\"dynamic_shared_bytes\":%d,\"cluster\":%d,\"persistent\":%d,"
                          "\"programs_of_block\":%d,\"tensor_maps\":%d",
                          variant.threads, variant.dynamic_shared, variant.cluster > 1 ? variant.cluster : 1,
                          variant.persistent > 0 ? variant.persistent : 0,
                          variant.persistent < 0 ? -variant.persistent : 1, variant.map_count);
    }
    if (!is_cpu && follow(object, member(at, offsetof(struct tile_rt_variant, image)), &image)) {
        const char *name = object_named_section(object, names, image.section, IMAGE_SECTION, &section);
        buffer_puts(out, ",\"image\":");
        buffer_put_json(out, name ? name : "");
    }
    buffer_puts(out, "}");
}

void info_put_instances(const struct object *object, const Elf64_Shdr *names, unsigned code, struct buffer *out)
{
    struct tile_rt_kernel kernel;
    struct tile_rt_target target;
    struct spot at, targets, variants;
    const char *name;
    if (!find_kernel(object, code, &kernel, &at) ||
        !follow(object, member(at, offsetof(struct tile_rt_kernel, targets)), &targets))
        return;
    for (uint32_t t = 0; t < kernel.target_count && t < MOST_TARGETS; t++) {
        if (!read_target(object, targets, t, &target, &name, &variants))
            return;
        buffer_puts(out, t ? ",{\"name\":" : "{\"name\":");
        buffer_put_json(out, name);
        buffer_puts(out, ",\"instances\":[");
        for (uint32_t i = 0; i < target.variant_count; i++)
            put_instance(object, names, variant_at(variants, i), i, target.kind == TILE_RT_TARGET_cpu, out);
        buffer_puts(out, "]}");
    }
}

void info_print_instances(const struct object *object, unsigned code)
{
    struct tile_rt_kernel kernel;
    struct spot at, targets, variants;
    bool processor = false;
    if (!find_kernel(object, code, &kernel, &at) ||
        !follow(object, member(at, offsetof(struct tile_rt_kernel, targets)), &targets))
        return;
    for (uint32_t t = 0; t < kernel.target_count && t < MOST_TARGETS; t++) {
        struct tile_rt_target target;
        const char *name;
        if (!read_target(object, targets, t, &target, &name, &variants))
            return;
        printf("        %s: ", name);
        print_product(object, at, &kernel, variants, target.variant_count);
        bool is_cpu = target.kind == TILE_RT_TARGET_cpu;
        if (is_cpu && processor)
            continue;
        processor = processor || is_cpu; /* the other instruction sets have the same */
        print_numbers(object, variants, target.variant_count, is_cpu);
    }
}
