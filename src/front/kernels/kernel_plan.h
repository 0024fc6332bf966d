/* A kernel on its way from its declaration to entries and variants, with what the command line says of it.  The files
 * of this room share it. */
#ifndef TILECC_FRONT_KERNEL_PLAN_H
#define TILECC_FRONT_KERNEL_PLAN_H
#include "front/walk/walk.h"

struct knob { /* of tune */
    const char *name;
    struct location at;
    const struct ast_item *item;
    bool known; /* warps, stages, …: not a tile extent */
};
struct tuning {
    struct knob *data;
    int count, capacity;
};
struct kernel_plan;
struct entry_plan;
struct variant_plan;
void knobs_declare(struct elaborator *e, const struct ast_declaration *kernel, struct tuning *tuning);
/* --spec 'softmax<f16>[B=1024, warps=4] aligned' */
struct spec_item {
    const char *name, *value;
    int offset; /* of the name in the text */
};
struct spec {
    const char *text;
    const char *kernel;
    VECTOR(const char *) types;
    VECTOR(struct spec_item) items;
    const char *facts; /* "aligned", or "sm_80 aligned" as labels have it; empty: all */
    bool used;
    struct spec *next;
};
bool spec_parse(struct front *front, struct spec **specs);
/* One, and its part between the brackets; false: the text has another form. */
bool spec_read(struct front *front, const char *text, struct spec *spec);
bool spec_read_items(struct front *front, struct spec *spec, const char *from, const char *to);
/* What the spec, else -D, says a name is, as text (NULL: nothing) and as a number or bool (false: nothing such). */
const char *spec_text(struct front *front, const struct spec *spec, const char *name);
bool spec_value(struct front *front, const struct spec *spec, const char *name, struct value *value);
bool spec_has(const struct spec *spec, const char *name); /* by --spec, and not by -D */
/* To what -D gives this kernel in vain: where another has the name, too, how to ask for one alone. */
void spec_note_define(struct front *front, struct diagnostic *d, const struct ast_declaration *kernel,
                      const char *name);
/* The set of a key, NULL: the kernel has none of the name; its members, with commas, the first dozen. */
const struct domain *spec_domain(const struct kernel_plan *kernel, const char *name);
const char *spec_members(struct front *front, const struct domain *domain);
bool spec_selects(const struct entry_plan *plan, const struct spec *spec); /* the kernel, and its types */
bool spec_has_facts(const struct spec *spec, const char *label); /* the label ends with them, or none are asked for */
bool spec_means(const char *text, struct value member);          /* the member of a set that the text asks for */
/* --tuning=FILE: 'matmul<bf16>[D=64] sm_90a aligned', and under it lines of schedules. */
struct tuned_line {
    struct location at;
    struct spec values;                /* items alone */
    const struct ast_expression *when; /* NULL: always */
};
struct tuned_kernel {
    struct location at;
    struct spec head; /* facts: without the target */
    const char *target;
    VECTOR(struct tuned_line) lines;
    bool has_types, has_facts; /* there are such instances */
    const char *other_facts;   /* where there is none: the facts of those with its types and keys; or NULL */
    struct tuned_kernel *next;
};
bool tuning_read(struct front *front, struct tuned_kernel **kernels); /* false: reported */
struct location tuning_place(struct location line, const struct spec_item *item);

/* A way to run the instances of the same keys and facts. */
struct schedule {
    struct value *tuned; /* one a knob, in order */
    uint64_t *among;     /* of a name of the schedule that has no value (0), the members that the compiler chooses from,
                          * a bit each, or 0: all */
    const struct kernel_expression *when; /* the wrapper takes it where this holds, if none before it; NULL: always */
    const struct kernel_expression *modelled; /* as of struct kernel_variant */
    const struct tuned_line *line;            /* that says so; NULL: the source does */
};
struct schedules {
    struct schedule *data;
    int count, capacity;
};
/* The default of all knobs, bound in the current scope; false: reported. */
bool knobs_choose(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                  const char *target, const struct spec *spec, struct schedule *schedule);
/* Gives the names of its line their values.  False: reported, or the command contradicts them, which is warned of. */
bool knobs_replace(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                   const struct spec *spec, struct schedule *schedule);
/* The default, then the schedules that differ from it in extents of tiles, where nothing says what they are, and meet the
 * conditions; and behind such, of which the first is the default, those that differ from one of them in one of the
 * compiler's own names.  At most so many in all. */
void knobs_list_tiles(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                      const char *target, const struct spec *spec, const struct schedule *standard, int most,
                      struct schedules *all);
void knobs_list_ways(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                     const char *target, const struct spec *spec, int most, struct schedules *all);
/* What knobs_choose stands on.  The sets, and the values of a choice that asks for nothing; its values bound in the
 * current scope; 1: all conditions, or `only` that one, hold, 0: one does not, -1: reported. */
