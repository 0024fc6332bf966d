/* A linker's `-r` for ELF64 objects that LLVM wrote for one host a moment ago, so that code for the processor can be
 * made by several workers: sections are put behind each other, symbols and relocations moved along.  Nothing is
 * resolved, relaxed or dropped but LLVM's table of significant addresses and copies of notes.  Constant bytes, which
 * LLVM would copy several times, come as they are.  What such an object never holds (groups, numbers of sections in a table of their own, common symbols) is our own bug. */
#include "targets/host/merge.h"

#include <elf.h>
#include <string.h>

struct symbol {
    const char *name;
    Elf64_Sym entry;
    struct section *section; /* NULL: undefined or absolute */
    bool is_local;
    uint32_t index;
};

struct relocation {
    Elf64_Rela entry;
    struct symbol *symbol;
};

struct section {
    const char *name;
    Elf64_Shdr header; /* of the output; sh_size is the place where the next piece goes */
    struct buffer bytes;
    const char *plain; /* the bytes of a part that is no object; NULL: `bytes` has them */
    VECTOR(struct relocation) relocations;
    struct symbol *symbol; /* of type SECTION; NULL: nobody asked for it */
    uint32_t index;
};

/* Where an input section lies now. */
struct place {
    struct section *section;
    uint64_t offset;
    bool is_repeated; /* it is there from another input */
};

struct input {
    const char *data;
    size_t size;
    const char *symbol, *section;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    struct place *places;    /* by section */
    struct symbol **symbols; /* by symbol */
};

struct merge {
    struct arena *arena;
    VECTOR(struct section *) sections;
    VECTOR(struct symbol *) locals;
    VECTOR(struct symbol *) globals;
};

/* ---- reading ---- */

static const void *bytes_at(const struct input *input, uint64_t offset, uint64_t size)
{
    if (offset > input->size || size > input->size - offset)
        die("an object ends early");
    return input->data + offset;
}

static const Elf64_Shdr *section_at(const struct input *input, uint64_t number)
{
    if (number >= input->header->e_shnum)
        die("an object has no section %llu", (unsigned long long)number);
    return &input->sections[number];
}

static const char *text_at(const struct input *input, uint64_t table, uint64_t offset)
{
    const Elf64_Shdr *section = section_at(input, table);
    const char *text = bytes_at(input, section->sh_offset, section->sh_size);
    if (offset >= section->sh_size || text[section->sh_size - 1])
        die("a name of an object ends early");
    return text + offset;
}

static void open_input(struct merge *merge, const struct host_part *part, struct input *input)
{
    bool is_aligned = (uintptr_t)part->data % _Alignof(Elf64_Ehdr) == 0; /* as its tables then are */
    *input = (struct input){.data = is_aligned ? part->data : arena_copy(merge->arena, part->data, part->size),
                            .size = part->size,
                            .symbol = part->symbol,
                            .section = part->section};
    input->header = bytes_at(input, 0, sizeof *input->header);
    if (memcmp(input->header->e_ident, ELFMAG, SELFMAG) || input->header->e_ident[EI_CLASS] != ELFCLASS64 ||
        input->header->e_ident[EI_DATA] != ELFDATA2LSB || input->header->e_type != ET_REL ||
        input->header->e_shentsize != sizeof(Elf64_Shdr) || input->header->e_shoff % 8)
        die("not an object of the host");
    input->sections = bytes_at(input, input->header->e_shoff,
                               (uint64_t)input->header->e_shnum * sizeof *input->sections);
    input->places = ARENA_ARRAY(merge->arena, struct place, input->header->e_shnum + 1);
}

/* ---- sections ---- */

static bool is_carried(uint32_t type)
{
    switch (type) {
    case SHT_NULL:
    case SHT_SYMTAB:
    case SHT_STRTAB:
    case SHT_RELA:
    case 0x6fff4c03: return false; /* the last is SHT_LLVM_ADDRSIG */
    case SHT_GROUP:
    case SHT_SYMTAB_SHNDX:
    case SHT_REL: die("an object has a section of type %u", type);
    default: return true;
    }
}

