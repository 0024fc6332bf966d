/* Debug information that tells lines and calls, nothing of values.  A function of the language is always inlined: each
 * call is a scope of its own, whose places say where the call stands.
 *
 *     return sin(y);      in helper of x.tile     ->     !DILocation(line: 3, scope: !helper, inlinedAt: !call)
 *     let z = helper(w);  in the kernel                  !call = !DILocation(line: 15, scope: !kernel)
 *
 * What LLVM 19 prints as PTX has the files and lines of that and no calls: where they are wanted
 * (targets/nvptx/assemble/lines.c) every call gets a subprogram and a file of its own, told apart by a number. */
#include "targets/common/lines.h"

#include <string.h>

struct lines {
    const struct target_options *options;
    struct arena *arena;
    LLVMContextRef llvm;
    LLVMDIBuilderRef builder;
    bool numbered;
    LLVMMetadataRef type, function;
    const struct source *source;      /* of the function */
    VECTOR(struct line_scope) scopes; /* of the function, itself first */
};

static void add_flag(LLVMModuleRef module, const char *name, unsigned value)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
    LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                      LLVMValueAsMetadata(LLVMConstInt(i32, value, false)));
}

/* A name that begins with a slash would lose the directory. */
static LLVMMetadataRef make_file(struct lines *lines, const struct source *source, int number)
{
    const char *name = target_source_name(lines->options, source->name), *directory = "";
    if (lines->numbered) {
        name += strspn(name, "/");
        directory = arena_printf(lines->arena, "%d", number);
    }
    return LLVMDIBuilderCreateFile(lines->builder, name, strlen(name), directory, strlen(directory));
}

struct lines *lines_open(const struct target_options *options, LLVMModuleRef module, const struct source *source,
                         bool numbered)
{
    struct lines *lines = ARENA_NEW(options->arena, struct lines);
    *lines = (struct lines){.options = options,
                            .arena = options->arena,
                            .llvm = LLVMGetModuleContext(module),
                            .builder = LLVMCreateDIBuilder(module),
                            .numbered = numbered};
    add_flag(module, "Debug Info Version", LLVMDebugMetadataVersion());
    LLVMMetadataRef file = make_file(lines, source, 0);
    /* Directives only (kind 3) for PTX: with line tables ptxas would take the text for a debug build. */
    LLVMDWARFEmissionKind kind = numbered ? (LLVMDWARFEmissionKind)3 : LLVMDWARFEmissionLineTablesOnly;
    LLVMDIBuilderCreateCompileUnit(lines->builder, LLVMDWARFSourceLanguageC11, file, "tilecc", 6, true, "", 0, 0, "", 0,
                                   kind, 0, false, false, "", 0, "", 0);
    lines->type = LLVMDIBuilderCreateSubroutineType(lines->builder, file, NULL, 0, LLVMDIFlagZero);
    return lines;
}

static LLVMMetadataRef make_subprogram(struct lines *lines, const char *name, const char *symbol,
                                       struct location declared, int number)
{
    LLVMMetadataRef file = make_file(lines, declared.source, number);
    unsigned line = (unsigned)declared.line;
    return LLVMDIBuilderCreateFunction(lines->builder, file, name, strlen(name), symbol, strlen(symbol), file, line,
                                       lines->type, true, true, line, LLVMDIFlagZero, true);
}

void lines_function(struct lines *lines, LLVMValueRef code, const struct ir_function *function, const char *name)
{
    size_t size;
    lines->source = function->at.source;
    lines->function = make_subprogram(lines, name, LLVMGetValueName2(code, &size), function->at, 0);
    lines->scopes.count = 0;
    struct line_scope own = {.source = lines->source, .scope = lines->function};
    vector_push(lines->arena, &lines->scopes, own);
    LLVMSetSubprogram(code, lines->function);
}

static bool is_same_call(const struct inlined_call *a, const struct inlined_call *b)
{
    for (; a && b && a != b; a = a->at.inlined, b = b->at.inlined)
        if (a->at.line != b->at.line || a->at.column != b->at.column || a->at.source != b->at.source ||
            a->declared.source != b->declared.source || strcmp(a->function, b->function) != 0)
            return false;
    return a == b;
}

const struct line_scope *lines_scope(const struct lines *lines, int number)
{
    return number >= 0 && number < lines->scopes.count ? &lines->scopes.data[number] : NULL;
}

static LLVMMetadataRef make_place(struct lines *lines, struct location at);

/* A scope of the place: one for each call and file in it.  The index, since the vector may move. */
static int find_scope(struct lines *lines, struct location at)
{
    for (int i = lines->scopes.count - 1; i >= 0; i--)
        if (lines->scopes.data[i].source == at.source && is_same_call(lines->scopes.data[i].call, at.inlined))
            return i;
    struct line_scope made = {.call = at.inlined, .source = at.source, .scope = lines->function};
    const struct source *source = lines->source;
    if (at.inlined) {
        made.inlined_at = make_place(lines, at.inlined->at);
        source = at.inlined->declared.source;
    }
    int number = lines->scopes.count;
    if (at.inlined)
        made.scope = make_subprogram(lines, at.inlined->function, "", at.inlined->declared, number);
    if (at.source != source)
        made.scope = LLVMDIBuilderCreateLexicalBlockFile(lines->builder, made.scope,
                                                         make_file(lines, at.source, number), 0);
    vector_push(lines->arena, &lines->scopes, made);
    return number;
}

static LLVMMetadataRef make_place(struct lines *lines, struct location at)
{
    int scope = find_scope(lines, at);
    return LLVMDIBuilderCreateDebugLocation(lines->llvm, (unsigned)at.line, (unsigned)at.column,
                                            lines->scopes.data[scope].scope, lines->scopes.data[scope].inlined_at);
}

void lines_set(struct lines *lines, LLVMBuilderRef builder, struct location at)
{
    if (at.line && at.source)
        LLVMSetCurrentDebugLocation2(builder, make_place(lines, at));
}

void lines_close(struct lines *lines)
{
    LLVMDIBuilderFinalize(lines->builder);
    LLVMDisposeDIBuilder(lines->builder);
}
