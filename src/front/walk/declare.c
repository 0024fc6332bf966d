/* File scopes: what each file declares and sees, and the values of its consts, found when first asked for. */
#include "front/walk/walk.h"

#include <string.h>
#include <strings.h>

/* ---- spelling ---- */

/* Names that differ in their digits mean other things: relu and relu6, SQRT2 and SQRT1_2. */
static bool same_digits(const char *a, const char *b)
{
    int count[10] = {0};
    for (; *a; a++)
        if (*a >= '0' && *a <= '9')
            count[*a - '0']++;
    for (; *b; b++)
        if (*b >= '0' && *b <= '9')
            count[*b - '0']--;
    for (int i = 0; i < 10; i++)
        if (count[i])
            return false;
    return true;
}

/* Edits from a to b (insert, remove, replace, swap neighbours), or `limit` when it is that or more; capitals do not
 * count where nothing else differs. */
int spelling_distance(const char *a, const char *b, int limit)
{
    enum { MOST = 40 };
    if (strcasecmp(a, b) == 0)
        return 0;
    if (!same_digits(a, b))
        return limit;
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > MOST || m > MOST || n - m >= limit || m - n >= limit)
        return limit;
    int row[3][MOST + 1];
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *before = row[(i + 2) % 3], *earlier = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1 < best)
                best = before[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && earlier[j - 2] + 1 < best)
                best = earlier[j - 2] + 1;
            now[j] = best;
        }
    }
    int distance = row[n % 3][m];
    return distance < limit ? distance : limit;
}

const char *spelling_nearest(const char *name, const char *const *names, int count)
{
    const char *near = NULL;
    int best = (int)strlen(name) / 2 + 1;
    for (int i = 0; i < count; i++) {
        int distance = spelling_distance(name, names[i], best);
        if (distance < best) {
            best = distance;
            near = names[i];
        }
    }
    return near;
}

const char *declare_nearest(struct front *front, struct file_scope *file, const char *name, bool only_types)
{
    const char *near = NULL;
    int best = (int)strlen(name) / 3 + 1;
    struct file_scope *scopes[2] = {file, front->standard};
    for (int k = 0; k < 2; k++) {
        if (!scopes[k])
            continue;
        for (int o = -1; o < scopes[k]->opened.count; o++)
            for (struct global *g = (o < 0 ? scopes[k] : scopes[k]->opened.data[o])->first; g; g = g->next) {
                if (g->declaration->kind == DECLARATION_KERNEL)
                    continue; /* nothing in a source names one */
                if (only_types && g->declaration->kind != DECLARATION_ENUM &&
                    g->declaration->kind != DECLARATION_STRUCT)
                    continue;
                int distance = spelling_distance(name, g->name, best);
                if (distance < best) {
                    best = distance;
                    near = g->name;
                }
            }
    }
    return near;
}

/* ---- scopes ---- */

static struct global *find_own(const struct file_scope *file, const char *name)
{
    return name_table_find(&file->names, name);
}

/* A kernel of a file that is opened: known by no name, and so only by messages. */
struct global *declare_find_kernel(const struct file_scope *file, const char *name)
{
    for (int i = 0; file && i < file->opened.count; i++) {
        struct global *g = find_own(file->opened.data[i], name);
        if (g && g->declaration->kind == DECLARATION_KERNEL)
            return g;
    }
    return NULL;
}

/* Whether the file or what it opens declares the name: extents may reuse the library's names. */
bool declare_by_author(const struct file_scope *file, const char *name)
{
    if (find_own(file, name))
        return true;
    for (int i = 0; i < file->opened.count; i++)
        if (find_own(file->opened.data[i], name))
            return true;
    return false;
}

static bool lost_own(const struct file_scope *file, const char *name)
{
    for (int i = 0; i < file->file->lost.count; i++)
        if (file->file->lost.data[i] == name)
            return true;
    return false;
}

/* Whether a declaration of the name, here or in a file that is opened, has a head that could not be read. */
bool declare_is_lost(const struct file_scope *file, const char *name)
{
    if (lost_own(file, name))
        return true;
    for (int i = 0; i < file->opened.count; i++)
        if (lost_own(file->opened.data[i], name))
            return true;
    return false;
}

/* In order: the file itself, what it imports without `as`, the library.  *other: a second import that declares it, too.
 */
