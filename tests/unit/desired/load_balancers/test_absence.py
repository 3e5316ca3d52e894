"""Which changes rest on the absence of a load balancer, case by case."""

from dataclasses import replace
from typing import Any

from desired.load_balancers.published import rests_on_absence
from desired.model.load_balancer import NO_OWNER
from desired.model.service import Ingress
from desired.names import FINALIZER_BALANCER, FINALIZER_OWN_CLASS
from desired.plan.change import Change, Claimed
from tests.balancers import a_balancer, a_service, a_world
from tests.support.balancer_changes import BALANCER, SERVICE, a_difference
from tests.support.rows import rows

LISTED, UNLISTED, OTHER = Ingress("203.0.113.200"), Ingress("203.0.113.9"), Ingress("203.0.113.7")
CREATION = a_difference(BALANCER, "lb.create", None, a_balancer().spec, "a test wants it")
RELEASE = a_difference(f"{SERVICE}/release", "service.release", Claimed(FINALIZER_BALANCER, ()), None, "it goes")
ADOPTION = a_difference(BALANCER, "lb.adopt", NO_OWNER, replace(NO_OWNER, service_uid="x"), "it has the name")
ALGORITHM = a_difference(f"{BALANCER}/algorithm", "lb.algorithm", "a", "b", "a test wants it")


def status(before: tuple[Ingress, ...], *after: Ingress) -> Change:
    return a_difference(f"{SERVICE}/status", "service.status", before, after, "a test wants it")


@rows("change service expected", {
    "a new Service gets one": (CREATION, {}, False),
    "a Service with a finalizer gets one": (CREATION, {"finalizers": (FINALIZER_BALANCER,)}, True),
    "a Service with the finalizer of a class gets one": (CREATION, {"finalizers": (FINALIZER_OWN_CLASS,)}, True),
    "a Service with the finalizer of another owner gets one": (CREATION, {"finalizers": ("example.com/x",)}, False),
    "a Service that publishes an address gets one": (CREATION, {"ingress": (UNLISTED,)}, True),
    "a Service that publishes a name gets one": (CREATION, {"ingress": (Ingress(hostname="x"),)}, True),
    "a release without a load balancer": (RELEASE, {}, True),
    "a first address": (status((), LISTED), {}, False),
    "one more address": (status((UNLISTED,), UNLISTED, OTHER), {"ingress": (UNLISTED,)}, False),
    "another address than a listed one": (status((LISTED,), OTHER), {"ingress": (LISTED,)}, False),
    "another address than an unlisted one": (status((UNLISTED,), OTHER), {"ingress": (UNLISTED,)}, True),
    "nothing instead of an unlisted one": (status((UNLISTED,)), {"ingress": (UNLISTED,)}, True),
    "one of two is listed": (status((UNLISTED, LISTED), OTHER), {"ingress": (UNLISTED, LISTED)}, False),
    "an adoption without a published address": (ADOPTION, {"finalizers": (FINALIZER_BALANCER,)}, False),
    "an adoption with a listed address": (ADOPTION, {"ingress": (LISTED,)}, False),
    "an adoption with an unlisted address": (ADOPTION, {"ingress": (UNLISTED,)}, True),
    "an adoption with a published name": (ADOPTION, {"ingress": (Ingress(hostname="x"),)}, False),
    "another change": (ALGORITHM, {"finalizers": (FINALIZER_BALANCER,), "ingress": (UNLISTED,)}, False),
})  # fmt: skip
def test_rests_on_absence(change: Change, service: dict[str, Any], expected: bool) -> None:
    assert rests_on_absence(change, a_world([a_service(**service)], [a_balancer()])) is expected


@rows("needs expected", {"its deletion": ((BALANCER,), False), "its retention": ((f"{BALANCER}/retain",), False),
    "something else": (("certificate/default/web",), True)})  # fmt: skip
def test_a_release_after_its_load_balancer(needs: tuple[str, ...], expected: bool) -> None:
    """Nothing is asked: reads may lag behind."""
    change = a_difference(
        f"{SERVICE}/release", "service.release", Claimed(FINALIZER_BALANCER, ()), None, "it goes", depends_on=needs
    )
    assert rests_on_absence(change, a_world([a_service()])) is expected
