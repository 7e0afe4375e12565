// SPDX-License-Identifier: BSD-2-Clause
#include "values.hpp"

namespace olaf {
namespace {

constexpr auto zsh_head = R"ZSH(#compdef olaf
# zsh completion for olaf. Generated from the definitions of its command line.

_olaf_devices() {
    local -a devices
    if [[ -n $olaf_netns ]]; then
        devices=(${(f)"$(ip -n $olaf_netns -o link show 2>/dev/null |
            sed -E 's/^[0-9]+: ([^:@]+).*/\1/')"})
    else
        devices=(/sys/class/net/*(N:t))
    fi
    compadd -a devices
}

_olaf_namespaces() {
    local -a namespaces
    namespaces=(/run/netns/*(N:t))
    compadd -a namespaces
}

)ZSH";

/// At the start of the first function: the words of the whole line are known only there.
constexpr auto find_netns = R"ZSH(    local olaf_netns= i
    for ((i = 2; i < CURRENT; i++)); do
        case ${words[i]} in
        --netns) olaf_netns=${words[i+1]} ;;
        --netns=*) olaf_netns=${words[i]#*=} ;;
        esac
    done
)ZSH";

/// Text inside single quotes and brackets of an _arguments specification.
std::string quoted(const std::string &text) {
    std::string out;
    for (const char c : text) {
        if (c == '\'')
            out += "'\\''";
        else if (c == '\n')
            out += ' ';
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            out += std::string("\\") + c;
        else
            out += c;
    }
    return out;
}

std::string action(const OptionDescription &option) {
    switch (value_kind(option)) {
    case ValueKind::words: {
        std::string words;
        for (const auto &word : option.words())
            words += (words.empty() ? "" : " ") + word;
        return "(" + words + ")";
    }
    case ValueKind::device:
        return "_olaf_devices";
    case ValueKind::netns:
        return "_olaf_namespaces";
    case ValueKind::file:
        return "_files";
    case ValueKind::directory:
        return "_files -/";
    case ValueKind::nothing:
        break;
    }
    return " ";
}

std::string specification(const OptionDescription &option, const std::string &name) {
    return " \\\n        '" + std::string(option.repeatable ? "*" : "") + name + "[" +
           quoted(option.text) + "]" +
           (option.type.empty() ? "" : ":" + quoted(option.type) + ":" + action(option)) + "'";
}

std::string function_name(const CommandDescription &command) {
    return "_" + command.joined("_");
}

std::string function(const CommandDescription &command) {
    std::string text = function_name(command) + "() {\n";
    if (command.path.size() == 1)
        text += find_netns;
    if (!command.commands.empty())
        text += "    local curcontext=$curcontext state line\n    typeset -A opt_args\n";
    text += std::string("    _arguments ") + (command.commands.empty() ? "-s" : "-s -C -A '-*'");
    for (const auto &option : command.all_options())
        for (const auto &name : option.names)
            text += specification(option, name);
    for (const auto &argument : command.arguments)
        text += std::string(" \\\n        '") + (argument.repeatable ? "*" : "") +
                (argument.required || argument.repeatable ? ":" : "::") +
                quoted(argument.names[0]) + ":" + action(argument) + "'";
    if (command.commands.empty())
        return text + "\n}\n\n";
    text += " \\\n        '1:command:->command' \\\n        '*::argument:->argument'\n";
    std::string list, cases;
    for (const auto &child : command.commands) {
        list += "            '" + child.word() + ":" + quoted(child.text) + "'\n";
        cases += "        " + child.word() + ") " + function_name(child) + " ;;\n";
    }
    return text + "    case $state in\n    command)\n        local -a commands=(\n" + list +
           "        )\n        _describe command commands\n        ;;\n    argument)\n" +
           "        case $line[1] in\n" + cases + "        esac\n        ;;\n    esac\n}\n\n";
}

} // namespace

std::string zsh_completion(const CommandDescription &root) {
    std::string text = zsh_head;
    for (const auto &command : flattened(root))
        text += function(command);
    return text + "_olaf \"$@\"\n";
}

} // namespace olaf
