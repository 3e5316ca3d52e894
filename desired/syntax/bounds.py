"""Bounds on the length of text of other clients, and on how much of it a sentence repeats.

A bound is checked before anything else looks at the text: no grammar scans, splits or compares text that is too long to
be meant, so that an object made to keep a pass busy does not. Every bound is generous compared with what the APIs
accept, and every grammar takes time in proportion to the text within it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

_WIDEST = 80
"""Characters of a value that are shown."""
_NAMED = 3
"""Of many things how many are named."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The most characters that a kind of text may have."""

    what: str
    """With its article: ``a duration``."""
    most: int

    def check(self, text: str) -> None:
        """Raises ValueError that names what is too long, its length and the remedy."""
        if self.is_exceeded(text):
            raise ValueError(f"{self.what} has at most {self.most} characters, and this has {len(text)}: shorten it")

    def is_exceeded(self, text: str) -> bool:
        """Whether the text is longer. Nothing but its length is looked at."""
        return len(text) > self.most


LONGEST_VALUE = Bound("a value of this kind", 512)
"""What has no bound of its own."""
LONGEST_DURATION = Bound("a duration", 64)
LONGEST_NUMBER = Bound("a number", 64)
LONGEST_RANGE = Bound("an address range", 64)
LONGEST_ADDRESS = Bound("an address", 64)
LONGEST_ADDRESSES = Bound("a list of address ranges", 256)
LONGEST_HOST = Bound("a host name", 256)
"""Of DNS's 253 characters, and a dot at the end."""
LONGEST_SELECTOR = Bound("a label selector", 4096)
LONGEST_LABEL_KEY = Bound("a label's key", 317)
"""Kubernetes' 253 characters of prefix and 63 of name, and the slash."""
LONGEST_LABEL_VALUE = Bound("a label's value", 63)
LONGEST_PROVIDER_ID = Bound("a provider id", 256)
LONGEST_APPROVAL = Bound("an approval", 4096)
LONGEST_LIST = Bound("a list", 32_768)
"""A hundred domains of the greatest length: as many as a certificate authority puts into one certificate."""
LONGEST_ARGUMENT = Bound("a list", 262_144)
"""Of keys and hashes on the command line: those of every object of a large cluster."""
LONGEST_VARIABLE = Bound("the name of a variable", 512)

MOST_SELECTOR_PARTS = 64
"""Requirements of a selector: each is asked of every Node."""
MOST_CERTIFICATES = 50
"""Certificates of a listener: what the largest type of load balancer takes."""
MOST_DOMAINS = 100
"""Domains of a certificate: what a certificate authority puts into one (Let's Encrypt's limit)."""
MOST_STATUS_CODES = 20
"""Status codes of a health check of Hetzner's."""
LONGEST_S = 1e9
"""Seconds beyond which no duration makes sense, 31 years: floats lose their digits there, calendars and timers end."""


def shown_text(text: str) -> str:
    """A value as a sentence has it: quoted, and not longer than a message can bear."""
    return repr(text if len(text) <= _WIDEST else f"{text[:_WIDEST]}...")


def measured_text(text: str, bound: Bound) -> str:
    """The same, with its length where that is what is wrong with it."""
    return shown_text(text) + (f" ({len(text)} characters)" if bound.is_exceeded(text) else "")


def counted(number: int, thing: str) -> str:
    """``1 Node``, ``2 Nodes``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def named(thing: str, names: "Sequence[str] | Several") -> str:
    """``Node a``, ``Nodes a, b, c and 97 more``."""
    number = names.count if isinstance(names, Several) else len(names)
    shown = names if isinstance(names, Several) else listed(names)
    return f"{thing} {shown}" if number == 1 else f"{thing}s {shown}"


def listed(names: Sequence[str], most: int = _NAMED, count: int | None = None) -> str:
    """``a, b, c and 97 more``: the first ``most`` of ``names``, and how many are left of ``count``, by default of as
    many as there are."""
    more = (len(names) if count is None else count) - min(len(names), most)
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class Several:
    """Many things as a sentence names them: the first few, and how many others there are."""

    first: tuple[str, ...] = ()
    """In their order: one more than are named, so that one of them can be left out."""
    count: int = 0
    names: frozenset[str] = field(default=frozenset(), repr=False)
    """All of them, shared by those who leave one out."""

    def besides(self, name: str) -> "Several":
        """The same without this one, should it be among them."""
        if name not in self.names:
            return self
        return Several(tuple(each for each in self.first if each != name), self.count - 1, self.names)

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        return listed(self.first[:_NAMED], _NAMED, self.count)


NO_NAMES = Several()


def several(names: Collection[str]) -> Several:
    """Names as a sentence has them. Made once for all who share them, leaving one out costs the same however many."""
    every = frozenset(names)
    return Several(tuple(nsmallest(_NAMED + 1, every)), len(every), every)


_LONGEST_NAME = 32
"""Characters of a name with its quotes: two of them, a reason and a remedy fit into the trace of a suspension."""


def shown_name(name: str) -> str:
    """A name that any client may have chosen, quoted and in ASCII, and no longer than a message can bear."""
    text = ascii(name[:_LONGEST_NAME])
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 4]}...'"
