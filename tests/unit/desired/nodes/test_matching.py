"""Which server a Node is."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from desired.model.snapshot import Node, RobotAccount, Server
from desired.nodes.matching import Ambiguous, Foreign, Gone, Malformed, Match, Matched, Matcher, Unmatched, Unsupported
from desired.section import Section, Unknown
from tests.builders import (
    a_joining_node,
    a_robot_server,
    a_server,
    a_settled_node,
    in_cloud,
    in_robot,
    incomplete,
    nodes_of,
    servers_of,
)

WEB_1, WEB_2 = a_server(1, "web-1"), a_server(2, "web-2")
BOTH = servers_of(WEB_1, WEB_2)
BROKEN: Section[int, Server] = Section({1: WEB_1}, unreadable={9: "x", 7: "server 7 could not be read"})


def preset(provider_id: str, name: str = "web-1") -> Node:
    """A Node whose kubelet was started with ``--provider-id``."""
    return a_joining_node(name, provider_id=provider_id)


def malformed(text: str, rest: str) -> Malformed:
    """The answer for ``rest`` behind one of our prefixes."""
    return Malformed(f"providerID {text!r}: {rest!r} is no server id (a positive decimal number)")


@pytest.mark.parametrize(
    ("node", "servers", "expected"),
    [
        pytest.param(preset("hcloud://1"), BOTH, Matched(WEB_1, "providerID"), id="there"),
        pytest.param(preset("hcloud://1", "db-1"), BOTH, Matched(WEB_1, "providerID"), id="renamed-server-matches"),
        pytest.param(
            preset("hcloud://1"), incomplete(BOTH), Matched(WEB_1, "providerID"), id="there-in-an-incomplete-list"
        ),
        pytest.param(
            preset("hcloud://3"),
            BOTH,
            Gone(in_cloud(3), namesake=1),
            id="gone-and-another-has-the-nodes-name",
        ),
        pytest.param(preset("hcloud://3", "web-11"), BOTH, Gone(in_cloud(3)), id="gone-and-a-name-comes-near"),
        pytest.param(
            preset("hcloud://3"),
            servers_of(a_server(7, "web-1"), a_server(5, "web-1")),
            Gone(in_cloud(3), namesake=5),
            id="gone-and-two-have-the-nodes-name",
        ),
        pytest.param(
            preset("hcloud://3", "gpu"),
            BOTH,
            Gone(in_cloud(3)),
            id="gone-and-nothing-has-a-name-like-its",
        ),
        pytest.param(preset("hcloud://3"), servers_of(), Gone(in_cloud(3)), id="gone-with-every-other-server"),
        pytest.param(
            preset("hcloud://3"), incomplete(BOTH, "429"), Unknown("429"), id="not-seen-in-an-incomplete-list"
        ),
        pytest.param(preset("hcloud://3"), Section.missing("401"), Unknown("401"), id="nothing-was-read"),
        pytest.param(preset("hcloud://7"), BROKEN, Unknown("server 7 could not be read"), id="unreadable-server"),
        pytest.param(preset("hcloud://1"), BROKEN, Matched(WEB_1, "providerID"), id="another-server-is-unreadable"),
        pytest.param(
            preset("hrobot://1"),
            BOTH,
            Unsupported("providerID 'hrobot://1' is a Robot server, and Robot servers are not read"),
            id="robot",
        ),
        pytest.param(
            preset("hcloud://bm-1"),
            BOTH,
            Unsupported("providerID 'hcloud://bm-1' is a Robot server, and Robot servers are not read"),
            id="robot-of-the-fork",
        ),
        pytest.param(
            preset("aws://x", "elsewhere"),
            BOTH,
            Foreign("providerID 'aws://x' belongs to another cloud"),
            id="other-cloud",
        ),
        pytest.param(preset("hcloud://abc"), BOTH, malformed("hcloud://abc", "abc"), id="malformed"),
        pytest.param(preset("hcloud://-1"), BOTH, malformed("hcloud://-1", "-1"), id="negative-is-not-absent"),
    ],
)
def test_match_by_provider_id(node: Node, servers: Section[int, Server], expected: Match) -> None:
    """A providerID decides alone: the name is not compared, and what is not seen is only absent in a whole list."""
    assert Matcher(nodes_of(node), servers).match(node) == expected


@pytest.mark.parametrize(
    ("name", "servers", "expected"),
    [
        pytest.param("web-1", BOTH, Matched(WEB_1, "name"), id="exact-name"),
        pytest.param(
            "web-1",
            servers_of(a_server(1, "Web-1")),
            Unmatched("no server of the project is named 'web-1'", ("Web-1",)),
            id="case-sensitive",
        ),
        pytest.param(
            "web-1.example.com",
            BOTH,
            Unmatched("no server of the project is named 'web-1.example.com'", ("web-1", "web-2")),
            id="suffix-is-a-miss-with-candidates",
        ),
        pytest.param(
            "wbe-1",
            BOTH,
            Unmatched("no server of the project is named 'wbe-1'", ("web-1", "web-2")),
            id="typing-error-is-a-miss-with-candidates",
        ),
        pytest.param("gpu", BOTH, Unmatched("no server of the project is named 'gpu'"), id="miss-without-candidates"),
        pytest.param(
            "web-0",
            servers_of(*(a_server(i, f"web-{i}") for i in range(1, 60))),
            Unmatched("no server of the project is named 'web-0'", ("web-50", "web-40", "web-30")),
            id="at-most-three-candidates",
        ),
        pytest.param("web-1", servers_of(), Unmatched("the token's project has no servers at all"), id="empty-project"),
        pytest.param(
            "web-1",
            servers_of(a_server(3, "web-1"), a_server(1, "web-1")),
            Ambiguous("servers 1, 3 are all named 'web-1'"),
            id="two-servers-of-the-name",
        ),
        pytest.param(
            "web-1",
            incomplete(BOTH, "429"),
            Unknown("the list of servers is incomplete, and a name decides only in a whole list"),
            id="never-by-name-in-an-incomplete-list",
        ),
        pytest.param(
            "web-1",
            BROKEN,
            Unknown("server 7, 9 could not be read and may be the one"),
            id="unreadable-servers-without-names",
        ),
        pytest.param(
            "web-1",
            replace(BROKEN, unreadable_names={7: "db-1", 9: "db-2"}),
            Matched(WEB_1, "name"),
            id="unreadable-servers-of-other-names",
        ),
        pytest.param(
            "db-1",
            replace(BROKEN, unreadable_names={7: "db-1", 9: "db-2"}),
            Unknown("server 7 could not be read and may be the one"),
            id="unreadable-server-of-the-name",
        ),
        pytest.param(
            "db-1",
            replace(BROKEN, unreadable_names={7: "db-1"}),
            Unknown("server 7, 9 could not be read and may be the one"),
            id="unreadable-servers-of-the-name-and-without-one",
        ),
        pytest.param(
            "web-1",
            replace(BROKEN, unreadable_names={7: "web-1", 9: "db-2"}),
            Unknown("server 7 could not be read and may be the one"),
            id="unreadable-namesake-of-a-server-that-was-read",
        ),
        pytest.param(
            "gpu",
            replace(BROKEN, unreadable_names={7: "db-1", 9: "db-2"}),
            Unmatched("no server of the project is named 'gpu'"),
            id="miss-although-others-are-unreadable",
        ),
        pytest.param(
            "k3s-worker-3",
            servers_of(*(a_server(i, f"k3s-worker-{i}") for i in (1, 2, 4, 5)), a_server(3, "worker-3")),
            Unmatched("no server of the project is named 'k3s-worker-3'", ("worker-3", "k3s-worker-5", "k3s-worker-4")),
            id="a-prefix-of-the-node-comes-before-likeness",
        ),
        pytest.param(
            "worker-3",
            servers_of(*(a_server(i, f"worker-{i}") for i in (1, 2)), a_server(3, "prod-eu-central-worker-3")),
            Unmatched(
                "no server of the project is named 'worker-3'", ("prod-eu-central-worker-3", "worker-2", "worker-1")
            ),
            id="a-prefix-of-the-server-comes-before-likeness",
        ),
        pytest.param(
            "db-1",
            servers_of(a_server(1, "db-1.nbg1.example.com"), a_server(2, "db-10.nbg1.example.com")),
            Unmatched("no server of the project is named 'db-1'", ("db-1.nbg1.example.com",)),
            id="a-domain-of-the-server",
        ),
    ],
)
def test_match_by_name(name: str, servers: Section[int, Server], expected: Match) -> None:
    """Without a providerID exactly one server of the exact name is the Node's, said of a whole list only."""
    node = a_joining_node(name)
    assert Matcher(nodes_of(node), servers).match(node) == expected


