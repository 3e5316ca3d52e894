"""Changes of the load balancer of one Service, ``default/web``, as the rules would plan them."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from desired.annotations.choices import Algorithm, Protocol
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    HealthCheck,
    HttpOptions,
    Listener,
    LoadBalancer,
    Owner,
    ServerTarget,
)
from desired.model.service import Ingress
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, State
from desired.plan.kinds import ChangeKind, Verb
from desired.rules import load_balancer_changes as rules
from desired.syntax.provider_id import Provider, ServerKey
from tests.balancers import DEFAULT_NAME, SERVICE_UID
from tests.builders import CLUSTER_UID
from tests.support.keys import key_of

SERVICE = "service/default/web"
BALANCER = "load_balancer/default/web"
OURS = Owner(CLUSTER_UID, SERVICE_UID)


def a_wish(port: int, node_port: int, protocol: Protocol = Protocol.TCP, http: HttpOptions | None = None) -> Listener:
    return Listener(port, node_port, protocol, HealthCheck(Protocol.TCP, node_port), http=http)


def a_difference(
    key: str, kind: str, before: State | None, after: State | None, reason: str, *consequences: str, **more: Any
) -> Change:
    """A change that serves ``default/web``; its class follows from its sides."""
    verb = Verb.ADD if before is None else Verb.REMOVE if after is None else Verb.MODIFY
    exists = kind.startswith("lb.") and kind != "lb.create"
    return Change(
        key_of(key),
        ChangeKind(kind),
        **{"verb": verb, "cloud_id": 42 if exists else None} | more,
        before=before,
        after=after,
        reason=reason,
        owner=key_of(SERVICE),
        consequences=consequences,
    )


def a_part(
    part: str, before: State | None, after: State | None, reason: str, *consequences: str, **more: Any
) -> Change:
    """The change of a part of the load balancer, ``listener/80``."""
    name = part.split("/", 1)[0]
    kind = "lb.public_interface" if name == "public" else f"lb.{name}"
    ends = (side.server_id for side in (before, after) if isinstance(side, ServerTarget))
    more = {"server": next((ServerKey(Provider.CLOUD, server_id) for server_id in ends), None)} | more
    return a_difference(f"{BALANCER}/{part}", kind, before, after, reason, *consequences, **more)


CLAIM = a_difference(f"{SERVICE}/finalizer", "service.claim", False, True, rules.CLAIMED.text(), verb=Verb.ADD)
PUBLISH = a_difference(
    f"{SERVICE}/status", "service.status", (), KNOWN_AFTER_APPLY, rules.PUBLISHED_NEW.text(), depends_on=(BALANCER,)
)


def a_publication(*ingress: Ingress, **more: Any) -> Change:
    """What is published of a load balancer that is there."""
    return replace(PUBLISH, after=ingress, reason=rules.PUBLISHED_AS_IS.text(balancer=42), cloud_id=42, **more)


def an_adoption(before: Owner, *consequences: str, outlives: bool = False) -> Change:
    """The adoption of a load balancer that somebody else, or nobody, owns."""
    mark, kept = ("true", "; not created for the Service, kept after it") if outlives else (None, "")
    there, after = replace(before, balancer_id=42), replace(OURS, balancer_id=42, adopted=mark)
    why = rules.ADOPTED_BY_NAME.text(balancer=42, name="shop", kept=kept)
    return a_difference(BALANCER, "lb.adopt", there, after, why, *consequences, depends_on=(CLAIM.key,))


def a_creation(targets: int = 3, *listeners: Listener) -> Change:
    """The creation of an lb11 in the private network, with so many targets."""
    wanted = LoadBalancer(
        DEFAULT_NAME,
        MappingProxyType({LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}),
        "lb11",
        location="fsn1",
        algorithm=Algorithm.LEAST_CONNECTIONS,
        attachment=Attachment(7),
        listeners=MappingProxyType({listener.port: listener for listener in listeners or (a_wish(80, 30080),)}),
        targets=frozenset(ServerTarget(n, use_private_ip=True) for n in range(1, targets + 1)),
    )
    why = rules.CREATED.text(service="default/web")
    return a_difference(BALANCER, "lb.create", None, wanted, why, depends_on=(CLAIM.key,))
