#!/usr/bin/env bats
# tilecc tune --native from end to end with a made-up GPU (tests/runtime/fake_gpu.c), whose launches take what the cubin says.

load helper

setup_file() {
    export TILECC_CACHE=
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wconversion -Werror -shared -fPIC "$BATS_TEST_DIRNAME/../runtime/fake_gpu.c" \
        -o "$BATS_FILE_TMPDIR/libcuda.so.1" -lpthread
}

native() { LD_LIBRARY_PATH=$BATS_FILE_TMPDIR tilecc tune --native -arch=sm_90a --budget=0.6 "$@"; }
trials() { LD_LIBRARY_PATH=$BATS_FILE_TMPDIR tilecc tune --native -arch=sm_90a --trials=50 k.tile "$@"; }
call='k_axpy(2, [5000])'

@test "an order is found, told, drawn, written, and taken without a GPU; another search begins with it" {
    mkdir folders
    TMPDIR=$PWD/folders expect 0 native k.tile "$call" --plot=k.svg
    contains 'one cycle more at each instruction costs'
    contains 'proved; the same bits over 2000 launches and 10000000 elements'
    contains '1 of 1 kernel in another order'
    grep -q '^native sm_90a [0-9a-f]\{32\} # k_axpy' k.tuning || { cat k.tuning; return 1; }
    grep -q '<circle' k.svg
    [ -z "$(ls folders)" ]
    expect 0 tilecc -arch=sm_90a k.tile -o plain.o
    expect 0 tilecc -arch=sm_90a --tuning=k.tuning k.tile -o tuned.o
    lacks order-left-out
    ! cmp -s plain.o tuned.o || { echo 'the order was not taken'; return 1; }
    cp k.tuning first
    # it goes on from what the file holds
    expect 0 native k.tile "$call" --budget=0.01
    contains '1 of 1 kernel in another order'
    [ "$(grep -c ^native k.tuning)" = 1 ]
    # a truncated file, and another compiler's code: the plain code
    sed '/^native/s/ [0-9a-f]\{32\}/ 00000000000000000000000000000000/' first >other.tuning
    expect 0 tilecc -arch=sm_90a --tuning=other.tuning k.tile -o other.o
    contains order-left-out
    cmp other.o plain.o
    sed '$s/ [^ .]*\(\.[0-9a-f]*\)$/ 0\1/' first >cut.tuning
    expect 0 tilecc -arch=sm_90a --tuning=cut.tuning k.tile -o cut.o
    contains order-left-out
    cmp cut.o plain.o
}

@test "another ptxas makes other code: a message, and that code; one whose cubins are cut off is told of" {
    needs_ptxas
    expect 0 native k.tile "$call"
    grep -q ^native k.tuning
    fake_ptxas <<<"exec '$PTXAS' -O1 \"\$@\""
    expect 0 tilecc -arch=sm_90a --cuda-path=toolkit k.tile -o plain.o
    expect 0 tilecc -arch=sm_90a --cuda-path=toolkit --tuning=k.tuning k.tile -o other.o
    contains order-left-out
    contains 'no code compiled here has its digest'
    cmp other.o plain.o
    fake_ptxas <<<"'$PTXAS' \"\$@\" | /usr/bin/head -c 2000"
    expect 5 tilecc -arch=sm_90a --cuda-path=toolkit --tuning=k.tuning k.tile -o cut.o
    contains 'no usable cubin'
    [ ! -e cut.o ]
}

@test "orders drawn at random are compared, and none is written" {
    expect 0 trials "$call"
    contains 'the same bits over 200 launches'
    contains '50 orders of 1 kernel, 0 wrong'
    [ ! -e k.tuning ]
    FAKE_DIFFERS=1 expect 5 trials "$call"
    contains 'please report it'
    expect 2 trials "$call" -o k.tuning
    contains '--trials looks for no faster order'
    expect 2 tilecc tune -arch=sm_90a --trials=50 k.tile "$call"
    contains "belong to 'tilecc tune --native'"
}

