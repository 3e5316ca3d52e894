"""Candidates of values for the completion of click, and that of kubectl. The cluster is not asked."""

import sys
from collections.abc import Sequence

from click.shell_completion import CompletionItem, ShellComplete

FILE = "FILE"
"""The placeholder in help for which a shell offers files."""


def candidates(metavar: str, values: Sequence[str], typed: str, *, takes_list: bool = False) -> list[CompletionItem]:
    """Return the values that begin as typed; of a list the last one counts. Files for ``FILE``."""
    if metavar == FILE:
        return [CompletionItem(typed, type="file")]
    before, comma, last = typed.rpartition(",") if takes_list else ("", "", typed)
    return [CompletionItem(f"{before}{comma}{word}") for word in values if word.startswith(last)]


class Kubectl(ShellComplete):
    """The answer to kubectl, which asks with the words behind the plugin's name.

    Each line is a candidate, a tab and its meaning. The last line is a directive (cobra): 0 admits files, 4 does not.
    """

    name = "kubectl"
    source_template = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        *before, typed = sys.argv[1:] or [""]
        return before, typed

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}\t{item.help}" if item.help else item.value

    def complete(self) -> str:
        found = self.get_completions(*self.get_completion_args())
        files = [item for item in found if item.type == "file"]
        lines = [self.format_completion(item) for item in found if item not in files]
        return "\n".join([*lines, ":0" if files else ":4", ""])
