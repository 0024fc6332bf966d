# Makes from an example of the manual the C function that calls it.  The example says what to pass and what to expect:
#     // given x[2, 3] = 1 2 3 4 5 6        a view and its elements, row by row
#     // given a = 2                        a scalar
#     // given p = {2 1e-5}                 a struct, member by member
#     // keys = 2 1                         the dispatch keys that follow the parameters in C
#     // gives r[2] = 6 15                  what an out or inout view must hold afterwards
#     // within 1e-5                      how far off that may be, relative to what is larger than 1; else not at all
# Views of which nothing is said are NULL.  Elements of f16 and bf16 are written as numbers.  -v kernel=NAME.
function c_type(element) {
    if (element == "f32") return "float"
    if (element == "f64") return "double"
    if (element ~ /^i(8|16|32|64)$/) return "int" substr(element, 2) "_t"
    if (element == "bool") return "uint8_t"
    if (element ~ /^u(8|16|32|64)$/) return "uint" substr(element, 2) "_t"
    return "int"
}
function is_narrow(element) { return element == "f16" || element == "bf16" }
function is_float(element) { return is_narrow(element) || element == "f32" || element == "f64" }
function literal(text) { gsub(/ +/, ", ", text); gsub(/-inf/, "-INFINITY", text); return text }
function read_values(line, into, shape,    name, sizes) {
    sub(/^[ \t]*\/\/ (given|gives) /, "", line)
    name = line
    sub(/[ \[].*/, "", name)
    sizes = ""
    if (line ~ /^[A-Za-z_0-9]+\[/) {
        sizes = line
        sub(/^[^\[]*\[/, "", sizes)
        sub(/\].*/, "", sizes)
    }
    sub(/^[^=]*= */, "", line)
    into[name] = literal(line)
    shape[name] = sizes
}
/^\/\/ given / { read_values($0, given, given_shape); next }
/^\/\/ keys = / { keys = $0; sub(/^\/\/ keys = /, "", keys); keys = ", " literal(keys); next }
/^\/\/ within / { within = $3; next }
/^\/\/ gives / { read_values($0, gives, gives_shape); next }
{ sub(/\/\/.*/, ""); text = text " " $0 }
END {
    start = index(text, "kernel " kernel)
    text = substr(text, start + length("kernel " kernel))
    if (text ~ /^</) sub(/^[^>]*>/, "", text)
    depth = 0
    part = ""
    for (i = index(text, "("); i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(" || c == "[" || c == "{") depth++
        if (c == ")" || c == "]" || c == "}") depth--
        if (depth == 0 || (depth == 1 && c == ",")) { parameters[++count] = part; part = "" }
        else if (!(depth == 1 && c == "(")) part = part c
        if (depth == 0) break
    }
    print "#include \"" kernel ".h\""
    print "static int call_" kernel "(void) {\n    int wrong = 0;"
    arguments = "manual_stream(TILE_CPU)"
    for (p = 1; p <= count; p++) {
        name = parameters[p]
        sub(/:.*/, "", name)
        gsub(/[ \t]/, "", name)
        rest = parameters[p]
        sub(/^[^:]*: */, "", rest)
        if ((name in given) && given[name] ~ /^\{/) { arguments = arguments ", &(const struct tile_" rest ")" given[name]; continue }
        if (rest !~ /^(in|out|inout)[ ?]/) { arguments = arguments ", " given[name]; continue }
        if (!(name in given) && !(name in gives)) { arguments = arguments ", NULL"; continue }
        element = rest
        sub(/\[.*/, "", element)
        sub(/.* /, "", element)
        if (element ~ /^[iu]4$/) sub(/4/, "8", element) # i4 and u4 are bytes in C, two elements each
        shape = (name in given) ? given_shape[name] : gives_shape[name]
        rank = split(shape, extent, / *, */)
        total = 1
        strides = ""
        for (d = rank; d >= 1; d--) { strides = total (strides == "" ? "" : ", " strides); total *= extent[d] }
        type = c_type(element)
        value = (name in given) ? given[name] : "0"
        if (is_narrow(element)) {
            type = "float"
            print "    static const float " name "_values[" (total ? total : 1) "] = {" value "};"
            print "    tile_" element " " name "_data[" (total ? total : 1) "];"
            print "    for (int i = 0; i < " total "; i++) " name "_data[i] = tile_" element "_from_float(" name "_values[i]);"
        } else print "    " type " " name "_data[" (total ? total : 1) "] = {" value "};"
        print "    struct tile_" element "_" rank " " name " = {manual_place(" name "_data, sizeof " name "_data), {" shape "}, {" strides "}};"
        if (name in gives) checks = checks "    { static const " type " expected[] = {" gives[name] "};\n" \
            "      for (int i = 0; i < " total "; i++) { " type " got = " \
            (is_narrow(element) ? "tile_" element "_to_float(" name ".data[i])" : "((const " type " *)" name ".data)[i]") ";\n" \
            "        if (!" (within ? "manual_close((double)got, (double)expected[i], " within ")" : (is_float(element) ? "manual_equal((double)got, (double)expected[i])" : "(got == expected[i])")) ") { wrong = 1;\n" \
            "          printf(\"" kernel ": " name "[%d] is %.9g, not %.9g\\n\", i, (double)got, (double)expected[i]); } } }\n"
        arguments = arguments ", &" name
    }
    print "    int status = " kernel "(" arguments keys ");"
    print "    if (status) { printf(\"" kernel ": status %d\\n\", status); return 1; }"
    print "    if (manual_finish(\"" kernel "\")) return 1;"
    printf "%s    return wrong;\n}\n", checks
}
