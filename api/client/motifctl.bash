# Completes commands, options, files and jobs of motifctl in bash. zsh reads this file after `autoload -U bashcompinit; bashcompinit`.
# The words come from the help texts of the installed motifctl, the jobs from its server.

_motifctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} help words=
    if ((COMP_CWORD == 1)); then
        words=$(motifctl --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *[^ ].*/\1/p')
    else
        help=$(motifctl "${COMP_WORDS[1]}" --help 2>/dev/null)
        if [[ $before == --* ]] && grep -qE -- "^  $before (FILE|DIR)" <<<"$help"; then
            words=
        elif [[ $word == -* ]]; then
            words=$(sed -n 's/^  \(--[a-z][a-z-]*\).*/\1/p' <<<"$help")
        elif grep -qE "^usage: motifctl ${COMP_WORDS[1]} JOB" <<<"$help"; then
            words="latest $(motifctl list --quiet 2>/dev/null)"
        fi
    fi
    # Without words, bash completes file names (-o default).
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _motifctl motifctl
