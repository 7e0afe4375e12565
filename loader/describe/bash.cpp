// SPDX-License-Identifier: BSD-2-Clause
#include "values.hpp"

namespace olaf {
namespace {

constexpr auto bash_head =
    R"(# bash completion for olaf. Generated from the definitions of its command line.
# shellcheck shell=bash

)";

// Finds the command that the words before the cursor name, then offers what fits there.
constexpr auto tail = R"BASH(
_olaf_devices() {
    if [[ -n $1 ]]; then
        ip -n "$1" -o link show 2>/dev/null | sed -E 's/^[0-9]+: ([^:@]+).*/\1/'
    else
        ls /sys/class/net
    fi
}

_olaf() {
    local cur=${COMP_WORDS[COMP_CWORD]} command=olaf pending='' netns='' position=0 word next i
    local kind words=''
    COMPREPLY=()
    [[ $cur != = ]] || cur=''
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        # bash parts --netns=NAME into three words.
        [[ $word != = ]] || continue
        if [[ -n $pending ]]; then
            [[ $pending != --netns ]] || netns=$word
            pending=''
        elif [[ $word == -* ]]; then
            [[ -z $(_olaf_value "$command" "$word") ]] || pending=$word
        else
            next="$command $word"
            if [[ -n $(_olaf_options "$next") ]]; then
                command=$next
                position=0
            else
                position=$((position + 1))
            fi
        fi
    done
    if [[ -n $pending ]]; then
        kind=$(_olaf_value "$command" "$pending")
    elif [[ $cur == -* ]]; then
        kind="words $(_olaf_options "$command")"
    else
        kind=$(_olaf_value "$command" "$position")
    fi
    case $kind in
    words\ *) words=${kind#words } ;;
    device) words=$(_olaf_devices "$netns") ;;
    netns) words=$(ls /run/netns 2>/dev/null) ;;
    file | directory)
        compopt -o filenames 2>/dev/null || true
        mapfile -t COMPREPLY < <(compgen -A "$kind" -- "$cur")
        return
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _olaf olaf
)BASH";

std::string joined(const std::vector<std::string> &words) {
    std::string text;
    for (const auto &word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::string kind_text(const OptionDescription &option) {
    switch (value_kind(option)) {
    case ValueKind::words:
        return "words " + joined(option.words());
    case ValueKind::device:
        return "device";
    case ValueKind::netns:
        return "netns";
    case ValueKind::file:
        return "file";
    case ValueKind::directory:
        return "directory";
    case ValueKind::nothing:
        break;
    }
    return "any";
}

/// A case of _olaf_value: what an option, or the argument at a position, takes.
std::string value_case(const CommandDescription &command, const std::string &key,
                       const std::string &kind) {
    return "    '" + command.name() + "|" + key + "') echo '" + kind + "' ;;\n";
}

} // namespace

std::string bash_completion(const CommandDescription &root) {
    std::string options, values;
    for (const auto &command : flattened(root)) {
        std::vector<std::string> names, below;
        for (const auto &option : command.all_options())
            for (const auto &name : option.names) {
                names.push_back(name);
                if (!option.type.empty())
                    values += value_case(command, name, kind_text(option));
            }
        for (const auto &child : command.commands)
            below.push_back(child.word());
        if (!below.empty())
            values += value_case(command, "0", "words " + joined(below));
        for (std::size_t i = 0; i < command.arguments.size(); i++) {
            const auto &argument = command.arguments[i];
            // The last may be given again and again.
            values +=
                argument.repeatable
                    ? "    '" + command.name() + "|'[0-9]*) echo '" + kind_text(argument) + "' ;;\n"
                    : value_case(command, std::to_string(i), kind_text(argument));
        }
        options += "    '" + command.name() + "') echo '" + joined(names) + "' ;;\n";
    }
    return std::string(bash_head) + "# Options of a command; nothing if there is no such command.\n" +
           "_olaf_options() {\n    case $1 in\n" + options + "    esac\n}\n\n" +
           "# What follows an option, or stands at a position; nothing after a flag.\n" +
           "_olaf_value() {\n    case \"$1|$2\" in\n" + values + "    esac\n}\n" + tail;
}

} // namespace olaf
