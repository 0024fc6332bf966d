/* A kernel on its way from its declaration to entries and variants: shared by signature.c, instance.c, kernel_body.c,
 * schedule.c. */
#ifndef TILECC_FRONT_KERNEL_PLAN_H
#define TILECC_FRONT_KERNEL_PLAN_H
#include "front/elaborate.h"

struct generic { const struct ast_generic *written; struct domain domain; bool is_type; };
struct derived { const struct ast_item *item; struct domain domain; }; /* const(B: set >= n), ascending */
struct condition { const struct ast_expression *expression; };
struct special { struct condition *data; int count, capacity; };     /* one clause `specialize` */

struct kernel_plan {
    struct front *front;
    struct file_scope *file;
    const struct ast_declaration *declaration;
    VECTOR(struct generic) generics;
    VECTOR(struct derived) derived;
    VECTOR(const struct ast_item *) grid;
    VECTOR(struct condition) requirements;
    VECTOR(struct special) specials;
    struct tuning tuning;
    VECTOR(struct kernel_alias) aliases;
};

/* An entry with its types, and how names are known in host expressions. */
struct entry_plan {
    struct kernel_plan *kernel;
    struct kernel_entry *entry;
    struct value *types;                 /* one a generic; VALUE_ERROR where it is a key */
    int *key_of_generic;                 /* index into entry->keys, or -1 */
    const char *suffix;                  /* "<f16>", for labels */
    struct spec *spec;                   /* whose instances are planned now, or NULL */
};

/* One variant: values of keys, schedule, facts. */
struct facts {
    int special;        /* clause `specialize`, or -1 */
    bool aligned;
    int *unit;          /* per parameter: dimension whose stride is 1 besides the declared, or -1 */
    int *presence;      /* per parameter: 1 known to be there, -1 known to be absent, 0 not known */
};
struct variant_plan {
    struct entry_plan *entry;
    const struct spec *spec;             /* that it is planned for, or NULL */
    int target;
    struct value *keys;                  /* one a key */
    struct value *tuned;                 /* one a knob */
    struct facts facts;
    const char *label;
    int number;
};

bool plan_read(struct kernel_plan *plan);
/* Whether instances differ in types, keys or specialisations, so that a message must say which one it means. */
bool plan_has_choices(const struct kernel_plan *plan);
/* Fills the entry; false: reported, or no such instance (*dropped). */
bool entry_build(struct entry_plan *plan, bool *dropped);
/* Scope for host expressions: types, names, scalars, views, and keys as constants when `keys` is given. */
void entry_host_scope(struct elaborator *e, const struct entry_plan *plan, const struct value *keys,
                      const struct value *tuned);
/* All facts that get an instance of their own, most special first; `e` is in the host scope. */
int facts_list(struct elaborator *e, const struct entry_plan *plan, bool cpu, struct facts **facts);
bool variant_build(struct variant_plan *plan, struct kernel_variant *variant);
/* The IR function of a variant; NULL: reported. */
struct ir_function *body_build(struct variant_plan *plan, struct ir_module *module, const char *name);
const struct kernel_enum *describe_enumeration(struct front *front, const struct enumeration *enumeration);
int64_t key_number(struct value v);
/* Reports what -D and --spec ask of this kernel that cannot be meant. */
void spec_check(struct kernel_plan *kernel, const struct spec *specs);
/* Reports when `split_k`, listed at `at`, cannot be done to the kernel. */
void split_check(struct elaborator *e, const struct ast_declaration *kernel, struct location at);
#endif
