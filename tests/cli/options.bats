#!/usr/bin/env bats
# Every option does something: each line of options.def has a case whose output differs with the option and without.
# A case is   ID|the option's words|a command in which OPT stands for them

load helper

cases() {
    cat <<'END'
OUTPUT|-o other.o|tilecc -arch=cpu OPT k.tile; ls
COMPILE|-c|tilecc -arch=cpu --emit=header OPT k.tile; ls
ASSEMBLY|-S|tilecc -arch=sm_80 --spec 'axpy[B=64]' OPT -o - k.tile
EMIT|--emit=tir|tilecc -arch=cpu OPT k.tile; ls
COMPRESS_IMAGES|--compress-images|tilecc -arch=sm_80 --spec axpy[B=64] OPT k.tile; ls -l k.o | cut -c 1-40
VISIBILITY|-fvisibility=hidden|tilecc -arch=cpu OPT k.tile; readelf -sW k.o | grep axpy
SHARED_HEADER|--shared-header=common.h|tilecc -arch=cpu --emit=header OPT k.tile; ls
CXX|-fc++|tilecc -arch=cpu --emit=header OPT k.tile; ls
EMIT_RUNTIME|--emit-runtime|tilecc OPT -o rt.o; ls
SYNTAX_ONLY|-fsyntax-only|tilecc -arch=cpu OPT k.tile; ls
INTERPRET|--interpret=k_axpy(2, [3], [3])|tilecc -arch=cpu OPT k.tile; ls
ARCH|-arch=sm_80|tilecc --emit=tir OPT k.tile; ls
PRINT_TARGETS|--print-targets|tilecc -arch=cpu OPT k.tile; ls
PRINT_PRODUCTS|--print-products|tilecc -arch=cpu OPT k.tile; ls
HOST_TARGET|--host-target=aarch64-linux|tilecc --emit-runtime OPT -o rt.o; sum rt.o
CPU_ISA|--cpu-isa=avx2|tilecc -arch=cpu OPT --host-target=x86_64-linux k.tile; tilecc info k.o
CUDA_PATH|--cuda-path=/nonexistent|tilecc --version -v OPT
XPTXAS|-Xptxas -O0|tilecc -arch=sm_80 --dryrun -v OPT k.tile
DEFINE|-D B=128|tilecc --emit=tir -o - OPT k.tile
INCLUDE|-I sub|mkdir -p sub; echo 'fn twice(x: f32) -> f32 { return x + x; }' >sub/u.tile; echo 'import "u.tile";' >i.tile; cat k.tile >>i.tile; tilecc --emit=header OPT i.tile; ls
SPEC|--spec axpy[B=128]|tilecc --emit=tir -o - OPT k.tile
TUNING|--tuning=k.tuning|printf 'tuning 1\naxpy cpu\n [B=128] when N > 9\n' >k.tuning; tilecc -arch=cpu --emit=tir OPT k.tile; ls
MAX_INSTANCES|--max-instances=1|tilecc -arch=sm_80 --emit=tir OPT "$SRCDIR/examples/matmul.tile"; ls
SCHEDULES|--schedules=2|tilecc -arch=sm_80 --emit=tir OPT -o - "$SRCDIR/examples/matmul.tile" | grep -c "^kernel"
PREFIX|--prefix=my_|tilecc --emit=header -o - OPT k.tile
STRICT_FP|--strict-fp|tilecc --emit=tir -o - OPT k.tile
CHECKS|--checks|echo 'kernel f(x: out f32[N]) grid(i: N) { assume(i < 9); x[i] = 0.0; }' >r.tile; tilecc --emit=tir -o - OPT r.tile
REPRODUCIBLE|--reproducible|echo 'kernel f(x: in f32[N, 64], y: out f32[N]) grid(i: N) { y[i] = sum(x[i, :]); }' >r.tile; tilecc --strict-fp --emit=tir -o - OPT r.tile
F32_DOT|--f32-dot=tf32|echo 'kernel f(x: in f32[64, 64], y: out f32[64, 64]) grid(i: 1) { y[:, :] = x[:, :] @ x[:, :]; }' >r.tile; tilecc --emit=tir -o - OPT r.tile
OPTIMIZE|-O0|tilecc -arch=cpu --emit=tir --print-after=all OPT k.tile
PASSES|--passes=|tilecc --emit=tir --print-after=all OPT k.tile
PLAN|--plan=r.tile:1:turns(1)|echo 'kernel f(x: in f32[N], y: out f32[64]) grid(i: 1) { var s = f32[64](0); for j in 0..N step 64 s += x[j +: 64]; y[:] = s; }' >r.tile; tilecc -arch=sm_80 --dryrun OPT r.tile
PRINT_AFTER|--print-after=all|tilecc -arch=cpu OPT k.tile
FUEL|--fuel=0|tilecc -arch=cpu --print-after=all OPT k.tile
DEBUG|-g|tilecc -arch=sm_80 -S -o - --spec 'axpy[B=64]' OPT k.tile
LINE_INFO|-lineinfo|tilecc -arch=sm_80 -S -o - --spec 'axpy[B=64]' OPT k.tile
PREFIX_MAP|-ffile-prefix-map=k=renamed|tilecc -arch=sm_80 -S -lineinfo -o - --spec 'axpy[B=64]' OPT k.tile
NO_CACHE|--no-cache|TILECC_CACHE=$PWD/kept tilecc -arch=cpu --spec axpy[B=64] OPT k.tile; ls
VERBOSE|-v|tilecc --version OPT
DRY_RUN|--dryrun|tilecc -arch=cpu OPT k.tile; ls
SAVE_TEMPS|--save-temps|tilecc -arch=cpu OPT k.tile; ls
TIME_REPORT|--time-report|tilecc -arch=cpu OPT k.tile
REMARKS|-Rpass|tilecc -arch=cpu --emit=tir --print-after=cse OPT "$SRCDIR/examples/attention.tile" --spec 'attention<f16>[D=64,CAUSAL=true]' -o -
RESOURCE_USAGE|--resource-usage|tilecc -arch=cpu OPT k.tile
DEPENDENCIES|-MD|tilecc -arch=cpu OPT k.tile; ls
DEPENDENCIES_USER|-MMD|tilecc -arch=cpu OPT k.tile; ls
DEPENDENCIES_ONLY|-M|tilecc -arch=cpu OPT k.tile; ls
DEPENDENCIES_ONLY_USER|-MM|tilecc -arch=cpu OPT k.tile; ls
DEPENDENCY_FILE|-MF other.d|tilecc -arch=cpu -MD OPT k.tile; ls
DEPENDENCY_TARGET|-MT other|tilecc -arch=cpu -MD OPT k.tile; cat k.d
DEPENDENCY_QUOTED|-MQ a$b|tilecc -arch=cpu -MD OPT k.tile; cat k.d
DEPENDENCY_PHONY|-MP|echo 'fn twice(x: f32) -> f32 { return x + x; }' >u.tile; echo 'import "u.tile";' >i.tile; cat k.tile >>i.tile; tilecc --emit=header -MD OPT i.tile; cat i.d
WARNING|-Wno-hides|tilecc -fsyntax-only OPT hides.tile
WARNING_ERROR|-Werror|tilecc -fsyntax-only OPT hides.tile; echo $?
NO_WARNINGS|-w|tilecc -fsyntax-only OPT hides.tile
COLOR|-fdiagnostics-color=always|echo bad >b.tile; tilecc OPT b.tile
BENCH_SECONDS|--seconds=0|tilecc bench -arch=cpu OPT k.tile 'k_axpy(2, [9])' | wc -l
BENCH_WARM|--warm|tilecc -arch=cpu OPT k.tile; ls
BENCH_OPERATIONS|--operations=N|tilecc bench -arch=cpu --seconds=1e-9 OPT k.tile 'k_axpy(2, [9])' | grep -o TFLOP
BENCH_JSON|--json=j.txt|tilecc bench -arch=cpu --seconds=1e-9 OPT k.tile 'k_axpy(2, [9])' >/dev/null; ls
BENCH_AGAINST|--against=nothing|tilecc bench -arch=cpu --seconds=1e-9 OPT k.tile 'k_axpy(2, [9])' | wc -l
BENCH_PLOT|--plot=p.svg|tilecc bench -arch=cpu --seconds=1e-9 OPT k.tile 'k_axpy(2, [9])' >/dev/null; ls
TUNE_BUDGET|--budget=5|tilecc -arch=cpu OPT k.tile; ls
TUNE_TRACE|--trace=t|echo '3 k_axpy(2,[9])' >t; tilecc tune -arch=cpu --seconds=1e-9 OPT k.tile >/dev/null 2>&1; ls
TUNE_PART|--part=1/2|tilecc tune -arch=cpu --seconds=1e-9 OPT k.tile 'k_axpy(2, [9])' >/dev/null 2>&1; grep -c values k.tuning.log
TUNE_MERGE|--merge|tilecc tune -arch=cpu OPT k.tile 'k_axpy(2, [9])' >/dev/null 2>&1; ls
TUNE_SEED|--seed=2|tilecc -arch=cpu OPT k.tile; ls
TUNE_NATIVE|--native|tilecc -arch=cpu OPT k.tile; ls
TUNE_MOVES|--moves=swap|tilecc -arch=cpu OPT k.tile; ls
TUNE_TEMPERATURE|--temperature=0.1|tilecc -arch=cpu OPT k.tile; ls
TUNE_RESTARTS|--restarts=3|tilecc -arch=cpu OPT k.tile; ls
TUNE_TRIALS|--trials=3|tilecc -arch=cpu OPT k.tile; ls
FORMAT|-fdiagnostics-format=json|echo bad >b.tile; tilecc OPT b.tile
ERROR_LIMIT|-ferror-limit=1|sed 's/x\[/z[/; s/a \*/q */' k.tile >b.tile; tilecc -fsyntax-only OPT b.tile
JOBS|-j3|MAKEFLAGS= tilecc -v -arch=sm_80 --dryrun OPT k.tile
PLANT|--plant=list|tilecc -arch=cpu OPT k.tile; ls
TOOL_TIMEOUT|--tool-timeout=1|fake_ptxas <<<'/bin/sleep 2; exit 1'; tilecc -arch=sm_80 -j1 --spec 'axpy[B=64]' --cuda-path=toolkit OPT k.tile
VERSION|--version|tilecc -arch=cpu OPT k.tile; ls
HELP|--help|tilecc -arch=cpu OPT k.tile; ls
END
}

