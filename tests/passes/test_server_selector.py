"""``--server-selector``: fewer pages, and nothing that is decided otherwise, whatever servers lack its label."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.in_process import ONCE, one_pass
from tests.support.objects import (
    a_route_to,
    a_server_of,
    a_service,
    ago,
    by_key,
    joining_node,
    notes,
    pods_of,
    private_ip,
    seen,
    server,
)
from tests.support.rows import rows
from tests.support.stage import Stage, is_initialised

SELECTED = {**ONCE, "--server-selector": "cluster=ours"}
AT_ONCE = {"--delete-min-age": "0s", "--delete-not-ready-for": "0s"}
OURS, OTHERS = {"labels": {"cluster": "ours"}}, {"labels": {"cluster": "others"}}
NODES = 5


@pytest.fixture
def fleet(a_stage: Callable[..., Stage]) -> Stage:
    """Five Nodes with routes and a Service, all in order, whose servers have the label, among 200 servers of others."""
    stage = a_stage(action_s=0.0)
    stage.settle(NODES)
    stage.have_services(a_service())
    stage.change_servers(*range(1, NODES + 1), **OURS)
    stage.add_servers(*(server(1000 + number, f"other-{number}", **OTHERS) for number in range(200)))
    assert one_pass(stage)["errors"] == []
    stage.forget()
    return stage


def reads(stage: Stage) -> Counter[str]:
    """GETs of Hetzner, by their path."""
    return Counter(stage.read_of_hetzner())


def world(stage: Stage) -> Any:
    return stage.nodes(), stage.routes(), [seen(each) for each in stage.balancers()]


def unselected(report: Mapping[str, Any]) -> set[str]:
    return {key for key, kind in notes(report) if kind == "unselected"}


def test_an_idle_pass_reads_one_page_of_servers(fleet: Stage) -> None:
    """Five without the selector; and nothing else is read with it."""
    before = world(fleet)
    assert one_pass(fleet)["result"] == "no_changes"
    whole = reads(fleet)
    fleet.forget()

    report = one_pass(fleet, SELECTED)

    assert (report["result"], report["notes"]) == ("no_changes", [])
    assert (whole["servers"], reads(fleet)["servers"]) == (5, 1)
    assert reads(fleet) == whole - Counter(servers=4)
    assert world(fleet) == before


def test_a_server_without_the_label_is_noted_and_read_by_its_id(fleet: Stage) -> None:
    """It stays a target, its Node and its route stay what they are, and that costs one request."""
    before = world(fleet)
    fleet.change_servers(2, labels={})

    report = one_pass(fleet, SELECTED)

    assert (report["result"], report["changes"], unselected(report)) == ("no_changes", [], {"node/web-2"})
    assert (reads(fleet)["servers"], reads(fleet)["servers/2"]) == (1, 1)
    assert reads(fleet)["networks/7/members"] == 0
    assert world(fleet) == before


def test_many_servers_without_the_label_are_read_as_a_list(a_stage: Callable[..., Stage]) -> None:
    """More than ten: the number of requests does not grow with them."""
    stage = a_stage(action_s=0.0)
    stage.settle(12)
    one_pass(stage)
    stage.forget()

    report = one_pass(stage, SELECTED)

    assert (report["result"], len(unselected(report))) == ("no_changes", 12)
    assert reads(stage)["servers"] == 2
    assert [name for name in reads(stage) if name.startswith("servers/")] == []


def _lookups_fail(stage: Stage) -> Any:
    """The server of web-2 has lost its label, a GET by its id fails, and nothing but that speaks for the Node."""
    stage.change_servers(2, labels={})
    stage.set_ready("web-2", ready="Unknown", since=ago(hours=1))
    stage.hetzner_proxy.set_faults([{"kind": "status", "path": "/v1/servers/2$", "code": 503, "count": None}])
    return world(stage)


def test_a_server_that_cannot_be_read_by_id_is_not_gone(a_stage: Callable[..., Stage]) -> None:
    stage = a_stage(action_s=0.0)
    stage.have_nodes(3)
    stage.change_servers(1, 2, 3, **OURS)
    before = _lookups_fail(stage)

    report = one_pass(stage, {**SELECTED, **AT_ONCE})

    assert report["result"] == "incomplete"
    assert world(stage) == before


@rows("list_that_fails", {"the narrowed": 0, "the whole": 1})
def test_a_list_that_cannot_be_read(fleet: Stage, list_that_fails: int) -> None:
    """An API that has just failed is not asked for more, and is told of; nothing is concluded from either list."""
    fleet.change_servers(2, labels={})
    fleet.add_servers(a_server_of(6))
    fleet.register(joining_node("web-6"))
    before = world(fleet)
    fault = {"kind": "status", "path": "/v1/servers$", "code": 503, "skip": list_that_fails, "count": None}
    fleet.hetzner_proxy.set_faults([fault])

    report = one_pass(fleet, {**SELECTED, **AT_ONCE})

    assert any("503" in error for error in report["errors"])
    assert [name for name in reads(fleet) if name.startswith("servers/")] == []
    assert world(fleet) == before


def test_a_list_that_fails_is_followed_by_no_request(fleet: Stage) -> None:
    """It costs what it costs without the selector."""
    fleet.hetzner_proxy.set_faults([{"kind": "status", "path": "/v1/servers$", "code": 503, "count": None}])
    one_pass(fleet)
    without = reads(fleet)
    fleet.forget()

    one_pass(fleet, SELECTED)

    assert reads(fleet) == without


def test_where_a_route_leads_to_it_the_whole_list_tells(fleet: Stage) -> None:
    before = _lookups_fail(fleet)

    report = one_pass(fleet, {**SELECTED, **AT_ONCE})

    assert (report["result"], unselected(report)) == ("no_changes", {"node/web-2"})
    nodes, *others = world(fleet)
    assert (nodes.keys(), others) == (before[0].keys(), [*before[1:]])


def test_the_node_of_a_deleted_server_goes_by_proof(fleet: Stage) -> None:
    """As without the selector: its absence from the list was not enough, and its id was asked for."""
    fleet.set_ready("web-2", ready="Unknown", since=ago(hours=1))
    fleet.delete_server(2)
    fleet.cordon("web-2")

    one_pass(fleet, {**SELECTED, **AT_ONCE})

    assert sorted(fleet.nodes()) == ["web-1", "web-3", "web-4", "web-5"]
    assert reads(fleet)["servers/2"] >= 1


def test_a_joining_node_is_found_by_the_name_of_a_server_without_the_label(fleet: Stage) -> None:
    """It joins, and is noted: whoever made the server has forgotten the label."""
    fleet.add_servers(a_server_of(6))
    fleet.register(joining_node("web-6"))

    one_pass(fleet, SELECTED)

    assert is_initialised(fleet.nodes()["web-6"])
    assert unselected(one_pass(fleet, SELECTED)) == {"node/web-6"}


def test_a_route_to_a_server_without_the_label_stays(fleet: Stage) -> None:
    """Somebody leads a range of the cluster CIDR to a machine that is no Node: its gateway has an owner, who is not
    selected."""
    fleet.add_servers({**a_server_of(90), **OTHERS})
    fleet.have_routes(*(a_route_to(number) for number in range(1, NODES + 1)), a_route_to(90))
    without = one_pass(fleet)

    report = one_pass(fleet, SELECTED)

    assert fleet.routes()[pods_of(90)] == private_ip(90)
    assert (report["result"], notes(report)) == (without["result"], notes(without))


def test_a_target_without_a_node_is_judged_as_without_the_selector(fleet: Stage) -> None:
    """A server that somebody else has added to our load balancer, and that is not selected."""
    fleet.add_servers(server(90, "stranger", **OTHERS))
    fleet.add_target(fleet.balancers()[0]["id"], {"type": "server", "server": {"id": 90}})
    without = one_pass(fleet, {"--dry-run": "true"})

    report = one_pass(fleet, {"--dry-run": "true", "--server-selector": "cluster=ours"})

    assert by_key(report) == by_key(without)
    assert report["result"] == without["result"]


def test_a_selector_that_is_set_changed_and_removed_leaves_all_as_it_is(fleet: Stage) -> None:
    """One that selects none of ours, or all of others' as well, is no empty project and no lost servers."""
    before = world(fleet)

    ours_too, none_of_ours = ("cluster=ours", "cluster in (ours,others)", "cluster"), ("cluster=theirs", "!labels,no=1")
    for selector in (*ours_too, "cluster!=others", "", *none_of_ours, *none_of_ours):
        flags = {"--server-selector": selector} if selector else {}
        report = one_pass(fleet, {**ONCE, **AT_ONCE, **flags})
        assert (report["result"], report["changes"], report["holds"]) == ("no_changes", [], []), selector

    assert world(fleet) == before
    assert (fleet.asked_of_hetzner(), fleet.writes()) == ([], [])
