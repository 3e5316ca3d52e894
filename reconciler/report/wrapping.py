"""Wrapping of lines at the width of a terminal: between words, with a hanging indent, and never inside of a command."""

import re
from collections.abc import Callable, Iterator

from reconciler.report.text_report import TextLine

_HANGING = 2
"""How much further than its line a continuation is indented."""
_WORD = re.compile(r" *[^ ]+(?: x[0-9]+,?(?= |$))?")
"""A word with the blanks before it, and with how often it occurs behind it: ``fsn1 x33,``."""


def wrapped(line: TextLine, width: int, measure: Callable[[str], int] = len) -> Iterator[str]:
    """The texts of a line, each as wide as ``measure`` allows. A word that no line can hold stays whole where it is,
    and a command stands whole on a line of its own: both can be copied."""
    if measure(line.text) <= width:
        yield line.text
        return
    indent = len(line.text) - len(line.text.lstrip(" "))
    hanging = " " * min(indent + _HANGING, width // 2)
    sentence = line.text.removesuffix(line.command)
    text = ""
    for word in (*_WORD.findall(sentence), *filter(None, [line.command])):
        following = text + (" " if word == line.command and text else "") + word
        is_too_long = word != line.command and measure(hanging + word.lstrip(" ")) > width
        if not text.strip() or measure(following) <= width or is_too_long:
            text = following
        else:
            yield text
            text = hanging + word.lstrip(" ")
    yield text
