"""Chains that make, change and remove load balancers: how many passes, in which order, at which price."""

from collections.abc import Callable
from dataclasses import replace

from actuators.outcome import Applied
from desired.annotations.choices import DeletionPolicy
from reconciler.result import Result
from tests.balancers import IN_NETWORK, LOCATED, annotated
from tests.support.objects import NETWORK, server
from tests.support.passes import (
    BALANCER,
    SERVICE,
    Run,
    a_balanced_run,
    delete_service,
    just_before_the_writes,
    load_balancer_service,
    outcomes,
    published,
    written,
)
from tests.support.rows import rows
from tests.support.simulators import Simulation
from tests.support.world import SERVICES

Simulate = Callable[..., Simulation]
CHOSEN = annotated(use_private_ip="true", private_ipv4="10.0.0.50")
"""Annotations that take three passes: create, attach with that address, publish it."""
RETAIN = replace(LOCATED, balancer_defaults=replace(LOCATED.balancer_defaults, deletion_policy=DeletionPolicy.RETAIN))


def test_a_load_balancer_is_made(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    assert outcomes(report) == dict.fromkeys(
        [BALANCER, "node/web-2", f"{SERVICE}/finalizer", f"{SERVICE}/status"], Applied
    )
    assert written(run) == ["POST load_balancers"]
    assert run.ears.begun == 2
    (balancer,) = run.sim.balancers()
    assert {target["server"]["id"] for target in balancer["targets"]} == {1, 2}
    assert published(run) == [balancer["public_net"]["ipv4"]["ip"], balancer["public_net"]["ipv6"]["ip"]]
    assert ("web", "EnsuredLoadBalancer") in {(event.subject.name, event.reason) for event in run.ears.events}

    again = run.converge()
    assert (again.result, again.lines, written(run)) == (Result.NO_CHANGES, (), ["POST load_balancers"])


def test_a_switch_that_comes_with_another_network_ends(simulate: Simulate) -> None:
    """Public targets, and a place in network 5. Private ones are asked for by an annotation, network 7 by the setting:
    the move waits for an approval, and one target after the other is switched in the new network."""
    places = [(5, "10.5.0"), (7, "10.0.0")]
    nets = [[{"network": network, "ip": f"{ip}.{number + 1}"} for network, ip in places] for number in (1, 2)]
    other = {"type": "cloud", "ip_range": "10.5.0.0/24", "network_zone": "eu-central"}
    run = a_balanced_run(
        simulate,
        settings=replace(IN_NETWORK, network="5"),
        servers=[server(number, f"web-{number}", private_net=nets[number - 1]) for number in (1, 2)],
        networks=[NETWORK, {"id": 5, "name": "old", "ip_range": "10.5.0.0/16", "subnets": [other]}],
    )
    run.converge()
    assert where(run) == ([5], [(1, False), (2, False)])
    private = {"metadata": {"annotations": annotated(use_private_ip="true")}}
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", private)

    moved = Run(run.sim, IN_NETWORK)
    (hold,) = moved.converge().holds
    assert where(moved) == ([5], [(1, False), (2, False)])
    moved.approve(hold.hash)
    for _ in range(3):
        moved.converge()

    assert where(moved) == ([7], [(1, True), (2, True)])
    step = ["POST remove_target", "POST add_target"]
    assert [each for each in written(moved) if each.startswith("POST")] == [
        "POST detach_from_network",
        "POST attach_to_network",
        *step,
        *step,
    ]
    assert [change for change in moved.plan().lines if change.change.key.startswith(BALANCER)] == []


def where(run: Run) -> tuple[list[int], list[tuple[int, bool]]]:
    """The networks of the only load balancer, and its targets: server, and whether by its private address."""
    (found,) = run.sim.balancers()
    targets = sorted((target["server"]["id"], target["use_private_ip"]) for target in found["targets"])
    return [place["network"] for place in found["private_net"]], targets


def test_a_private_address_takes_all_rounds(simulate: Simulate) -> None:
    run = a_balanced_run(simulate, load_balancer_service(**CHOSEN), settings=IN_NETWORK)

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    assert run.ears.begun == 3
    assert written(run) == ["POST load_balancers", "POST attach_to_network", "POST add_target", "POST add_target"]
    assert "10.0.0.50" in published(run)
    assert run.converge().lines == ()


def test_a_switch_takes_a_round_for_each_step(simulate: Simulate) -> None:
    """One target, the other one, the end of the public interface: each waits for a look at the one before. What is
    left is published with the last."""
    run = a_balanced_run(simulate, settings=IN_NETWORK)
    run.converge()
    internal = annotated(use_private_ip="true", disable_public_network="true")
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": internal}})
    run.ears.begun = 0

    report = run.converge()

    assert (report.result, run.ears.begun) == (Result.NO_CHANGES, 3)
    (balancer,) = run.sim.balancers()
    assert (where(run), balancer["public_net"]["enabled"]) == (([7], [(1, True), (2, True)]), False)
    assert published(run) == [place["ip"] for place in balancer["private_net"]]


PRIMARY_IPS = [{"id": 7, "name": "four", "ip": "198.51.100.7"}, {"id": 8, "name": "six", "type": "ipv6"}]
NAMED = annotated(public_net_ipv4="7", public_net_ipv6="six")


def asked_about_addresses(run: Run) -> int:
    return sum(entry.path.startswith("/v1/primary_ips") for entry in run.sim.sent_to_hetzner())


@rows(
    "annotations requests is_kept", {"nobody names any": ({}, [0] * 5, False), "named": (NAMED, [2, 0, 2, 2, 0], True)}
)
def test_addresses_of_a_service_that_is_made_anew(
    simulate: Simulate, annotations: dict[str, str], requests: list[int], is_kept: bool
) -> None:
    """Primary IPs outlive the load balancer and come back. Each is asked for before a creation and before a deletion,
    not while nothing changes, and never where nobody names one."""
    service = load_balancer_service(**annotations)
    run = a_balanced_run(simulate, service, primary_ips=PRIMARY_IPS)
    counts, had = [], []

    def converge() -> None:
        before = asked_about_addresses(run)
        assert run.converge().result is Result.NO_CHANGES
        counts.append(asked_about_addresses(run) - before)

    converge()
    had.append(published(run))
    converge()
    delete_service(run.sim)
    converge()
    assert run.sim.balancers() == []
    run.sim.kubernetes_writer().create(SERVICES, service)
    converge()
    had.append(published(run))
    converge()

    assert counts == requests
    assert ("198.51.100.7" in had[0], had[0] == had[1]) == (is_kept, is_kept)
    assert len(had[0]) == len(had[1]) == 2


def test_a_copy_of_a_service_takes_no_address_from_the_original(simulate: Simulate) -> None:
    """``kubectl get | sed | kubectl apply``: the copy gets no load balancer until it names another address."""
    run = a_balanced_run(simulate, load_balancer_service(**NAMED), primary_ips=PRIMARY_IPS)
    run.converge()
    had = published(run)
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service("copy", **NAMED))

    report = run.converge()

    assert report.result is Result.BLOCKED
    assert (len(run.sim.balancers()), published(run), published(run, "copy")) == (1, had, [])
    assert run.plan().holds == ()


