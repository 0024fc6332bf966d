/* What --emit asks for, as bytes with names.  Kinds that exist once an instance (PTX, cubin, tile IR, LLVM of GPU code)
 * go to one file each, named after symbol and architecture; -o names the file when there is one, "-" joins them with a
 * comment between. */
#include "driver/driver.h"

#include <errno.h>
#include <string.h>

#include "base/embedded.h"
#include "driver/header/cxx.h"
#include "driver/header/header.h"
#include "driver/header/header_names.h"
#include "driver/header/python.h"
#include "config.h"
#include "ir/text.h"

typedef void add_function(struct output_set *set, const char *path, const void *data, size_t size);

static void add_output(struct compilation *compilation, add_function *add, const char *path, const void *data,
                       size_t size)
{
    const struct written *written = compilation->written;
    bool taken = false;
    for (int i = 0; i < compilation->output_names.count; i++)
        taken |= file_is_one_place(compilation->output_names.data[i], path);
    for (int i = 0; written && i < written->count; i++)
        taken |= strcmp(path, "-") != 0 && file_is_one_place(written->data[i], path);
    if (taken) {
        driver_error(compilation->options, "two outputs have the name '%s'", path);
        compilation->code = EXIT_USAGE;
        return;
    }
    vector_push(compilation->arena, &compilation->output_names, path);
    add(compilation->outputs, path, data, size);
}

void emit_add(struct compilation *compilation, const char *path, const void *data, size_t size)
{
    add_output(compilation, output_set_add, path, data, size);
}

/* `path` without the suffix of its last part. */
static int base_length(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    return (int)(dot && dot > name ? (size_t)(dot - path) : strlen(path));
}

const char *emit_name(const struct compilation *compilation, const char *suffix)
{
    const char *output = compilation->options->output;
    if (output && file_is_folder(output))
        return arena_printf(compilation->arena, "%s/%s%s", output, compilation->stem, suffix);
    bool is_named = output && strcmp(output, "-") != 0 && !file_is_device(output);
    const char *base = is_named ? output : compilation->stem;
    return arena_printf(compilation->arena, "%.*s%s", is_named ? base_length(base) : (int)strlen(base), base, suffix);
}

/* saxpy_f32.sm_90a, softmax_f16.2.sm_80 when there are several of one symbol and architecture */
static const char *part_name(struct arena *arena, const struct kernel_entry *entry, int variant)
{
    int same = 0, before = 0, target = entry->variants.data[variant].target;
    for (int i = 0; i < entry->variants.count; i++) {
        same += entry->variants.data[i].target == target;
        before += i < variant && entry->variants.data[i].target == target;
    }
    return same > 1 ? arena_printf(arena, "%s.%d.%s", entry->symbol, before, target_rows[target].name)
                    : arena_printf(arena, "%s.%s", entry->symbol, target_rows[target].name);
}

/* The texts of all code for GPUs, in the order of variants. */
struct gpu_texts {
    VECTOR(struct nvptx_task) tasks;
    struct buffer *text;
    bool *made;
    int next;
};

static void make_texts(struct compilation *compilation, struct gpu_texts *texts)
{
    int64_t begin = report_clock();
    bool is_llvm = compilation->options->emit == EMIT_LLVM;
    if (!is_llvm && compilation->options->emit != EMIT_PTX)
        return;
    for (int i = 0; i < compilation->module->entries.count; i++) {
        struct kernel_entry *entry = &compilation->module->entries.data[i];
        for (int k = 0; k < entry->variants.count; k++) {
            struct nvptx_task task = {entry, &entry->variants.data[k]};
            if (target_rows[task.variant->target].kind == TARGET_NVPTX)
                vector_push(compilation->arena, &texts->tasks, task);
        }
    }
    texts->text = ARENA_ARRAY(compilation->arena, struct buffer, texts->tasks.count);
    texts->made = ARENA_ARRAY(compilation->arena, bool, texts->tasks.count);
    nvptx_emit_texts(&compilation->target, texts->tasks.count, texts->tasks.data, is_llvm, texts->text, texts->made);
    compilation->stage_time[STAGE_GPU] += report_clock() - begin;
}

