# Takes the examples out of man/tile.7, tile-library.7, tile-tutorial.7 and tile-c.7.  -v folder=DIR: writes DIR/NAME.tile, NAME the
# kernel's (or example-N), and prints a line "KIND NAME ARGUMENT" for each, KIND as written behind `.\" example:`.
/^\.\\" example: / { kind = $3; argument = $4; next }
/^\.Bd -literal/ && kind != "" { inside = 1; text = ""; name = ""; next }
/^\.Ed/ && inside {
    if (name == "" || kind == "same") name = "example-" ++count
    file = folder "/" name ".tile"
    if (kind == "c" || kind == "prints") {
        name = argument
        file = folder "/" name "." (kind == "c" ? "c" : "expected")
    }
    printf "%s", text > file
    close(file)
    print kind, name, argument
    kind = ""
    inside = 0
    next
}
inside {
    gsub(/\\e/, "\\")
    sub(/^\\&/, "")
    text = text $0 "\n"
    if ($1 == "kernel") {
        name = $2
        sub(/[<(].*/, "", name)
    }
}
