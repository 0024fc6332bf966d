# Of PTX: each kind of instruction and how often it stands there, bytes of shared memory, and entries.
function count(text) {
    sub(/^[ \t{]+/, "", text)
    sub(/^@!?[%$a-zA-Z_][a-zA-Z_0-9]*[ \t]+/, "", text)
    if (text !~ /^[a-z][a-z0-9_]*([.:][A-Za-z0-9_:]+)*[ \t]/ && text !~ /^(ret|exit|trap)$/)
        return
    sub(/[ \t].*/, "", text)
    number[text]++
}
{ sub(/\/\/.*/, "") }
/^\.visible \.entry/ { number["entry"]++ }
/\.shared .*\[[0-9]+\]/ {
    match($0, /\[[0-9]+\]/)
    number["shared bytes"] += substr($0, RSTART + 1, RLENGTH - 2)
}
/^[ \t]/ {
    parts = split($0, part, ";")
    for (i = 1; i <= parts; i++)
        count(part[i])
}
END { for (kind in number) print kind, number[kind] }
