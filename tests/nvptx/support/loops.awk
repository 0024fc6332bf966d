# The hot loops of machine code as nvdisasm -c prints it: each line of a loop, behind the loop's number.  A loop is what
# lies between a branch and a label in front of it that the branch goes to.  Hot are the shortest ones with matrix
# instructions; what shares a line with a shorter one is a loop around it, or comes back to it from code that stands apart.
BEGIN { count = loops = 0 }
/^[ \t]*\.L_[A-Za-z0-9_]*:/ { name = $1; sub(/:.*/, "", name); label[name] = count; next }
/^[ \t]*\/\*[0-9a-f]+\*\// {
    text = $0
    sub(/^[ \t]*\/\*[0-9a-f]+\*\/[ \t]*/, "", text)
    sub(/[ \t]*;.*$/, "", text)
    line[count++] = text
}
END {
    for (i = 0; i < count; i++) {
        if (line[i] !~ /(^| )BRA/ || !match(line[i], /\.L_[A-Za-z0-9_]+/)) continue
        name = substr(line[i], RSTART, RLENGTH)
        if (!(name in label) || label[name] > i) continue
        matrix = 0
        for (j = label[name]; j <= i; j++) matrix += line[j] ~ /(^| )(HGMMA|HMMA|IMMA|QMMA)/
        if (matrix) { from[loops] = label[name]; to[loops++] = i }
    }
    for (round = 0; round < loops; round++) {
        best = -1
        for (n = 0; n < loops; n++)
            if (!(n in done) && (best < 0 || to[n] - from[n] < to[best] - from[best])) best = n
        done[best] = 1
        free = 1
        for (n = 0; n < number; n++) free = free && (to[best] < first[n] || last[n] < from[best])
        if (!free) continue
        first[number + 0] = from[best]
        last[number++] = to[best]
        for (i = from[best]; i <= to[best]; i++) print number, line[i]
    }
}
