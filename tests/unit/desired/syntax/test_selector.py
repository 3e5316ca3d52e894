"""Label selectors: what ``kubectl -l`` takes, checked by hand against ``labels.Parse`` of k8s.io/apimachinery 0.36."""

from collections.abc import Mapping

import pytest

from desired.syntax.selector import Operator, Requirement, Selector, is_label_key, is_label_value, parse_selector
from tests.support.rows import rows

IN, NOT_IN, EXISTS, MISSING = Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.MISSING
GREATER, LESS = Operator.GREATER, Operator.LESS


def one(operator: Operator, *values: str, key: str = "a") -> tuple[Requirement, ...]:
    return (Requirement(key, operator, frozenset(values)),)


@rows("text expected", {
    "equal": ("a=b", one(IN, "b")),
    "equal-with-two-signs": ("a==b", one(IN, "b")),
    "unequal": ("a!=b", one(NOT_IN, "b")),
    "equal-to-nothing": ("a=", one(IN, "")),
    "unequal-to-nothing": ("a!=", one(NOT_IN, "")),
    "in-a-list-of-one": ("a in (x)", one(IN, "x")),
    "in-a-list": ("a in (x,y)", one(IN, "x", "y")),
    "not-in-a-list": ("a notin (x,y)", one(NOT_IN, "x", "y")),
    "in-a-list-with-nothing": ("a in (x,)", one(IN, "x", "")),
    "in-an-empty-list-which-holds-the-empty-value": ("a in ()", one(IN, "")),
    "exists": ("a", one(EXISTS)),
    "is-missing": ("!a", one(MISSING)),
    "greater": ("a > 3", one(GREATER, "3")),
    "less": ("a < 3", one(LESS, "3")),
    "comparisons-without-blanks": ("a>3,b<07", one(GREATER, "3") + one(LESS, "07", key="b")),
    "a-word-that-is-compared": ("in > 3", one(GREATER, "3", key="in")),
    "the-largest-number": (f"a>{2**63 - 1}", one(GREATER, str(2**63 - 1))),
    "blanks-around-a-sign": (" a = b ", one(IN, "b")),
    "tabs": ("a\t!=\tb", one(NOT_IN, "b")),
    "a-blank-behind-the-exclamation-mark": ("! a", one(MISSING)),
    "blanks-around-a-list": ("a  in  ( x , y )", one(IN, "x", "y")),
    "no-blank-before-a-list": ("a in(x)", one(IN, "x")),
    "the-words-are-also-names": ("in in (in,notin)", one(IN, "in", "notin", key="in")),
    "the-words-as-key-and-value": ("notin=in", one(IN, "in", key="notin")),
    "a-word-that-is-missing": ("!in", one(MISSING, key="in")),
    "key-with-a-prefix": ("example.com/a=b", one(IN, "b", key="example.com/a")),
    "every-character-that-a-name-may-have": ("A_b.c-1=B_c.D-2", one(IN, "B_c.D-2", key="A_b.c-1")),
    "several": ("a=b,!c", one(IN, "b") + one(MISSING, key="c")),
    "commas-of-lists-separate-no-requirements": ("a in (x,y), b notin (z) ,c",
        one(IN, "x", "y") + one(NOT_IN, "z", key="b") + one(EXISTS, key="c")),
})  # fmt: skip
def test_parse_selector(text: str, expected: tuple[Requirement, ...]) -> None:
    """Every form that Kubernetes knows is read as Kubernetes reads it, and the text is kept for people."""
    assert parse_selector(text) == Selector(text, expected)