static struct section *find_section(struct merge *merge, const char *name, const Elf64_Shdr *like)
{
    for (int i = 0; i < merge->sections.count; i++) {
        struct section *section = merge->sections.data[i];
        if (!strcmp(section->name, name) && section->header.sh_type == like->sh_type &&
            section->header.sh_flags == like->sh_flags && section->header.sh_entsize == like->sh_entsize)
            return section;
    }
    struct section *section = ARENA_NEW(merge->arena, struct section);
    section->name = name;
    section->header = (Elf64_Shdr){
        .sh_type = like->sh_type, .sh_flags = like->sh_flags, .sh_addralign = 1, .sh_entsize = like->sh_entsize};
    vector_push(merge->arena, &merge->sections, section);
    return section;
}

static void put_zeros(struct buffer *out, uint64_t size)
{
    static const char zeros[64];
    for (; size; size -= size < sizeof zeros ? size : sizeof zeros)
        buffer_append(out, zeros, size < sizeof zeros ? size : sizeof zeros);
}

/* A note says something of the whole object, and each part says the same.  Functions that code for the processor calls
 * come with each part that calls them. */
static bool is_repeated(const struct input *input, const Elf64_Shdr *from, const struct section *section)
{
    bool is_note = from->sh_type == SHT_NOTE;
    if ((!is_note && strncmp(section->name, HOST_HELP_SECTION, strlen(HOST_HELP_SECTION)) != 0) ||
        !section->header.sh_size)
        return false;
    bool same = from->sh_size == section->header.sh_size &&
                memcmp(bytes_at(input, from->sh_offset, from->sh_size), section->bytes.data, from->sh_size) == 0;
    if (is_note && !same)
        die("the notes of two objects differ");
    return same;
}

static void add_sections(struct merge *merge, struct input *input)
{
    for (int i = 0; i < input->header->e_shnum; i++) {
        const Elf64_Shdr *from = &input->sections[i];
        if (!is_carried(from->sh_type))
            continue;
        const char *name = text_at(input, input->header->e_shstrndx, from->sh_name);
        if (input->section && strcmp(name, ".text.tile.code") == 0)
            name = input->section;
        struct section *section = find_section(merge, name, from);
        uint64_t align = from->sh_addralign ? from->sh_addralign : 1;
        if (is_repeated(input, from, section)) {
            input->places[i] = (struct place){section, 0, true};
            continue;
        }
        uint64_t offset = (section->header.sh_size + align - 1) / align * align;
        if (from->sh_type != SHT_NOBITS) {
            put_zeros(&section->bytes, offset - section->header.sh_size);
            buffer_append(&section->bytes, bytes_at(input, from->sh_offset, from->sh_size), from->sh_size);
        }
        section->header.sh_size = offset + from->sh_size;
        if (section->header.sh_addralign < align)
            section->header.sh_addralign = align;
        input->places[i] = (struct place){section, offset, false};
    }
}

/* ---- symbols ---- */

static struct symbol *new_symbol(struct merge *merge, const char *name, const Elf64_Sym *entry)
{
    struct symbol *symbol = ARENA_NEW(merge->arena, struct symbol);
    symbol->name = name;
    symbol->entry = *entry;
    symbol->is_local = ELF64_ST_BIND(entry->st_info) == STB_LOCAL;
    return symbol;
}

static struct symbol *section_symbol(struct merge *merge, struct section *section)
{
    static const Elf64_Sym entry = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION)};
    if (!section->symbol) {
        section->symbol = new_symbol(merge, "", &entry);
        section->symbol->section = section;
    }
    return section->symbol;
}

/* NULL: there is none. */
static struct symbol *local_symbol(const struct merge *merge, const char *name, const struct section *section,
                                   uint64_t value)
{
    for (int i = 0; i < merge->locals.count; i++) {
        struct symbol *symbol = merge->locals.data[i];
        if (symbol->section == section && symbol->entry.st_value == value && strcmp(symbol->name, name) == 0)
            return symbol;
    }
    return NULL;
}