bool knobs_read_sets(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                     struct domain *sets, struct value *values, uint64_t *among);
void knobs_bind(struct elaborator *e, const struct tuning *tuning, const struct value *values);
int knobs_hold(struct elaborator *e, const struct ast_declaration *kernel, const struct ast_item *only);
/* The next choice of so many numbers, each from 0 to below its limit, the last fastest; false: that was the last. */
bool knobs_step(int count, const int *limits, int *at);
/* Behind it: every choice that meets the conditions, `defaults` first.  False: reported. */
bool knobs_span(struct elaborator *e, const struct ast_declaration *kernel, const struct tuning *tuning,
                const char *target, const struct value *defaults, struct front_space *space);

void kernel_compile(struct front *front, struct global *kernel, struct spec *specs, struct tuned_kernel *tuned);

/* A compile-time name of the head, in order: those of `< >`, then const(B: set >= least).  A set may use the names of
 * rows above it:
 *
 *   kernel e<D: {2, 3}>(…) const(B: {D*8, D*64} >= N)      B: {16, 128} where D is 2, {24, 192} where D is 3 */
struct row {
    struct ast_name name;
    struct location at;
    const struct ast_domain *written;
    const struct ast_expression *least; /* of `const`, whose sets are ascending; or NULL */
    bool is_type;
    bool *uses;           /* a row above: in its set, or in that of one that it uses; NULL: none */
    struct domain domain; /* all values that it has, whatever the rows above are */
};
struct row_set {
    const struct value *above;
    struct domain domain;
}; /* above: the rows that it uses, by number */
struct row_sets {
    struct row_set *data;
    int count, capacity;
};
struct condition {
    const struct ast_expression *expression;
};
struct special {
    struct condition *data;
    int count, capacity;
}; /* one clause `specialize` */

struct kernel_plan {
    struct front *front;
    struct file_scope *file;
    const struct ast_declaration *declaration;
    VECTOR(struct row) rows;
    VECTOR(const struct ast_item *) grid, scratch; /* items whose form is right */
    const struct ast_item *ordered;                /* the dimension of the grid that says so, or NULL */
    VECTOR(struct condition) requirements;
    VECTOR(struct special) specials;
    struct tuning tuning;
    VECTOR(struct kernel_alias) aliases;
    struct tuned_kernel *tuned; /* of all kernels */
};

/* An entry with its types, and how names are known in host expressions. */
struct entry_plan {
    struct kernel_plan *kernel;
    struct kernel_entry *entry;
    struct value *types;   /* one a row; VALUE_ERROR where it is a key */
    int *key_of_row;       /* index into entry->keys, or -1 */
    struct row_sets *sets; /* one a row; of a type: none */
    const char *suffix;    /* "<f16>", for labels */
    struct spec *spec;     /* whose instances are planned now, or NULL */
    int first_split;       /* where it splits: the first of two scratches for that */
    struct chosen {        /* what was chosen last, for all facts of a target and keys that are as aligned */
        int target;
        int aligned;
        const struct value *keys;
        struct schedules schedules;
    } chosen;
};

/* One variant: values of keys, schedule, facts. */
enum { WHOLE_COPY = 16, LEAST_COPY = 4 }; /* bytes: of a vector or a copy by TMA, and the least that cp.async moves */
struct facts {
    int special; /* clause `specialize`, or -1 */
    int aligned; /* bases and strides are multiples of so many bytes, but for those that parameter_is_asked tells; 0: of nothing */
    int *unit;     /* per parameter: dimension whose stride is 1 besides the declared, or -1 */
    int *presence; /* per parameter: 1 known to be there, -1 known to be absent, 0 not known */
};
struct variant_plan {
    struct entry_plan *entry;
    const struct spec *spec; /* that it is planned for, or NULL */
    int target;
    struct value *keys; /* one a key */
    struct facts facts;
    struct schedule schedule;
    int schedule_number;                              /* among those of the same target, keys and facts */
    const struct kernel_expression **scratch_extents; /* as of struct kernel_variant */
    const struct kernel_expression **split_extents;   /* those of them that `split_k` needs */
    int split_argument;                               /* the first of its two arguments */
    bool multiplies; /* its body has products of factors with 16 bits or more, and no others: set when that is built */
    const char *label;
    int number;
};

bool plan_read(struct kernel_plan *plan);
/* Reads the sets of a name and adds it to the rows. */
void row_add(struct kernel_plan *plan, struct elaborator *e, struct row row);
/* Its sets, one for each combination of the rows that it uses; `types`: those of an entry, or NULL.  False:
 * reported. */
bool row_list_sets(const struct kernel_plan *plan, struct elaborator *e, int row, const struct value *types,
                   struct row_sets *sets);
/* The one that holds for these values of the rows above. */
const struct domain *row_domain(const struct kernel_plan *plan, int row, const struct row_sets *sets,
                                const struct value *values);
