"""JSON that is nested more deeply than the interpreter's stack is high: read as far as anybody looks."""

import msgspec
import pytest

from actuators.http.decoding import decoder, without_depths
from tests.support.rows import rows


class Thing(msgspec.Struct):
    """What is looked at, before and behind what is deep."""

    name: str
    uid: str


def nested(depth: int, opening: bytes = b'{"f:\\"]":', closing: bytes = b"}") -> bytes:
    """A Thing with something between that goes so deep, with brackets in its keys."""
    return b'{"name":"web","managed":' + opening * depth + b"1" + closing * depth + b',"uid":"u"}'


@pytest.mark.parametrize("depth", [1, 63, 64, 65, 900, 1100, 10_000])
def test_an_unknown_field_may_be_as_deep_as_it_likes(depth: int) -> None:
    """An API server stores ten thousand levels. The object is read, and so is the list that it is in."""
    raw = decoder(list[msgspec.Raw]).decode(b"[" + nested(depth) + b"," + nested(1) + b"]")
    assert decoder(Thing).decode(nested(depth)) == Thing("web", "u")
    assert [decoder(Thing).decode(each) for each in raw] == [Thing("web", "u")] * 2


def test_a_deep_value_of_a_known_field_is_an_error() -> None:
    """Never another one than that of any other value which makes no sense."""
    with pytest.raises(msgspec.ValidationError, match="Expected text, got a list"):
        decoder(Thing).decode(b'{"name":' + b"[" * 5000 + b"]" * 5000 + b"}")


@rows(
    "data",
    {
        "cut off": b"[" * 5000,
        "cut off in a text": b"[" * 5000 + b'"' + b'\\"' * 5000,
        "cut off behind a backslash": b"[" * 5000 + b'"\\',
        "brackets that do not match": b"[" * 5000 + b"}" * 5000,
        "closed before it is open": b"]" * 70 + b"[" * 5000,
    },
)
def test_deep_data_that_is_no_json_is_an_error(data: bytes) -> None:
    """It is a ValueError, as whoever decodes an answer expects."""
    with pytest.raises(ValueError, match=r"."):
        decoder(object).decode(data + b" garbage")


def test_depths_that_are_left_out() -> None:
    deep = b"[" * 64 + b'[1,[2],"]"],{"a":3},4' + b"]" * 64
    assert without_depths(deep) == b"[" * 64 + b"null,null,4" + b"]" * 64
    assert without_depths(b"[1,{}]") == b"[1,{}]"
