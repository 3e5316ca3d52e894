"""Which server a Node is."""

from collections.abc import Iterable
from dataclasses import replace

from desired.model.snapshot import Node, RobotAccount, Server
from desired.nodes.matching import Gone, Match, Matched, Matcher, Missed
from desired.section import Section
from desired.syntax.provider_id import ServerKey
from tests.builders import (
    a_joining_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
    in_robot,
    incomplete,
    servers_of,
)
from tests.support.rows import rows

WEB_1, WEB_2 = a_server(1, "web-1"), a_server(2, "web-2")
BOTH = servers_of(WEB_1, WEB_2)
BROKEN: Section[int, Server] = Section({1: WEB_1}, unreadable={9: "x", 7: "server 7 could not be read"})
NAMED = replace(BROKEN, unreadable_names={7: "db-1", 9: "db-2"})
BY_ID, BY_NAME = (WEB_1.key.name, "providerID"), (WEB_1.key.name, "name")


def preset(provider_id: str, name: str = "web-1") -> Node:
    return a_joining_node(name, provider_id=provider_id)


def miss(row: str, *near: str) -> tuple[str, ...]:
    return row, *near


def gone(server: ServerKey, *near: int) -> tuple[object, ...]:
    return server.name, "gone", *near


def outcome(match: Match) -> tuple[object, ...]:
    """The server and what decided, or why there is none."""
    match match:
        case Matched(server, by):
            return server.key.name, by
        case Gone(server, near):
            return gone(server, *(each.value.id for each in near))
        case Missed(why, near):
            return miss(why.rule.name, *(each.value.name for each in near))


@rows("node servers expected", {
    "renamed-server-matches": (preset("hcloud://1", "db-1"), BOTH, BY_ID),
    "gone-and-another-has-the-nodes-name": (preset("hcloud://3"), BOTH, gone(in_cloud(3), 1)),
    "gone-and-a-name-comes-near": (preset("hcloud://3", "web-11"), BOTH, gone(in_cloud(3))),
    "gone-and-two-have-the-nodes-name": (preset("hcloud://3"), servers_of(a_server(7, "web-1"), a_server(5, "web-1")),
        gone(in_cloud(3), 5, 7)),
    "not-seen-in-an-incomplete-list": (preset("hcloud://3"), incomplete(BOTH, "429"), miss("node-server-unknown")),
    "unreadable-server": (preset("hcloud://7"), BROKEN, miss("node-server-unknown")),
    "robot": (preset("hrobot://1"), BOTH, miss("robot-not-read")),
    "robot-of-the-fork": (preset("hcloud://bm-1"), BOTH, miss("robot-not-read")),
    "other-cloud": (preset("aws://x", "elsewhere"), BOTH, miss("node-foreign")),
    "malformed": (preset("hcloud://abc"), BOTH, miss("provider-id-malformed")),
})  # fmt: skip
def test_match_by_provider_id(node: Node, servers: Section[int, Server], expected: tuple[object, ...]) -> None:
    """A providerID decides alone: the name is not compared, and what is not seen is only absent in a whole list."""
    assert outcome(Matcher(a_snapshot([node], servers_section=servers)).match(node)) == expected