def ids(run: Run) -> list[int]:
    return sorted(balancer["id"] for balancer in run.sim.balancers())


def turn(sim: Simulation, kind: str) -> None:
    sim.kubernetes_writer().patch(f"{SERVICES}/web", {"spec": {"type": kind}})


def test_a_service_that_wants_its_load_balancer_again_keeps_it(simulate: Simulate) -> None:
    """It is of type ClusterIP when the pass begins, and of type LoadBalancer again before the deletion."""
    run = a_balanced_run(simulate)
    run.converge()
    had = published(run), ids(run)
    turn(run.sim, "ClusterIP")
    just_before_the_writes(run, lambda sim: turn(sim, "LoadBalancer"))

    run.converge()
    assert run.converge().result is Result.NO_CHANGES

    assert (published(run), ids(run)) == had


def test_a_service_that_comes_back_gets_its_load_balancer(simulate: Simulate) -> None:
    """However late. It is deleted with that Service only if the Service says so."""
    run = a_balanced_run(simulate, settings=RETAIN)
    run.converge()
    had = published(run), ids(run)
    delete_service(run.sim)
    run.converge()
    run.sim.clock.advance(30 * 24 * 3600)
    run.converge()
    run.sim.kubernetes_writer().create(SERVICES, load_balancer_service())

    run.converge()
    assert run.converge().result is Result.NO_CHANGES

    assert (published(run), ids(run)) == had