struct global *declare_find(struct front *front, struct file_scope *file, const char *name, struct global **other)
{
    struct global *found = file ? find_own(file, name) : NULL;
    if (found)
        return found;
    for (int i = 0; file && i < file->opened.count; i++) {
        struct global *g = find_own(file->opened.data[i], name);
        if (!g || g->declaration->kind == DECLARATION_KERNEL)
            continue;
        if (found && found != g)
            *other = g;
        else
            found = g;
    }
    if (found)
        return found;
    if (!front->standard)
        return NULL;
    found = find_own(front->standard, name);
    for (int i = 0; !found && i < front->standard->opened.count; i++)
        found = find_own(front->standard->opened.data[i], name);
    return found;
}

/* ---- names of one head ---- */

struct head {
    struct name_table names; /* to the first struct ast_name */
    const char *kind;        /* "function" or "kernel" */
};

static void check_head_name(struct front *front, struct head *head, const struct ast_name *name, bool joins)
{
    const struct ast_name *first = name_table_find(&head->names, name->text);
    if (first) {
        struct diagnostic *d = diag_report(front->diagnostics, DIAGNOSTIC_E0202, name->at,
                                           "`%s` is already a name of this %s", name->text, head->kind);
        diag_note(front->diagnostics, d, first->at, "it was declared here");
    } else if (joins) {
        name_table_set(front->arena, &head->names, name->text, (void *)name);
    }
}

static void check_clause_names(struct front *front, struct head *head, const struct ast_declaration *d,
                               enum ast_clause_kind kind, bool joins)
{
    for (int c = 0; c < d->clauses.count; c++) {
        const struct ast_clause *clause = d->clauses.data[c];
        for (int i = 0; clause->kind == kind && i < clause->items.count; i++)
            if (clause->items.data[i]->kind == ITEM_DOMAIN)
                check_head_name(front, head, &clause->items.data[i]->name, joins);
    }
}

/* Names of `< >`, parameters, and the names of `const` and `tune` stand in one block.  Twice in `tune` is reported by
 * knobs.c, grid names by kernel_body.c, which knows the extents, too.  Views of
 * functions need extents as those of kernels do (signature.c).  True: nothing was reported. */
static bool check_head(struct front *front, const struct ast_declaration *d)
{
    int errors = front->diagnostics->errors;
    struct head head = {.kind = d->kind == DECLARATION_FN ? "function" : "kernel"};
    for (int i = 0; i < d->generics.count; i++)
        check_head_name(front, &head, &d->generics.data[i]->name, true);
    for (int i = 0; i < d->parameters.count; i++)
        check_head_name(front, &head, &d->parameters.data[i]->name, true);
    for (int i = 0; i < d->parameters.count && d->kind == DECLARATION_FN; i++) {
        const struct ast_parameter *p = d->parameters.data[i];
        if (p->direction != DIRECTION_NONE && p->type->kind != TYPE_NODE_TILE)
            diag_report(front->diagnostics, DIAGNOSTIC_E0412, p->at,
                        "a view has extents: `%s: in f32[N]`; a value is a parameter without `in`: `%s: f32`",
                        p->name.text, p->name.text);
    }
    check_clause_names(front, &head, d, CLAUSE_CONST, true);
    check_clause_names(front, &head, d, CLAUSE_TUNE, false);
    return errors == front->diagnostics->errors;
}

static void add_global(struct front *front, struct file_scope *file, const struct ast_declaration *d)
{
    struct global *before = find_own(file, d->name.text);
    if (before) {
        struct diagnostic *r = diag_report(front->diagnostics, DIAGNOSTIC_E0202, d->at,
                                           "`%s` is already declared in this file", d->name.text);
        diag_note(front->diagnostics, r, before->declaration->at, "it was declared here");
        return;
    }
    struct global *g = ARENA_NEW(front->arena, struct global);
    *g = (struct global){.name = d->name.text, .declaration = d, .file = file};
    if (d->kind == DECLARATION_FN || d->kind == DECLARATION_KERNEL)
        g->broken_head = !check_head(front, d);
    if (file->last)
        file->last->next = g;
    else
        file->first = g;
    file->last = g;
    name_table_set(front->arena, &file->names, g->name, g);
}

static struct file_scope *scope_of(struct front *front, const struct ast_file *file)
{
    for (struct file_scope *s = front->files; s; s = s->next)
        if (s->file == file)
            return s;
    return NULL;
}

