# Completes `npu`: asks the command itself for completions.
_npu() {
    local IFS=$'\013' line=${COMP_LINE:0:COMP_POINT} words=() last=-1 i piece
    # Bash breaks words at `:`, `=` and `@`, too: pieces without a space between them are one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
            words[++last]=
        fi
        line=${line#"${line%%[![:space:]]*}"}
        # The last piece ends at the cursor.
        [[ $line == "$piece"* ]] || piece=$line
        line=${line#"$piece"}
        words[last]+=$piece
    done
    local word=${words[last]} quoted= before= breaks=${COMP_WORDBREAKS//[^:=@]/}
    case $word in
        [\"\']*) quoted=1 word=${word:1} ;;
        *) word=${word//\\/} ;;
    esac
    words[last]=$word
    COMPREPLY=($(_CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$last NPU_COMPLETE=bash npu -- "${words[@]}" 2>/dev/null))
    # Bash only replaces the part of a word after the last break.
    if [[ -z $quoted && -n $breaks ]]; then
        before=${word%"${word##*[$breaks]}"}
    fi
    for i in "${!COMPREPLY[@]}"; do
        piece=${COMPREPLY[i]#"$before"}
        if [[ -z $quoted && $piece == *[^[:alnum:]_./:=@,+%-]* ]]; then
            printf -v piece %q "$piece"
        fi
        COMPREPLY[i]=$piece
    done
    # The word may continue.
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
# If `npu` has no completions, files are offered.
complete -o bashdefault -o default -F _npu npu
