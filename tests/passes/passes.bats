#!/usr/bin/env bats
# The pass runner from the command line; golden_test.c has the goldens.

@test "fuel stops after so many rewrites" {
    file="$SRCDIR/tests/passes/cse/change-constants.tir"
    all=$("$TILECC" --passes=cse "$file")
    none=$("$TILECC" --passes=cse --fuel=0 "$file")
    one=$("$TILECC" --passes=cse --fuel=1 "$file")
    [ "$none" = "$("$TILECC" "$file")" ]
    [ "$one" != "$none" ]
    [ "$one" != "$all" ]
}

@test "passes run in the order of the list" {
    file="$SRCDIR/tests/passes/simplify/change-shapes.tir"
    a=$("$TILECC" --passes=dce,simplify "$file")
    b=$("$TILECC" --passes=simplify "$file" > "$BATS_TEST_TMPDIR/once.tir" && "$TILECC" --passes=dce "$BATS_TEST_TMPDIR/once.tir")
    c=$("$TILECC" --passes=simplify,dce "$file")
    [ "$b" = "$c" ]
    [ -n "$a" ]
}

@test "every pass has a folder of goldens" {
    for pass in $(sed -n 's/^PASS(\([a-z_]*\),.*/\1/p' "$SRCDIR/passes/passes.def"); do
        [ "$pass" != check_machine ] || continue # changes nothing: check_machine_test.c
        [ -d "$SRCDIR/tests/passes/$pass" ] || { echo "no folder for $pass"; return 1; }
    done
}

@test "every line of passes.def is one file with one exported function" {
    for pass in $(sed -n 's/^PASS(\([a-z_]*\),.*/\1/p' "$SRCDIR/passes/passes.def"); do
        grep -q "^bool pass_$pass(struct ir_function \*function, struct pass_context \*context)" "$SRCDIR"/passes/*/"$pass.c" ||
            { echo "no room of passes has a $pass.c with pass_$pass"; return 1; }
    done
}
