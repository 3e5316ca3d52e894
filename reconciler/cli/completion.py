"""Completion for bash, zsh, fish and kubectl: click finds out what stands at a place of the command line, the tables
say what may stand there, and ``names`` asks the cluster.

No script evaluates a text: candidates are read line by line.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class
from click.shell_completion import shell_complete as shell_complete  # noqa: PLC0414 - which knows the shells from here on

from reconciler.cli.commands import COMMANDS
from reconciler.cli.words import WordSource, given_flags, words_for_click
from reconciler.config.options import FLAGS, Command

Names = Callable[[WordSource, str, click.Context], Iterable[str]]
"""Names from the cluster that the command line means: of which kind, and how they begin."""

_SOURCES = {
    "FILE": WordSource.FILE,
    "CONTEXT": WordSource.CONTEXT,
    "HASH": WordSource.HOLD,
    "HASH[,HASH]": WordSource.HOLD,
    "KEY[,KEY]": WordSource.KEY,
    "KIND": WordSource.KEY,
    "NAME": WordSource.NAMED,
}
"""What stands for a value in help → where its words come from. ``explain`` is also content with a key of a plan."""


def words_of(command: Command, typed: str) -> list[CompletionItem]:
    """Commands, where none was typed yet, or flags that may stand behind its name; behind none, those that need
    none."""
    words: dict[str, str] = {}
    if command is Command.BARE and not typed.startswith("-"):
        words = {str(name): row.brief for name, row in COMMANDS.items()}
    else:
        words = {"--version": "show the version"} if command is Command.BARE else {}
        words["--help"] = "show the page of help"
        words |= {row.name: row.meaning for row in FLAGS.values() if command in row.commands and command}
    return [CompletionItem(word, help=meaning) for word, meaning in words.items() if word.startswith(typed)]


def candidates(
    metavar: str, values: Sequence[str], typed: str, context: click.Context, *, takes_list: bool = False
) -> list[CompletionItem]:
    """What may be a value for which ``metavar`` stands in help; nothing where a person has to know."""
    source = _SOURCES.get(metavar)
    if source is WordSource.FILE:
        return [CompletionItem("", type="file")]
    before, comma, last = typed.rpartition(",") if takes_list else ("", "", typed)
    if source is WordSource.NAMED:
        kind = context.params.get("kind")
        source = WordSource(kind) if kind else None
    if values and "/" not in last:  # a key has a slash
        source = None
    names: Names = context.obj or _names_in_the_cluster
    found = [*values, *(names(source, last, context) if source else ())]
    return [CompletionItem(f"{before}{comma}{word}") for word in found if word.startswith(last)]


def _names_in_the_cluster(source: WordSource, typed: str, context: click.Context) -> Iterable[str]:
    from reconciler.cli.names import names  # noqa: PLC0415 - what needs no cluster need not wait for its client

    return names(source, typed, given_flags(context), os.environ)


class Completion(ShellComplete):
    """How a shell asks, with the words of the command line as arguments, and how it is told."""

    def get_completion_args(self) -> tuple[list[str], str]:
        *before, typed = sys.argv[1:] or [""]
        return before, typed

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        try:
            return super().get_completions(list(words_for_click(args)), incomplete)
        except click.UsageError:  # a value is missing: what comes next is unknown
            return []

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type}\t{item.value}\t{item.help or ''}"

    def source(self) -> str:
        return self.source_template.lstrip()


class Bash(Completion):
    name: ClassVar[str] = "bash"
    source_template: ClassVar[str] = r"""
# Completion of reconcile for bash 3.2 and newer: source <(reconcile completion bash)

_hcloud_reconciler() {
    local line=${COMP_LINE:0:COMP_POINT} head='' breaks='' cut='' type word meaning
    local -a words
    read -r -a words <<<"$line"
    case $line in *[[:blank:]]) words+=('') ;; esac
    local current=${words[${#words[@]} - 1]}
    [[ $current != -*=* ]] || head=${current%%=*}=
    # The shell replaces only what stands behind the last = or : of the word.
    [[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
    [[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
    [ -z "$breaks" ] || cut=${current%"${current##*[$breaks]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r type word meaning; do
        word=$head$word
        case $type:$word in
        file:*) compopt -o default 2>/dev/null ;;
        plain:"$current"*) COMPREPLY+=("${word#"$cut"}") ;;
        esac
    done < <(_RECONCILE_COMPLETE=bash_complete "${COMP_WORDS[0]}" "${words[@]:1}" 2>/dev/null)
}

if type compopt >/dev/null 2>&1; then
    complete -F _hcloud_reconciler reconcile hcloud-reconciler
else
    complete -o default -F _hcloud_reconciler reconcile hcloud-reconciler
fi
"""


class Zsh(Completion):
    name: ClassVar[str] = "zsh"
    source_template: ClassVar[str] = r"""
#compdef reconcile hcloud-reconciler
# Completion of reconcile for zsh: source <(reconcile completion zsh), or this text as _reconcile in a folder of $fpath.

_hcloud_reconciler() {
    local type word meaning
    local -a typed described plain
    typed=("${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}")
    compset -P '--*='
    while IFS=$'\t' read -r type word meaning; do
        case $type in
        file) _files ;;
        plain) if [[ -n $meaning ]]; then described+=("${word//:/\\:}:$meaning"); else plain+=("$word"); fi ;;
        esac
    done < <(_RECONCILE_COMPLETE=zsh_complete "${typed[@]}" 2>/dev/null)
    [[ ${#described} -eq 0 ]] || _describe -V '' described
    [[ ${#plain} -eq 0 ]] || compadd -- "${plain[@]}"
}

if [[ $funcstack[1] == _* ]]; then
    _hcloud_reconciler "$@"
else
    compdef _hcloud_reconciler reconcile hcloud-reconciler
fi
"""


class Fish(Completion):
    name: ClassVar[str] = "fish"
    source_template: ClassVar[str] = r"""
# Completion of reconcile for fish: reconcile completion fish | source

function __hcloud_reconciler
    set -l current (commandline -ct)
    set -l head (string match -r -- '^--[^=]*=' "$current")
    for line in (env _RECONCILE_COMPLETE=fish_complete (commandline -opc) "$current" 2>/dev/null)
        set -l found (string split \t -- $line)
        switch $found[1]
            case file
                __fish_complete_path "$current"
            case plain
                printf '%s%s\t%s\n' "$head" $found[2] "$found[3]"
        end
    end
end

complete -c reconcile -f -a '(__hcloud_reconciler)'
complete -c hcloud-reconciler -w reconcile
"""


SHELLS: Mapping[str, type[Completion]] = {each.name: add_completion_class(each) for each in (Bash, Zsh, Fish)}
"""Shell → how it asks; click knows them in the place of its own."""


class Kubectl(Completion):
    """kubectl has no script of ours, and asks each time, with the words behind the plugin's name: a candidate a line,
    with its meaning behind a tab, and a line that says what else may be offered, as cobra has it."""

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}\t{item.help}" if item.help else item.value

    def complete(self) -> str:
        found = self.get_completions(*self.get_completion_args())
        files = [item for item in found if item.type == "file"]
        lines = [self.format_completion(item) for item in found if item not in files]
        return "\n".join([*lines, ":0" if files else ":4", ""])
