#!/usr/bin/env bats
# The line on a terminal that tells how far a compilation is.

load helper

# What a command writes to a terminal of 60 columns, a line for each time that it begins at the left.
on_terminal() {
    command -v script >/dev/null || skip "no script(1)"
    script -qec "stty cols 60; $*" typescript >/dev/null </dev/null
    sed '1d;$d' typescript | tr '\r' '\n' >shown
}

@test "each instance is named as it is made, and the line is gone at the end" {
    cp "$SRCDIR/examples/softmax.tile" .
    TERM=xterm on_terminal "'$TILECC' -arch=cpu --cpu-isa=baseline softmax.tile -o k.o"
    grep -q '^\[[0-9]*/30\] softmax<f' shown
    awk -F'[][/]' '/^\[/ { if ($2 < last || $2 > $3) exit 1; last = $2 }' shown
    [ "$(grep -v '^$' shown | tail -n 1)" = "$(printf '\033[K')" ]
    ! grep -vE "^(\[[0-9]+/30\] .*)?($(printf '\033')\[K)?\$" shown || false
    tilecc -arch=cpu --cpu-isa=baseline softmax.tile -o plain.o
    cmp plain.o k.o
}

@test "a line is no wider than the terminal" {
    cp "$SRCDIR/examples/softmax.tile" ./k.tile
    sed -i 's/softmax/a_kernel_whose_name_is_much_longer_than_what_fits_into_one_line_of_it/' k.tile
    TERM=xterm on_terminal "'$TILECC' -arch=cpu --cpu-isa=baseline k.tile -o k.o"
    grep -q '^\[' shown
    ! sed "s/$(printf '\033')\[K//" shown | grep -q '.\{60\}' || false
}

@test "none where nobody sees it, or other lines come between" {
    cp "$SRCDIR/examples/softmax.tile" .
    expect 0 env TERM=xterm "$TILECC" -arch=cpu --cpu-isa=baseline softmax.tile -o k.o
    [ -z "$output" ]
    TERM=dumb on_terminal "'$TILECC' -arch=cpu --cpu-isa=baseline softmax.tile -o k.o"
    ! grep -q '^\[' shown || false
    for words in '-fdiagnostics-format=json' -v --resource-usage; do
        TERM=xterm on_terminal "'$TILECC' $words -arch=cpu --cpu-isa=baseline softmax.tile -o k.o"
        ! grep -q '^\[' shown || false
    done
    TERM=xterm on_terminal "MAKEFLAGS=' -j2 --jobserver-auth=3,4' '$TILECC' -arch=cpu --cpu-isa=baseline softmax.tile -o k.o"
    ! grep -q '^\[' shown || false
    TERM=xterm on_terminal "'$TILECC' -arch=cpu --cpu-isa=baseline '$SRCDIR/examples/saxpy.tile' -o k.o" # too soon through
    ! grep -q '^\[' shown || false
}
