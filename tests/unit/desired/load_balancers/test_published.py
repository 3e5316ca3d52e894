"""What a Service publishes of its load balancer."""

from ipaddress import IPv4Address

from desired.annotations.options import Options
from desired.annotations.reading import Requested
from desired.load_balancers.published import desired_ingress, same_ingress
from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.service import Ingress
from desired.section import UNMANAGED, Unmanaged
from tests.balancers import a_balancer, a_listener, a_served_service
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
    "public": (Options(), a_balancer(), (IPV4, IPV6)),
    "no-ipv6-yet": (Options(), a_balancer(ipv6=None), (IPV4,)),
    "no-ipv4-yet": (Options(), a_balancer(ipv4=None), (IPV6,)),
    "ipv6-disabled": (Options(ipv6_disabled=True), a_balancer(), (IPV4,)),
    "in-a-network": (Options(), ATTACHED, (IPV4, IPV6, INSIDE)),
    "in-two-networks": (Options(), a_balancer(attachments=IN_TWO), (IPV4, IPV6, INSIDE, ELSEWHERE)),
    "private-ingress-disabled": (Options(disable_private_ingress=True), ATTACHED, (IPV4, IPV6)),
    "ipv6-disabled-in-a-network": (Options(ipv6_disabled=True), ATTACHED, (IPV4, INSIDE)),
    "public-interface-off": (Options(), INTERNAL, (INSIDE,)),
    "to-be-switched-off": (Options(disable_public_network=True), ATTACHED, (IPV4, IPV6, INSIDE)),
    "no-private-ip-yet": (Options(), a_balancer(attachments=(Attachment(7),)), (IPV4, IPV6)),
    "everything-disabled": (Options(disable_private_ingress=True), INTERNAL, ()),
    "everything-disabled-in-no-network": (Options(disable_private_ingress=True), UNREACHABLE, ()),
    "nothing-there": (Options(), UNREACHABLE, UNMANAGED),
    "hostname": (Options(hostname="lb.example.com"), ATTACHED, (Ingress(hostname="lb.example.com"),)),
    "empty-hostname": (Options(hostname=""), a_balancer(), (Ingress(hostname=""),)),
    "hostname-of-no-address": (Options(hostname="a.b"), UNREACHABLE, (Ingress(hostname="a.b"),)),
})  # fmt: skip
def test_entries(options: Options, balancer: CloudBalancer, expected: tuple[Ingress, ...] | Unmanaged) -> None:
    """What the load balancer has, in this order; nothing only where nothing is to reach it."""
    assert desired_ingress(Requested(options), balancer) == expected


@rows("asked spoken mode", {
    "nobody-speaks-it": (UNMANAGED, [False, False], "VIP"),
    "still-spoken-after-the-annotation-went": (UNMANAGED, [True, True], "Proxy"),
    "switched-off-and-still-spoken": (False, [True, True], "Proxy"),
    "one-port-left-to-switch": (False, [False, True], "Proxy"),
    "asked-for-and-not-spoken-yet": (True, [False], "VIP"),
    "asked-for-and-spoken": (True, [True], "Proxy"),
    "no-port-yet": (True, [], "Proxy"),
    "no-port-and-switched-off": (False, [], "VIP"),
    "no-port-and-unset": (UNMANAGED, [], "VIP"),
})  # fmt: skip
def test_mode(asked: bool | Unmanaged, spoken: list[bool], mode: str) -> None:
    """The mode is what the ports really do, alike for every address."""
    listeners = [a_listener(80 + index, proxyprotocol=on) for index, on in enumerate(spoken)]
    balancer = a_balancer(listeners=listeners, attachments=IN_NETWORK)
    ingress = desired_ingress(Requested(Options(uses_proxyprotocol=asked)), balancer)
    assert isinstance(ingress, tuple)
    assert [entry.ip_mode for entry in ingress] == [mode] * 3


@rows("present wanted same", {
    "both-empty": ((), (), True),
    "nothing-published": ((), (IPV4,), False),
    "equal": ((IPV4, IPV6), (IPV4, IPV6), True),
    "one-lacks": ((IPV4,), (IPV4, IPV6), False),
    "one-too-many": ((IPV4, IPV6), (IPV4,), False),
    "another-order": ((IPV6, IPV4), (IPV4, IPV6), False),
    "twice": ((IPV4, IPV4), (IPV4,), False),
    "ipv6-in-other-words": ((Ingress("2001:DB8:0::0200", ip_mode="VIP"),), (IPV6,), True),
    "ipv4-dressed-as-ipv6": ((Ingress("::ffff:203.0.113.200", ip_mode="VIP"),), (IPV4,), False),
    "another-address": ((Ingress("203.0.113.201", ip_mode="VIP"),), (IPV4,), False),
    "no-address": ((Ingress("203.0.113.0200", ip_mode="VIP"),), (IPV4,), False),
    "the-same-nonsense": ((Ingress("nonsense"),), (Ingress("nonsense"),), True),
    "no-mode-is-vip": ((Ingress("203.0.113.200"),), (IPV4,), True),
    "no-mode-is-not-proxy": ((Ingress("203.0.113.200"),), (Ingress(IPV4.ip, ip_mode="Proxy"),), False),
    "another-mode": ((Ingress(IPV4.ip, ip_mode="Proxy"),), (IPV4,), False),
    "with-ports": ((Ingress(IPV4.ip, ip_mode="VIP", has_ports=True),), (IPV4,), False),
    "with-a-hostname-as-well": ((Ingress(IPV4.ip, "a.b", "VIP"),), (IPV4,), False),
    "equal-hostnames": ((Ingress(hostname="a.b"),), (Ingress(hostname="a.b"),), True),
    "hostnames-are-exact": ((Ingress(hostname="A.b"),), (Ingress(hostname="a.b"),), False),
    "an-empty-entry": ((Ingress(),), (Ingress(hostname=""),), True),
    "no-entry-is-no-empty-entry": ((), (Ingress(hostname=""),), False),
})  # fmt: skip
def test_same(present: tuple[Ingress, ...], wanted: tuple[Ingress, ...], same: bool) -> None:
    """Entries are compared in their order, by what they mean."""
    assert same_ingress(present, wanted) is same


def test_what_was_published_is_wanted_again() -> None:
    """A Service that HCCM has converged needs no write."""
    wanted = desired_ingress(Requested(Options()), a_balancer())
    assert isinstance(wanted, tuple)
    assert same_ingress(a_served_service().ingress, wanted)