static struct symbol *global_symbol(struct merge *merge, const char *name, const Elf64_Sym *entry)
{
    for (int i = 0; i < merge->globals.count; i++)
        if (!strcmp(merge->globals.data[i]->name, name))
            return merge->globals.data[i];
    Elf64_Sym undefined = {.st_info = ELF64_ST_INFO(ELF64_ST_BIND(entry->st_info), STT_NOTYPE)};
    struct symbol *symbol = new_symbol(merge, name, &undefined);
    vector_push(merge->arena, &merge->globals, symbol);
    return symbol;
}

/* From an input's symbol to the output's; its value is set where it is defined. */
static struct symbol *add_symbol(struct merge *merge, const struct input *input, const Elf64_Sym *from, uint64_t names,
                                 bool is_first)
{
    const struct place *place = NULL;
    const char *name = text_at(input, names, from->st_name);
    if (ELF64_ST_TYPE(from->st_info) == STT_FILE && !is_first)
        return NULL;
    if (from->st_shndx != SHN_UNDEF && from->st_shndx != SHN_ABS && from->st_shndx != SHN_COMMON) {
        section_at(input, from->st_shndx);
        place = &input->places[from->st_shndx];
        if (!place->section)
            die("a symbol of an object lies in no section of it");
    }
    if (ELF64_ST_TYPE(from->st_info) == STT_SECTION)
        return place ? section_symbol(merge, place->section) : NULL;
    struct symbol *symbol;
    if (place && place->is_repeated && (symbol = local_symbol(merge, name, place->section, from->st_value)) != NULL)
        return symbol;
    if (ELF64_ST_BIND(from->st_info) == STB_LOCAL) {
        symbol = new_symbol(merge, name, from);
        vector_push(merge->arena, &merge->locals, symbol);
    } else {
        if (input->symbol && strcmp(name, "code") == 0)
            name = input->symbol;
        symbol = global_symbol(merge, name, from);
        if (from->st_shndx == SHN_UNDEF)
            return symbol;
        if (symbol->section)
            die("two objects define %s", name);
        symbol->entry = *from;
        symbol->is_local = !is_first;
        if (symbol->is_local) {
            symbol->entry.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(from->st_info));
            symbol->entry.st_other = STV_DEFAULT;
        }
    }
    symbol->section = place ? place->section : NULL;
    symbol->entry.st_value += place ? place->offset : 0;
    return symbol;
}

static void add_symbols(struct merge *merge, struct input *input, bool is_first)
{
    for (int i = 0; i < input->header->e_shnum; i++) {
        const Elf64_Shdr *table = &input->sections[i];
        if (table->sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = bytes_at(input, table->sh_offset, table->sh_size);
        uint64_t count = table->sh_size / sizeof *symbols;
        input->symbols = ARENA_ARRAY(merge->arena, struct symbol *, count + 1);
        for (uint64_t k = 1; k < count; k++)
            input->symbols[k] = add_symbol(merge, input, &symbols[k], table->sh_link, is_first);
    }
}

static void add_relocations(struct merge *merge, const struct input *input)
{
    for (int i = 0; i < input->header->e_shnum; i++) {
        const Elf64_Shdr *table = &input->sections[i];
        if (table->sh_type != SHT_RELA)
            continue;
        section_at(input, table->sh_info);
        const struct place *place = &input->places[table->sh_info];
        const Elf64_Rela *entries = bytes_at(input, table->sh_offset, table->sh_size);
        const Elf64_Shdr *symbols = section_at(input, table->sh_link);
        uint64_t symbol_count = symbols->sh_size / sizeof(Elf64_Sym);
        if (symbols->sh_type != SHT_SYMTAB)
            die("a relocation of an object names no table of symbols");
        if (!place->section || place->is_repeated)
            continue; /* of what is not carried, or there already */
        for (uint64_t k = 0; k < table->sh_size / sizeof *entries; k++) {
            struct relocation relocation = {.entry = entries[k]};
            uint64_t number = ELF64_R_SYM(entries[k].r_info);
            if (number >= symbol_count)
                die("a relocation of an object has no symbol");
            const Elf64_Sym *from = (const Elf64_Sym *)bytes_at(input, symbols->sh_offset, symbols->sh_size) + number;
            relocation.symbol = number ? input->symbols[number] : NULL;
            relocation.entry.r_offset += place->offset;
            section_at(input, ELF64_ST_TYPE(from->st_info) == STT_SECTION ? from->st_shndx : 0);
            if (ELF64_ST_TYPE(from->st_info) == STT_SECTION)
                relocation.entry.r_addend += (int64_t)input->places[from->st_shndx].offset;
            vector_push(merge->arena, &place->section->relocations, relocation);
        }
    }
}

/* Constant bytes under a name that objects ask for. */
static void add_plain(struct merge *merge, const struct host_part *part)
{
    struct section *section = ARENA_NEW(merge->arena, struct section);
    section->name = part->section;
    section->plain = part->data;
    section->header = (Elf64_Shdr){
        .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_size = part->size, .sh_addralign = part->alignment};
    vector_push(merge->arena, &merge->sections, section);
    const Elf64_Sym entry = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), .st_size = part->size};
    struct symbol *symbol = global_symbol(merge, part->symbol, &entry);
    if (symbol->section)
        die("two parts define %s", part->symbol);
    symbol->entry = entry;
    symbol->is_local = true;
    symbol->section = section;
}

