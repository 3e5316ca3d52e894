"""The ports of a Service and of its load balancer: which of them lead where, and why others do not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import PREFIX
from desired.explain.parts import ListenerFact, shown_listener
from desired.model.load_balancer import KNOWN_AFTER_APPLY, HttpOptions, Listener
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.plan.kinds import Verb
from desired.section import UNMANAGED
from tests.balancers import (
    LB11,
    LOCATED,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_served_service,
    a_service,
    a_world,
    an_http_listener,
    annotated,
)
from tests.builders import NOW
from tests.support.service_explanations import RIVAL_UID, of_the_service

OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)
LEADS = "tcp to node port 30080"
NOTHING = "nothing is planned for it as things are"
SHOP = a_claim(annotations=annotated(name="shop"))
HTTPS = annotated(protocol="https", http_certificates="shop")


def listeners(snapshot: Snapshot, settings: Settings = LOCATED) -> Mapping[tuple[int, str], ListenerFact]:
    """Port and protocol → what is said of it."""
    return {(fact.port, fact.protocol): fact for fact in of_the_service(snapshot, settings).listeners}


def port(number: int, node_port: int = 30080, protocol: str = "TCP") -> ClaimedPort:
    """A port of a Service."""
    return ClaimedPort(number, protocol, node_port)


@pytest.mark.parametrize(
    ("snapshot", "settings", "sides", "planned", "why"),
    [
        pytest.param(
            a_world([a_served_service()], [a_balancer()]),
            LOCATED,
            (LEADS, LEADS),
            None,
            "as the Service asks",
            id="as-it-should-be",
        ),
        pytest.param(
            a_world([a_service()]), LOCATED, (None, LEADS), Verb.ADD, "comes with the load balancer", id="new"
        ),
        pytest.param(
            a_world([a_service()]),
            OBSERVE,
            (None, LEADS),
            Verb.ADD,
            "comes with the load balancer; waiting (policy)",
            id="new-and-withheld",
        ),
        pytest.param(
            a_world([a_served_service()], [a_balancer(listeners=())]),
            LOCATED,
            (None, LEADS),
            Verb.ADD,
            "the Service has port 80",
            id="comes",
        ),
        pytest.param(
            a_world([a_served_service()], [a_balancer(listeners=[a_listener(80, 31000)])]),
            LOCATED,
            ("tcp to node port 31000", LEADS),
            Verb.MODIFY,
            "differs from what the Service asks of port 80",
            id="changes",
        ),
        pytest.param(
            a_world(
                [a_served_service(claim=a_claim(annotations=annotated(health_check_interval="5s")))], [a_balancer()]
            ),
            LOCATED,
            (LEADS, LEADS),
            Verb.MODIFY,
            "differs from what the Service asks of port 80",
            id="changes-out-of-sight",
        ),
        pytest.param(
            a_world([a_service(claim=a_claim(port(80, 0)))]),
            LOCATED,
            (None, None),
            None,
            "waits for its node port, which the API server has still to choose",
            id="no-node-port-yet",
        ),
        pytest.param(
            a_world([a_service(claim=a_claim(port(80), annotations=annotated(protocol="udp")))]),
            LOCATED,
            (None, None),
            None,
            NOTHING,
            id="malformed",
        ),
        pytest.param(
            a_world([a_served_service(claim=a_claim(annotations=annotated(protocol="udp")))], [a_balancer()]),
            LOCATED,
            (LEADS, LEADS),
            None,
            "stays as it is",
            id="malformed-and-there",
        ),
        pytest.param(
            a_world(
                [a_served_service(claim=SHOP), a_service("api", uid=RIVAL_UID, claim=SHOP)],
                [a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shop"})],
            ),
            LOCATED,
            (None, None),
            None,
            NOTHING,
            id="contested",
        ),
        pytest.param(
            a_world([a_served_service(deleted_at=NOW)], [a_balancer()]),
            LOCATED,
            (LEADS, None),
            Verb.REMOVE,
            "goes with the load balancer",
            id="deleted",
        ),
        pytest.param(
            a_world([a_served_service(deleted_at=NOW)], [a_balancer(is_protected=True)]),
            LOCATED,
            (LEADS, LEADS),
            None,
            "stays with the load balancer, which is released",
            id="let-go",
        ),
    ],
)
def test_one_port(
    snapshot: Snapshot, settings: Settings, sides: tuple[str | None, str | None], planned: Verb | None, why: str
) -> None:
    """A port is told with what the load balancer does there now and then, and why."""
    fact = listeners(snapshot, settings)[80, "TCP"]

    assert ((fact.value, fact.wanted), fact.planned, fact.why) == (sides, planned, why)


def test_every_port_has_a_row() -> None:
    """Ports of both sides are told by number: those of other protocols, too, beside TCP on the same number."""
    claim = a_claim(port(443, 30443), port(53, 30053), port(53, 30053, "UDP"), port(9000, 30900, "SCTP"))
    balancer = a_balancer(listeners=[a_listener(53, 30053), a_listener(8080, 31080)])
    found = listeners(a_world([a_served_service(claim=claim)], [balancer]))

    assert list(found) == [(53, "TCP"), (53, "UDP"), (443, "TCP"), (8080, "TCP"), (9000, "SCTP")]
    assert found[8080, "TCP"].why == "the Service has no TCP port 8080"
    assert found[53, "UDP"].why == ("spec.ports[2].protocol is UDP: Hetzner balances TCP only, so port 53 is left out")
    assert [fact.planned for fact in found.values()] == [None, None, Verb.ADD, Verb.REMOVE, None]


def test_a_port_without_room() -> None:
    """A port for which the type has no room is told with the note's words."""
    claim = a_claim(port(80), port(81))
    small = a_balancer(type=replace(LB11, max_services=1))
    found = of_the_service(a_world([a_served_service(claim=claim)], [small]))
    fact = found.listeners[1]

    assert (fact.port, fact.value, fact.wanted) == (81, None, None)
    assert fact.why.startswith("port 81 is left out: ")
    assert fact.why in {note.text for note in found.notes}


