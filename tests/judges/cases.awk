# Makes kernels and problems of a table of cases: FAMILY.cases to FOLDER/FAMILY.tile and FOLDER/FAMILY_rows.h.
#
#     awk -v folder=F -v family=NAME -v each=N -f cases.awk NAME.cases     every N-th case
#
# A table has blocks with empty lines between them. `numbers = i8 i16 f32` names a list; `source:` copies what follows.
# Every other block is a case for each choice of its names:
#
#     add.row: T = $numbers, M/N = 1/4 3/16 | 1e-6 | grid(m: $M)
#         x:$T[$M,$N]~any y:$T[$N] > r:$T[$M,$N]
#         r[m, :] = x[m, :] + y[:];
#
# Names with / between them go together, those with a comma are combined; the tolerance, 0, and the clauses, grid(g: 1),
# may be missing. Then come the tensors as judge.h has them, and the kernel's body. What is wanted is the C function
# want_add; it sees numbers that were chosen as sizes, m and n.
BEGIN {
    RS = ""
    FS = "\n"
    tile = folder "/" family ".tile"
    rows = folder "/" family "_rows.h"
    printf "" > tile
    printf "#include \"%s.h\"\n\n", family > rows
}
$1 ~ /^source:/ { for (i = 2; i <= NF; i++) print $i > tile; next }
$1 ~ /^#/ { next }
$1 ~ /^[a-z0-9]+ = / { for (i = 1; i <= NF; i++) { split($i, part, " = "); lists[part[1]] = part[2] } next }
{ block() }
END {
    printf "\nstatic const struct judge_problem problems[] = {\n%s};\n", problems > rows
    printf "const struct judge_family judge_%s = {problems, sizeof problems / sizeof *problems};\n", family > rows
}

function block(    part, name, loops, i, at) {
    split($1, part, / *\| */)
    at = index(part[1], ":")
    name = substr(part[1], 1, at - 1)
    loops = substr(part[1], at + 1)
    tolerance = part[2] == "" ? 0 : part[2]
    clauses = part[3] == "" ? "grid(g: 1)" : part[3]
    body = ""
    for (i = 3; i <= NF; i++) body = body $i "\n"
    loop_count = loops ~ /[^ ]/ ? split(loops, loop, / *, */) : 0
    chosen_count = 0
    choose(name, 1)
}

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# Goes through the choices of loop number l and those behind it.
function choose(name, l,    part, names, values, choices, n, i, k, list) {
    if (l > loop_count) { make(name); return }
    split(loop[l], part, / = */)
    n = split(trim(part[1]), names, "/")
    list = trim(part[2])
    while (match(list, /\$[a-z0-9]+/))
        list = substr(list, 1, RSTART - 1) lists[substr(list, RSTART + 1, RLENGTH - 1)] substr(list, RSTART + RLENGTH)
    choices = split(list, values, " ")
    for (i = 1; i <= choices; i++) {
        split(values[i], part, "/")
        for (k = 1; k <= n; k++) { chosen_name[chosen_count + k] = names[k]; chosen[chosen_count + k] = part[k] }
        chosen_count += n
        choose(name, l + 1)
        chosen_count -= n
    }
}

function filled(text,    i) {
    for (i = 1; i <= chosen_count; i++) gsub("\\$" chosen_name[i], chosen[i], text)
    return text
}

# x:f32[m,7]~any is the parameter x: in f32[M, 7]; i counts parameters, `result` is true behind >.
function parameter(text, result,    name, type, at) {
    at = index(text, ":")
    name = substr(text, 1, at - 1)
    type = toupper(substr(text, index(text, "["), index(text, "]") - index(text, "[") + 1))
    gsub(/,/, ", ", type)
    type = substr(text, at + 1, index(text, "[") - at - 1) type
    return name ": " (text ~ /[=!]$/ ? "inout " : result ? "out " : "in ") type
}

function make(name,    tensors, words, n, i, label, sizes, parameters, arguments, want, kernel, count, result) {
    if (made++ % each) return
    name = filled(name)
    want = name
    sub(/\..*/, "", want)
    tensors = filled($2)
    sub(/^ +/, "", tensors)
    label = family " " name
    for (i = 1; i <= chosen_count; i++) {
        label = label " " chosen[i]
        if (chosen[i] ~ /^[0-9]+$/) sizes = sizes (sizes ? " " : "") tolower(chosen_name[i]) "=" chosen[i]
    }
    n = split(tensors, words, " ")
    for (i = 1; i <= n; i++) {
        if (words[i] == ">") { result = 1; continue }
        parameters = parameters (parameters ? ", " : "") parameter(words[i], result)
        arguments = arguments ", judge_view(c, " count++ + 0 ")"
    }
    kernel = family "_" made
    printf "/// %s\nkernel %s(%s)\n    %s\n{\n%s}\n\n", label, kernel, parameters, filled(clauses), filled(body) > tile
    printf "static int call_%s(struct judge_case *c) { return judge_%s(c->stream%s); }\n", kernel, kernel, arguments > rows
    problems = problems sprintf("    {\"%s\", \"%s\", \"%s\", \"%s\", call_%s, want_%s, NULL, %s},\n", label, tensors, sizes,
                                sizes, kernel, want, filled(tolerance))
}
