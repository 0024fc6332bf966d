/* tilecc info FILE.o|FILE.a: what an object made by tilecc holds: the kernels that C can call, and the code for each GPU
 * with its registers and memory, and how it is launched.  targets/host/object.c says how sections are named.  Any
 * bytes may be given. */
#include "driver/info/info.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "driver/info/archive.h"
#include "driver/driver.h"

#define JSON "--json"
#define EXTRACT "--extract="
#define DEPENDENCES "--dependences"
#define ORDERS "--orders="
#define SHARED_SECTION ".text.tile_shared."
#define DESCRIPTOR_RELOCATIONS ".rela.data.rel.ro.tile."

static const char *machine_name(unsigned machine)
{
    return machine == EM_X86_64 ? "x86_64" : machine == EM_AARCH64 ? "aarch64" : "another machine";
}

static void print_kernels(const struct object *object, const Elf64_Shdr *names, int *count)
{
    for (unsigned i = 0; i < object->header.e_shnum; i++) {
        Elf64_Shdr section;
        const char *shared = object_named_section(object, names, i, SHARED_SECTION, &section);
        const char *name = object_named_section(object, names, i, CODE_SECTION, &section);
        if (shared)
            printf("shared  %s: %llu bytes of host code that other kernels have, too\n", object_shown(object, shared),
                   (unsigned long long)section.sh_size);
        if (!name)
            continue;
        printf("kernel  %s: %llu bytes of host code\n", object_shown(object, name),
               (unsigned long long)section.sh_size);
        info_print_instances(object, i);
        ++*count;
    }
}

/* The descriptor of a variant: where its structure starts in which data, and the relocations of that data. */
struct descriptor {
    struct tile_rt_variant variant;
    Elf64_Shdr relocations;
    uint64_t start;
};

/* The relocation at a place, or with a section the first from there on that points into it. */
static bool find_relocation(const struct object *object, const Elf64_Shdr *relocations, uint64_t place,
                            unsigned section, Elf64_Rela *relocation, Elf64_Sym *symbol)
{
    bool found = false;
    Elf64_Rela first = {0};
    for (uint64_t k = 0; k < relocations->sh_size / sizeof *relocation; k++) {
        if (!object_read(object, relocations->sh_offset + k * sizeof *relocation, relocation, sizeof *relocation))
            return false;
        if (section == SHN_UNDEF && relocation->r_offset != place)
            continue;
        if (!object_symbol(object, relocations, relocation, symbol))
            continue;
        if (section == SHN_UNDEF)
            return true;
        if (symbol->st_shndx == section && relocation->r_offset >= place &&
            (!found || relocation->r_offset < first.r_offset)) {
            found = true;
            first = *relocation;
        }
    }
    *relocation = first;
    return found;
}

/* A variant whose code is the section, behind the one that was found before: the descriptor that points there.
 * `section`: where to look from on, 0 at first. */
static bool find_variant(const struct object *object, const Elf64_Shdr *names, unsigned image, unsigned *section,
                         struct descriptor *found)
{
    uint64_t from = *section ? found->start + sizeof found->variant : 0;
    for (unsigned i = *section; i < object->header.e_shnum; i++, from = 0) {
        Elf64_Shdr data;
        Elf64_Rela relocation;
        Elf64_Sym symbol;
        if (!object_section(object, i, &found->relocations) || found->relocations.sh_type != SHT_RELA ||
            strncmp(object_name(object, names, found->relocations.sh_name), DESCRIPTOR_RELOCATIONS,
                    strlen(DESCRIPTOR_RELOCATIONS)) != 0 ||
            !object_section(object, found->relocations.sh_info, &data) || data.sh_type == SHT_NOBITS ||
            !find_relocation(object, &found->relocations, from, image, &relocation, &symbol))
            continue;
        *section = i;
        found->start = relocation.r_offset - offsetof(struct tile_rt_variant, image);
        return found->start <= data.sh_size && sizeof found->variant <= data.sh_size - found->start &&
               object_read(object, data.sh_offset + found->start, &found->variant, sizeof found->variant);
    }
    return false;
}