static bool make_part(struct compilation *compilation, const struct kernel_variant *variant, struct gpu_texts *texts,
                      struct buffer *out)
{
    bool is_gpu = target_rows[variant->target].kind == TARGET_NVPTX;
    switch (compilation->options->emit) {
    case EMIT_TIR: ir_print_module(out, variant->module, false); return true;
    case EMIT_PTX:
    case EMIT_LLVM:
        if (!is_gpu)
            return true;
        *out = texts->text[texts->next];
        return texts->made[texts->next++];
    case EMIT_CUBIN:
        if (is_gpu) {
            const struct kernel_image *image = &compilation->module->images.data[variant->gpu.image];
            buffer_append(out, image->data, image->size);
        }
        return true;
    default: die("output %d is not one an instance", compilation->options->emit);
    }
}

bool emit_add_part(struct parts *parts, const char *name, struct buffer *bytes, bool made)
{
    if (made && bytes->size) {
        struct part part = {name, {arena_copy(parts->arena, bytes->data, bytes->size), bytes->size, 0}};
        vector_push(parts->arena, &parts->list, part);
    }
    buffer_free(bytes);
    return made;
}

static bool make_parts(struct compilation *compilation, struct parts *parts)
{
    bool ok = true;
    struct gpu_texts texts = {0};
    make_texts(compilation, &texts);
    for (int i = 0; i < compilation->module->entries.count; i++) {
        struct kernel_entry *entry = &compilation->module->entries.data[i];
        for (int k = 0; k < entry->variants.count; k++) {
            struct buffer bytes = {0};
            bool made = make_part(compilation, &entry->variants.data[k], &texts, &bytes);
            ok = emit_add_part(parts, part_name(compilation->arena, entry, k), &bytes, made) && ok;
        }
    }
    bool wants_cpu = false;
    for (int i = 0; i < compilation->targets.count; i++)
        wants_cpu |= target_rows[compilation->targets.data[i]].kind == TARGET_CPU;
    if (compilation->options->emit == EMIT_LLVM && wants_cpu) {
        struct buffer bytes = {0};
        bool made = host_emit_llvm(&compilation->target, compilation->module, &bytes);
        ok = emit_add_part(parts, arena_printf(compilation->arena, "%s.host", compilation->stem), &bytes, made) && ok;
    }
    return ok;
}

/* Files that -o would have to hold, of kinds that have one an instance: known before any is made. */
static int count_parts(const struct compilation *compilation)
{
    enum emit_kind emit = compilation->options->emit;
    int count = 0;
    for (int i = 0; i < compilation->module->entries.count; i++)
        for (int k = 0; k < compilation->module->entries.data[i].variants.count; k++) {
            int target = compilation->module->entries.data[i].variants.data[k].target;
            bool is_gpu = target_rows[target].kind == TARGET_NVPTX;
            count += emit == EMIT_TIR || (is_gpu && (emit == EMIT_PTX || emit == EMIT_LLVM || emit == EMIT_CUBIN));
        }
    return count;
}

/* " choose one with --spec and -arch, such as --spec 'softmax<f16>[B=1024] sm_90a aligned',": the first one; of fatbins,
 * of which each holds what a C function runs on all GPUs, nothing chooses one. */
static const char *example_spec(const struct compilation *compilation)
{
    if (emit_is_called(compilation->options->emit))
        return "";
    for (int i = 0; i < compilation->module->entries.count; i++)
        for (int k = 0; k < compilation->module->entries.data[i].variants.count; k++) {
            const struct kernel_variant *variant = &compilation->module->entries.data[i].variants.data[k];
            if (compilation->options->emit == EMIT_TIR || target_rows[variant->target].kind == TARGET_NVPTX)
                return arena_printf(compilation->arena, " choose one with --spec and -arch, such as --spec '%s',",
                                    variant->label);
        }
    return "";
}

static bool report_parts(struct compilation *compilation, int count, bool is_text)
{
    driver_error(compilation->options, "%d %s give a file each;%s give -o a folder that is there, or leave -o out%s",
                 count, emit_is_called(compilation->options->emit) ? "variants" : "instances",
                 example_spec(compilation), is_text ? ", or have all behind each other with -o -" : "");
    compilation->code = EXIT_USAGE;
    return false;
}

/* Where a part goes: to the file that -o names, into the folder that it names, or to the working directory. */
static const char *part_path(const struct compilation *compilation, const struct part *part)
{
    const char *output = compilation->options->output, *suffix = emit_suffix(compilation->options->emit);
    if (output && !file_is_folder(output))
        return output;
    return arena_printf(compilation->arena, "%s%s%s%s", output ? output : "", output ? "/" : "", part->name, suffix);
}