@rows("text part", {
    "empty-would-select-everything": ("", ""),
    "blanks-alone": ("  ", ""),
    "comma-behind": ("a,", ""),
    "comma-in-front": (",a", ""),
    "two-commas": ("a=b,,c=d", ""),
    "no-key": ("=b", "=b"),
    "two-words": ("a b", "a b"),
    "two-values": ("a=b c", "a=b c"),
    "two-signs": ("a==b==c", "a==b==c"),
    "a-sign-with-a-blank-inside": ("a = = b", "a = = b"),
    "unequal-with-a-blank-inside": ("a ! = b", "a ! = b"),
    "missing-and-equal": ("!a=b", "!a=b"),
    "missing-twice": ("!!a", "!!a"),
    "list-without-parentheses": ("a in x", "a in x"),
    "no-list": ("a in", "a in"),
    "list-that-does-not-end": ("a in (x", "a in (x"),
    "list-that-does-not-begin": ("a in x)", "a in x)"),
    "list-in-a-list": ("a in (x,(y))", "a in (x"),
    "something-behind-a-list": ("a in (x) b", "a in (x) b"),
    "words-are-case-sensitive": ("a IN (x)", "a IN (x)"),
    "parentheses-alone": ("(a)", "(a)"),
    "greater-or-equal": ("a>=1", "a>=1"),
    "two-comparisons": ("a<>1", "a<>1"),
    "missing-and-greater": ("!a>1", "!a>1"),
    "greater-than-a-list": ("a>(1)", "a>(1)"),
    "no-key-to-compare": (">1", ">1"),
    "empty-prefix": ("/a=b", "/a=b"),
    "two-slashes": ("a/b/c", "a/b/c"),
    "prefix-with-a-capital": ("Example.com/a", "Example.com/a"),
    "key-that-begins-with-a-hyphen": ("-a=b", "-a=b"),
    "key-that-is-not-ascii": ("ä=b", "ä=b"),
    "semicolon": ("a=b;c=d", "a=b;c=d"),
})  # fmt: skip
def test_what_is_no_selector(text: str, part: str) -> None:
    """A requirement that is none is refused, and the message shows it and what there may be."""
    with pytest.raises(ValueError, match="is no requirement") as refused:
        parse_selector(text)
    assert str(refused.value) == (
        f"{part!r} is no requirement: expect key, !key, key=value, key!=value, key in (a,b), key>1"
    )


@rows("text value", {
    "begins-with-a-hyphen": ("a=-b", "-b"),
    "ends-with-an-underscore": ("a!=b_", "b_"),
    "quoted": ("a='b'", "'b'"),
    "too-long": (f"a={'x' * 64}", "x" * 64),
    "blank-inside": ("a in (x y,z)", "x y"),
    "the-first-of-several-by-the-alphabet": ("a notin (ok,no!,bad?)", "bad?"),
    "not-ascii": ("a=ä", "ä"),
    "negative-numbers-begin-with-a-hyphen": ("a>-1", "-1"),
})  # fmt: skip
def test_what_can_be_no_value(text: str, value: str) -> None:
    """A value that no label can have is refused: the requirement would never, or always, hold."""
    with pytest.raises(ValueError, match="can be no label's value") as refused:
        parse_selector(text)
    assert str(refused.value) == f"{text!r}: {value!r} can be no label's value"


@rows("text value", {
    "nothing": ("a>", ""),
    "letters": ("a > b", "b"),
    "a-fraction": ("a<1.5", "1.5"),
    "an-underscore-in-it": ("a<1_0", "1_0"),
    "more-than-64-bits": (f"a>{2**63}", str(2**63)),
})  # fmt: skip
def test_what_nothing_can_be_compared_with(text: str, value: str) -> None:
    """Kubernetes compares integers of 64 bits; anything else is refused."""
    with pytest.raises(ValueError, match="is no integer") as refused:
        parse_selector(text)
    assert str(refused.value) == f"{text!r}: {value!r} is no integer of 64 bits"