def test_two_nodes_claim_one_server() -> None:
    """A providerID that two Nodes carry is neither's, and each is told of the other."""
    nodes = nodes_of(preset("hcloud://1", "a"), preset("hcloud://1", "b"), a_settled_node("c", 1))
    matcher = Matcher(nodes, BOTH)
    assert [matcher.match(node) for node in nodes] == [
        Ambiguous("providerID 'hcloud://1' is also that of node b, c"),
        Ambiguous("providerID 'hcloud://1' is also that of node a, c"),
        Ambiguous("providerID 'hcloud://1' is also that of node a, b"),
    ]


def test_two_nodes_claim_one_server_that_is_gone() -> None:
    """Rivals for a server that is not there are no rivals: it is gone for each of them."""
    nodes = nodes_of(preset("hcloud://3", "web-1"), a_settled_node("gpu", 3))
    matcher = Matcher(nodes, BOTH)
    assert [matcher.match(node) for node in nodes] == [
        Gone(in_cloud(3)),
        Gone(in_cloud(3), namesake=1),
    ]


def test_name_of_a_server_that_another_node_has() -> None:
    """A server that is already another Node's is not given away by name."""
    node = a_joining_node("web-1")
    matcher = Matcher(nodes_of(node, a_settled_node("old", 1)), BOTH)
    assert matcher.match(node) == Ambiguous("server 1 is named 'web-1' but is the server of node old")


