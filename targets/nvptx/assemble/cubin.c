/* Our own reader of cubins, so that nothing that ptxas or a full disk left half done gets into an object.  Every number
 * is checked against the size before it is used; any bytes may be given.
 *
 * A cubin is an ELF64 of machine 190.  Since CUDA 13 (ABI version 8) bits 8 to 15 of e_flags are the architecture,
 * before it bits 0 to 7.  Kernels are the functions of the symbol table marked as entries; `.nv.info` tells registers
 * and stack of all of them, `.nv.info.<kernel>` the threads, `.nv.shared.<kernel>` is its static shared memory.
 * `.nv.info` entries are
 * { u8 form, u8 attribute, u16 size or value } and, for form 4, size bytes. */
#include "targets/target.h"

#include <elf.h>
#include <string.h>

enum { MACHINE_CUDA = 190, SYMBOL_ENTRY = 0x10, FORM_SIZED = 4 };
enum info_attribute {
    INFO_MAX_THREADS = 0x05,
    INFO_REQUIRED_THREADS = 0x10,
    INFO_FRAME_SIZE = 0x11,
    INFO_REGISTERS = 0x2f
};

struct reader {
    const unsigned char *data;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr names;
    const char *problem;
};

static bool inside(const struct reader *r, uint64_t offset, uint64_t size)
{
    return offset <= r->size && size <= r->size - offset;
}

static bool fail(struct reader *r, const char *problem)
{
    r->problem = problem;
    return false;
}

static Elf64_Shdr section_at(const struct reader *r, unsigned index)
{
    Elf64_Shdr section;
    memcpy(&section, r->data + r->header.e_shoff + (uint64_t)index * sizeof section, sizeof section);
    return section;
}

/* Of the others, offset and size say nothing that was checked. */
static bool has_bytes(const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL;
}

/* Text at an offset of a string section; NULL when it does not end inside. */
static const char *text_at(const struct reader *r, const Elf64_Shdr *strings, uint64_t offset)
{
    if (strings->sh_type != SHT_STRTAB || offset >= strings->sh_size)
        return NULL;
    const char *text = (const char *)r->data + strings->sh_offset + offset;
    return memchr(text, 0, strings->sh_size - offset) ? text : NULL;
}

