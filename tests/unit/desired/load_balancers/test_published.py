"""What a Service publishes of its load balancer."""

from ipaddress import IPv4Address

import pytest

from desired.annotations.options import Options
from desired.load_balancers.published import desired_ingress, same_ingress
from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.service import Ingress
from desired.section import UNMANAGED, Unmanaged
from tests.balancers import a_balancer, a_listener, a_served_service

IPV4, IPV6 = Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")
INSIDE, ELSEWHERE = Ingress("10.0.0.9", ip_mode="VIP"), Ingress("10.1.0.9", ip_mode="VIP")
IN_NETWORK = (Attachment(7, IPv4Address("10.0.0.9")),)
IN_TWO = (*IN_NETWORK, Attachment(8, IPv4Address("10.1.0.9")))
NOT_PUBLIC = {"public_interface": False}
ATTACHED = a_balancer(attachments=IN_NETWORK)
INTERNAL = a_balancer(attachments=IN_NETWORK, spec=NOT_PUBLIC)
UNREACHABLE = a_balancer(spec=NOT_PUBLIC)


@pytest.mark.parametrize(
    ("options", "balancer", "expected"),
    [
        pytest.param(Options(), a_balancer(), (IPV4, IPV6), id="public"),
        pytest.param(Options(), a_balancer(ipv6=None), (IPV4,), id="no-ipv6-yet"),
        pytest.param(Options(), a_balancer(ipv4=None), (IPV6,), id="no-ipv4-yet"),
        pytest.param(Options(ipv6_disabled=True), a_balancer(), (IPV4,), id="ipv6-disabled"),
        pytest.param(Options(), ATTACHED, (IPV4, IPV6, INSIDE), id="in-a-network"),
        pytest.param(Options(), a_balancer(attachments=IN_TWO), (IPV4, IPV6, INSIDE, ELSEWHERE), id="in-two-networks"),
        pytest.param(Options(disable_private_ingress=True), ATTACHED, (IPV4, IPV6), id="private-ingress-disabled"),
        pytest.param(Options(ipv6_disabled=True), ATTACHED, (IPV4, INSIDE), id="ipv6-disabled-in-a-network"),
        pytest.param(Options(), INTERNAL, (INSIDE,), id="public-interface-off"),
        pytest.param(Options(disable_public_network=True), ATTACHED, (IPV4, IPV6, INSIDE), id="to-be-switched-off"),
        pytest.param(Options(), a_balancer(attachments=(Attachment(7),)), (IPV4, IPV6), id="no-private-ip-yet"),
        pytest.param(Options(disable_private_ingress=True), INTERNAL, (), id="everything-disabled"),
        pytest.param(Options(disable_private_ingress=True), UNREACHABLE, (), id="everything-disabled-in-no-network"),
        pytest.param(Options(), UNREACHABLE, UNMANAGED, id="nothing-there"),
        pytest.param(
            Options(hostname="lb.example.com"), ATTACHED, (Ingress(hostname="lb.example.com"),), id="hostname"
        ),
        pytest.param(Options(hostname=""), a_balancer(), (Ingress(hostname=""),), id="empty-hostname"),
        pytest.param(Options(hostname="a.b"), UNREACHABLE, (Ingress(hostname="a.b"),), id="hostname-of-no-address"),
    ],
)
def test_entries(options: Options, balancer: CloudBalancer, expected: tuple[Ingress, ...] | Unmanaged) -> None:
    """What the load balancer has, in this order; nothing only where nothing is to reach it."""
    assert desired_ingress(options, balancer) == expected