/* ---- writing ---- */

static void align_to(struct buffer *out, uint64_t align) { put_zeros(out, (align - out->size % align) % align); }

/* The name's place in a table of names. */
static uint32_t put_name(struct buffer *names, const char *name)
{
    uint32_t at = (uint32_t)names->size;
    if (!*name)
        return 0;
    buffer_append(names, name, strlen(name) + 1);
    return at;
}

static void put_symbol(struct buffer *table, struct buffer *names, struct symbol *symbol)
{
    symbol->index = (uint32_t)(table->size / sizeof symbol->entry);
    symbol->entry.st_name = put_name(names, symbol->name);
    if (symbol->section)
        symbol->entry.st_shndx = (uint16_t)symbol->section->index;
    buffer_append(table, &symbol->entry, sizeof symbol->entry);
}

/* Gives the number of local ones. */
static uint32_t put_symbols(struct merge *merge, struct buffer *table, struct buffer *names)
{
    put_zeros(table, sizeof(Elf64_Sym));
    for (int i = 0; i < merge->locals.count; i++)
        if (ELF64_ST_TYPE(merge->locals.data[i]->entry.st_info) == STT_FILE)
            put_symbol(table, names, merge->locals.data[i]);
    for (int i = 0; i < merge->sections.count; i++)
        if (merge->sections.data[i]->symbol)
            put_symbol(table, names, merge->sections.data[i]->symbol);
    for (int i = 0; i < merge->locals.count; i++)
        if (ELF64_ST_TYPE(merge->locals.data[i]->entry.st_info) != STT_FILE)
            put_symbol(table, names, merge->locals.data[i]);
    for (int i = 0; i < merge->globals.count; i++)
        if (merge->globals.data[i]->is_local)
            put_symbol(table, names, merge->globals.data[i]);
    uint32_t locals = (uint32_t)(table->size / sizeof(Elf64_Sym));
    for (int i = 0; i < merge->globals.count; i++)
        if (!merge->globals.data[i]->is_local)
            put_symbol(table, names, merge->globals.data[i]);
    return locals;
}

static void put_relocations(const struct section *section, struct buffer *out)
{
    for (int i = 0; i < section->relocations.count; i++) {
        Elf64_Rela entry = section->relocations.data[i].entry;
        const struct symbol *symbol = section->relocations.data[i].symbol;
        entry.r_info = ELF64_R_INFO((uint64_t)(symbol ? symbol->index : 0), ELF64_R_TYPE(entry.r_info));
        buffer_append(out, &entry, sizeof entry);
    }
}

struct writer {
    struct arena *arena;
    struct buffer *out, names; /* names of sections */
    VECTOR(Elf64_Shdr) headers;
};

static void begin_section(struct writer *writer, Elf64_Shdr header, const char *name)
{
    align_to(writer->out, header.sh_addralign);
    header.sh_name = put_name(&writer->names, name);
    header.sh_offset = writer->out->size;
    vector_push(writer->arena, &writer->headers, header);
}

