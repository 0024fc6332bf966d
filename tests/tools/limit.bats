#!/usr/bin/env bats
# How long a test program may take: time of processors counts, of all its processes, and time on the clock only where it
# waits for ever.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    limit=$BUILDDIR/obj/tests/tools/limit
}

# ends STATUS SECONDS WALL COMMAND...: the limit's status, and that nothing of the command is left.
ends() {
    local wanted=$1
    shift
    status=0
    MARK=$BATS_TEST_TMPDIR "$limit" "$1" "$2" used "${@:3}" >log 2>&1 || status=$?
    cat log used
    [ "$status" = "$wanted" ]
    left=$(grep -lzxF "MARK=$BATS_TEST_TMPDIR" /proc/[0-9]*/environ 2>/dev/null) || true
    echo "left: $left"
    [ -z "$left" ]
}

busy='while :; do :; done'

@test "a command that ends has its own status" {
    ends 0 100 100 true
    ends 7 100 100 sh -c 'exit 7'
    ends 137 100 100 sh -c 'kill -9 $$'
    ends 126 100 100 "$BATS_TEST_TMPDIR/no such program"
    awk '$1 > 1 { exit 1 }' used
}

@test "what computes for ever is ended, in whichever process" {
    ends 124 0.3 300 sh -c "$busy"
    grep -q 'too much time of processors' log
    ends 124 0.3 300 sh -c "trap '' TERM; ($busy) & ($busy) & wait"
    ends 124 0.3 300 setsid -w sh -c "$busy"
    ends 124 0.3 300 sh -c "setsid sh -c '$busy' & sleep 1000"
    ends 124 0.3 300 sh -c 'while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done) ; done' # each for a moment
}

@test "a program whose processor others take is not" {
    begin=$(date +%s%N)
    run taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" sh -c "
        for i in 1 2 3; do ($busy) & others=\"\$others \$!\"; done
        '$limit' 60 600 used sh -c 'i=0; while [ \$i -lt 300000 ]; do i=\$((i + 1)); done'
        echo \"status \$?\"
        kill \$others"
    clock=$((($(date +%s%N) - begin) / 1000000))
    echo "$clock milliseconds on the clock, seconds of the processor: $(cat used)"
    [ "${lines[${#lines[@]} - 1]}" = 'status 0' ]
    awk -v clock="$clock" '{ exit !($1 > 0.1 && $1 * 2000 < clock) }' used # it had a quarter of one processor
    ends 0 0.5 300 sleep 2
}

@test "what waits for ever is ended by the clock" {
    ends 124 100 1 sleep 1000
    grep -q 'waits for ever' log
    ends 124 100 1 sh -c 'setsid sleep 1000 & kill -STOP $$'
}

@test "who ends the limit ends what it runs" {
    MARK=$BATS_TEST_TMPDIR "$limit" 100 100 used sleep 1000 3>&- &
    sleep 0.5
    kill $!
    status=0
    wait $! || status=$?
    [ "$status" = 143 ]
    ends 0 100 100 true
}

@test "make check says so of a program that is ended, and fails" {
    mkdir -p source/tests/tools source/tests/room build/obj/tests/tools
    cp "$SRCDIR"/tests/tools/run-* source/tests/tools/
    cp "$limit" build/obj/tests/tools/
    printf '#!/usr/bin/env bats\n@test "one" { %s; }\n' "$busy" >source/tests/room/busy.bats
    printf '#!/usr/bin/env bats\n@test "one" { sleep 2; }\n' >source/tests/room/slow.bats
    printf '#!/usr/bin/env bats\n@test "one" { sleep 1000; }\n' >source/tests/room/waits.bats
    [ -n "${BATS-}" ]
    SRCDIR=$PWD/source BUILDDIR=$PWD/build TEST_SECONDS=1 TEST_WALL_SECONDS=6 CHECK_JOBS=3 \
        run sh source/tests/tools/run-tests
    echo "$output"
    [ "$status" != 0 ]
    [[ $output = *'1 passed, 2 failed'* ]]
    [[ $output = *'passed '*' tests/room/slow.bats'* ]]
    [[ $output = *'too much time of processors'*'1 and 6 are allowed'* && $output = *'waits for ever'* ]]
}