def test_claims_of_other_providers_are_no_rivals() -> None:
    """A Robot number or a malformed id that looks like a server's id claims nothing."""
    node = a_joining_node("web-1")
    rivals = (a_settled_node("a", provider_id="hrobot://1"), a_settled_node("b", provider_id="hcloud://01"))
    assert Matcher(nodes_of(node, *rivals), BOTH).match(node) == Matched(WEB_1, "name")


def test_a_providerid_decides_beside_an_unreadable_server_of_the_nodes_name() -> None:
    """Only a match by name is put in doubt by a server that could not be read."""
    node = preset("hcloud://1", "db-1")
    servers = replace(BROKEN, unreadable_names={7: "db-1"})
    assert Matcher(nodes_of(node), servers).match(node) == Matched(WEB_1, "providerID")


class CountedName(str):
    """A server's name that counts how often it is compared with a Node's much shorter one."""

    comparisons = 0

    def __len__(self) -> int:
        """Its length, which is the first thing that a search for near names looks at, and here the last."""
        CountedName.comparisons += 1
        return super().__len__()


def comparisons(matcher: Matcher, nodes: Iterable[Node]) -> int:
    """How many pairs of names it takes to match these Nodes."""
    before = CountedName.comparisons
    for node in nodes:
        matcher.match(node)
    return CountedName.comparisons - before


def a_project(servers: int) -> Section[int, Server]:
    """So many servers with long names, all of them alike."""
    return servers_of(*(a_server(i, CountedName(f"server-of-another-project-{i:05}")) for i in range(1, servers + 1)))


@pytest.mark.parametrize(
    ("servers", "searches"),
    [
        pytest.param(2000, 10, id="as-many-as-twenty-thousand-pairs-allow"),
        pytest.param(20_001, 1, id="one-at-least"),
    ],
)
def test_misses_beyond_the_budget_are_searched_for_in_the_neighbourhood_only(servers: int, searches: int) -> None:
    """The first misses of a snapshot search all names; those after them, what stands near in the alphabet."""
    section = a_project(servers - 1)
    far = a_server(servers, "web-0")
    matcher = Matcher(nodes_of(), replace(section, items={**section.items, far.id: far}))
    found = [matcher.match(a_joining_node("k3s-web-0")) for _ in range(searches + 2)]

    why = "no server of the project is named 'k3s-web-0'"
    assert found == [Unmatched(why, ("web-0",))] * searches + [Unmatched(why)] * 2
    assert matcher.match(a_joining_node("web-1.lan")) == Unmatched(
        "no server of the project is named 'web-1.lan'", ("web-0",)
    )


def test_small_projects_are_searched_thoroughly() -> None:
    """Where names are few the budget lasts for every Node of a cluster."""
    servers = servers_of(a_server(1, "web-0"), *(a_server(i, f"between-{i:02}") for i in range(2, 41)))
    matcher = Matcher(nodes_of(), servers)
    found = [matcher.match(a_joining_node("k3s-web-0")) for _ in range(500)]
    assert found == [Unmatched("no server of the project is named 'k3s-web-0'", ("web-0",))] * 500


def test_thousands_of_misses_are_cheap() -> None:
    """With the token of a large other project a miss costs a few names, and not a look at each of them."""
    matcher = Matcher(nodes_of(), a_project(3000))
    first = comparisons(matcher, [a_joining_node(f"n{i}") for i in range(6)])
    others = comparisons(matcher, [a_joining_node(f"t{i}") for i in range(2994)])

    assert first == 6 * 3000
    assert 0 < others <= 32 * 2994


def test_a_miss_in_the_middle_is_compared_with_both_sides() -> None:
    """The neighbourhood is that of the Node's name: as many names before it as after."""
    matcher = Matcher(nodes_of(), a_project(20_000))
    assert comparisons(matcher, [a_joining_node("n")]) == 20_000
    assert comparisons(matcher, [a_joining_node("n")]) == 16
    assert comparisons(matcher, [a_joining_node("z")]) == 16
    middle = "server-of-another-project-1"
    assert matcher.match(a_joining_node(middle)) == Unmatched(
        f"no server of the project is named {middle!r}",
        tuple(f"server-of-another-project-{i:05}" for i in (10015, 10014, 10013)),
    )


