"""Laws of what is read from text that anybody may write: it survives, and never raises."""

import json
from contextlib import suppress

import yaml
from hypothesis import given
from hypothesis import strategies as st

from desired.annotations.claims import check_annotations, check_claim
from desired.annotations.options import Options
from desired.model.serving import Serving
from desired.nodes.addresses import parse_node_ips
from desired.plan.approvals import format_approval, parse_approvals
from desired.plan.grants import Grant
from desired.syntax.provider_id import CloudID, RobotID, format_provider_id, parse_provider_id
from desired.syntax.selector import Selector, is_label_key, is_label_value, parse_selector
from reconciler.observe.manifests import FoundAnnotations, FoundService, read_manifests
from reconciler.observe.yaml_documents import NotManifests
from tests.property.plan_strategies import approvals, hashes
from tests.property.strategies import cloud_ids, labels, law, robot_ids
from tests.support.premises import ALWAYS, premise


@law(ALWAYS)
@given(cloud_ids | robot_ids)
def test_provider_ids_survive_writing_and_reading(provider_id: CloudID | RobotID) -> None:
    """Reading what was written gives the same providerID."""
    assert parse_provider_id(format_provider_id(provider_id)) == provider_id


@law({"a providerID of ours": 0.1})
@given(
    st.text()
    | st.sampled_from(["hcloud://", "hrobot://"]).flatmap(
        lambda prefix: (st.text() | st.integers().map(str)).map(prefix.__add__)
    )
)
def test_any_text_is_read_as_some_provider_id(text: str) -> None:
    """No text makes the parser raise, and one that is ours is written back as it was."""
    found = parse_provider_id(text)
    premise("a providerID of ours", is_met=isinstance(found, CloudID | RobotID))
    assert not isinstance(found, CloudID | RobotID) or format_provider_id(found) == text


@law({"an approval": 0.6})
@given(st.lists(approvals, unique_by=lambda approval: approval.of, max_size=3))
def test_approvals_survive_writing_and_reading(given_approvals: list[Grant]) -> None:
    expected = sorted(given_approvals, key=lambda approval: approval.of)
    premise("an approval", is_met=bool(expected))
    assert parse_approvals(dict(map(format_approval, given_approvals))) == tuple(expected)


_keys = hashes.map(lambda text: text.replace(":", "."))
_whole = approvals.map(lambda approval: format_approval(approval)[1])
_cut_off = _whole.flatmap(lambda value: st.integers(0, len(value)).map(lambda end: value[:end]))
_nonsense = st.text() | st.recursive(st.none() | st.booleans() | st.text() | st.integers(), st.lists).map(repr)


@law({"an approval": 0.08})
@given(st.tuples(_keys, _whole) | st.tuples(_keys | st.text(), _nonsense | _cut_off | _whole))
def test_any_config_map_is_read(entry: tuple[str, str]) -> None:
    """No data of the ConfigMap makes the parser raise."""
    found = parse_approvals(dict([entry]))
    premise("an approval", is_met=bool(found))
    assert len(found) <= 1


@law({"addresses": 0.25})
@given(st.text(alphabet="0123456789abcdef:.,%/ x") | st.text() | st.ip_addresses().map(str))
def test_any_annotation_is_read(annotation: str) -> None:
    """No annotation makes the parser raise, and it never reads more than a pair."""
    found = parse_node_ips(annotation)
    premise("addresses", is_met=isinstance(found, tuple))
    assert not isinstance(found, tuple) or len(found) in {1, 2}


_SELECTOR_TEXT = st.lists(
    st.sampled_from(["team", "example.com/spare", "=", "==", "!=", "!", " in ", " notin ", "(", ")", "(a,b)", ",", " "])
    | st.sampled_from([">", "<", "3"])
).map("".join)


_SELECTORS = st.lists(
    st.sampled_from(["team", "!team", "team=mine", "a != b", "example.com/spare in (x, y)", "team notin ()", "a=b=c"]),
    max_size=4,
).map(",".join)
"""Some that are well written, and some that are nearly so."""


def read_selector(text: str) -> Selector | None:
    """The selector that a text is; None when it is none."""
    try:
        return parse_selector(text)
    except ValueError:
        return None


@law({"a selector": 0.15})
@given(_SELECTOR_TEXT | _SELECTORS | st.text(), labels)
def test_any_text_is_a_selector_or_an_error_for_people(text: str, found: dict[str, str]) -> None:
    """No text makes the parser raise anything but the error that names it; what it reads asks for something, of keys
    and values that a label may have, and nothing fulfils a contradiction."""
    selector = read_selector(text)
    premise("a selector", is_met=selector is not None)
    if selector is None:
        return
    assert selector.requirements
    assert all(is_label_key(requirement.key) for requirement in selector.requirements)
    assert all(is_label_value(value) for requirement in selector.requirements for value in requirement.values)
    assert not parse_selector(f"team,!team,{text}").matches(found)


_KEYS = st.sampled_from(
    [
        "kind",
        "metadata",
        "name",
        "annotations",
        "labels",
        "spec",
        "type",
        "items",
        "op",
        "path",
        "value",
        "data",
        "load-balancer.hetzner.cloud/location",
        "load-balancer.hetzner.cloud/protocol",
        "load-balancer.hetzner.cloud/",
        "hcloud-reconciler/deletion-policy",
        "a.load-balancer\\.hetzner\\.cloud/type",
        "/metadata/annotations/load-balancer.hetzner.cloud~1type",
    ]
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary()
    | st.dates()
    | st.text()
    | _KEYS
    | st.sampled_from(["Service", "List", "ServiceList", "LoadBalancer", "Ingress", "{{ x }}", "https", "5s"])
)
_DOCUMENTS = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(_KEYS | st.text() | st.integers() | st.none(), inner, max_size=5)
        | inner.map(yaml.safe_dump)
        | inner.map(lambda value: json.dumps(value, default=str, skipkeys=True))
    ),
    max_leaves=20,
)
_SERVICES = st.builds(
    lambda annotations, spec: {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "annotations": annotations},
        "spec": {"type": "LoadBalancer", **spec},
    },
    st.dictionaries(_KEYS, _SCALARS, max_size=4),
    st.dictionaries(_KEYS | st.sampled_from(["ports", "loadBalancerClass"]), _DOCUMENTS, max_size=3),
)
_YAML = st.lists(
    st.sampled_from(["load-balancer.hetzner.cloud/type", "hcloud-reconciler/x", "'", '"', "{", "}", "[", "]", "kind:"])
    | st.sampled_from([": ", "- ", "\n", "  ", "|\n", "---\n", "&a ", "*a", "<<: *a", "{{ x }}"])
    | st.sampled_from(["!!binary ", "!!set ", "!!omap ", "!!int ", "!!timestamp ", f"0x{'f' * 5000}"])
    | st.text(max_size=3),
    max_size=30,
).map("".join)


@law({"a Service or what carries annotations": 0.1})
@given((_SERVICES | _DOCUMENTS).map(yaml.safe_dump) | _YAML | st.text())
def test_any_manifest_is_judged(text: str) -> None:
    """No text makes the reader or the checks raise, but for saying that it is neither YAML nor JSON."""
    manifests: list[FoundService | FoundAnnotations] = []
    with suppress(NotManifests):
        manifests.extend(read_manifests(text.encode("utf-8", "surrogatepass"), Serving()))
    premise("a Service or what carries annotations", is_met=bool(manifests))
    for found in manifests:
        if not isinstance(found, FoundService):
            check_annotations(found.annotations, has_network=False)
        elif found.claim is not None:
            check_claim(found.claim, Options(), has_network=False)