static bool emit_parts(struct compilation *compilation)
{
    const struct options *options = compilation->options;
    const char *suffix = emit_suffix(options->emit), *output = options->output;
    struct parts parts = {.arena = compilation->arena};
    if (!(options->emit == EMIT_FATBIN ? emit_fatbins(compilation, &parts) : make_parts(compilation, &parts)))
        return false;
    bool is_joined = output && strcmp(output, "-") == 0,
         is_text = options->emit != EMIT_CUBIN && options->emit != EMIT_FATBIN;
    bool fits = !output || file_is_folder(output) || parts.list.count <= 1 || (is_joined && is_text);
    if (parts.list.count == 0)
        driver_error(compilation->options,
                     "nothing to make: -arch names no GPU, and %s is made for GPUs alone; code for processors is in "
                     "the object, and --emit=llvm shows its source",
                     suffix + 1);
    else if (!fits)
        return report_parts(compilation, parts.list.count, is_text);
    if (parts.list.count == 0) {
        compilation->code = EXIT_USAGE;
        return false;
    }
    struct buffer joined = {0};
    for (int i = 0; i < parts.list.count; i++) {
        const struct part *part = &parts.list.data[i];
        const char *comment = options->emit == EMIT_LLVM ? ";" : "//";
        if (is_joined && parts.list.count > 1)
            buffer_printf(&joined, "%s%s %s\n", i ? "\n" : "", comment, part->name);
        if (is_joined)
            buffer_append(&joined, part->bytes.data, part->bytes.size);
        else
            emit_add(compilation, part_path(compilation, part), part->bytes.data, part->bytes.size);
    }
    if (is_joined)
        emit_add(compilation, "-", joined.data, joined.size);
    buffer_free(&joined);
    return compilation->code == EXIT_OK;
}

static bool is_listed(int count, const int *rows, int row)
{
    for (int i = 0; i < count; i++)
        if (rows[i] == row)
            return true;
    return false;
}

/* All variants of one GPU architecture, as compute_XX, sm_XX or both.  Without ptxas PTX alone can be made. */
static bool make_cubins_for(struct compilation *compilation, int target, int count, const struct nvptx_task *tasks)
{
    const struct options *options = compilation->options;
    struct kernel_module *module = compilation->module;
    bool as_ptx = is_listed(options->ptx_targets.count, options->ptx_targets.data, target);
    bool as_cubin = !as_ptx || is_listed(options->cubin_targets.count, options->cubin_targets.data, target);
    int before = module->images.count;
    compilation->target.without_ptxas = !compilation->target.ptxas && !as_cubin;
    bool ok = nvptx_compile(&compilation->target, module, count, tasks);
    if (!ok && !compilation->diagnostics->errors) /* told by an earlier source */
        compilation->code = compilation->target.ptxas ? EXIT_TOOL : EXIT_ENVIRONMENT;
    for (int i = before; i < module->images.count; i++) {
        module->images.data[i].with_ptx = as_ptx;
        module->images.data[i].without_cubin = !as_cubin;
    }
    return ok;
}