@test "what the file holds stays, and its schedules are those whose code is searched" {
    printf 'tuning 1\naxpy sm_90a\n    [B=128]\n' >k.tuning
    expect 0 native k.tile "$call" --tuning=k.tuning
    contains 'in another order'
    [ "$(sed -n 2,3p k.tuning)" = $'axpy sm_90a\n    [B=128]' ] || { cat k.tuning; return 1; }
    [ "$(grep -c ^native k.tuning)" = 1 ]
    expect 0 tilecc -arch=sm_90a --tuning=k.tuning k.tile -o k.o
    lacks order-left-out
}

@test "an order that gives other results, or stops the GPU, is not written" {
    FAKE_DIFFERS=1 expect 0 native k.tile "$call"
    contains 'with a cycle more at each instruction it fails'
    contains 'please report it'
    contains "the order of ptxas stays: nothing is faster"
    [ "$(grep -vc '^#' k.tuning)" = 1 ]
    rm k.tuning*
    FAKE_FAILS=1 expect 0 native k.tile "$call"
    contains 'the order of ptxas stays'
    [ "$(grep -vc '^#' k.tuning)" = 1 ]
}

@test "each output is compared, also behind one that is large" {
    cat >two.tile <<'END'
kernel copies(x: in f32[N], y: out f32[N], z: out f32[N])
    grid(b: cdiv(N, 1024))
{
    let i = b*1024;
    y[i +: 1024] = x[i +: 1024];
    z[i +: 1024] = -x[i +: 1024];
}
END
    FAKE_DIFFERS=2 expect 0 native two.tile 'two_copies([1048580], _, _)'
    contains 'with a cycle more at each instruction it fails'
}

@test "what could not be written is said before the search" {
    expect 3 native k.tile "$call" -o nowhere/k.tuning
    contains "cannot write 'nowhere/k.tuning': No such file or directory"
    lacks 'orders tried'
    expect 3 native k.tile "$call" --plot=nowhere/k.svg
    contains "cannot write 'nowhere/k.svg'"
    lacks 'orders tried'
    [ ! -e k.tuning ]
    exec 9>k.tuning.orders.log
    flock 9
    expect 3 native k.tile "$call" 9>&-
    contains "another 'tilecc tune' writes 'k.tuning.orders.log' now"
    exec 9>&-
    # nor is what is no file of --tuning replaced
    cp k.tile kept
    for command in tune 'tune --native'; do
        expect 2 tilecc $command -arch=sm_90a k.tile "$call" -o ../"${PWD##*/}"/k.tile
        contains 'is the source'
        expect 2 tilecc $command -arch=sm_90a k.tile "$call" -o -
        contains '-o names a file'
    done
    expect 3 native k.tile "$call" -o kept
    contains "'kept' is there and is no file of --tuning"
    cmp k.tile kept
}

@test "without a GPU, for a processor and for what it does not take it says so" {
    expect 4 tilecc tune --native k.tile "$call"
    contains 'there is no GPU here'
    expect 2 tilecc tune --native -arch=cpu k.tile "$call"
    contains "looks for orders of a GPU's machine code"
    expect 5 tilecc tune --native -arch=sm_90a k.tile "$call"
    contains 'the kernels cannot be run: there is no NVIDIA driver'
    ! ls ./*.orders.log 2>/dev/null || false
    expect 2 native k.tile "$call" --part=1/2
    contains "'tilecc tune --native' makes what it measures"
    expect 2 native k.tile "$call" --save-temps
    contains '--save-temps'
    expect 2 native k.tile "$call" --moves=jump
    contains "'jump' is no move"
    expect 2 native k.tile "$call" --temperature=2
    contains 'is no number above 0'
    expect 2 tilecc tune -arch=cpu --moves=swap k.tile "$call"
    contains "belong to 'tilecc tune --native'"
}
