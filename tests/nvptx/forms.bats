#!/usr/bin/env bats
# The same work in other words takes the same way: what is said of attention's loops, for each of its forms (forms.tile).

load ../cli/helper

remarks() { # kernel, whether causal
    "$TILECC" -arch=sm_90a --schedules=1 --dryrun -w -Rpass='overlap_products|specialise|peel' \
        --spec "$1[CAUSAL=$2]" "$SRCDIR/tests/nvptx/forms.tile" 2>&1 | awk '/remark: / { text = $0 } /= in .*aligned/ { print text }'
}

@test "attention by while, quotients, functions, backwards, by exp and twice: masks apart, products overlapped, long and short in pairs" {
    for kernel in usual whiled counted by_function downward natural twice; do
        remarks "$kernel" true >said
        for text in "peel: the loop is split" "also where the loop goes on behind its split" "long and short ones in pairs" \
            "2 slots of 32768 bytes: an iteration takes"; do
            grep -q "$text" said || { echo "$kernel: no $text"; cat said; return 1; }
        done
        remarks "$kernel" false >said
        for text in "peel: the loop is split" "the second product of each iteration runs beside the first one of the next" \
            "programs are walked over by persistent blocks"; do
            grep -q "$text" said || { echo "$kernel: no $text"; cat said; return 1; }
        done
    done
}
