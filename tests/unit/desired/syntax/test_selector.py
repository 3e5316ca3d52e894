"""Label selectors: what ``kubectl -l`` takes, checked by hand against ``labels.Parse`` of k8s.io/apimachinery 0.36."""

from collections.abc import Mapping

import pytest

from desired.syntax.selector import Operator, Requirement, Selector, is_label_key, is_label_value, parse_selector

IN, NOT_IN, EXISTS, MISSING = Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.MISSING
GREATER, LESS = Operator.GREATER, Operator.LESS


def one(operator: Operator, *values: str, key: str = "a") -> tuple[Requirement, ...]:
    """A single requirement on a label."""
    return (Requirement(key, operator, frozenset(values)),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=b", one(IN, "b"), id="equal"),
        pytest.param("a==b", one(IN, "b"), id="equal-with-two-signs"),
        pytest.param("a!=b", one(NOT_IN, "b"), id="unequal"),
        pytest.param("a=", one(IN, ""), id="equal-to-nothing"),
        pytest.param("a!=", one(NOT_IN, ""), id="unequal-to-nothing"),
        pytest.param("a in (x)", one(IN, "x"), id="in-a-list-of-one"),
        pytest.param("a in (x,y)", one(IN, "x", "y"), id="in-a-list"),
        pytest.param("a notin (x,y)", one(NOT_IN, "x", "y"), id="not-in-a-list"),
        pytest.param("a in (x,)", one(IN, "x", ""), id="in-a-list-with-nothing"),
        pytest.param("a in ()", one(IN, ""), id="in-an-empty-list-which-holds-the-empty-value"),
        pytest.param("a", one(EXISTS), id="exists"),
        pytest.param("!a", one(MISSING), id="is-missing"),
        pytest.param("a > 3", one(GREATER, "3"), id="greater"),
        pytest.param("a < 3", one(LESS, "3"), id="less"),
        pytest.param("a>3,b<07", one(GREATER, "3") + one(LESS, "07", key="b"), id="comparisons-without-blanks"),
        pytest.param("in > 3", one(GREATER, "3", key="in"), id="a-word-that-is-compared"),
        pytest.param(f"a>{2**63 - 1}", one(GREATER, str(2**63 - 1)), id="the-largest-number"),
        pytest.param(" a = b ", one(IN, "b"), id="blanks-around-a-sign"),
        pytest.param("a\t!=\tb", one(NOT_IN, "b"), id="tabs"),
        pytest.param("! a", one(MISSING), id="a-blank-behind-the-exclamation-mark"),
        pytest.param("a  in  ( x , y )", one(IN, "x", "y"), id="blanks-around-a-list"),
        pytest.param("a in(x)", one(IN, "x"), id="no-blank-before-a-list"),
        pytest.param("in in (in,notin)", one(IN, "in", "notin", key="in"), id="the-words-are-also-names"),
        pytest.param("notin=in", one(IN, "in", key="notin"), id="the-words-as-key-and-value"),
        pytest.param("!in", one(MISSING, key="in"), id="a-word-that-is-missing"),
        pytest.param("example.com/a=b", one(IN, "b", key="example.com/a"), id="key-with-a-prefix"),
        pytest.param("A_b.c-1=B_c.D-2", one(IN, "B_c.D-2", key="A_b.c-1"), id="every-character-that-a-name-may-have"),
        pytest.param("a=b,!c", one(IN, "b") + one(MISSING, key="c"), id="several"),
        pytest.param(
            "a in (x,y), b notin (z) ,c",
            one(IN, "x", "y") + one(NOT_IN, "z", key="b") + one(EXISTS, key="c"),
            id="commas-of-lists-separate-no-requirements",
        ),
    ],
)
def test_parse_selector(text: str, expected: tuple[Requirement, ...]) -> None:
    """Every form that Kubernetes knows is read as Kubernetes reads it, and the text is kept for people."""
    assert parse_selector(text) == Selector(text, expected)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param("", "", id="empty-would-select-everything"),
        pytest.param("  ", "", id="blanks-alone"),
        pytest.param("a,", "", id="comma-behind"),
        pytest.param(",a", "", id="comma-in-front"),
        pytest.param("a=b,,c=d", "", id="two-commas"),
        pytest.param("=b", "=b", id="no-key"),
        pytest.param("a b", "a b", id="two-words"),
        pytest.param("a=b c", "a=b c", id="two-values"),
        pytest.param("a==b==c", "a==b==c", id="two-signs"),
        pytest.param("a = = b", "a = = b", id="a-sign-with-a-blank-inside"),
        pytest.param("a ! = b", "a ! = b", id="unequal-with-a-blank-inside"),
        pytest.param("!a=b", "!a=b", id="missing-and-equal"),
        pytest.param("!!a", "!!a", id="missing-twice"),
        pytest.param("a in x", "a in x", id="list-without-parentheses"),
        pytest.param("a in", "a in", id="no-list"),
        pytest.param("a in (x", "a in (x", id="list-that-does-not-end"),
        pytest.param("a in x)", "a in x)", id="list-that-does-not-begin"),
        pytest.param("a in (x,(y))", "a in (x", id="list-in-a-list"),
        pytest.param("a in (x) b", "a in (x) b", id="something-behind-a-list"),
        pytest.param("a IN (x)", "a IN (x)", id="words-are-case-sensitive"),
        pytest.param("(a)", "(a)", id="parentheses-alone"),
        pytest.param("a>=1", "a>=1", id="greater-or-equal"),
        pytest.param("a<>1", "a<>1", id="two-comparisons"),
        pytest.param("!a>1", "!a>1", id="missing-and-greater"),
        pytest.param("a>(1)", "a>(1)", id="greater-than-a-list"),
        pytest.param(">1", ">1", id="no-key-to-compare"),
        pytest.param("/a=b", "/a=b", id="empty-prefix"),
        pytest.param("a/b/c", "a/b/c", id="two-slashes"),
        pytest.param("Example.com/a", "Example.com/a", id="prefix-with-a-capital"),
        pytest.param("-a=b", "-a=b", id="key-that-begins-with-a-hyphen"),
        pytest.param("ä=b", "ä=b", id="key-that-is-not-ascii"),
        pytest.param("a=b;c=d", "a=b;c=d", id="semicolon"),
    ],
)
def test_what_is_no_selector(text: str, part: str) -> None:
    """A requirement that is none is refused, and the message shows it and what there may be."""
    with pytest.raises(ValueError, match="is no requirement") as refused:
        parse_selector(text)
    assert str(refused.value) == (
        f"{part!r} is no requirement: expect key, !key, key=value, key!=value, key in (a,b), key>1"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a=-b", "-b", id="begins-with-a-hyphen"),
        pytest.param("a!=b_", "b_", id="ends-with-an-underscore"),
        pytest.param("a='b'", "'b'", id="quoted"),
        pytest.param(f"a={'x' * 64}", "x" * 64, id="too-long"),
        pytest.param("a in (x y,z)", "x y", id="blank-inside"),
        pytest.param("a notin (ok,no!,bad?)", "bad?", id="the-first-of-several-by-the-alphabet"),
        pytest.param("a=ä", "ä", id="not-ascii"),
        pytest.param("a>-1", "-1", id="negative-numbers-begin-with-a-hyphen"),
    ],
)
def test_what_can_be_no_value(text: str, value: str) -> None:
    """A value that no label can have is refused: the requirement would never, or always, hold."""
    with pytest.raises(ValueError, match="can be no label's value") as refused:
        parse_selector(text)
    assert str(refused.value) == f"{text!r}: {value!r} can be no label's value"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a>", "", id="nothing"),
        pytest.param("a > b", "b", id="letters"),
        pytest.param("a<1.5", "1.5", id="a-fraction"),
        pytest.param("a<1_0", "1_0", id="an-underscore-in-it"),
        pytest.param(f"a>{2**63}", str(2**63), id="more-than-64-bits"),
    ],
)
def test_what_nothing_can_be_compared_with(text: str, value: str) -> None:
    """Kubernetes compares integers of 64 bits; anything else is refused."""
    with pytest.raises(ValueError, match="is no integer") as refused:
        parse_selector(text)
    assert str(refused.value) == f"{text!r}: {value!r} is no integer of 64 bits"


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        pytest.param("a=b", {"a": "b"}, True, id="equal-and-is"),
        pytest.param("a=b", {"a": "c"}, False, id="equal-and-is-not"),
        pytest.param("a=b", {}, False, id="equal-and-missing"),
        pytest.param("a=", {"a": ""}, True, id="equal-to-nothing-and-is"),
        pytest.param("a=", {}, False, id="equal-to-nothing-and-missing"),
        pytest.param("a!=b", {"a": "b"}, False, id="unequal-and-is"),
        pytest.param("a!=b", {"a": "c"}, True, id="unequal-and-is-not"),
        pytest.param("a!=b", {}, True, id="unequal-and-missing"),
        pytest.param("a in (b,c)", {"a": "c"}, True, id="in-and-is"),
        pytest.param("a in (b,c)", {"a": "d"}, False, id="in-and-is-not"),
        pytest.param("a in (b,)", {}, False, id="in-with-nothing-and-missing"),
        pytest.param("a notin (b,c)", {"a": "c"}, False, id="not-in-and-is"),
        pytest.param("a notin (b,c)", {"a": "d"}, True, id="not-in-and-is-not"),
        pytest.param("a notin (b,c)", {}, True, id="not-in-and-missing"),
        pytest.param("a", {"a": ""}, True, id="exists-and-is-empty"),
        pytest.param("a", {"b": "a"}, False, id="exists-and-is-missing"),
        pytest.param("!a", {"a": ""}, False, id="missing-and-is-there"),
        pytest.param("!a", {"b": "a"}, True, id="missing-and-is-missing"),
        pytest.param("a>3", {"a": "4"}, True, id="greater-and-is"),
        pytest.param("a>3", {"a": "3"}, False, id="greater-and-is-equal"),
        pytest.param("a>3", {"a": "10"}, True, id="greater-as-a-number-and-not-as-a-text"),
        pytest.param("a>3", {"a": "004"}, True, id="greater-with-zeros-before"),
        pytest.param("a>3", {}, False, id="greater-and-missing"),
        pytest.param("a>3", {"a": ""}, False, id="greater-and-empty"),
        pytest.param("a>3", {"a": "x9"}, False, id="greater-and-no-number"),
        pytest.param("a>3", {"a": "4.5"}, False, id="greater-and-a-fraction"),
        pytest.param("a>3", {"a": "٤"}, False, id="greater-and-a-digit-of-another-script"),
        pytest.param("a>3", {"a": str(2**63)}, False, id="greater-and-more-than-64-bits"),
        pytest.param("a<3", {"a": "2"}, True, id="less-and-is"),
        pytest.param("a<3", {"a": "3"}, False, id="less-and-is-equal"),
        pytest.param("a<3", {"a": "10"}, False, id="less-and-is-greater"),
        pytest.param("a<3", {}, False, id="less-and-missing"),
        pytest.param("a<3", {"a": "x"}, False, id="less-and-no-number"),
        pytest.param("a>1,a<4", {"a": "3"}, True, id="between"),
        pytest.param("a=b,c", {"a": "b", "c": ""}, True, id="all-of-several"),
        pytest.param("a=b,c", {"a": "b"}, False, id="one-of-several"),
    ],
)
def test_matches(text: str, labels: Mapping[str, str], expected: bool) -> None:
    """All requirements have to hold; a negative one holds of a label that is not there."""
    assert parse_selector(text).matches(labels) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a", True, id="one-letter"),
        pytest.param("7", True, id="one-digit"),
        pytest.param("x" * 63, True, id="longest-name"),
        pytest.param("x" * 64, False, id="name-too-long"),
        pytest.param(f"{'x' * 253}/a", True, id="longest-prefix"),
        pytest.param(f"{'x' * 254}/a", False, id="prefix-too-long"),
        pytest.param("example.com/", False, id="prefix-alone"),
        pytest.param("a..b/c", False, id="domain-with-an-empty-label"),
        pytest.param("a-.b/c", False, id="hyphen-at-the-end-of-a-label"),
        pytest.param("a-", False, id="hyphen-at-the-end"),
        pytest.param("a\n", False, id="line-end"),
        pytest.param("", False, id="empty"),
    ],
)
def test_is_label_key(text: str, expected: bool) -> None:
    """A key is a name of at most 63 characters, with or without a domain and a slash before it."""
    assert is_label_key(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", True, id="empty"),
        pytest.param("cpx32", True, id="server-type"),
        pytest.param("x" * 63, True, id="longest"),
        pytest.param("x" * 64, False, id="too-long"),
        pytest.param("cpx 32", False, id="blank"),
        pytest.param("cpx32.", False, id="dot-at-the-end"),
        pytest.param("example.com/x", False, id="slash"),
        pytest.param("a\n", False, id="line-end"),
        pytest.param("٣", False, id="digit-of-another-script"),
    ],
)
def test_is_label_value(text: str, expected: bool) -> None:
    """A value has at most 63 characters, may be empty, and is alphanumeric at both ends."""
    assert is_label_value(text) is expected
