# Of LLVM's text: instructions of code for CPUs by kind, with the type where it tells how wide they are, and calls by name.
/^define .* section "\.text\.tile/ || /^define internal/ { inside = 1 }
/^}/ { inside = 0 }
inside && /^  / {
    text = $0
    sub(/^ +(%[^ ]+ = )?((tail|musttail|notail) )?/, "", text)
    kind = text
    sub(/ .*/, "", kind)
    if (kind == "call") {
        if (!match(text, /@[A-Za-z0-9_.]+/))
            next
        kind = "call " substr(text, RSTART + 1, RLENGTH - 1)
        if (kind ~ /tile_rt_/)
            next
    } else if (match(text, /<[0-9]+ x [a-z0-9]+>/))
        kind = kind " " substr(text, RSTART, RLENGTH)
    else if (kind ~ /^(load|store)$/) {
        match(text, /(load|store) (volatile )?[a-z0-9]+/)
        kind = substr(text, RSTART, RLENGTH)
    } else if (kind !~ /^[a-z]+$/)
        next
    number[kind]++
}
END { for (kind in number) print kind, number[kind] }