/* All variants of each GPU architecture to cubins. */
static bool make_cubins(struct compilation *compilation)
{
    int64_t begin = report_clock();
    bool ok = true;
    for (int t = 0; t < compilation->targets.count; t++) {
        int target = compilation->targets.data[t];
        if (target_rows[target].kind != TARGET_NVPTX)
            continue;
        VECTOR(struct nvptx_task) tasks = {0};
        for (int i = 0; i < compilation->module->entries.count; i++) {
            struct kernel_entry *entry = &compilation->module->entries.data[i];
            for (int k = 0; k < entry->variants.count; k++) {
                struct nvptx_task task = {entry, &entry->variants.data[k]};
                if (task.variant->target == target)
                    vector_push(compilation->arena, &tasks, task);
            }
        }
        if (tasks.count)
            ok = make_cubins_for(compilation, target, tasks.count, tasks.data) && ok;
    }
    for (int i = 0; i < compilation->module->entries.count && ok; i++)
        limits_leave_out_failed(compilation->arena, &compilation->module->entries.data[i]);
    compilation->stage_time[STAGE_GPU] = report_clock() - begin;
    progress_clear(compilation->target.progress);
    return ok;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The file that headers of several sources include.  It has the same bytes whatever the source, so that commands may write
 * it at the same time, and is no target of the dependency file: it never changes because a source does. */
static void add_shared(struct compilation *compilation, const char *header, const char *name,
                       void (*print)(const char *version, struct buffer *out))
{
    const char *path = arena_printf(compilation->arena, "%.*s%s", (int)(last_part(header) - header), header, name);
    const struct written *lists[] = {compilation->shared, compilation->written};
    struct buffer text = {0};
    for (int i = 0; i < lists[0]->count; i++)
        if (file_is_one_place(lists[0]->data[i], path))
            return;
    bool is_taken = false;
    for (int i = 0; i < compilation->output_names.count; i++)
        is_taken |= file_is_one_place(compilation->output_names.data[i], path);
    for (int i = 0; i < lists[1]->count; i++)
        is_taken |= file_is_one_place(lists[1]->data[i], path);
    if (is_taken) {
        driver_error(compilation->options, "two outputs have the name '%s'", path);
        compilation->code = EXIT_USAGE;
        return;
    }
    print(TILECC_VERSION, &text);
    vector_push(compilation->arena, &compilation->shared_names, path);
    output_set_add_settled(compilation->outputs, path, text.data, text.size);
    buffer_free(&text);
}

static bool emit_header(struct compilation *compilation, const char *path)
{
    struct buffer text = {0}, cxx = {0};
    const char *space = compilation->options->cxx_namespace, *shared = compilation->options->shared_header;
    const char *cxx_shared = shared ? arena_printf(compilation->arena, "%spp", shared) : NULL;
    header_print(compilation->module, TILECC_VERSION, shared, &text);
    add_output(compilation, output_set_add_settled, path, text.data, text.size);
    if (space) {
        cxx_print(compilation->module, TILECC_VERSION, last_part(path), cxx_shared, space, &cxx);
        add_output(compilation, output_set_add_settled, emit_name(compilation, ".hpp"), cxx.data, cxx.size);
    }
    if (shared)
        add_shared(compilation, path, shared, header_print_shared);
    if (shared && space)
        add_shared(compilation, path, cxx_shared, cxx_print_shared);
    buffer_free(&text);
    buffer_free(&cxx);
    return compilation->code == EXIT_OK;
}

static bool make_object(struct compilation *compilation, struct buffer *object)
{
    int64_t begin = report_clock();
    bool ok = compilation->options->dry_run || host_object(&compilation->target, compilation->module, object);
    compilation->stage_time[STAGE_OBJECT] = report_clock() - begin;
    progress_clear(compilation->target.progress);
    return ok;
}

static bool emit_object(struct compilation *compilation)
{
    struct buffer object = {0};
    bool ok = make_object(compilation, &object);
    const char *output = compilation->options->output;
    if (ok)
        emit_add(compilation, output ? output : emit_name(compilation, ".o"), object.data, object.size);
    buffer_free(&object);
    bool is_alone = output && (strcmp(output, "-") == 0 || file_is_device(output));
    if (ok && !is_alone)
        ok = emit_header(compilation, emit_name(compilation, ".h"));
    return ok;
}

static bool check_module_name(struct compilation *compilation)
{
    const char *name = last_part(emit_name(compilation, ".py"));
    if (python_is_module_name(name, base_length(name)))
        return true;
    driver_error(compilation->options, "Python cannot import a module that is called '%.*s'; -o names another",
                 base_length(name), name);
    compilation->code = EXIT_USAGE;
    return false;
}

/* k.py and libk.so beside it: a k.so would be what `import k` takes for an extension module. */
static bool emit_python(struct compilation *compilation)
{
    struct buffer object = {0}, library = {0}, text = {0};
    const char *output = compilation->options->output;
    const char *path = emit_name(compilation, ".py"), *name = last_part(path);
    const char *library_name = arena_printf(compilation->arena, "lib%.*s.so", base_length(name), name);
    bool ok = make_object(compilation, &object) &&
              (compilation->options->dry_run || link_library(compilation, library_name, &object, &library));
    if (ok) {
        python_print(compilation->module, TILECC_VERSION, library_name, &text);
        emit_add(compilation, output && !file_is_folder(output) ? output : path, text.data, text.size);
        emit_add(compilation, arena_printf(compilation->arena, "%.*s%s", (int)(name - path), path, library_name),
                 library.data, library.size);
    }
    buffer_free(&object);
    buffer_free(&library);
    buffer_free(&text);
    return ok && compilation->code == EXIT_OK;
}

static bool compress_images(struct compilation *compilation)
{
    const struct options *options = compilation->options;
    return !options->compress_images || options->dry_run || compilation->module->images.count == 0 ||
           emit_compress_images(compilation);
}

/* --save-temps: tile IR of every variant, PTX and cubin of every image. */
static void save_temps(struct compilation *compilation)
{
    struct kernel_module *module = compilation->module;
    for (int i = 0; i < module->entries.count; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        for (int k = 0; k < entry->variants.count; k++) {
            const struct kernel_variant *variant = &entry->variants.data[k];
            const char *name = part_name(compilation->arena, entry, k);
            struct buffer text = {0};
            ir_print_module(&text, variant->module, false);
            emit_add(compilation, emit_name(compilation, arena_printf(compilation->arena, ".%s.tir", name)), text.data,
                     text.size);
            buffer_free(&text);
            if (target_rows[variant->target].kind != TARGET_NVPTX || variant->gpu.image >= module->images.count)
                continue;
            const struct kernel_image *image = &module->images.data[variant->gpu.image];
            if (image->ptx)
                emit_add(compilation, emit_name(compilation, arena_printf(compilation->arena, ".%s.ptx", name)),
                         image->ptx, strlen(image->ptx));
            if (image->size)
                emit_add(compilation, emit_name(compilation, arena_printf(compilation->arena, ".%s.cubin", name)),
                         image->data, image->size);
        }
    }
}

bool emit_outputs(struct compilation *compilation)
{
    const char *output = compilation->options->output;
    bool wants_header = emit_has_object(compilation->options->emit) || compilation->options->emit == EMIT_HEADER, ok;
    bool is_cubin = compilation->options->emit == EMIT_CUBIN, is_joined = output && strcmp(output, "-") == 0;
    if (wants_header && !header_check(compilation->module, compilation->arena, compilation->diagnostics))
        return false;
    int parts = output && !file_is_folder(output) && !(is_joined && !is_cubin) &&
                        !(is_cubin && compilation->options->dry_run)
                    ? count_parts(compilation)
                    : 0;
    if (parts > 1)
        return report_parts(compilation, parts, !is_cubin);
    for (int i = 0; i < compilation->module->entries.count; i++)
        progress_expect(compilation->target.progress, compilation->module->entries.data[i].variants.count);
    switch (compilation->options->emit) {
    case EMIT_OBJECT: ok = make_cubins(compilation) && compress_images(compilation) && emit_object(compilation); break;
    case EMIT_PYTHON:
        ok = check_module_name(compilation) && make_cubins(compilation) && compress_images(compilation) &&
             emit_python(compilation);
        break;
    case EMIT_HEADER: ok = emit_header(compilation, output ? output : emit_name(compilation, ".h")); break;
    case EMIT_CUBIN:
    case EMIT_FATBIN:
        ok = make_cubins(compilation) && (compilation->options->dry_run || emit_parts(compilation));
        break;
    default: ok = emit_parts(compilation); break;
    }
    if (ok && compilation->options->save_temps)
        save_temps(compilation);
    return ok && compilation->code == EXIT_OK;
}

const struct embedded_file *emit_find_runtime(const struct options *options, enum exit_code *code)
{
    bool is_arm = strncmp(options->host_triple, "aarch64", 7) == 0;
    const struct embedded_file *file = embedded_find(is_arm ? "tile_rt.aarch64.o" : "tile_rt.x86_64.o");
    if (!file) {
        driver_error(options,
                     "this tilecc was built without a run time for %s; compile tile_rt.c with your own compiler",
                     options->host_triple);
        *code = EXIT_ENVIRONMENT;
    }
    return file;
}

bool emit_runtime(const struct options *options, enum exit_code *code)
{
    const struct embedded_file *file = emit_find_runtime(options, code);
    if (!file)
        return false;
    if (options->dry_run ||
        driver_write(options, options->output ? options->output : "tile_rt.o", file->data, file->size))
        return true;
    *code = EXIT_FILE;
    return false;
}
