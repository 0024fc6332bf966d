# Completions of tilecc for bash: what `tilecc --help` names, kinds and targets behind `=`, and files.
_tilecc() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} tilecc=${COMP_WORDS[0]} options option
    [ "$before" != = ] || before=${COMP_WORDS[COMP_CWORD-2]}
    [ "$word" != = ] || word=
    compopt -o default 2>/dev/null
    COMPREPLY=()
    case $before in
    -arch)
        local done=
        case $word in *,*) done=${word%,*}, ;; esac
        COMPREPLY=($(compgen -P "$done" -W "all $("$tilecc" --print-targets 2>/dev/null | awk '$1 ~ /^(cpu|sm_)/ { print $1 }')" -- "${word##*,}"))
        return ;;
    --emit) COMPREPLY=($(compgen -W 'ptx cubin fatbin llvm tir header python runtime' -- "$word")); return ;;
    -fvisibility) COMPREPLY=($(compgen -W 'protected hidden default' -- "$word")); return ;;
    --f32-dot) COMPREPLY=($(compgen -W 'ieee tf32 tf32x3' -- "$word")); return ;;
    esac
    case $word in
    -*)
        case $command in info | test | bench | tune) options=$("$tilecc" "$command" --help 2>/dev/null) ;; *) options=$("$tilecc" --help 2>/dev/null) ;; esac
        options=$(printf '%s\n' "$options" | sed -nE 's/^  (-[-A-Za-z0-9+]+=?)(\[=)?.*/\1\2/p' | sed 's/\[=$/=/')
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        for option in "${COMPREPLY[@]}"; do case $option in *=) compopt -o nospace 2>/dev/null ;; esac; done ;;
    *) [ "$COMP_CWORD" != 1 ] || COMPREPLY=($(compgen -W 'info explain test bench tune' -- "$word") $(compgen -f -X '!*.tile' -- "$word") $(compgen -d -- "$word")) ;;
    esac
}
complete -F _tilecc tilecc
