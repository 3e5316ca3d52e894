"""Every annotation of a Service: its value, where it comes from, what is wrong with it, and what is in use."""

from collections.abc import Mapping
from typing import Any

import pytest

from desired.annotations.options import OPTIONS, PREFIX, Options
from desired.annotations.reading import Origin
from desired.explain.options import OptionFact
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.section import Present
from tests.balancers import (
    IN_NETWORK,
    LOCATED,
    NETWORK,
    a_balancer,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import NOW
from tests.support.service_explanations import of_the_service


def options(snapshot: Snapshot, settings: Settings = LOCATED) -> Mapping[str, OptionFact]:
    """Key without our prefix → what is said of it."""
    return {fact.key.removeprefix(PREFIX): fact for fact in of_the_service(snapshot, settings).options}


def asking(**asked: str) -> Snapshot:
    """A world in which a new Service has these annotations."""
    return a_world([a_service(claim=a_claim(annotations=annotated(**asked)))])


def test_every_annotation_has_a_row() -> None:
    """All that may be asked for is listed, in the order of the table."""
    assert [fact.key for fact in of_the_service(a_world([a_service()])).options] == [
        row.full_key for row in OPTIONS.values()
    ]


@pytest.mark.parametrize(
    ("asked", "defaults", "key", "origin", "value", "variable"),
    [
        pytest.param({"type": "lb21"}, Options(type="lb31"), "type", Origin.ANNOTATION, "lb21", None, id="annotation"),
        pytest.param(
            {},
            Options(type="lb31"),
            "type",
            Origin.ENVIRONMENT,
            "lb31",
            "HCLOUD_LOAD_BALANCERS_TYPE",
            id="environment",
        ),
        pytest.param({}, Options(), "protocol", Origin.UNSET, None, None, id="unset-though-it-has-a-default"),
        pytest.param(
            {"use_private_ip": "yes"}, Options(), "use-private-ip", Origin.ANNOTATION, None, None, id="not-understood"
        ),
        pytest.param(
            {"network_zone": "eu-central", "location": "nbg1"},
            Options(),
            "network-zone",
            Origin.ANNOTATION,
            None,
            None,
            id="overruled",
        ),
    ],
)
def test_origins(
    asked: Mapping[str, str], defaults: Options, key: str, origin: Origin, value: str | None, variable: str | None
) -> None:
    """A value comes from an annotation, from the environment, or from nobody."""
    fact = options(asking(**asked), Settings(balancer_defaults=defaults))[key]

    assert (fact.origin, fact.value, fact.variable) == (origin, value, variable)


@pytest.mark.parametrize(
    ("asked", "defaults", "keys"),
    [
        pytest.param({}, Options(location="fsn1"), [], id="nothing-wrong"),
        pytest.param({"protocol": "udp"}, Options(location="fsn1"), ["protocol"], id="cannot-be-read"),
        pytest.param(
            {}, Options(location="fsn1", health_check_retries=9), ["health-check-retries"], id="of-the-environment"
        ),
        pytest.param(
            {"protocol": "udp", "type": "lb21", "hostname": "A"},
            Options(location="fsn1"),
            ["hostname", "protocol"],
            id="all-at-once",
        ),
    ],
)
def test_problems(asked: Mapping[str, str], defaults: Options, keys: list[str]) -> None:
    """What is wrong stands with the annotation to change, whatever it comes from."""
    found = of_the_service(asking(**asked), Settings(balancer_defaults=defaults))
    wrong = {fact.key.removeprefix(PREFIX): fact.problems for fact in found.options if fact.problems}

    assert list(wrong) == keys
    assert {text for texts in wrong.values() for text in texts} == {
        note.text for note in found.notes if note.kind == "malformed"
    }


def test_remarks() -> None:
    """What is odd about an annotation of the table stands with it, everything else by itself, and nothing twice."""
    claim = a_claim(
        annotations={**annotated(http_cookie_name="C"), f"{PREFIX}nmae": "x", f"{PREFIX}id": "7", "example.com/a": "b"},
        session_affinity="ClientIP",
    )
    found = of_the_service(a_world([a_service(claim=claim)]))
    with_options = {fact.key: fact.remark for fact in found.options if fact.remark}

    assert list(with_options) == [f"{PREFIX}http-cookie-name"]
    assert [remark.key for remark in found.remarks] == [f"{PREFIX}id", f"{PREFIX}nmae", "spec.sessionAffinity"]
    assert {*with_options.values(), *(remark.text for remark in found.remarks)} == {note.text for note in found.notes}


@pytest.mark.parametrize(
    ("text", "origin", "value", "is_wrong"),
    [
        pytest.param(None, Origin.UNSET, None, False, id="unset"),
        pytest.param("retain", Origin.ANNOTATION, "retain", False, id="retain"),
        pytest.param("keep", Origin.ANNOTATION, "retain", True, id="not-understood"),
    ],
)
def test_a_service_that_is_going(text: str | None, origin: Origin, value: str | None, is_wrong: bool) -> None:
    """Of a Service that goes only the deletion policy counts, and what cannot be understood retains."""
    asked = {} if text is None else {"deletion_policy": text}
    claim = a_claim(annotations=annotated(use_private_ip="maybe", **asked))
    found = of_the_service(a_world([a_served_service(deleted_at=NOW, claim=claim)], [a_balancer()]))
    (fact,) = found.options

    assert (fact.key, fact.origin, fact.value, bool(fact.problems)) == (
        "hcloud-reconciler/deletion-policy",
        origin,
        value,
        is_wrong,
    )
    assert {change.kind for change in found.changes} >= {"lb.retain" if value else "lb.delete"}


@pytest.mark.parametrize("other", [{"load_balancer_class": "x"}, {"type": "ClusterIP"}])
def test_a_service_that_is_not_looked_after(other: Mapping[str, Any]) -> None:
    """Where nothing is read nothing is told: not even what is odd."""
    claim = a_claim(annotations=annotated(protocol="udp"), session_affinity="ClientIP")
    found = of_the_service(a_world([a_service(claim=claim, **other)]))

    assert (found.options, found.remarks) == ((), ())


def test_in_use_is_told_of_the_services_own_only() -> None:
    """What somebody else's load balancer has says nothing of this Service."""
    claim = a_claim(annotations=annotated(name="shop"))
    theirs = a_balancer(service_uid=None, cluster_uid="another", spec={"name": "shop"})

    assert options(a_world([a_service(claim=claim)], [theirs]))["name"].in_use is None
    assert options(a_world([a_served_service()], [a_balancer()]))["location"].in_use == "fsn1"


def test_a_network_is_a_setting() -> None:
    """What is wrong without a network is right with one."""
    claim = a_claim(annotations=annotated(use_private_ip="true"))
    snapshot = a_world([a_service(claim=claim)], network=Present(NETWORK))

    assert options(snapshot, IN_NETWORK)["use-private-ip"].problems == ()
