"""Formats of a report besides text and JSON: the same document as YAML, and the names alone."""

import io
import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.streams import Writer
from reconciler.config.options import Output
from reconciler.report.yaml_text import yaml_text
from reconciler.result import Line, Report
from tests.builders import a_change
from tests.property.strategies import law
from tests.support.explanations import EXPLANATIONS
from tests.support.premises import ALWAYS
from tests.support.rendering import written

_FOREIGN = "\x1b[2J\u202e'\"{[#&*!|>%@`:- \u2028\x85é\U0001f600\n---\n"
_TRAPS = ["", "no", "Y", "null", "~", "1e3", "0o14", "0x1f", "1_000", "12:30:45", "2026-11-22", ".inf", "=", "<<"]
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_TEXTS = st.sampled_from(_TRAPS) | st.text() | st.text(st.sampled_from(_FOREIGN), max_size=20)


@law(ALWAYS)
@given(st.recursive(_SCALARS | _TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner)))
def test_yaml_is_the_document(value: object) -> None:
    """Whatever names and sentences say, it decodes to the same, and nothing in it controls a terminal."""
    text = yaml_text(value)

    assert yaml.safe_load(text) == value
    assert re.fullmatch(r"[\n\x20-\x7e]*", text)


@pytest.mark.parametrize("word", ["node/web-1", "load_balancer/default/shop", "no_changes", "add"])
def test_words_of_yaml_stand_without_quotes(word: str) -> None:
    assert yaml_text({word: word}) == f"{word}: {word}\n"


@pytest.mark.parametrize("text", _TRAPS)
def test_what_some_reader_of_yaml_takes_for_no_text(text: str) -> None:
    assert yaml_text([text]) == f'- "{text}"\n'


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_an_explanation_as_yaml(name: str) -> None:
    explained = EXPLANATIONS[name]

    assert yaml.safe_load(written(explained, Output.YAML)) == json.loads(written(explained, Output.JSON))


def test_a_stream_of_yaml() -> None:
    stream = io.StringIO()
    writer = Writer(Output.YAML, stream)

    writer.write(Report(errors=("first",)), stream_of_passes=True)
    writer.write(Report(errors=("second",)), stream_of_passes=True)

    assert [each["errors"] for each in yaml.safe_load_all(stream.getvalue())] == [["first"], ["second"]]
    assert stream.getvalue().startswith("---\n")
    assert written(Report(), Output.YAML).startswith("format_version: ")


def test_names() -> None:
    lines = tuple(Line(a_change(key)) for key in ("node/web-1/labels", "route/4/10.0.0.0/24"))

    assert written(Report(lines=lines), Output.NAME) == "node/web-1/labels\nroute/4/10.0.0.0/24\n"
    assert written(Report(lines=(Line(a_change("node/a\nb")),)), Output.NAME) == "node/a\\nb\n"
    assert written(Report(errors=("no API",)), Output.NAME) == ""
