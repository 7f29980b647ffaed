// The scripts of lab completion: each asks `lab complete -- WORDS` and leaves files and folders to the shell.
#include "core/error.h"
#include "lab/completion.h"

namespace lab {

namespace {

const char* const kBash = R"SH(# Completion of lab for bash:  source <(./lab completion bash)
_lab() {
    local current=${COMP_WORDS[COMP_CWORD]} line file extension
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
            :folders)
                compopt -o filenames 2>/dev/null
                while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -d -- "$current")
                ;;
            :files*)
                compopt -o filenames 2>/dev/null
                while IFS= read -r file; do
                    if [[ $line == :files || -d $file ]]; then COMPREPLY+=("$file"); continue; fi
                    for extension in ${line#:files }; do
                        if [[ $file == *."$extension" ]]; then COMPREPLY+=("$file"); fi
                    done
                done < <(compgen -f -- "$current")
                ;;
            *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _lab lab
)SH";

const char* const kZsh = R"SH(#compdef lab
# Completion of lab for zsh:  source <(./lab completion zsh)
_lab() {
    local line
    local -a offers
    while IFS= read -r line; do
        case $line in
            :folders) _files -/ ;;
            :files) _files ;;
            :files\ *) _files -g "*.(${${line#:files }// /|})" ;;
            *) offers+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done < <("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#offers} )); then _describe lab offers; fi
}
compdef _lab lab
)SH";

const char* const kFish = R"SH(# Completion of lab for fish:  ./lab completion fish | source
function __lab_offers
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':folders'
                __fish_complete_directories "$current"
            case ':files'
                __fish_complete_path "$current"
            case ':files *'
                for extension in (string split ' ' -- (string replace ':files ' '' -- $line))
                    __fish_complete_suffix .$extension
                end
            case '*'
                echo $line
        end
    end
end
complete -c lab -f -a '(__lab_offers)'
)SH";

}  // namespace

std::string completion_script(const std::string& shell) {
    if (shell == "bash") return kBash;
    if (shell == "zsh") return kZsh;
    if (shell == "fish") return kFish;
    throw Error("there are scripts for bash, zsh and fish");
}

}  // namespace lab