UNNAMED = annotated(protocol="https")
MISSING = (
    f"waits for a certificate: {PREFIX}http-certificates: the project has no certificate named 'shop'; upload it, or"
)
MISSING += " name one that is there"


@pytest.mark.parametrize("there", [(), (an_http_listener(443, 30443),)], ids=["new", "there"])
@pytest.mark.parametrize(
    ("annotations", "why"),
    [
        pytest.param(HTTPS, MISSING, id="named"),
        pytest.param(
            UNNAMED,
            f"port 443 waits for a certificate; name one in {PREFIX}http-certificates, or set {PREFIX}certificate-type",
            id="not-named",
        ),
    ],
)
def test_a_port_without_a_certificate(there: tuple[Listener, ...], annotations: Mapping[str, str], why: str) -> None:
    """A port that waits for a certificate that is not there keeps what it has, and says so."""
    service = a_served_service(claim=a_claim(port(443, 30443), annotations=annotations))
    found = of_the_service(a_world([service], [a_balancer(listeners=there)], certificates=[]))
    (fact,) = found.listeners

    assert (fact.planned, fact.why) == (None, why)
    assert fact.value == fact.wanted == ("http to node port 30443" if there else None)


def test_a_port_with_its_certificate() -> None:
    """What the port gets is told with its certificates."""
    service = a_served_service(claim=a_claim(port(443, 30443), annotations=HTTPS))
    found = listeners(a_world([service], [a_balancer(listeners=())], certificates=[a_certificate()]))

    assert found[443, "TCP"].wanted == "https to node port 30443, certificate 5"


@pytest.mark.parametrize(
    ("certificates", "text"),
    [
        pytest.param((), "https to node port 30443", id="none"),
        pytest.param(UNMANAGED, "https to node port 30443", id="whatever-it-has"),
        pytest.param((5,), "https to node port 30443, certificate 5", id="one"),
        pytest.param((5, 6), "https to node port 30443, certificates 5, 6", id="several"),
        pytest.param(KNOWN_AFTER_APPLY, "https to node port 30443, with a certificate that is to come", id="to-come"),
    ],
)
def test_shown(certificates: Any, text: str) -> None:
    """A listener in short."""
    http = HttpOptions(certificates=certificates)

    assert shown_listener(a_listener(443, 30443, protocol=Protocol.HTTPS, http=http)) == text


@pytest.mark.parametrize("other", [{"load_balancer_class": "x"}, {"type": "ClusterIP"}])
def test_a_service_that_is_not_looked_after(other: Mapping[str, Any]) -> None:
    """Its ports are none of our business."""
    assert listeners(a_world([a_service(**other)])) == {}


def test_a_port_of_which_a_part_is_held() -> None:
    """What is asked for besides is made before, and is told."""
    http = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=False, sticky_sessions=False)
    there = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=http)
    service = a_served_service(claim=a_claim(port(443, 30555)))

    fact = listeners(a_world([service], [a_balancer(listeners=[there])]))[443, "TCP"]

    assert fact.why == (
        "differs from what the Service asks of port 443; held (listener-loss); before that https to node port 30555,"
        " certificate 5"
    )