@rows("name servers expected", {
    "case-sensitive": ("web-1", servers_of(a_server(1, "Web-1")), miss("no-server-near", "Web-1")),
    "miss-without-candidates": ("gpu", BOTH, miss("no-server-of-name")),
    "at-most-three-candidates": ("web-0", servers_of(*(a_server(i, f"web-{i}") for i in range(1, 60))),
        miss("no-server-near", "web-50", "web-40", "web-30")),
    "empty-project": ("web-1", servers_of(), miss("no-servers")),
    "two-servers-of-the-name": ("web-1", servers_of(a_server(3, "web-1"), a_server(1, "web-1")),
        miss("name-of-servers")),
    "never-by-name-in-an-incomplete-list": ("web-1", incomplete(BOTH, "429"), miss("node-servers-incomplete")),
    "unreadable-servers-of-other-names": ("web-1", NAMED, BY_NAME),
    "unreadable-server-of-the-name": ("db-1", NAMED, miss("node-server-unreadable")),
    "unreadable-namesake-of-a-server-that-was-read": ("web-1",
        replace(BROKEN, unreadable_names={7: "web-1", 9: "db-2"}), miss("node-server-unreadable")),
    "a-prefix-of-the-node-comes-before-likeness": ("k3s-worker-3",
        servers_of(*(a_server(i, f"k3s-worker-{i}") for i in (1, 2, 4, 5)), a_server(3, "worker-3")),
        miss("no-server-near", "worker-3", "k3s-worker-5", "k3s-worker-4")),
    "a-prefix-of-the-server-comes-before-likeness": ("worker-3",
        servers_of(*(a_server(i, f"worker-{i}") for i in (1, 2)), a_server(3, "prod-eu-central-worker-3")),
        miss("no-server-near", "prod-eu-central-worker-3", "worker-2", "worker-1")),
    "a-domain-of-the-server": ("db-1", servers_of(a_server(1, "db-1.nbg1.example.com"),
        a_server(2, "db-10.nbg1.example.com")), miss("no-server-near", "db-1.nbg1.example.com")),
})  # fmt: skip
def test_match_by_name(name: str, servers: Section[int, Server], expected: tuple[object, ...]) -> None:
    """Without a providerID exactly one server of the exact name is the Node's, said of a whole list only."""
    node = a_joining_node(name)
    assert outcome(Matcher(a_snapshot([node], servers_section=servers)).match(node)) == expected


def test_two_nodes_claim_one_server() -> None:
    """A providerID that two Nodes carry is neither's, and each is told of the others."""
    nodes = preset("hcloud://1", "a"), preset("hcloud://1", "b"), a_settled_node("c", 1)
    found = [Matcher(a_snapshot(nodes, servers_section=BOTH)).match(node) for node in nodes]
    assert [each.why.facts["nodes"] for each in found if isinstance(each, Missed)] == [
        "Nodes b, c",
        "Nodes a, c",
        "Nodes a, b",
    ]


def test_name_of_a_server_that_another_node_has() -> None:
    node = a_joining_node("web-1")
    matcher = Matcher(a_snapshot([node, a_settled_node("old", 1)], servers_section=BOTH))
    found = matcher.match(node)
    assert isinstance(found, Missed)
    assert found.why.says == "server 1 is named 'web-1' and is the server of Node old"


def test_claims_of_other_providers_are_no_rivals() -> None:
    """A Robot number or a malformed id that looks like a server's id claims nothing."""
    node = a_joining_node("web-1")
    rivals = (a_settled_node("a", provider_id="hrobot://1"), a_settled_node("b", provider_id="hcloud://01"))
    assert outcome(Matcher(a_snapshot([node, *rivals], servers_section=BOTH)).match(node)) == BY_NAME


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
    return servers_of(*(a_server(i, CountedName(f"server-of-another-project-{i:05}")) for i in range(1, servers + 1)))


@rows("servers searches", {"as-many-as-twenty-thousand-pairs-allow": (2000, 10), "one-at-least": (20_001, 1)})
def test_misses_beyond_the_budget_are_searched_for_in_the_neighbourhood_only(servers: int, searches: int) -> None:
    """The first misses of a snapshot search all names; those after them, what stands near in the alphabet."""
    section = a_project(servers - 1)
    far = a_server(servers, "web-0")
    matcher = Matcher(a_snapshot(servers_section=replace(section, items={**section.items, far.id: far})))
    found = [outcome(matcher.match(a_joining_node("k3s-web-0"))) for _ in range(searches + 2)]
    assert found == [miss("no-server-near", "web-0")] * searches + [miss("no-server-of-name")] * 2
    assert outcome(matcher.match(a_joining_node("web-1.lan"))) == miss("no-server-near", "web-0")