def test_a_load_balancer_is_adopted(simulate: Simulate) -> None:
    named = {"id": 42, "name": "shop", "load_balancer_type": "lb11", "location": "fsn1"}
    run = a_balanced_run(simulate, load_balancer_service(**annotated(name="shop")), load_balancers=[named])

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    assert run.ears.begun == 2
    assert {entry.status for entry in run.sim.written()} == {200}
    assert written(run)[0] == "PUT 42"
    assert sorted(written(run)[1:]) == ["POST add_service", "POST add_target", "POST add_target"]
    assert [balancer["id"] for balancer in run.sim.balancers()] == [42]
    assert run.converge().lines == ()


def test_servers_without_public_ipv4(simulate: Simulate) -> None:
    """They are targets of a Service that takes IPv6 by their IPv6 addresses, from the creation on, to their removal,
    and when they come back."""
    servers = [
        server(number, f"web-{number}", public_net={"ipv4": None, "ipv6": {"ip": f"2001:db8:{number}::/64"}})
        for number in (1, 2)
    ]
    service = load_balancer_service()
    service["spec"] |= {"ipFamilyPolicy": "PreferDualStack", "ipFamilies": ["IPv4", "IPv6"]}
    run = a_balanced_run(simulate, service, servers=servers)
    run.converge()

    assert target_addresses(run) == {"2001:db8:1::1", "2001:db8:2::1"}
    assert run.converge().lines == ()

    label(run, "web-2", "true")
    run.converge()
    assert target_addresses(run) == {"2001:db8:1::1"}

    label(run, "web-2", None)
    run.converge()
    assert target_addresses(run) == {"2001:db8:1::1", "2001:db8:2::1"}
    assert written(run) == ["POST load_balancers", "POST remove_target", "POST add_target"]


def target_addresses(run: Run) -> set[str]:
    return {target["server"]["ip"] for balancer in run.sim.balancers() for target in balancer["targets"]}


def label(run: Run, node: str, value: str | None) -> None:
    """Give a Node the label that excludes it from load balancers, or take it away."""
    labels = {"node.kubernetes.io/exclude-from-external-load-balancers": value}
    run.sim.kubernetes_writer().patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": labels}})


def test_a_certificate_and_its_port(simulate: Simulate) -> None:
    """A certificate is asked for once there is a load balancer for it; its port waits until it is issued, and is not
    tried before."""
    domains = annotated(
        protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com"
    )
    run = a_balanced_run(simulate, load_balancer_service(**domains))

    first = run.converge()

    assert first.result is Result.CHANGES
    assert outcomes(first)["certificate/default/web"] is Applied
    assert written(run) == ["POST load_balancers", "POST certificates"]

    run.sim.clock.advance(5.0)
    second = run.converge()

    assert second.result is Result.NO_CHANGES
    assert outcomes(second)[f"{BALANCER}/listener/80"] is Applied
    assert written(run)[2:] == ["POST add_service"]


def test_a_certificate_and_a_port_whose_check_was_made_in_the_console(simulate: Simulate) -> None:
    """The only port of the load balancer: it speaks TLS once the certificate is there, and keeps its check."""
    run = a_balanced_run(simulate)
    run.converge()
    world = run.sim.hetzner.world()
    (balancer,) = world["hetzner"]["load_balancers"]
    check = balancer["services"][0]["health_check"]
    balancer["services"][0]["health_check"] = {**check, "protocol": "http", "http": {"path": "/ping"}}
    run.sim.hetzner.replace_world(world)
    domains = annotated(
        protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com"
    )
    run.sim.kubernetes_writer().patch(f"{SERVICES}/web", {"metadata": {"annotations": domains}})

    first = run.converge()
    run.sim.clock.advance(5.0)
    second = run.converge()

    (certificate,) = run.sim.hetzner.world()["hetzner"]["certificates"]
    (there,) = run.sim.balancers()[0]["services"]
    assert outcomes(first)["certificate/default/web"] is Applied
    assert outcomes(second)[f"{BALANCER}/listener/80"] is Applied
    assert (there["protocol"], there["http"]["certificates"]) == ("https", [certificate["id"]])
    assert (there["health_check"]["protocol"], there["health_check"]["http"]["path"]) == ("http", "/ping")
    assert run.plan().lines == ()


def test_a_service_that_comes_late(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    just_before_the_writes(run, lambda sim: sim.kubernetes_writer().create(SERVICES, load_balancer_service("late")))

    assert run.converge().result is Result.NO_CHANGES
    assert published(run, "late") == []

    run.converge()
    assert len(published(run, "late")) == 2