# id and state of every option
listed() { sed -n 's/^OPTION(\([A-Z_0-9]*\), "\([^"]*\)", .*, \(HERE\|LATER\), .*/\1 \2 \3/p' "$SRCDIR/src/driver/options.def"; }

run_case() { # directory, command
    mkdir -p "$1"
    cp k.tile "$1/"
    cat >"$1/hides.tile" <<'END'
kernel hides(x: inout f32[N]) grid(b: cdiv(N, 64)) {
    let i = b*64;
    if (i > 0) { let i = b*64; x[i +: 64] = 1.0; }
    x[i +: 64] = 0.0;
}
END
    (cd "$1" && set +e && eval "$2" 2>&1; cd "$1" 2>/dev/null && find . -type f | sort | xargs cksum; true) 2>&1
}

@test "every option of options.def has a case whose output differs with it" {
    listed >list
    [ "$(wc -l <list)" -gt 40 ]
    [ "$(wc -l <list)" = "$(grep -c '^OPTION(' "$SRCDIR/src/driver/options.def")" ]
    cases >table
    failed=0
    while read -r id spelling state; do
        if [ "$state" = LATER ]; then
            word=$spelling
            case $(grep "^OPTION($id," "$SRCDIR/src/driver/options.def") in *FLAG*) ;; *) word="$spelling=x" ;; esac
            run tilecc "$word" k.tile
            if [ "$status" != 2 ] || [[ $output != *"not there yet"* ]]; then echo "$spelling: $status $output"; failed=1; fi
            continue
        fi
        line=$(grep "^$id|" table) || { echo "$spelling has no case"; failed=1; continue; }
        words=$(printf '%s\n' "$line" | cut -d'|' -f2)
        command=$(printf '%s\n' "$line" | cut -d'|' -f3)
        case $words in "$spelling"*) ;; *) echo "the case of $spelling has other words"; failed=1 ;; esac
        case $words in
        *' '*) quoted="'${words%% *}' '${words#* }'" ;;
        *) quoted="'$words'" ;;
        esac
        [ "$id" != INTERPRET ] || quoted="'$words'"
        with=$(run_case "with" "${command//OPT/$quoted}")
        rm -rf with
        without=$(run_case "with" "${command//OPT/}")
        rm -rf with
        if [ "$with" = "$without" ]; then echo "$spelling changes nothing: $with"; failed=1; fi
        case $with in *"unknown option"*|*"internal error"*|*"bug of tilecc"*) echo "$spelling: $with"; failed=1 ;; esac
    done <list
    [ "$failed" = 0 ]
}

@test "no case is of an option that is not there" {
    listed | cut -d' ' -f1 | sort >known
    cases | cut -d'|' -f1 | sort >used
    [ -z "$(comm -13 known used)" ]
}

@test "help names every option" {
    expect 0 tilecc --help
    listed >list
    while read -r id spelling state; do
        if [ "$state" = LATER ]; then lacks "  $spelling"; else contains "  $spelling"; fi
    done <list
    lacks "not there yet"
}

@test "the manual names every option, and no other" {
    [ -f "$SRCDIR/man/tilecc.1" ]
    sed 's/\\-/-/g; s/\\f[A-Z]//g' "$SRCDIR/man/tilecc.1" >manual
    listed >list
    while read -r id spelling state; do grep -q -e "$spelling" manual || { echo "no $spelling"; return 1; }; done <list
}

@test "options later in the line win" {
    expect 0 tilecc --emit=tir --emit=header k.tile
    [ -f k.h ]
    [ ! -f k.tir ]
}
