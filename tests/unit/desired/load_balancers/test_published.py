"""Addresses in the status of a Service, and changes that rest on the absence of a load balancer."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

from desired.annotations.options import Options
from desired.annotations.reading import Requested
from desired.load_balancers.published import desired_ingress, rests_on_absence, same_ingress
from desired.model.load_balancer import NO_OWNER, Attachment, CloudBalancer
from desired.model.service import Ingress
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Change, Claimed
from desired.section import UNMANAGED, Unmanaged
from tests.balancers import a_balancer, a_listener, a_served_service, a_service, a_world
from tests.support.balancer_changes import BALANCER, SERVICE, a_difference
from tests.support.rows import rows

IPV4, IPV6 = Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")
INSIDE, ELSEWHERE = Ingress("10.0.0.9", ip_mode="VIP"), Ingress("10.1.0.9", ip_mode="VIP")
IN_NETWORK = (Attachment(7, IPv4Address("10.0.0.9")),)
IN_TWO = (*IN_NETWORK, Attachment(8, IPv4Address("10.1.0.9")))
NOT_PUBLIC = {"public_interface": False}
ATTACHED = a_balancer(attachments=IN_NETWORK)
INTERNAL = a_balancer(attachments=IN_NETWORK, spec=NOT_PUBLIC)
UNREACHABLE = a_balancer(spec=NOT_PUBLIC)


@rows("options balancer expected", {
    "no-ipv4-yet": (Options(), a_balancer(ipv4=None), (IPV6,)),
    "in-two-networks": (Options(), a_balancer(attachments=IN_TWO), (IPV4, IPV6, INSIDE, ELSEWHERE)),
    "private-ingress-disabled": (Options(disable_private_ingress=True), ATTACHED, (IPV4, IPV6)),
    "ipv6-disabled-in-a-network": (Options(ipv6_disabled=True), ATTACHED, (IPV4, INSIDE)),
    "no-private-ip-yet": (Options(), a_balancer(attachments=(Attachment(7),)), (IPV4, IPV6)),
    "everything-disabled": (Options(disable_private_ingress=True), INTERNAL, ()),
    "nothing-there": (Options(), UNREACHABLE, UNMANAGED),
    "empty-hostname": (Options(hostname=""), a_balancer(), (Ingress(hostname=""),)),
    "hostname-of-no-address": (Options(hostname="a.b"), UNREACHABLE, (Ingress(hostname="a.b"),)),
})  # fmt: skip
def test_entries(options: Options, balancer: CloudBalancer, expected: tuple[Ingress, ...] | Unmanaged) -> None:
    assert desired_ingress(Requested(options), balancer) == expected


@rows("asked spoken mode", {
    "switched-off-and-still-spoken": (False, [True, True], "Proxy"),
    "asked-for-and-not-spoken-yet": (True, [False], "VIP"),
    "no-port-yet": (True, [], "Proxy"),
})  # fmt: skip
def test_mode(asked: bool | Unmanaged, spoken: list[bool], mode: str) -> None:
    """The mode is what the ports really do, alike for every address."""
    listeners = [a_listener(80 + index, proxyprotocol=on) for index, on in enumerate(spoken)]
    balancer = a_balancer(listeners=listeners, attachments=IN_NETWORK)
    ingress = desired_ingress(Requested(Options(uses_proxyprotocol=asked)), balancer)
    assert isinstance(ingress, tuple)
    assert [entry.ip_mode for entry in ingress] == [mode] * 3


@rows("present wanted same", {
    "another-order": ((IPV6, IPV4), (IPV4, IPV6), False),
    "ipv6-in-other-words": ((Ingress("2001:DB8:0::0200", ip_mode="VIP"),), (IPV6,), True),
    "the-same-nonsense": ((Ingress("nonsense"),), (Ingress("nonsense"),), True),
    "no-mode-is-vip": ((Ingress("203.0.113.200"),), (IPV4,), True),
    "another-mode": ((Ingress(IPV4.ip, ip_mode="Proxy"),), (IPV4,), False),
    "with-ports": ((Ingress(IPV4.ip, ip_mode="VIP", has_ports=True),), (IPV4,), False),
    "with-a-hostname-as-well": ((Ingress(IPV4.ip, "a.b", "VIP"),), (IPV4,), False),
    "hostnames-are-exact": ((Ingress(hostname="A.b"),), (Ingress(hostname="a.b"),), False),
    "an-empty-entry": ((Ingress(),), (Ingress(hostname=""),), True),
})  # fmt: skip
def test_same(present: tuple[Ingress, ...], wanted: tuple[Ingress, ...], same: bool) -> None:
    assert same_ingress(present, wanted) is same


def test_what_was_published_is_wanted_again() -> None:
    """A Service that HCCM has converged needs no write."""
    wanted = desired_ingress(Requested(Options()), a_balancer())
    assert isinstance(wanted, tuple)
    assert same_ingress(a_served_service().ingress, wanted)


LISTED, UNLISTED, OTHER = Ingress("203.0.113.200"), Ingress("203.0.113.9"), Ingress("203.0.113.7")
CREATION = a_difference(BALANCER, "lb.create", None, a_balancer().spec, "a test wants it")
ADOPTION = a_difference(BALANCER, "lb.adopt", NO_OWNER, replace(NO_OWNER, service_uid="x"), "it has the name")
ALGORITHM = a_difference(f"{BALANCER}/algorithm", "lb.algorithm", "a", "b", "a test wants it")


def release(*needs: str) -> Change:
    before = Claimed(FINALIZER_BALANCER, ())
    return a_difference(f"{SERVICE}/release", "service.release", before, None, "it goes", depends_on=needs)


def status(before: tuple[Ingress, ...], *after: Ingress) -> Change:
    return a_difference(f"{SERVICE}/status", "service.status", before, after, "a test wants it")


@rows("change service expected", {
    "a Service with a finalizer gets one": (CREATION, {"finalizers": (FINALIZER_BALANCER,)}, True),
    "a Service that publishes an address gets one": (CREATION, {"ingress": (UNLISTED,)}, True),
    "a release without a load balancer": (release(), {}, True),
    "a release after something else": (release("certificate/default/web"), {}, True),
    # Nothing is asked: reads may lag behind.
    "a release after a deletion": (release(BALANCER), {}, False),
    "a release after a retention": (release(f"{BALANCER}/retain"), {}, False),
    "another address than a listed one": (status((LISTED,), OTHER), {"ingress": (LISTED,)}, False),
    "another address than an unlisted one": (status((UNLISTED,), OTHER), {"ingress": (UNLISTED,)}, True),
    "nothing instead of an unlisted one": (status((UNLISTED,)), {"ingress": (UNLISTED,)}, True),
    "one of two is listed": (status((UNLISTED, LISTED), OTHER), {"ingress": (UNLISTED, LISTED)}, False),
    "an adoption with a listed address": (ADOPTION, {"ingress": (LISTED,)}, False),
    "an adoption with an unlisted address": (ADOPTION, {"ingress": (UNLISTED,)}, True),
    "another change": (ALGORITHM, {"finalizers": (FINALIZER_BALANCER,), "ingress": (UNLISTED,)}, False),
})  # fmt: skip
def test_rests_on_absence(change: Change, service: dict[str, Any], expected: bool) -> None:
    assert rests_on_absence(change, a_world([a_service(**service)], [a_balancer()])) is expected
