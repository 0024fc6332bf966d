# What the tests of the command line share.  Each test runs in an empty folder of its own.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    unset MAKEFLAGS MAKEOVERRIDES MFLAGS NO_COLOR CUDA_HOME TILECC_CACHE_SIZE
    export TILECC_CACHE=
    cat >k.tile <<'END'
/// y[i] = a*x[i] + y[i].
kernel axpy(a: f32, x: in f32[N], y: inout f32[N])
    grid(b: cdiv(N, B))
    tune(B: {64, 128} = 64)
{
    let i = b*B;
    y[i +: B] = a * x[i +: B] + y[i +: B];
}
END
}

tilecc() { "$TILECC" "$@"; }

needs_ptxas() { [ -n "${PTXAS-}" ] || skip "no ptxas"; }

# Exit status and combined output of a command: `expect CODE command...`; the output is in $output.
expect() {
    local wanted=$1
    shift
    run "$@"
    if [ "$status" != "$wanted" ]; then
        echo "status $status, expected $wanted: $*"
        echo "$output"
        return 1
    fi
}

contains() {
    case $output in
    *"$1"*) ;;
    *) echo "no '$1' in: $output"; return 1 ;;
    esac
}

lacks() {
    case $output in *"$1"*) echo "'$1' in: $output"; return 1 ;; esac
}

# A fake toolkit in ./toolkit whose ptxas is the given script (it has an absolute interpreter and no PATH).
fake_ptxas() {
    mkdir -p toolkit/bin
    { echo '#!/bin/sh'; cat; } >toolkit/bin/ptxas
    chmod +x toolkit/bin/ptxas
}