def test_nothing_is_searched_for_a_server_that_is_gone() -> None:
    """A providerID is no name: that its server is gone is told without a look at the others' names."""
    matcher = Matcher(nodes_of(), a_project(3000))
    assert comparisons(matcher, [preset(f"hcloud://{i}", f"n{i}") for i in range(4000, 4100)]) == 0


DB = a_robot_server(321, "db-1")
ROBOT = Section({321: DB, 7: a_robot_server(7, "twin"), 8: a_robot_server(8, "twin"), 9: a_robot_server(9, "")})
NO_ROBOT: Section[int, Server] = Section.missing("the webservice answers 503")


@pytest.mark.parametrize(
    ("node", "servers", "robot", "expected"),
    [
        pytest.param(preset("hrobot://321", "db-1"), BOTH, ROBOT, Matched(DB, "providerID"), id="by number"),
        pytest.param(preset("hcloud://bm-321", "db-1"), BOTH, ROBOT, Matched(DB, "providerID"), id="as the fork wrote"),
        pytest.param(preset("hrobot://321", "db-2"), BOTH, ROBOT, Matched(DB, "providerID"), id="by number alone"),
        pytest.param(preset("hrobot://1"), BOTH, ROBOT, Gone(in_robot(1)), id="gone, and no number of the cloud"),
        pytest.param(preset("hrobot://1", "db-1"), BOTH, ROBOT, Gone(in_robot(1), 321), id="made anew"),
        pytest.param(
            preset("hrobot://1"), BOTH, NO_ROBOT, Unknown("the webservice answers 503"), id="nothing is known of Robot"
        ),
        pytest.param(preset("hcloud://1"), BOTH, NO_ROBOT, Matched(WEB_1, "providerID"), id="that is no matter here"),
        pytest.param(a_joining_node("db-1"), BOTH, ROBOT, Matched(DB, "name"), id="by name"),
        pytest.param(a_joining_node("web-1"), BOTH, ROBOT, Matched(WEB_1, "name"), id="a cloud server by name"),
        pytest.param(
            a_joining_node("web-1"), BOTH, NO_ROBOT, Matched(WEB_1, "name"), id="a cloud server joins in an outage"
        ),
        pytest.param(
            a_joining_node("web-1"),
            BOTH,
            Section({5: a_robot_server(5, "web-1")}),
            Ambiguous("server 1 of Hetzner Cloud and a Robot server are both named 'web-1'"),
            id="one of each",
        ),
        pytest.param(
            a_joining_node("web-1"),
            BOTH,
            Section({}, unreadable={5: "server_ip is 'x'"}, unreadable_names={5: "web-1"}),
            Unknown("Robot server 5 could not be read and may be the one"),
            id="one of each, of which one cannot be read",
        ),
        pytest.param(
            a_joining_node("twin"),
            BOTH,
            ROBOT,
            Ambiguous("Robot servers 7, 8 are all named 'twin'"),
            id="two of one name",
        ),
        pytest.param(
            a_joining_node("db-1"),
            BOTH,
            NO_ROBOT,
            Unknown("the list of Robot servers is incomplete, and a name decides only in a whole list"),
            id="perhaps a Robot server",
        ),
        pytest.param(
            a_joining_node("DB-1"),
            BOTH,
            ROBOT,
            Unmatched("no server of the project is named 'DB-1', nor of the Robot account"),
            id="a name in other case",
        ),
    ],
)
def test_robot_servers(node: Node, servers: Section[int, Server], robot: Section[int, Server], expected: Match) -> None:
    """Numbers of Robot and ids of the cloud know nothing of each other; names are of both."""
    found = Matcher(nodes_of(node), servers, RobotAccount(robot)).match(node)

    assert (replace(found, candidates=()) if isinstance(found, Unmatched) else found) == expected


def test_two_nodes_on_one_robot_server() -> None:
    """Each of them is in doubt, however its providerID is written."""
    nodes = [preset("hrobot://321", "db-1"), preset("hcloud://bm-321", "db-2")]
    matcher = Matcher(nodes_of(*nodes), BOTH, RobotAccount(ROBOT))

    assert [type(matcher.match(node)) for node in nodes] == [Ambiguous, Ambiguous]
    assert isinstance(matcher.match(a_joining_node("db-1")), Ambiguous)


def test_a_name_that_a_robot_server_had_before_an_outage() -> None:
    """Which of the two it is nobody knows, and a providerID is for ever."""
    account = RobotAccount(NO_ROBOT, last_names=frozenset({"web-1"}))
    matcher = Matcher(nodes_of(), BOTH, account)

    found = matcher.match(a_joining_node("web-1"))

    assert isinstance(found, Unknown)
    assert "so was a Robot server when these were last read" in found.why
    assert matcher.match(a_joining_node("web-2")) == Matched(WEB_2, "name")