static struct file_scope *add_file(struct front *front, const struct ast_file *file)
{
    struct file_scope *scope = ARENA_NEW(front->arena, struct file_scope);
    scope->file = file;
    if (front->last_file)
        front->last_file->next = scope;
    else
        front->files = scope;
    front->last_file = scope;
    for (int i = 0; i < file->declarations.count; i++) {
        const struct ast_declaration *d = file->declarations.data[i];
        if (d->kind != DECLARATION_IMPORT && d->kind != DECLARATION_TEST)
            add_global(front, scope, d);
    }
    return scope;
}

/* A name of `import … as` is one of the file's, for one import. */
static bool check_module_name(struct front *front, const struct file_scope *scope, const struct ast_declaration *d)
{
    const struct global *own = find_own(scope, d->name.text);
    struct location before = own ? own->declaration->at : (struct location){0};
    for (int i = 0; !before.source && scope->file->declarations.data[i] != d; i++) {
        const struct ast_declaration *other = scope->file->declarations.data[i];
        if (other->kind == DECLARATION_IMPORT && other->name.text == d->name.text)
            before = other->name.at;
    }
    if (!before.source)
        return true;
    struct diagnostic *r = diag_report(front->diagnostics, DIAGNOSTIC_E0202, d->name.at,
                                       "`%s` is already declared in this file", d->name.text);
    diag_note(front->diagnostics, r, before, "it was declared here");
    return false;
}

static void connect_imports(struct front *front, struct file_scope *scope)
{
    for (int i = 0; i < scope->file->declarations.count; i++) {
        const struct ast_declaration *d = scope->file->declarations.data[i];
        if (d->kind != DECLARATION_IMPORT)
            continue;
        if (d->name.text && !check_module_name(front, scope, d))
            continue;
        if (!d->imported)
            continue;
        struct file_scope *imported = scope_of(front, d->imported);
        if (!imported)
            continue;
        if (!d->name.text)
            vector_push(front->arena, &scope->opened, imported);
        else {
            vector_push(front->arena, &scope->modules, ((__typeof__(*scope->modules.data)){d->name.text, imported}));
        }
    }
}

bool declare_files(struct front *front, const struct ast_file *files)
{
    struct file_scope *before = front->last_file;
    for (const struct ast_file *f = files; f; f = f->next)
        if (!scope_of(front, f))
            add_file(front, f);
    for (struct file_scope *s = before ? before->next : front->files; s; s = s->next)
        connect_imports(front, s);
    return true;
}

/* ---- values ---- */

/* What a member is given, a number or minus one; false: it does not fit i32. */
static bool member_value(const struct ast_expression *given, int64_t *value)
{
    bool negative = given->kind == EXPRESSION_UNARY;
    const struct ast_expression *number = negative ? given->left : given;
    if (number->integer.too_big || number->integer.value > (uint64_t)INT32_MAX + negative)
        return false;
    *value = negative ? -(int64_t)number->integer.value : (int64_t)number->integer.value;
    return true;
}

static const struct enumeration *make_enumeration(struct front *front, struct global *global)
{
    const struct ast_declaration *d = global->declaration;
    struct enumeration *enumeration = ARENA_NEW(front->arena, struct enumeration);
    enumeration->name = d->name.text;
    enumeration->declaration = d;
    enumeration->count = d->enumerators.count;
    enumeration->members = ARENA_ARRAY(front->arena, const char *, enumeration->count);
    enumeration->values = ARENA_ARRAY(front->arena, int64_t, enumeration->count);
    int64_t next = 0;
    for (int i = 0; i < enumeration->count; i++) {
        const struct ast_enumerator *member = d->enumerators.data[i];
        bool fits = next <= INT32_MAX;
        if (member->value)
            fits = member_value(member->value, &next);
        if (!fits) {
            diag_report(front->diagnostics, DIAGNOSTIC_E0502, member->value ? member->value->at : member->name.at,
                        "the value of a member of an enum fits i32");
            next = 0;
        }
        enumeration->members[i] = member->name.text;
        enumeration->values[i] = next++;
        if (name_table_find(&enumeration->places, member->name.text))
            diag_report(front->diagnostics, DIAGNOSTIC_E0202, member->name.at, "`%s` is already a member of this enum",
                        member->name.text);
        else
            name_table_set(front->arena, &enumeration->places, member->name.text, &enumeration->values[i]);
    }
    return enumeration;
}