static void put_table(struct writer *writer, Elf64_Shdr header, const char *name, const struct buffer *bytes)
{
    header.sh_size = bytes->size;
    begin_section(writer, header, name);
    buffer_append(writer->out, bytes->data, bytes->size);
}

static void write_output(struct merge *merge, const Elf64_Ehdr *like, struct buffer *out)
{
    struct writer writer = {.arena = merge->arena, .out = out};
    struct buffer symbols = {0}, names = {0}, relocations = {0};
    int count = merge->sections.count;
    Elf64_Ehdr header = *like;
    for (int i = 0; i < count; i++)
        merge->sections.data[i]->index = (uint32_t)i + 1;
    buffer_putc(&names, '\0');
    buffer_putc(&writer.names, '\0');
    uint32_t locals = put_symbols(merge, &symbols, &names);

    put_zeros(out, sizeof header);
    vector_push(merge->arena, &writer.headers, (Elf64_Shdr){0});
    for (int i = 0; i < count; i++) {
        const struct section *section = merge->sections.data[i];
        begin_section(&writer, section->header, section->name);
        if (section->plain)
            buffer_append(out, section->plain, section->header.sh_size);
        else
            buffer_append(out, section->bytes.data, section->bytes.size);
    }
    uint32_t symbol_table = (uint32_t)count + 1;
    put_table(&writer,
              (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                           .sh_link = symbol_table + 1,
                           .sh_info = locals,
                           .sh_addralign = 8,
                           .sh_entsize = sizeof(Elf64_Sym)},
              ".symtab", &symbols);
    put_table(&writer, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1}, ".strtab", &names);
    for (int i = 0; i < count; i++) {
        const struct section *section = merge->sections.data[i];
        if (!section->relocations.count)
            continue;
        relocations.size = 0;
        put_relocations(section, &relocations);
        put_table(&writer,
                  (Elf64_Shdr){.sh_type = SHT_RELA,
                               .sh_flags = SHF_INFO_LINK,
                               .sh_link = symbol_table,
                               .sh_info = section->index,
                               .sh_addralign = 8,
                               .sh_entsize = sizeof(Elf64_Rela)},
                  arena_printf(merge->arena, ".rela%s", section->name), &relocations);
    }
    begin_section(&writer, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1}, ".shstrtab");
    if (writer.headers.count >= SHN_LORESERVE)
        die("%d sections are more than an object is made of", writer.headers.count);
    writer.headers.data[writer.headers.count - 1].sh_size = writer.names.size;
    buffer_append(out, writer.names.data, writer.names.size);

    align_to(out, 8);
    header.e_shoff = out->size;
    header.e_shnum = (uint16_t)writer.headers.count;
    header.e_shstrndx = (uint16_t)(writer.headers.count - 1);
    buffer_append(out, writer.headers.data, sizeof(Elf64_Shdr) * (size_t)writer.headers.count);
    memcpy(out->data, &header, sizeof header);
    buffer_free(&symbols);
    buffer_free(&names);
    buffer_free(&relocations);
    buffer_free(&writer.names);
}

void host_merge(struct arena *arena, int count, const struct host_part *parts, struct buffer *out)
{
    struct merge merge = {.arena = arena};
    struct input *inputs = ARENA_ARRAY(arena, struct input, count);
    for (int i = 0; i < count; i++) {
        if (parts[i].alignment) {
            add_plain(&merge, &parts[i]);
            continue;
        }
        open_input(&merge, &parts[i], &inputs[i]);
        if (inputs[i].header->e_machine != inputs[0].header->e_machine ||
            inputs[i].header->e_flags != inputs[0].header->e_flags)
            die("two objects are for different hosts");
        add_sections(&merge, &inputs[i]);
        add_symbols(&merge, &inputs[i], i == 0);
        add_relocations(&merge, &inputs[i]);
    }
    write_output(&merge, inputs[0].header, out);
    for (int i = 0; i < merge.sections.count; i++)
        buffer_free(&merge.sections.data[i]->bytes);
}