/* "D is 2 and C is true" of the rows that the row uses, types among them or not; "" when there are none. */
const char *row_describe_above(const struct kernel_plan *plan, int row, const struct value *above, bool with_types);
/* Whether instances differ in types, keys or specialisations, so that a message must say which one it means. */
bool plan_has_choices(const struct kernel_plan *plan);
bool kernel_prints(const struct kernel_plan *plan); /* it may come to a `print` */
/* Fills the entry; false: reported, or no such instance (*dropped). */
bool entry_build(struct entry_plan *plan, bool *dropped);
void entry_assign_slots(struct entry_plan *plan);
/* The rows: types, and keys as constants when `keys` is given, else as what the wrapper knows. */
void entry_bind_rows(struct elaborator *e, const struct entry_plan *plan, const struct value *keys);
/* Scope for host expressions: types, names, scalars, views, and keys as constants when `keys` is given. */
void entry_host_scope(struct elaborator *e, const struct entry_plan *plan, const struct value *keys,
                      const struct value *tuned);
/* All facts that get an instance of their own, most special first; `e` is in the host scope. */
int facts_list(struct elaborator *e, const struct entry_plan *plan, int target, struct facts **facts);
/* Whether there are instances for views that are multiples of LEAST_COPY: of products of views with any strides, whose
 * elements are half of that, where the target multiplies what lies in shared memory.  (Fragments for mma.sync spill beside so
 * many copies, and nothing was measured there.) */
bool facts_by_least_copy(const struct entry_plan *plan, int target);
/* Whether the facts of the plan can be, whatever the arguments are: a clause `specialize` may ask for values of `tune`. */
bool facts_are_possible(struct elaborator *e, const struct variant_plan *plan);
const char *variant_label(const struct variant_plan *plan); /* "softmax<f16>[B=1024] sm_90a aligned" */
const char *variant_facts(const struct variant_plan *plan); /* "aligned", with which the label ends; never empty */
/* What its schedule asks of a name: a number, and of a bool 1 or -1; where that is 0 some of a set, *among, which may be NULL;
 * nothing where both are 0. */
int variant_asked(const struct variant_plan *plan, const char *name, uint64_t *among);
bool variant_build(struct variant_plan *plan, struct kernel_variant *variant);
/* The schedules of one target, keys and facts, in the order in which the wrapper looks at them; the last is taken always.
 * `plan` has all but its schedule. */
void schedules_list(const struct variant_plan *plan, const struct schedule *standard, struct schedules *schedules);
/* Reports what files of --tuning ask of this kernel that cannot be meant: of its keys; when all its instances are planned,
 * of types and facts.  Between the two each combination of types is noted. */
void schedules_begin(struct kernel_plan *kernel, struct tuned_kernel *tuned);
void schedules_note_types(const struct entry_plan *plan);
void schedules_end(const struct kernel_plan *kernel);
/* Those that options->choose_schedules takes of what the sets of `tune` leave open; false: nothing to choose. */
bool candidates_choose(const struct variant_plan *plan, const struct schedule *standard, struct schedules *schedules);
/* Of the clause `scratch`: the items of the plan; what the entry says of them; the extents that a variant has. */
void scratch_read(struct kernel_plan *plan, const struct ast_clause *clause);
bool scratch_describe(struct elaborator *e, struct entry_plan *plan);
bool scratch_measure(struct elaborator *e, struct variant_plan *plan);
/* Whether the extent, along which elements are neighbours, is known to be whole copies of the least. */
bool parameter_is_even(const struct variant_plan *plan, int number, int d);
/* How many elements of the view so many bytes are; 1: none or a part of one. */
int64_t parameter_multiple(const struct kernel_parameter *p, int bytes);
/* Of a kernel that multiplies, a view whose alignment stores ask for when running: how a result lies must not decide how
 * factors come. */
bool parameter_is_asked(const struct variant_plan *plan, const struct kernel_parameter *p);
/* The IR function of a variant; NULL: reported. */
struct ir_function *body_build(struct variant_plan *plan, struct kernel_variant *variant, const char *name);
const struct kernel_enum *describe_enumeration(struct front *front, const struct enumeration *enumeration);
int64_t key_number(struct value v);
/* Reports what -D and --spec ask of this kernel that cannot be meant. */
void spec_check(struct kernel_plan *kernel, const struct spec *specs);
/* Reports when `split_k`, listed at `at`, cannot be done to the kernel. */
void split_check(struct elaborator *e, const struct kernel_plan *kernel, struct location at);
const struct ast_statement *split_loop(const struct ast_declaration *kernel); /* the loop that it is about, or NULL */
int split_parts(const struct variant_plan *plan);                             /* 1: nothing is split */
/* The dimension of the grid and the scratch of an entry that splits; the extents of that scratch, as far as they are
 * known without the body; what the body becomes, and the other extents.  False: reported. */
void split_describe(struct entry_plan *plan);
void split_measure(struct elaborator *e, struct variant_plan *plan, const struct kernel_expression **extent);
bool split_body(struct elaborator *e, struct variant_plan *plan);
#endif