/* "" where the object does not tell. */
static const char *summary_of(const struct object *object, const struct descriptor *descriptor)
{
    Elf64_Rela relocation;
    Elf64_Sym symbol;
    Elf64_Shdr text;
    uint64_t place = descriptor->start + offsetof(struct tile_rt_variant, summary);
    if (!find_relocation(object, &descriptor->relocations, place, SHN_UNDEF, &relocation, &symbol) ||
        !object_section(object, symbol.st_shndx, &text) || text.sh_type == SHT_NOBITS)
        return "";
    uint64_t start = symbol.st_value + (uint64_t)relocation.r_addend;
    if (start >= text.sh_size)
        return "";
    const char *words = (const char *)object->data + text.sh_offset + start;
    return memchr(words, 0, text.sh_size - start) ? words : "";
}

static void print_launch(const struct tile_rt_variant *variant)
{
    printf("        %d threads a block", variant->threads);
    if (variant->dynamic_shared)
        printf(", %d bytes of dynamic shared memory", variant->dynamic_shared);
    if (variant->cluster > 1)
        printf(", clusters of %d", variant->cluster);
    if (variant->persistent < 0)
        printf(", %d programs a block", -variant->persistent);
    if (variant->persistent > 0)
        printf(", persistent: %d a multiprocessor", variant->persistent);
    if (variant->map_count)
        printf(", %d tensor map%s", variant->map_count, variant->map_count == 1 ? "" : "s");
    printf("\n");
}

static void print_image(const struct object *object, const Elf64_Shdr *names, const char *name,
                        const Elf64_Shdr *section, unsigned index)
{
    struct descriptor descriptor;
    struct cubin_kernel *kernels;
    int architecture, kernel_count;
    const char *problem;
    printf("image   %s: %llu bytes", object_shown(object, name), (unsigned long long)section->sh_size);
    if (info_is_ptx(name)) {
        printf(" of PTX, which the driver compiles where the program runs\n");
        return;
    }
    const void *cubin = object->data + section->sh_offset;
    size_t size = section->sh_size;
    if (packed_is(cubin, size)) {
        cubin = packed_open(object->arena, cubin, size, &size);
        if (!cubin) {
            printf(", packed in a way that is not known here\n");
            return;
        }
        printf(", unpacked %zu", size);
    }
    if (!cubin_read(object->arena, cubin, size, &architecture, &kernel_count, &kernels, &problem))
        printf(", not a cubin: %s\n", problem);
    else {
        printf(", architecture %d\n", architecture);
        for (int i = 0; i < kernel_count; i++)
            printf("        %s: %d registers, %lld bytes shared, %lld bytes local\n",
                   object_shown(object, kernels[i].symbol), kernels[i].registers, (long long)kernels[i].shared_bytes,
                   (long long)kernels[i].local_bytes);
        unsigned place = 0, count = 0;
        while (find_variant(object, names, index, &place, &descriptor)) { /* several of the same code */
            if (count++ == 0)
                print_launch(&descriptor.variant);
            const char *summary = summary_of(object, &descriptor);
            if (*summary)
                printf("        %s\n", object_shown(object, summary));
        }
    }
}

static void print_images(const struct object *object, const Elf64_Shdr *names, int *count, int *texts)
{
    for (unsigned i = 0; i < object->header.e_shnum; i++) {
        Elf64_Shdr section;
        const char *name = object_named_section(object, names, i, IMAGE_SECTION, &section);
        if (!name)
            continue;
        print_image(object, names, name, &section, i);
        *texts += info_is_ptx(name);
        ++*count;
    }
}

static int extract_images(const struct object *object, const Elf64_Shdr *names, const char *path, const char *words)
{
    struct output_set *files = output_set_create(object->arena);
    const char *failed, *problem = info_extract(object, names, words, files);
    if (problem)
        driver_error(NULL, "'%s': %s", path, problem);
    else if (output_set_commit(files, &failed))
        return EXIT_OK;
    else
        driver_error(NULL, "cannot write '%s': %s", failed, strerror(errno));
    return EXIT_FILE;
}

static int print_native(const struct object *object, const Elf64_Shdr *names, const char *path, const char *seed)
{
    if (seed && (!*seed || strlen(seed) > 18 || seed[strspn(seed, "0123456789")])) {
        driver_error(NULL, "--orders takes a number, from which what is drawn at random begins, not '%s'", seed);
        return EXIT_USAGE;
    }
    if (info_print_native(object, names, seed))
        return EXIT_OK;
    driver_error(NULL, "'%s' holds no machine code for GPUs", path);
    return EXIT_FILE;
}