@rows("text labels expected", {
    "equal-and-is": ("a=b", {"a": "b"}, True),
    "equal-and-is-not": ("a=b", {"a": "c"}, False),
    "equal-and-missing": ("a=b", {}, False),
    "equal-to-nothing-and-is": ("a=", {"a": ""}, True),
    "equal-to-nothing-and-missing": ("a=", {}, False),
    "unequal-and-is": ("a!=b", {"a": "b"}, False),
    "unequal-and-is-not": ("a!=b", {"a": "c"}, True),
    "unequal-and-missing": ("a!=b", {}, True),
    "in-and-is": ("a in (b,c)", {"a": "c"}, True),
    "in-and-is-not": ("a in (b,c)", {"a": "d"}, False),
    "in-with-nothing-and-missing": ("a in (b,)", {}, False),
    "not-in-and-is": ("a notin (b,c)", {"a": "c"}, False),
    "not-in-and-is-not": ("a notin (b,c)", {"a": "d"}, True),
    "not-in-and-missing": ("a notin (b,c)", {}, True),
    "exists-and-is-empty": ("a", {"a": ""}, True),
    "exists-and-is-missing": ("a", {"b": "a"}, False),
    "missing-and-is-there": ("!a", {"a": ""}, False),
    "missing-and-is-missing": ("!a", {"b": "a"}, True),
    "greater-and-is": ("a>3", {"a": "4"}, True),
    "greater-and-is-equal": ("a>3", {"a": "3"}, False),
    "greater-as-a-number-and-not-as-a-text": ("a>3", {"a": "10"}, True),
    "greater-with-zeros-before": ("a>3", {"a": "004"}, True),
    "greater-and-missing": ("a>3", {}, False),
    "greater-and-empty": ("a>3", {"a": ""}, False),
    "greater-and-no-number": ("a>3", {"a": "x9"}, False),
    "greater-and-a-fraction": ("a>3", {"a": "4.5"}, False),
    "greater-and-a-digit-of-another-script": ("a>3", {"a": "٤"}, False),
    "greater-and-more-than-64-bits": ("a>3", {"a": str(2**63)}, False),
    "less-and-is": ("a<3", {"a": "2"}, True),
    "less-and-is-equal": ("a<3", {"a": "3"}, False),
    "less-and-is-greater": ("a<3", {"a": "10"}, False),
    "less-and-missing": ("a<3", {}, False),
    "less-and-no-number": ("a<3", {"a": "x"}, False),
    "between": ("a>1,a<4", {"a": "3"}, True),
    "all-of-several": ("a=b,c", {"a": "b", "c": ""}, True),
    "one-of-several": ("a=b,c", {"a": "b"}, False),
})  # fmt: skip
def test_matches(text: str, labels: Mapping[str, str], expected: bool) -> None:
    """All requirements have to hold; a negative one holds of a label that is not there."""
    assert parse_selector(text).matches(labels) is expected


@rows("text expected", {
    "one-letter": ("a", True),
    "one-digit": ("7", True),
    "longest-name": ("x" * 63, True),
    "name-too-long": ("x" * 64, False),
    "longest-prefix": (f"{'x' * 253}/a", True),
    "prefix-too-long": (f"{'x' * 254}/a", False),
    "prefix-alone": ("example.com/", False),
    "domain-with-an-empty-label": ("a..b/c", False),
    "hyphen-at-the-end-of-a-label": ("a-.b/c", False),
    "hyphen-at-the-end": ("a-", False),
    "line-end": ("a\n", False),
    "empty": ("", False),
})  # fmt: skip
def test_is_label_key(text: str, expected: bool) -> None:
    """A key is a name of at most 63 characters, with or without a domain and a slash before it."""
    assert is_label_key(text) is expected


@rows("text expected", {
    "empty": ("", True),
    "server-type": ("cpx32", True),
    "longest": ("x" * 63, True),
    "too-long": ("x" * 64, False),
    "blank": ("cpx 32", False),
    "dot-at-the-end": ("cpx32.", False),
    "slash": ("example.com/x", False),
    "line-end": ("a\n", False),
    "digit-of-another-script": ("٣", False),
})  # fmt: skip
def test_is_label_value(text: str, expected: bool) -> None:
    """A value has at most 63 characters, may be empty, and is alphanumeric at both ends."""
    assert is_label_value(text) is expected