static struct value enum_value(struct front *front, struct global *global)
{
    global->enumeration = make_enumeration(front, global);
    struct type *type = ARENA_NEW(front->arena, struct type);
    *type = (struct type){.kind = TYPE_ENUM,
                          .plain = ir_type_scalar(front->options->context, IR_I32),
                          .enumeration = global->enumeration};
    return value_type(type, global->declaration->at);
}

/* What -D gives is of the kind that the source wrote, and fits the type it declares; NULL, or what is wrong. */
static const char *misfit(struct elaborator *e, const struct ast_declaration *d, struct value *value)
{
    struct value written = elaborate_value(e, d->value);
    const struct type *type = d->type ? elaborate_type(e, d->type) : NULL;
    bool is_plain = type && type->kind == TYPE_PLAIN && type->plain->rank == 0;
    if (written.kind == VALUE_ENUMERATOR)
        return "it is a member of an enum, which -D cannot give";
    if ((written.kind == VALUE_BOOL) != (value->kind == VALUE_BOOL))
        return written.kind == VALUE_BOOL ? "it is a bool: `true` or `false`" : "it is a number";
    if (value->kind == VALUE_INTEGER && is_plain && ir_is_integer(type->plain->element))
        return arithmetic_fits(value->integer, type->plain->element) ? NULL : "its type does not hold that";
    if (value->kind == VALUE_REAL && (is_plain ? ir_is_integer(type->plain->element) : written.kind == VALUE_INTEGER))
        return "it is an integer";
    if (value->kind == VALUE_INTEGER && written.kind == VALUE_REAL)
        *value = value_real((double)value->integer, value->at);
    return NULL;
}

/* -D NAME=VALUE for a const of the file that is compiled. */
static bool define_of(struct elaborator *e, struct front *front, const struct global *global, struct value *value)
{
    if (global->file != front->main)
        return false;
    for (int i = front->options->define_count - 1; i >= 0; i--) {
        const struct front_define *define = &front->options->defines[i];
        if (strcmp(define->name, global->name) != 0)
            continue;
        front->used_defines[i] = true;
        const char *problem = constant_read(define->value, global->declaration->at, value)
                                  ? misfit(e, global->declaration, value)
                                  : "the value is not a number that i64 or u64 holds, `true` or `false`";
        if (problem)
            diag_report(front->diagnostics, DIAGNOSTIC_E0414, global->declaration->at, "-D %s=%s: %s", define->name,
                        define->value, problem);
        return !problem;
    }
    return false;
}

static struct value const_value(struct front *front, struct global *global)
{
    struct elaborator e;
    elaborator_init(&e, front, global->file);
    const struct ast_declaration *d = global->declaration;
    struct value v;
    if (!define_of(&e, front, global, &v))
        v = elaborate_value(&e, d->value);
    if (value_is_error(v))
        return v;
    if (!value_is_constant(v)) {
        front_report(&e, DIAGNOSTIC_E0501, d->value->at, "the value of a `const` is known when compiling; this is %s",
                     front_describe(&e, v));
        return value_error(d->at);
    }
    if (!d->type)
        return v;
    const struct type *type = elaborate_type(&e, d->type);
    if (!type)
        return value_error(d->at);
    if (type->kind == TYPE_ENUM || type->kind == TYPE_STRUCT)
        return convert_construct(&e, type, v, d->value->at);
    if (type->kind == TYPE_PLAIN && type->plain->rank == 0 && type->plain->element != IR_POINTER)
        return constant_to_element(&e, v, type->plain->element, false);
    front_report(&e, DIAGNOSTIC_E0204, d->type->at, "a `const` is a scalar, a member of an enum or a struct");
    return value_error(d->at);
}

struct value declare_value(struct front *front, struct global *global, struct location at)
{
    if (global->state == GLOBAL_DONE)
        return global->value;
    if (global->state == GLOBAL_RESOLVING) {
        struct diagnostic *d = diag_report(front->diagnostics, DIAGNOSTIC_E0506, global->declaration->at,
                                           "the value of `%s` depends on itself", global->name);
        diag_note(front->diagnostics, d, at, "it is needed here");
        return value_error(at);
    }
    global->state = GLOBAL_RESOLVING;
    struct value v = global->declaration->kind == DECLARATION_ENUM     ? enum_value(front, global)
                     : global->declaration->kind == DECLARATION_STRUCT ? structure_declare(front, global)
                                                                       : const_value(front, global);
    global->state = GLOBAL_DONE;
    return global->value = v;
}