/* `option`: --json, --extract=, --dependences or --orders=; NULL: a text of all. */
static int print_object(const char *path, const char *option, const char *bytes, size_t size, struct arena *arena)
{
    struct object object = {.data = (const unsigned char *)bytes, .size = size, .arena = arena};
    Elf64_Shdr names;
    int count = 0, texts = 0;
    if (!object_open(&object) || !object_section(&object, object.header.e_shstrndx, &names)) {
        driver_error(NULL, "'%s' is not a 64-bit ELF object", path);
        return EXIT_FILE;
    }
    if (object.header.e_type != ET_REL) {
        driver_error(NULL,
                     "'%s' is linked, where kernels no longer stand apart; give the objects or the archive that it was "
                     "linked from",
                     path);
        return EXIT_FILE;
    }
    if (option && (strcmp(option, DEPENDENCES) == 0 || strncmp(option, ORDERS, strlen(ORDERS)) == 0))
        return print_native(&object, &names, path, strcmp(option, DEPENDENCES) == 0 ? NULL : option + strlen(ORDERS));
    if (option && strcmp(option, JSON) != 0)
        return extract_images(&object, &names, path, option + strlen(EXTRACT));
    if (option) {
        struct buffer out = {0};
        count = info_put_json(&object, &names, path, machine_name(object.header.e_machine), &out);
        if (count)
            fwrite(out.data, 1, out.size, stdout);
        else
            driver_error(NULL, "'%s' holds no kernels of tilecc", path);
        buffer_free(&out);
        return count ? EXIT_OK : EXIT_FILE;
    }
    printf("object  %s: %s\n", path, machine_name(object.header.e_machine));
    print_kernels(&object, &names, &count);
    print_images(&object, &names, &count, &texts);
    if (count == 0) {
        driver_error(NULL, "'%s' holds no kernels of tilecc", path);
        return EXIT_FILE;
    }
    info_print_sizes(&object, &names);
    if (!texts)
        printf("PTX     none: nothing is compiled where the program runs\n");
    return EXIT_OK;
}

static bool holds_kernels(const struct archive_member *member, struct arena *arena)
{
    struct object object = {.data = (const unsigned char *)member->data, .size = member->size, .arena = arena};
    Elf64_Shdr names, section;
    if (!object_open(&object) || !object_section(&object, object.header.e_shstrndx, &names))
        return false;
    for (unsigned i = 0; i < object.header.e_shnum; i++)
        if (object_named_section(&object, &names, i, CODE_SECTION, &section))
            return true;
    return false;
}

/* Each member that tilecc has made, as if it were a file of its own; with --json a line each. */
static int print_archive(const char *path, const char *option, struct archive *archive, struct arena *arena)
{
    struct archive_member member;
    int code = EXIT_OK, count = 0;
    while (archive_next(archive, arena, &member)) {
        if (!holds_kernels(&member, arena))
            continue;
        int one = print_object(arena_printf(arena, "%s(%s)", path, member.name), option, member.data, member.size,
                               arena);
        code = one ? one : code;
        count++;
    }
    if (count)
        return code;
    driver_error(NULL, "'%s' holds no kernels of tilecc", path);
    return EXIT_FILE;
}

static int print_file(const char *path, const char *option, const struct buffer *bytes, struct arena *arena)
{
    struct archive archive;
    return archive_open(bytes->data, bytes->size, &archive)
               ? print_archive(path, option, &archive, arena)
               : print_object(path, option, bytes->data, bytes->size, arena);
}

static bool is_option(const char *word)
{
    return strcmp(word, JSON) == 0 || strncmp(word, EXTRACT, strlen(EXTRACT)) == 0 || strcmp(word, DEPENDENCES) == 0 ||
           strncmp(word, ORDERS, strlen(ORDERS)) == 0;
}

int info_main(int count, const char *const *arguments)
{
    const char *option = NULL;
    if (count > 0 && is_option(arguments[0])) {
        option = arguments[0];
        count--;
        arguments++;
    }
    if (count != 1) {
        driver_error(
            NULL, "info takes one object file or archive, behind --json, --extract=TARGET[:KERNEL], --dependences or "
                  "--orders=SEED if one is given");
        return EXIT_USAGE;
    }
    struct buffer bytes = {0};
    int code = EXIT_FILE;
    if (!file_read(arguments[0], 0, &bytes))
        driver_error(NULL, "cannot read '%s': %s", arguments[0], strerror(errno));
    else {
        struct arena *arena = arena_create();
        code = print_file(arguments[0], option, &bytes, arena);
        arena_destroy(arena);
    }
    buffer_free(&bytes);
    return code;
}
