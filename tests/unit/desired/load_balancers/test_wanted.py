"""Which Services need a load balancer, its cleanup, certificates or the catalogue: what is read depends on it."""

from typing import Any

import pytest

from desired.annotations.options import Options
from desired.load_balancers.ownership import matters, needs_cleanup, uses_certificates, wanted_types, wants_balancer
from desired.model.load_balancer import CloudBalancer
from desired.model.service import Service, ServiceCondition
from desired.names import CONDITION_IN_SYNC, FINALIZER_BALANCER
from tests.balancers import a_balancer, a_claim, a_service, annotated
from tests.builders import NOW

CLAIMED = (FINALIZER_BALANCER,)
FOREIGN = ("example.com/drain",)
GOING = {"deleted_at": NOW}
WANTS, CLEANUP = (True, False), (False, True)
NEITHER = (False, False)
OTHER = {"load_balancer_class": "other"}
SERVED = {"conditions": (ServiceCondition(CONDITION_IN_SYNC, "True"),)}
LABELLED = {"is_labelled": True}


@pytest.mark.parametrize(
    ("service", "labelled", "verdict"),
    [
        pytest.param({}, {}, WANTS, id="new"),
        pytest.param({}, LABELLED, WANTS, id="served"),
        pytest.param({"finalizers": CLAIMED}, {}, WANTS, id="claimed"),
        pytest.param({"type": "ClusterIP"}, {}, NEITHER, id="of another type"),
        pytest.param({"type": "loadbalancer"}, {}, NEITHER, id="types are exact"),
        pytest.param({"type": "NodePort", "finalizers": CLAIMED}, {}, CLEANUP, id="no longer of the type"),
        pytest.param({"finalizers": CLAIMED, **GOING}, {}, CLEANUP, id="being deleted"),
        pytest.param({"type": "ClusterIP", "finalizers": CLAIMED, **GOING}, {}, CLEANUP, id="going, other type"),
        pytest.param(GOING, {}, NEITHER, id="being deleted, released already"),
        pytest.param(GOING, LABELLED, CLEANUP, id="being deleted, and another controller took the finalizer"),
        pytest.param({"finalizers": FOREIGN, **GOING}, {}, NEITHER, id="being deleted, held by somebody else"),
        pytest.param({"type": "ClusterIP", "finalizers": FOREIGN}, {}, NEITHER, id="another finalizer"),
        pytest.param({"type": "ExternalName"}, LABELLED, CLEANUP, id="of another type, unclaimed, labelled"),
        pytest.param({"type": "ClusterIP", **SERVED}, {}, NEITHER, id="of another type, released but for conditions"),
        pytest.param(OTHER, {}, NEITHER, id="of another class"),
        pytest.param({"load_balancer_class": ""}, {}, NEITHER, id="an empty class is one"),
        pytest.param(OTHER | {"finalizers": CLAIMED}, {}, NEITHER, id="of a class, its own finalizer"),
        pytest.param(OTHER | {"finalizers": CLAIMED, **GOING}, {}, NEITHER, id="of a class, its own finalizer, going"),
        pytest.param(OTHER | SERVED, {}, NEITHER, id="of a class, conditions alone"),
        pytest.param(OTHER | SERVED | {"finalizers": CLAIMED}, {}, CLEANUP, id="of a class, claimed here before"),
        pytest.param(OTHER, LABELLED, CLEANUP, id="of a class, labelled"),
        pytest.param({"load_balancer_class": "", **GOING}, LABELLED, CLEANUP, id="of an empty class, going, labelled"),
    ],
)
def test_who_wants_and_who_lets_go(
    service: dict[str, Any], labelled: dict[str, bool], verdict: tuple[bool, bool]
) -> None:
    """Never both; and the finalizer of a Service of another class, of which nothing is ours, is its controller's."""
    found = a_service(**service)

    assert (wants_balancer(found), needs_cleanup(found, **labelled)) == verdict
    assert matters(found) is (wants_balancer(found) or FINALIZER_BALANCER in found.finalizers)


@pytest.mark.parametrize(
    ("options", "defaults", "uses"),
    [
        pytest.param({}, Options(), False, id="tcp"),
        pytest.param({"protocol": "http"}, Options(), False, id="http"),
        pytest.param({"protocol": "HTTPS"}, Options(), True, id="https"),
        pytest.param({"protocol": "gopher", "http_certificates": "1"}, Options(), False, id="unreadable"),
        pytest.param({"certificate_type": "managed"}, Options(), False, id="managed without https"),
        pytest.param({"protocol": "https", "health_check_port": "0"}, Options(), True, id="https and a mistake"),
    ],
)
def test_who_uses_certificates(options: dict[str, str], defaults: Options, uses: bool) -> None:
    """Whoever speaks https, and nobody else; a Service that lets go needs none."""
    service = a_service(claim=a_claim(annotations=annotated(**options)))

    assert uses_certificates(service, defaults) is uses
    going = a_service(claim=service.claim, finalizers=CLAIMED, deleted_at=NOW)
    assert not uses_certificates(going, defaults)


def naming(name: str, uid: str = "other", **options: str) -> Service:
    """A Service with these annotations."""
    return a_service(name, uid=uid, claim=a_claim(annotations=annotated(**options)))


LARGE = Options(type="lb31")


@pytest.mark.parametrize(
    ("services", "balancers", "defaults", "types"),
    [
        pytest.param([], [], LARGE, set(), id="no Service"),
        pytest.param([a_service()], [], Options(), {"lb11"}, id="to be created"),
        pytest.param([a_service()], [a_balancer()], Options(), set(), id="there, and keeps its type"),
        pytest.param([naming("web")], [a_balancer()], Options(), {"lb11"}, id="another one's is there"),
        pytest.param([a_service()], [a_balancer()], LARGE, {"lb31"}, id="of the environment"),
        pytest.param([naming("web", type="lb21")], [], LARGE, {"lb21"}, id="the annotation wins"),
        pytest.param([naming("web", type="")], [], LARGE, {"lb11"}, id="an empty one is none"),
        pytest.param([naming("a", type="lb21"), naming("b", type="x")], [], LARGE, {"lb21", "x"}, id="several"),
        pytest.param([a_service(type="ClusterIP")], [], LARGE, set(), id="of another type"),
        pytest.param([a_service(finalizers=CLAIMED, deleted_at=NOW)], [], LARGE, set(), id="releasing"),
    ],
)
def test_types(services: list[Service], balancers: list[CloudBalancer], defaults: Options, types: set[str]) -> None:
    """A type is asked for by name, or is the default one of a load balancer that is still to be created."""
    assert wanted_types(services, balancers, defaults) == types
