"""Completion scripts for bash, zsh and fish. Commands, flags and values are written into them from the tables; for
names from the cluster they start the program, with the words that are typed, as these say which cluster is meant.

No script evaluates a text: names are read line by line, and compared with what is typed.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from reconciler.cli.completion import SPELLED, Slot, WordSource, flags_of, slot_at, slot_of
from reconciler.config.commands import COMMANDS
from reconciler.config.flags import FLAGS, Command, Flag

_BASH = r"""
# Completion of reconcile for bash 3.2 and newer: source <(reconcile completion bash)

_hcloud_reconciler_slot() { # what may stand behind a flag of a command, or at one of its places
    values=() source='' list=''
    case "$command $1" in
@slots@
    *) return 1 ;;
    esac
}

_hcloud_reconciler_flags() { # of a command
    case $1 in
@flags@
    esac
}

_hcloud_reconciler() {
    local line=${COMP_LINE:0:COMP_POINT} word command='' awaiting='' slot='' head='' source list
    local -a words operands=() values=()
    read -r -a words <<<"$line"
    case $line in *[[:blank:]]) words+=('') ;; esac
    local last=$((${#words[@]} - 1))
    local current=${words[last]}
    for word in "${words[@]:1:last-1}"; do
        if [ -n "$awaiting" ]; then
            awaiting=''
        elif [[ $word == -* ]]; then
            if _hcloud_reconciler_slot "$word"; then awaiting=$word; fi
        elif [ -z "$command" ]; then
            command=$word
        else
            operands+=("$word")
        fi
    done
    values=() source='' list=''
    if [ -n "$awaiting" ]; then
        slot=$awaiting
    elif [[ $current == -*=* ]]; then
        slot=${current%%=*} head=${current%%=*}=
    elif [[ $current == -* ]]; then
        _hcloud_reconciler_flags "$command"
    elif [ -z "$command" ]; then
        values=(@commands@)
    else
        slot=${#operands[@]}
    fi
    [ -z "$slot" ] || _hcloud_reconciler_slot "$slot"
    local typed=${current#"$head"}
    if [[ -n $list && $typed == *,* ]]; then
        head+=${typed%,*},
        typed=${typed##*,}
    fi
    case $source in
    named) source=${operands[${#operands[@]} - 1]} ;;
    key) if [[ ${#values[@]} -gt 0 && $typed != */* ]]; then source=''; fi ;;
    file)
        source=''
        compopt -o default 2>/dev/null
        ;;
    esac
    case $source in node | service | hold | key | context)
        while IFS= read -r word; do
            values+=("$word")
        done < <("${COMP_WORDS[0]}" __complete "$source" "$typed" "${words[@]}" 2>/dev/null)
        ;;
    esac
    # The shell replaces only what stands behind the last = or : of the word.
    local breaks='' cut=''
    [[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
    [[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
    [ -z "$breaks" ] || cut=${current%"${current##*[$breaks]}"}
    COMPREPLY=()
    for word in "${values[@]}"; do
        case $word in "$typed"*)
            word=$head$word
            COMPREPLY+=("${word#"$cut"}")
            ;;
        esac
    done
}

if type compopt >/dev/null 2>&1; then
    complete -F _hcloud_reconciler reconcile hcloud-reconciler
else
    complete -o default -F _hcloud_reconciler reconcile hcloud-reconciler
fi
"""

_ZSH = r"""
#compdef reconcile hcloud-reconciler
# Completion of reconcile for zsh: source <(reconcile completion zsh), or this text as _reconcile in a folder of $fpath.

_hcloud_reconciler_names() { # of this kind, from the cluster
    local -a names
    names=("${(@f)$("$program" __complete "$1" "${(Q)PREFIX}" "${typed[@]}" 2>/dev/null)}")
    compadd -a names
}

_hcloud_reconciler_listed() { # one more of these words, or of names of this kind, in a list
    compset -P '*,'
    if [[ $1 == names ]]; then _hcloud_reconciler_names $2; else compadd -- "$@"; fi
}

_hcloud_reconciler_explained() { # a kind, or a key
    if [[ $PREFIX == */* ]]; then _hcloud_reconciler_names key; else compadd -- node service; fi
}

_hcloud_reconciler_named() { # an object of the kind that was typed
    local kind=${words[(r)(node|service)]}
    [[ -z $kind ]] || _hcloud_reconciler_names $kind
}

_hcloud_reconciler_commands() {
    local -a commands
    commands=(
@commands@
    )
    _describe command commands
}

_hcloud_reconciler() {
    local program=${(Q)words[1]} context state state_descr line
    local -a typed
    local -A opt_args
    typed=("${(@Q)words}")
    _arguments -C -S \
@bare@
        '1: :_hcloud_reconciler_commands' \
        '*:: :->operands'
    [[ $state == operands ]] || return
    case $words[1] in
@flags@
    esac
}

if [[ $funcstack[1] == _* ]]; then
    _hcloud_reconciler "$@"
else
    compdef _hcloud_reconciler reconcile hcloud-reconciler
fi
"""

_FISH = r"""
# Completion of reconcile for fish: reconcile completion fish | source

function __hcloud_reconciler_words # the command and its operands, of the words before the cursor
    set -l awaiting no
    for word in (commandline -opc)[2..-1]
        if test $awaiting = yes
            set awaiting no
        else if string match -q -- '-*' $word
            contains -- $word @valued@; and set awaiting yes
        else
            printf '%s\n' $word
        end
    end
end

function __hcloud_reconciler_at # whether the next operand of this command is the one at this place
    set -l words (__hcloud_reconciler_words)
    test (count $words) -gt 0; and test $words[1] = $argv[1]; and test (count $words) -gt $argv[2]
    and begin
        test (count $argv) -gt 2; or test (count $words) -eq (math $argv[2] + 1)
    end
end

function __hcloud_reconciler_in # whether it is one of these commands; without any: whether there is none
    set -l words (__hcloud_reconciler_words)
    if test (count $words) -eq 0
        test (count $argv) -eq 0
    else
        contains -- $words[1] $argv
    end
end

function __hcloud_reconciler_names # of this kind, from the cluster, behind what stands in the list already
    set -l typed (commandline -ct | string replace -r '^--[^=]*=' '')
    set -l head (string match -r -- '^.*,' $typed)
    set -l program (commandline -opc)
    set -l last (string replace -r -- '^.*,' '' $typed)
    $program[1] __complete $argv[1] "$last" $program 2>/dev/null | string replace -r -- '^' "$head"
end

function __hcloud_reconciler_listed # these words, behind what stands in the list already
    set -l typed (commandline -ct | string replace -r '^--[^=]*=' '')
    set -l head (string match -r -- '^.*,' $typed)
    printf "$head%s\n" $argv
end

function __hcloud_reconciler_explained # a kind, or a key
    if string match -q '*/*' (commandline -ct)
        __hcloud_reconciler_names key
    else
        printf '%s\n' node service
    end
end

function __hcloud_reconciler_named # an object of the kind that was typed
    switch (__hcloud_reconciler_words)[2]
        case node service
            __hcloud_reconciler_names (__hcloud_reconciler_words)[2]
    end
end

complete -c reconcile -f
complete -c hcloud-reconciler -w reconcile
@commands@
@flags@
"""


_EARLY = ("--kubeconfig", "--context")
"""Flags that people are used to write before the command."""


def script(shell: str) -> str:
    """The script for ``bash``, ``zsh`` or ``fish``."""
    template, parts = {"bash": (_BASH, _bash), "zsh": (_ZSH, _zsh), "fish": (_FISH, _fish)}[shell]
    text = template.lstrip()
    for name, lines in parts().items():
        text = text.replace(f"@{name}@", "\n".join(lines))
    return text


def _quoted(words: Sequence[str]) -> str:
    return " ".join(map(shlex.quote, words))


def _bash() -> Mapping[str, Sequence[str]]:
    alike: dict[Slot, list[str]] = {}
    for flag in FLAGS.values():
        for command in filter(flag.values_of.__contains__, COMMANDS):  # before all others, which take more values
            if slot := slot_of(flag, command):
                alike.setdefault(slot, []).extend(f"{command}\\ {spelling}" for spelling in flag.spellings)
    for flag in FLAGS.values():
        if slot := slot_of(flag, Command.BARE):
            alike.setdefault(slot, []).extend(rf"*\ {spelling}" for spelling in flag.spellings)
    for command, row in COMMANDS.items():
        for place, operand in enumerate(row.operands):
            if slot := slot_at(command, place):
                alike.setdefault(slot, []).append(rf"{command}\ {'[0-9]*' if operand.many else place}")
    slots = []
    for slot, names in alike.items():
        parts = [f"values=({_quoted(slot.values)})"] * bool(slot.values)
        parts += [f"source={slot.source}"] * bool(slot.source) + ["list=yes"] * slot.takes_list
        slots.append(f"    {' | '.join(names)}) {' '.join(parts) or ':'} ;;")
    flags = [
        f"    {command or chr(39) * 2}) values=({_quoted([name for name, _ in flags_of(command)])}) ;;"
        for command in (Command.BARE, *COMMANDS)
    ]
    return {"slots": slots, "flags": flags, "commands": [_quoted(tuple(COMMANDS))]}


def _zsh() -> Mapping[str, Sequence[str]]:
    commands = [f"        {shlex.quote(f'{name}:{row.brief}')}" for name, row in COMMANDS.items()]
    flags = []
    for command in COMMANDS:
        specs = [*_zsh_flags(command), *_zsh_operands(command)]
        flags += [f"    {command})", "        _arguments -S \\"]
        flags += [f"            {spec} \\" for spec in specs[:-1]] + [f"            {specs[-1]}", "        ;;"]
    early = [*_zsh_flags(Command.BARE), *(_zsh_flag(FLAGS[name], Command.BARE) for name in _EARLY)]
    return {"commands": commands, "bare": [f"        {each} \\" for each in early], "flags": flags}


def _zsh_flags(command: Command) -> Iterator[str]:
    for name, meaning in flags_of(command):
        row = FLAGS.get(name)
        yield shlex.quote(f"{name}[{meaning}]") if row is None else _zsh_flag(row, command)


def _zsh_flag(flag: Flag, command: Command) -> str:
    meaning = flag.meaning.replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
    slot = slot_of(flag, command)
    if slot is None:
        return shlex.quote(f"{flag.name}[{meaning}]")
    value = f"[{meaning}]:{flag.metavar.partition('[')[0]}:{_zsh_action(slot)}"
    short = [shlex.quote(f"{flag.short}{value}")] if flag.short else []
    return " ".join([*short, shlex.quote(f"{'*' * slot.takes_list}{flag.name}={value}")])


def _zsh_operands(command: Command) -> Iterator[str]:
    for place, operand in enumerate(COMMANDS[command].operands):
        slot = slot_at(command, place) or Slot()
        yield shlex.quote(f"{'*' if operand.many else place + 1}:{operand.metavar}:{_zsh_action(slot)}")


def _zsh_action(slot: Slot) -> str:
    """What completes a value. A blank before a call keeps options of zsh's own from its arguments."""
    match slot.source:
        case WordSource.FILE:
            return "_files"
        case WordSource.NAMED:
            return "_hcloud_reconciler_named"
        case WordSource.KEY if slot.values:
            return "_hcloud_reconciler_explained"
        case None if slot.takes_list and slot.values:
            return f" _hcloud_reconciler_listed {' '.join(map(_zsh_word, slot.values))}"
        case None:
            return f"({' '.join(slot.values)})" if slot.values else " "
        case source if slot.takes_list:
            return f" _hcloud_reconciler_listed names {source}"
        case source:
            return f" _hcloud_reconciler_names {source}"


def _zsh_word(word: str) -> str:
    return word.replace("*", r"\*")


def _fish() -> Mapping[str, Sequence[str]]:
    commands = [
        f"complete -c reconcile -n __hcloud_reconciler_in -a {name} -d {_fish_text(row.brief)}"
        for name, row in COMMANDS.items()
    ]
    for command, row in COMMANDS.items():
        for place, operand in enumerate(row.operands):
            where = f"__hcloud_reconciler_at {command} {place}{' more' * operand.many}"
            commands.append(f"complete -c reconcile -n '{where}' {_fish_words(slot_at(command, place) or Slot())}")
    flags = ["complete -c reconcile -n __hcloud_reconciler_in -l version -d 'show the version'"]
    flags.append("complete -c reconcile -l help -d 'show the page of help'")
    for flag in FLAGS.values():
        alike: dict[Slot | None, list[str]] = {}
        for command in COMMANDS:
            if command in flag.commands:
                alike.setdefault(slot_of(flag, command), []).append(command)
        names = f"-l {flag.name.removeprefix('--')}" + (f" -s {flag.short.removeprefix('-')}" if flag.short else "")
        for slot, named in alike.items():
            value = "" if slot is None else f" -r {_fish_words(slot)}"
            where = f"'__hcloud_reconciler_in {' '.join(named)}'"
            flags.append(f"complete -c reconcile -n {where} {names}{value} -d {_fish_text(flag.meaning)}")
    valued = [spelling for spelling, row in SPELLED.items() if row.metavar]
    return {"commands": commands, "flags": flags, "valued": [" ".join(valued)]}


def _fish_words(slot: Slot) -> str:
    match slot.source:
        case WordSource.FILE:
            return "-F"
        case WordSource.NAMED:
            return "-f -a '(__hcloud_reconciler_named)'"
        case WordSource.KEY if slot.values:
            return "-f -a '(__hcloud_reconciler_explained)'"
        case None if slot.takes_list and slot.values:
            return f"-f -a {_fish_text(f'(__hcloud_reconciler_listed {_quoted(slot.values)})')}"
        case None:
            return f"-f -a '{' '.join(slot.values)}'" if slot.values else "-f"
        case source:
            return f"-f -a '(__hcloud_reconciler_names {source})'"


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", r"\\").replace("'", r"\'") + "'"