def test_thousands_of_misses_are_cheap() -> None:
    """With the token of a large other project a miss costs a few names, and not a look at each of them."""
    matcher = Matcher(a_snapshot(servers_section=a_project(3000)))
    first = comparisons(matcher, [a_joining_node(f"n{i}") for i in range(6)])
    others = comparisons(matcher, [a_joining_node(f"t{i}") for i in range(500)])
    assert first == 6 * 3000
    assert 0 < others <= 32 * 500


def test_a_miss_in_the_middle_is_compared_with_both_sides() -> None:
    """The neighbourhood is that of the Node's name: as many names before it as after."""
    matcher = Matcher(a_snapshot(servers_section=a_project(20_000)))
    assert comparisons(matcher, [a_joining_node("n")]) == 20_000
    assert comparisons(matcher, [a_joining_node("n")]) == 16
    assert comparisons(matcher, [a_joining_node("z")]) == 16
    middle = "server-of-another-project-1"
    assert outcome(matcher.match(a_joining_node(middle))) == miss(
        "no-server-near", *(f"server-of-another-project-{i:05}" for i in (10015, 10014, 10013))
    )


def test_nothing_is_searched_for_a_server_that_is_gone() -> None:
    """A providerID is no name: that its server is gone is told without a look at the others' names."""
    matcher = Matcher(a_snapshot(servers_section=a_project(3000)))
    assert comparisons(matcher, [preset(f"hcloud://{i}", f"n{i}") for i in range(4000, 4100)]) == 0


DB = a_robot_server(321, "db-1")
ROBOT = Section({321: DB, 7: a_robot_server(7, "twin"), 8: a_robot_server(8, "twin"), 9: a_robot_server(9, "")})
NO_ROBOT: Section[int, Server] = Section.missing("the webservice answers 503")


@rows("node servers robot expected", {
    "by number": (preset("hrobot://321", "db-1"), BOTH, ROBOT, (DB.key.name, "providerID")),
    "as the fork did": (preset("hcloud://bm-321", "db-1"), BOTH, ROBOT, (DB.key.name, "providerID")),
    "made anew": (preset("hrobot://1", "db-1"), BOTH, ROBOT, gone(in_robot(1), 321)),
    "nothing is known of Robot": (preset("hrobot://1"), BOTH, NO_ROBOT, miss("node-server-unknown")),
    "a cloud server joins in an outage": (a_joining_node("web-1"), BOTH, NO_ROBOT, BY_NAME),
    "one of each": (a_joining_node("web-1"), BOTH, Section({5: a_robot_server(5, "web-1")}),
        miss("name-at-both-providers")),
    "one of each, of which one cannot be read": (a_joining_node("web-1"), BOTH,
        Section({}, unreadable={5: "server_ip is 'x'"}, unreadable_names={5: "web-1"}), miss("node-server-unreadable")),
    "two of one name": (a_joining_node("twin"), BOTH, ROBOT, miss("name-of-servers")),
})  # fmt: skip
def test_robot_servers(
    node: Node, servers: Section[int, Server], robot: Section[int, Server], expected: tuple[object, ...]
) -> None:
    """Numbers of Robot and ids of the cloud know nothing of each other; names are of both."""
    assert (
        outcome(Matcher(a_snapshot([node], servers_section=servers, robot=RobotAccount(robot))).match(node)) == expected
    )


def test_a_name_that_a_robot_server_had_before_an_outage() -> None:
    """Which of the two it is nobody knows, and a providerID is for ever."""
    account = RobotAccount(NO_ROBOT, last_names=frozenset({"web-1"}))
    matcher = Matcher(a_snapshot(servers_section=BOTH, robot=account))
    assert outcome(matcher.match(a_joining_node("web-1"))) == miss("name-was-at-robot")
    assert outcome(matcher.match(a_joining_node("web-2"))) == (WEB_2.key.name, "name")
