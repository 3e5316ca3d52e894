"""Laws of annotations: whatever somebody writes is read or refused, and never raises."""

from hypothesis import given
from hypothesis import strategies as st

from desired.annotations.claims import Claim, ClaimedPort, check_claim
from desired.annotations.options import ANNOTATIONS, OF_PORTS, OWN_PREFIX, PREFIX, Options
from desired.annotations.port_keys import port_key
from desired.annotations.reading import read_annotations, with_defaults
from tests.property.strategies import law, some
from tests.support.options import parse_options
from tests.support.premises import premise

_OF_PORTS = st.builds(port_key, st.integers(-1, 90_000) | some(80), some(*OF_PORTS))
_KEYS = some(*ANNOTATIONS) | _OF_PORTS | st.text(max_size=12).map("port-80.hcloud-reconciler/".__add__)
_KEYS |= st.text(max_size=12).map(PREFIX.__add__) | st.text(max_size=12).map(OWN_PREFIX.__add__)
_WORDS = some("true", "false", "https", "managed", "uploaded", "10s", "10", "1e9h", "fsn1", "10.0.0.5", "10.0.0.0/24")
_PIECES = st.lists(some("-", "+", "0", "9", ".", ",", " ", "s", "h", "*", "?", "in", "(", ")", "=", "/", "٣"))
_TEXTS = _WORDS | st.text() | _PIECES.map("".join) | st.integers(0, 6000).map("9".__mul__)
_ANNOTATIONS = st.dictionaries(_KEYS, _TEXTS, max_size=8)
_DEFAULTS = st.builds(
    Options,
    location=some("nbg1"),
    network_zone=some("eu-central"),
    health_check_interval=st.integers(-(10**9), 10**9),
    use_private_ip=st.booleans(),
)


@law({"a wrong value": 0.6})
@given(_ANNOTATIONS, _DEFAULTS)
def test_any_annotations_are_read(annotations: dict[str, str], defaults: Options) -> None:
    """No text makes the parser raise, and every problem names where it is and what it is."""
    found = parse_options(annotations, defaults)
    problems = () if isinstance(found, Options) else found
    premise("a wrong value", is_met=bool(problems))
    assert isinstance(found, Options) or found
    assert all(bad.text.startswith(bad.key) and bad.text.isprintable() for bad in problems)


@law({"a wrong value": 0.6})
@given(_ANNOTATIONS, _DEFAULTS, st.booleans())
def test_a_claim_is_never_better_than_its_annotations(
    annotations: dict[str, str], defaults: Options, has_network: bool
) -> None:
    """Each wrong value is among the problems of the claim, or among its warnings where nothing reads it; and the order
    in the Service makes no difference."""
    bad = with_defaults(read_annotations(annotations), defaults).bad
    premise("a wrong value", is_met=bool(bad))
    check = check_claim(Claim(annotations, (ClaimedPort(80),)), defaults, has_network=has_network)
    backwards = Claim(dict(reversed(annotations.items())), (ClaimedPort(80),))
    told = [*(found.text for found in check.problems), *(remark.text for remark in check.remarks)]
    assert all(any(text.startswith(problem.text) for text in told) for problem in bad.values())
    assert all(remark.text.startswith(remark.key) for remark in check.remarks)
    assert check_claim(backwards, defaults, has_network=has_network) == check