@pytest.mark.parametrize(
    ("asked", "spoken", "mode"),
    [
        pytest.param(UNMANAGED, [False, False], "VIP", id="nobody-speaks-it"),
        pytest.param(UNMANAGED, [True, True], "Proxy", id="still-spoken-after-the-annotation-went"),
        pytest.param(False, [True, True], "Proxy", id="switched-off-and-still-spoken"),
        pytest.param(False, [False, True], "Proxy", id="one-port-left-to-switch"),
        pytest.param(True, [False], "VIP", id="asked-for-and-not-spoken-yet"),
        pytest.param(True, [True], "Proxy", id="asked-for-and-spoken"),
        pytest.param(True, [], "Proxy", id="no-port-yet"),
        pytest.param(False, [], "VIP", id="no-port-and-switched-off"),
        pytest.param(UNMANAGED, [], "VIP", id="no-port-and-unset"),
    ],
)
def test_mode(asked: bool | Unmanaged, spoken: list[bool], mode: str) -> None:
    """The mode is what the ports really do, alike for every address."""
    listeners = [a_listener(80 + index, proxyprotocol=on) for index, on in enumerate(spoken)]
    balancer = a_balancer(listeners=listeners, attachments=IN_NETWORK)
    ingress = desired_ingress(Options(uses_proxyprotocol=asked), balancer)
    assert isinstance(ingress, tuple)
    assert [entry.ip_mode for entry in ingress] == [mode] * 3


@pytest.mark.parametrize(
    ("present", "wanted", "same"),
    [
        pytest.param((), (), True, id="both-empty"),
        pytest.param((), (IPV4,), False, id="nothing-published"),
        pytest.param((IPV4, IPV6), (IPV4, IPV6), True, id="equal"),
        pytest.param((IPV4,), (IPV4, IPV6), False, id="one-lacks"),
        pytest.param((IPV4, IPV6), (IPV4,), False, id="one-too-many"),
        pytest.param((IPV6, IPV4), (IPV4, IPV6), False, id="another-order"),
        pytest.param((IPV4, IPV4), (IPV4,), False, id="twice"),
        pytest.param((Ingress("2001:DB8:0::0200", ip_mode="VIP"),), (IPV6,), True, id="ipv6-in-other-words"),
        pytest.param((Ingress("::ffff:203.0.113.200", ip_mode="VIP"),), (IPV4,), False, id="ipv4-dressed-as-ipv6"),
        pytest.param((Ingress("203.0.113.201", ip_mode="VIP"),), (IPV4,), False, id="another-address"),
        pytest.param((Ingress("203.0.113.0200", ip_mode="VIP"),), (IPV4,), False, id="no-address"),
        pytest.param((Ingress("nonsense"),), (Ingress("nonsense"),), True, id="the-same-nonsense"),
        pytest.param((Ingress("203.0.113.200"),), (IPV4,), True, id="no-mode-is-vip"),
        pytest.param(
            (Ingress("203.0.113.200"),), (Ingress(IPV4.ip, ip_mode="Proxy"),), False, id="no-mode-is-not-proxy"
        ),
        pytest.param((Ingress(IPV4.ip, ip_mode="Proxy"),), (IPV4,), False, id="another-mode"),
        pytest.param((Ingress(IPV4.ip, ip_mode="VIP", has_ports=True),), (IPV4,), False, id="with-ports"),
        pytest.param((Ingress(IPV4.ip, "a.b", "VIP"),), (IPV4,), False, id="with-a-hostname-as-well"),
        pytest.param((Ingress(hostname="a.b"),), (Ingress(hostname="a.b"),), True, id="equal-hostnames"),
        pytest.param((Ingress(hostname="A.b"),), (Ingress(hostname="a.b"),), False, id="hostnames-are-exact"),
        pytest.param((Ingress(),), (Ingress(hostname=""),), True, id="an-empty-entry"),
        pytest.param((), (Ingress(hostname=""),), False, id="no-entry-is-no-empty-entry"),
    ],
)
def test_same(present: tuple[Ingress, ...], wanted: tuple[Ingress, ...], same: bool) -> None:
    """Entries are compared in their order, by what they mean."""
    assert same_ingress(present, wanted) is same


def test_what_was_published_is_wanted_again() -> None:
    """A Service that HCCM has converged needs no write."""
    wanted = desired_ingress(Options(), a_balancer())
    assert isinstance(wanted, tuple)
    assert same_ingress(a_served_service().ingress, wanted)