static bool check_header(struct reader *r)
{
    if (r->size < sizeof r->header)
        return fail(r, "it is shorter than an ELF header");
    memcpy(&r->header, r->data, sizeof r->header);
    const Elf64_Ehdr *h = &r->header;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return fail(r, "it is no ELF file");
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
        return fail(r, "it is no 64-bit little-endian file");
    if (h->e_machine != MACHINE_CUDA)
        return fail(r, "it is not for NVIDIA GPUs");
    if (h->e_type != ET_EXEC)
        return fail(r, "it is not linked");
    if (h->e_ehsize != sizeof *h || h->e_shentsize != sizeof(Elf64_Shdr))
        return fail(r, "its header sizes are wrong");
    if (h->e_shnum == 0 || h->e_shstrndx >= h->e_shnum)
        return fail(r, "it has no section names");
    if (!inside(r, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
        return fail(r, "its section table ends outside the file");
    if (h->e_phnum &&
        (h->e_phentsize != sizeof(Elf64_Phdr) || !inside(r, h->e_phoff, (uint64_t)h->e_phnum * sizeof(Elf64_Phdr))))
        return fail(r, "its segment table ends outside the file");
    return true;
}

/* Every section lies in the file, has a name, and the file ends where its last part does. */
static bool check_sections(struct reader *r)
{
    uint64_t end = r->header.e_shoff + (uint64_t)r->header.e_shnum * sizeof(Elf64_Shdr);
    if (r->header.e_phnum) {
        uint64_t segments = r->header.e_phoff + (uint64_t)r->header.e_phnum * sizeof(Elf64_Phdr);
        if (segments > end)
            end = segments;
    }
    r->names = section_at(r, r->header.e_shstrndx);
    if (r->names.sh_type != SHT_STRTAB || !inside(r, r->names.sh_offset, r->names.sh_size))
        return fail(r, "its section names are damaged");
    for (unsigned i = 0; i < r->header.e_shnum; i++) {
        Elf64_Shdr s = section_at(r, i);
        if (!text_at(r, &r->names, s.sh_name))
            return fail(r, "a section has no name");
        if (!has_bytes(&s))
            continue;
        if (!inside(r, s.sh_offset, s.sh_size))
            return fail(r, "a section ends outside the file");
        if (s.sh_offset + s.sh_size > end)
            end = s.sh_offset + s.sh_size;
    }
    if (end != r->size)
        return fail(r, "bytes are missing or left over at its end");
    return true;
}

static const char *section_name(const struct reader *r, const Elf64_Shdr *section)
{
    return text_at(r, &r->names, section->sh_name);
}

/* Index of the section named prefix + name, or 0. */
static unsigned find_section(const struct reader *r, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    for (unsigned i = 1; i < r->header.e_shnum; i++) {
        Elf64_Shdr s = section_at(r, i);
        const char *text = section_name(r, &s);
        if (strncmp(text, prefix, length) == 0 && strcmp(text + length, name) == 0)
            return i;
    }
    return 0;
}

static struct cubin_part find_part(const struct reader *r, const char *prefix, const char *name)
{
    unsigned index = find_section(r, prefix, name);
    if (!index)
        return (struct cubin_part){0};
    Elf64_Shdr s = section_at(r, index);
    return has_bytes(&s) ? (struct cubin_part){s.sh_offset, s.sh_size} : (struct cubin_part){0};
}

static uint32_t word_at(const unsigned char *data)
{
    uint32_t word;
    memcpy(&word, data, sizeof word);
    return word;
}

/* The payload of the first entry with the attribute (and, when symbol is not 0, with that first word); NULL: none. */
static const unsigned char *find_info(const struct reader *r, const Elf64_Shdr *section, enum info_attribute attribute,
                                      uint32_t symbol, uint32_t least_size)
{
    const unsigned char *data = r->data + section->sh_offset;
    for (uint64_t at = 0; at + 4 <= section->sh_size;) {
        uint32_t form = data[at], size = (uint32_t)data[at + 2] | (uint32_t)data[at + 3] << 8;
        uint64_t next = at + 4 + (form == FORM_SIZED ? size : 0);
        if (next > section->sh_size)
            return NULL;
        if (form == FORM_SIZED && data[at + 1] == attribute && size >= least_size &&
            (symbol == 0 || word_at(data + at + 4) == symbol))
            return data + at + 4;
        at = next;
    }
    return NULL;
}

static int64_t threads_of(const unsigned char *sizes)
{
    int64_t product = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t size = word_at(sizes + 4 * i);
        if (size == 0 || size > 1024)
            return 0;
        product *= size;
    }
    return product > 1024 ? 0 : product;
}

static bool read_kernel(struct reader *r, uint32_t symbol, const char *name, struct cubin_kernel *kernel)
{
    unsigned code = find_section(r, ".text.", name), all = find_section(r, ".nv.info", ""),
             own = find_section(r, ".nv.info.", name);
    if (!code)
        return fail(r, "a kernel has no code");
    Elf64_Shdr text = section_at(r, code);
    if (text.sh_type != SHT_PROGBITS || text.sh_size == 0)
        return fail(r, "a kernel has no code");
    if (!all || !own)
        return fail(r, "a kernel is not described");
    Elf64_Shdr info = section_at(r, all), more = section_at(r, own);
    if (!has_bytes(&info) || !has_bytes(&more))
        return fail(r, "a kernel is not described");
    const unsigned char *registers = find_info(r, &info, INFO_REGISTERS, symbol, 8);
    const unsigned char *frame = find_info(r, &info, INFO_FRAME_SIZE, symbol, 8);
    if (!registers)
        return fail(r, "a kernel's registers are not told");
    *kernel = (struct cubin_kernel){.symbol = name, .registers = (int)(word_at(registers + 4) & 0xffff)};
    if (kernel->registers < 1 || kernel->registers > TARGET_THREAD_REGISTERS)
        return fail(r, "a kernel's registers are out of range");
    kernel->code = (struct cubin_part){text.sh_offset, text.sh_size};
    kernel->info = (struct cubin_part){more.sh_offset, more.sh_size};
    kernel->relocations[0] = find_part(r, ".rela.text.", name);
    kernel->relocations[1] = find_part(r, ".rel.text.", name);
    if (frame)
        kernel->local_bytes = word_at(frame + 4);
    const unsigned char *threads = find_info(r, &more, INFO_REQUIRED_THREADS, 0, 12);
    if (!threads)
        threads = find_info(r, &more, INFO_MAX_THREADS, 0, 12);
    if (threads) {
        kernel->threads = (int)threads_of(threads);
        if (kernel->threads == 0)
            return fail(r, "a kernel's threads are out of range");
    }
    unsigned shared = find_section(r, ".nv.shared.", name);
    if (shared) {
        Elf64_Shdr s = section_at(r, shared);
        if (s.sh_size > INT32_MAX)
            return fail(r, "a kernel's shared memory is out of range");
        kernel->shared_bytes = (int64_t)s.sh_size;
    }
    return true;
}

static bool read_symbols(struct reader *r, struct arena *arena, int *count, struct cubin_kernel **kernels)
{
    VECTOR(struct cubin_kernel) found = {0};
    for (unsigned i = 0; i < r->header.e_shnum; i++) {
        Elf64_Shdr table = section_at(r, i);
        if (table.sh_type != SHT_SYMTAB)
            continue;
        if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_size % sizeof(Elf64_Sym) ||
            table.sh_link >= r->header.e_shnum)
            return fail(r, "its symbol table is damaged");
        Elf64_Shdr strings = section_at(r, table.sh_link);
        if (strings.sh_type == SHT_STRTAB && !inside(r, strings.sh_offset, strings.sh_size))
            return fail(r, "its symbol names are damaged");
        for (uint64_t s = 0; s < table.sh_size / sizeof(Elf64_Sym); s++) {
            Elf64_Sym symbol;
            memcpy(&symbol, r->data + table.sh_offset + s * sizeof symbol, sizeof symbol);
            const char *name = text_at(r, &strings, symbol.st_name);
            if (!name)
                return fail(r, "a symbol has no name");
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & SYMBOL_ENTRY))
                continue;
            struct cubin_kernel kernel;
            if (!read_kernel(r, (uint32_t)s, name, &kernel))
                return false;
            kernel.symbol = arena_string(arena, name);
            vector_push(arena, &found, kernel);
        }
    }
    if (found.count == 0)
        return fail(r, "it holds no kernel");
    *count = found.count;
    *kernels = found.data;
    return true;
}

bool cubin_read(struct arena *arena, const void *data, size_t size, int *architecture, int *kernel_count,
                struct cubin_kernel **kernels, const char **problem)
{
    struct reader r = {.data = data, .size = size};
    bool good = check_header(&r) && check_sections(&r) && read_symbols(&r, arena, kernel_count, kernels);
    if (good) {
        uint32_t flags = r.header.e_flags;
        *architecture = r.header.e_ident[EI_ABIVERSION] >= 8 ? (int)(flags >> 8 & 0xff) : (int)(flags & 0xff);
    } else {
        *problem = r.problem;
    }
    return good;
}
