"""Attacks through settings: defaults that are mistaken, lost or another process's, and approvals of their changes."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tests.support.harm_script import TOLD, Attack, Script, attacks, do
from tests.support.harm_stage import Stage
from tests.support.harm_start import HOME, Start
from tests.support.harm_truth import service_uid, target_addresses, target_servers

LB = "HCLOUD_LOAD_BALANCERS_"
CLOSE, OPEN, LOSE = (f"{LB}DISABLE_PUBLIC_NETWORK={value}" for value in ("true", "false", ""))
"""The default that closes load balancers, the default that opens them, and the loss of either."""
PRIVATELY, NOT_PRIVATELY = f"{LB}USE_PRIVATE_IP=true", f"{LB}USE_PRIVATE_IP="
HIDE, SHOW, NOT_HIDE = (f"{LB}DISABLE_PRIVATE_INGRESS={value}" for value in ("true", "false", ""))
PROXY, IPV4_ALONE, SMALL = f"{LB}USES_PROXYPROTOCOL=true", f"{LB}DISABLE_IPV6=true", f"{LB}TYPE=lb11"
LOST_TOGETHER = ("HCLOUD_NETWORK=", NOT_PRIVATELY, LOSE)
INTERNAL = ((f"{LB}USE_PRIVATE_IP", "true"), (f"{LB}DISABLE_PUBLIC_NETWORK", "true"))
HIDDEN = ((f"{LB}DISABLE_PRIVATE_INGRESS", "true"),)

PRIVATE = {"use-private-ip": "true"}
KEPT_OPEN, KEPT_CLOSED = {**PRIVATE, "disable-public-network": "false"}, {"disable-public-network": "true"}
UNDECIDED = {"disable-public-network": None}
TYPO, UNREADABLE = {"use-private-ip": "ture"}, {"node-selector": "pool in (a"}
TWO_WEEKS_S = 14 * 24 * 3600

ONE, TWO = Start(nodes=3), Start(nodes=3, services=(("db", {}), ("web", {})))
PRIVATE_ONE = Start(nodes=3, services=(("web", PRIVATE),))
PRIVATE_TWO = Start(nodes=3, services=(("db", PRIVATE), ("web", PRIVATE)))
INSIDE = replace(TWO, variables=INTERNAL)
NAMED = Start(nodes=3, services=tuple((name, {**PRIVATE, "name": f"{name}-lb"}) for name in ("db", "web")))
HALF_DECIDED = Start(nodes=3, services=(("api", KEPT_OPEN), ("db", KEPT_OPEN), ("mail", PRIVATE), ("web", PRIVATE)))
MIXED = Start(nodes=3, services=(("db", PRIVATE), ("mail", KEPT_OPEN), ("shop", KEPT_OPEN), ("web", PRIVATE)))
MIXED_INSIDE = Start(
    nodes=3, services=(("db", {}), ("mail", KEPT_CLOSED), ("shop", KEPT_CLOSED), ("web", {})), variables=INTERNAL
)
POOLS = Start(nodes=4, pools=True, services=(("web", {"node-selector": "pool=a"}),))
PRIVATE_METAL = {f"10.1.0.{number}" for number in (61, 62, 63)}
METAL = Start(nodes=2, metal=3)


def is_public(stage: Stage, name: str) -> bool:
    """Whether the Service has a load balancer with a public interface."""
    try:
        return bool(stage.balancer(name)["public_net"]["enabled"])
    except LookupError:
        return False


def speaks_proxy(stage: Stage, name: str) -> bool:
    return any(each["proxyprotocol"] for each in stage.balancer(name)["services"])


def ways(stage: Stage, name: str) -> Mapping[int, bool]:
    """Server → whether the load balancer reaches it by its private address."""
    return {each["server"]["id"]: each["use_private_ip"] for each in stage.balancer(name)["targets"]}


def machines(stage: Stage) -> set[int]:
    """Ids of the servers that live and have a Node, initialized or not."""
    return {number for number, each in stage.truth.seen().servers[HOME].items() if each["name"] in stage.nodes()}


def kinds(stage: Stage, name: str) -> set[str]:
    """Kinds of the addresses that a Service publishes."""
    private = {each["ip"] for each in stage.balancer(name)["private_net"]}
    addresses = [each["ip"] for each in stage.home.service(name)["status"]["loadBalancer"]["ingress"]]
    return {"private" if each in private else "IPv6" if ":" in each else "IPv4" for each in addresses}


def each_of(names: tuple[str, ...], holds: Callable[[Stage, str], bool], otherwise: str) -> Script:
    """Asserts this for each Service; ``otherwise`` is the complaint."""

    def look(name: str) -> Script:
        return do.sees(lambda stage: holds(stage, name), f"{name} {otherwise}")

    return do.then(*map(look, names))


def public(*names: str) -> Script:
    """These have a public interface."""
    return each_of(names, is_public, "is closed")


def closed(*names: str) -> Script:
    """These have none."""
    return each_of(names, lambda stage, name: not is_public(stage, name), "is public")


def plain(*names: str) -> Script:
    """Listeners of these do not speak the PROXY protocol."""
    return each_of(names, lambda stage, name: not speaks_proxy(stage, name), "speaks the PROXY protocol")


def reached(*names: str, privately: bool) -> Script:
    """All Nodes whose servers live are targets of these, and all the same way."""
    return each_of(
        names, lambda stage, name: ways(stage, name) == dict.fromkeys(machines(stage), privately), "has other targets"
    )


def publishes(*wanted: str) -> Script:
    """Service ``web`` publishes addresses of these kinds."""
    return do.sees(lambda stage: kinds(stage, "web") == {*wanted}, "web publishes other kinds")


def one_each(*names: str) -> Script:
    """Each has one load balancer."""

    def has_one(stage: Stage, name: str) -> bool:
        owners = [service_uid(each["labels"]) for each in stage.home.balancers()]
        return owners.count(stage.home.service(name)["metadata"]["uid"]) == 1

    return each_of(names, has_one, "has another load balancer beside its own")


def run(*lies: str, loop: bool = False) -> Script:
    """A pass, and a while after it."""
    return do.passes(*lies, count=1, loop=loop)


def replace_nodes(*lies: str) -> Script:
    """An autoscaler replaces three Nodes, one after another."""
    return do.then(
        *(do.join().then(run(*lies)).cordon(number).kill(number).then(run(*lies), run(*lies)) for number in (1, 2, 3))
    )


def later(*lies: str) -> Script:
    """A person approves, both are changed; weeks later a Service loses the annotation that kept it as it is."""
    return do.must_approve().then(run(*lies), run(*lies)).advance(TWO_WEEKS_S).annotate("mail", UNDECIDED)


HELD_CLOSED, HELD_OPEN = run(CLOSE).then(public("db", "web"), TOLD), run(OPEN).then(closed("db", "web"), TOLD)
"""A mistaken default would close two load balancers, or open them."""
WEB_OPEN = public("web").then(TOLD)
RETYPED = do.turn("db", "ClusterIP").turn("db", "LoadBalancer")

HOLDS = (
    Attack(
        "a-service-that-decides-for-itself-leaves-the-hold-on-another",
        PRIVATE_TWO,
        do.annotate("db", {"disable-public-network": "false"}).then(run(CLOSE), WEB_OPEN),
        "A hold on two load balancers has one object fewer; the other load balancer is still in doubt.",
        before=HELD_CLOSED,
    ),
    Attack(
        "a-service-that-is-deleted-leaves-the-hold-on-another",
        PRIVATE_TWO,
        do.delete_service("db").then(run(CLOSE), WEB_OPEN),
        "Deletion leaves one object in the hold.",
        before=HELD_CLOSED,
    ),
    Attack(
        "a-service-that-becomes-a-cluster-ip-leaves-the-hold-on-another",
        PRIVATE_TWO,
        do.turn("db", "ClusterIP").then(run(CLOSE), WEB_OPEN),
        "Another type leaves one object in the hold.",
        before=HELD_CLOSED,
    ),
    Attack(
        "a-typo-in-one-service-leaves-the-hold-on-another",
        PRIVATE_TWO,
        HELD_CLOSED.annotate("db", TYPO).then(run(CLOSE), WEB_OPEN),
        "A typo stops what it decides alone, so that both load balancers stay in the hold.",
    ),
    Attack(
        "a-deleted-service-leaves-the-hold-on-the-proxy-protocol",
        TWO,
        do.delete_service("db").then(run(PROXY), plain("web"), TOLD),
        "Backends that do not expect the PROXY protocol refuse connections.",
        before=run(PROXY).then(plain("db", "web"), TOLD),
    ),
    Attack(
        "an-edit-of-something-else-leaves-the-hold",
        PRIVATE_TWO,
        HELD_CLOSED.annotate("db", {"algorithm-type": "least_connections"}).then(run(CLOSE), public("db", "web"), TOLD),
        "Both load balancers are still in doubt.",
    ),
    *(
        Attack(
            f"a-short-list-of-services-after-a-hold-applies-nothing-held-{name}",
            PRIVATE_TWO,
            do.times(count, run(CLOSE, "services:half")).then(public("db", "web"), TOLD),
            "A list without one of two Services leaves one object in the hold.",
            before=HELD_CLOSED,
        )
        for name, count in (("once", 1), ("twice", 2))
    ),
    *(
        Attack(
            f"a-short-list-of-load-balancers-after-a-hold-makes-nothing-twice-{name}",
            PRIVATE_TWO,
            HELD_CLOSED.times(count, run(CLOSE, "load_balancers:half"))
            .then(one_each("db", "web"), run(CLOSE))
            .then(public("db", "web"), TOLD),
            "Hetzner refuses a second load balancer of the same name.",
        )
        for name, count in (("once", 1), ("twice", 2))
    ),
    Attack(
        "a-short-list-of-load-balancers-makes-nothing-twice-under-another-name",
        PRIVATE_TWO,
        HELD_CLOSED.annotate("web", {"name": "shiny"})
        .then(run(CLOSE, "load_balancers:half"))
        .then(one_each("db", "web")),
        "A person gives the load balancer another name, and the list lacks it at that moment.",
    ),
)


@attacks(*HOLDS)
def test_a_hold_lasts_as_long_as_a_default_alone_asks(attack: Attack) -> None:
    attack.play()


ACCEPTED = (
    Attack(
        "a-list-without-the-newer-services-leaves-a-default-in-doubt",
        HALF_DECIDED,
        run(CLOSE).then(public("mail", "web"), TOLD),
        "Services with an annotation of their own are in the short list, so nothing follows from the default at first.",
        before=run(CLOSE, "services:half"),
    ),
    Attack(
        "an-empty-list-of-services-leaves-a-default-in-doubt",
        PRIVATE_TWO,
        run(CLOSE).then(public("db", "web"), TOLD),
        "Defaults change nothing while the list of Services is empty.",
        before=run(CLOSE, "services:all"),
    ),
    Attack(
        "services-that-are-made-anew-leave-a-default-in-doubt",
        NAMED,
        do.then(*(do.make_service(*service) for service in NAMED.services)).then(run(CLOSE), public("db", "web"), TOLD),
        "Retained load balancers wait for a release that is installed again, and come back to their Services by name.",
        before=do.each("retain", ("db", "web"), "retain")
        .then(run())
        .each("delete_service", ("db", "web"))
        .then(run(CLOSE)),
    ),
    *(
        Attack(
            f"a-first-run-after-hccm-{name}",
            start,
            run(default).then(holds, TOLD),
            "HCCM leaves neither records nor former settings.",
            before=do.as_hccm_left_it(),
        )
        for name, start, default, holds in (
            ("keeps-all-public", PRIVATE_TWO, CLOSE, public("db", "web")),
            ("keeps-the-protocol", TWO, PROXY, plain("db", "web")),
            (
                "reaches-targets-as-before",
                TWO,
                PRIVATELY,
                reached("db", "web", privately=False),
            ),
            ("keeps-all-closed", INSIDE, OPEN, closed("db", "web")),
            ("keeps-the-network", PRIVATE_TWO, "HCLOUD_NETWORK=8", reached("db", "web", privately=True)),
        )
    ),
    *(
        Attack(
            f"a-second-release-{name}",
            start,
            run("release", default, loop=loop).then(holds, TOLD),
            "Each release has records in its own namespace, and defaults of its own.",
            before=do.install_again().then(run(loop=loop)),
        )
        for name, start, default, holds, loop in (
            ("keeps-all-public", PRIVATE_TWO, CLOSE, public("db", "web"), False),
            ("keeps-all-public-in-the-loop", PRIVATE_TWO, CLOSE, public("db", "web"), True),
            ("keeps-the-protocol", TWO, PROXY, plain("db", "web"), False),
            ("keeps-all-closed", INSIDE, OPEN, closed("db", "web"), False),
        )
    ),
    *(
        Attack(
            f"a-single-load-balancer-{name}-whatever-the-default",
            start,
            run(default).then(holds, TOLD),
            "A default concerns one object alone.",
        )
        for name, start, default, holds in (
            ("stays-public", PRIVATE_ONE, CLOSE, public("web")),
            ("keeps-the-protocol", ONE, PROXY, plain("web")),
            ("reaches-its-targets-as-before", ONE, PRIVATELY, reached("web", privately=False)),
            ("publishes-ipv6", ONE, IPV4_ALONE, publishes("IPv4", "IPv6", "private")),
            ("publishes-its-private-address", ONE, HIDE, publishes("IPv4", "IPv6", "private")),
            ("stays-closed", replace(ONE, variables=INTERNAL), OPEN, closed("web")),
        )
    ),
    Attack(
        "load-balancers-keep-their-size-whatever-the-default",
        replace(TWO, variables=((f"{LB}TYPE", "lb21"),)),
        run(SMALL)
        .sees(lambda stage: stage.balancer()["load_balancer_type"]["name"] == "lb21", "web is smaller")
        .then(TOLD),
        "Guards do not count a smaller type as a loss.",
    ),
    Attack(
        "dedicated-servers-are-reached-as-before-whatever-is-forwarded",
        Start(nodes=2, metal=3, services=(("web", PRIVATE),)),
        do.sees(lambda stage: target_addresses(stage.balancer()) == PRIVATE_METAL)
        .then(run("ROBOT_FORWARD_INTERNAL_IPS=false"), TOLD)
        .sees(lambda stage: target_addresses(stage.balancer()) == PRIVATE_METAL, "web has other targets"),
        "Nodes would lose the addresses by which the load balancer reaches them.",
    ),
)


@attacks(*ACCEPTED)
def test_a_default_is_held_however_it_came_to_differ(attack: Attack) -> None:
    attack.play()


APPROVED = (
    *(
        Attack(
            f"an-old-approval-{name}-a-load-balancer-that-it-did-not-name",
            start,
            run(default).then(holds, TOLD),
            "A typo in another Service keeps the approval in force for weeks.",
            before=do.annotate("shop", TYPO).then(run(default), later(default)),
        )
        for name, start, default, holds in (
            ("leaves-public", MIXED, CLOSE, public("mail")),
            ("leaves-closed", MIXED_INSIDE, OPEN, closed("mail")),
        )
    ),
    *(
        Attack(
            f"an-approval-of-two-{name}-weeks-later",
            start,
            run(default).then(holds, TOLD),
            "Approved defaults count as accepted for every Service from then on.",
            before=run(default).then(later(default)),
        )
        for name, start, default, holds in (
            ("leaves-a-third-public", MIXED, CLOSE, public("mail")),
            ("leaves-a-third-closed", MIXED_INSIDE, OPEN, closed("mail")),
        )
    ),
)


@attacks(*APPROVED)
def test_an_approval_passes_the_differences_that_it_named(attack: Attack) -> None:
    attack.play()


JOINING = (
    *(
        Attack(
            f"a-service-that-is-made-while-{name}-is-not-public",
            INSIDE,
            do.make_service("mail").then(run(*lies), closed("mail"), TOLD),
            "Most load balancers are closed, and the new one would be public by default.",
            before=run(*lies).then(closed("db", "web")),
        )
        for name, lies in (
            ("settings-are-lost", LOST_TOGETHER),
            ("a-setting-is-lost", (LOSE,)),
            ("a-default-is-in-doubt", (OPEN,)),
        )
    ),
    Attack(
        "a-service-that-is-made-beside-a-short-list-of-load-balancers-is-not-public",
        INSIDE,
        do.make_service("mail").then(run(LOSE, "load_balancers:half"), closed("mail"), TOLD),
        "Services that a list lacks publish private addresses alone.",
    ),
    Attack(
        "a-service-that-is-made-anew-while-a-default-is-in-doubt-is-not-public",
        INSIDE,
        do.make_service("db").then(run(OPEN), closed("db"), TOLD),
        "A release is deleted and installed again.",
        before=HELD_OPEN.delete_service("db").then(run(OPEN)),
    ),
    Attack(
        "a-service-that-is-retyped-and-back-while-a-default-is-in-doubt-is-not-public",
        INSIDE,
        do.turn("db", "LoadBalancer").then(run(OPEN), closed("db"), TOLD),
        "Another type for the time of one pass ends one load balancer and makes another.",
        before=HELD_OPEN.turn("db", "ClusterIP").then(run(OPEN)),
    ),
    Attack(
        "a-service-that-is-retyped-and-back-before-a-pass-is-not-opened",
        INSIDE,
        HELD_OPEN.then(RETYPED, run(OPEN), closed("db", "web"), TOLD),
        "Passes have not seen the other type, and the hold stays.",
    ),
    Attack(
        "a-service-that-is-retyped-and-back-before-a-pass-is-not-closed",
        PRIVATE_TWO,
        HELD_CLOSED.then(RETYPED, run(CLOSE), public("db", "web"), TOLD),
        "Passes have not seen the other type, and the hold stays.",
    ),
    *(
        Attack(
            f"nodes-that-join-while-{name}-are-reached-as-the-others",
            start,
            replace_nodes(*lies).then(reached("db", "web", privately=privately), *told),
            says,
            before=run(*lies),
        )
        for name, start, lies, privately, told, says in (
            ("settings-are-lost", INSIDE, LOST_TOGETHER, True, (), "Newcomers wait for the hold, and nothing answers."),
            (
                "a-setting-is-lost",
                INSIDE,
                (NOT_PRIVATELY,),
                True,
                (),
                "Newcomers would be public targets, and none comes.",
            ),
            (
                "another-way-is-held",
                TWO,
                (PRIVATELY,),
                False,
                (TOLD,),
                "Newcomers bring about the default that is held.",
            ),
        )
    ),
    Attack(
        "nodes-that-are-all-replaced-leave-the-hold",
        PRIVATE_TWO,
        HELD_CLOSED.then(replace_nodes(CLOSE), public("db", "web"), reached("db", "web", privately=True), TOLD),
        "Load balancers are in doubt, and their targets go on to follow the Nodes.",
    ),
    Attack(
        "nodes-that-join-while-the-network-has-another-name-are-reached-as-the-others",
        replace(PRIVATE_TWO, network="private"),
        do.rename_network("backbone").then(replace_nodes(CLOSE), reached("db", "web", privately=True)),
        "Nodes wait for a network of the former name, and the last target goes.",
        before=HELD_CLOSED,
    ),
    *(
        Attack(
            f"nodes-that-join-while-{name}-is-unreadable-are-reached-as-the-others",
            PRIVATE_TWO,
            HELD_CLOSED.annotate("web", options).then(replace_nodes(CLOSE), reached("web", privately=True)),
            "A typo stops what it decides alone: dead targets go, and newcomers come.",
        )
        for name, options in (("use-private-ip", TYPO), ("node-selector", UNREADABLE))
    ),
    Attack(
        "a-node-port-is-followed-while-another-annotation-is-unreadable",
        ONE,
        do.annotate("web", TYPO)
        .listen("web", 80, node_port=31234)
        .then(run())
        .sees(lambda stage: stage.balancer()["services"][0]["destination_port"] == 31234, "web leads to a dead port"),
        "A typo stops what it decides alone, and the former node port is closed.",
    ),
)


@attacks(*JOINING)
def test_newcomers_do_not_follow_settings_in_doubt(attack: Attack) -> None:
    attack.play()


PUBLISHED = (
    *(
        Attack(
            f"a-private-address-is-not-published-beside-public-ones-by-a-default-that-is-{name}",
            replace(ONE, variables=HIDDEN),
            run(default).then(publishes("IPv4", "IPv6"), *told),
            "Clients outside of the network cannot reach a private address.",
        )
        for name, default, told in (("lost", NOT_HIDE, ()), ("mistaken", SHOW, (TOLD,)))
    ),
    Attack(
        "a-lost-default-leaves-the-hold-on-another",
        replace(PRIVATE_ONE, variables=HIDDEN),
        run(CLOSE, NOT_HIDE).then(WEB_OPEN, publishes("IPv4", "IPv6")),
        "Private addresses appear, so that the public ones are not the only addresses.",
        before=run(CLOSE).then(WEB_OPEN),
    ),
)


@attacks(*PUBLISHED)
def test_a_default_alone_changes_no_kind_of_address(attack: Attack) -> None:
    attack.play()


TO_POOL_B = do.annotate("web", {"node-selector": "pool=b"})
IN_POOL_A = (
    do.each("label", (61, 62, 63), {"pool": "a"})
    .each("label", (1, 2), {"pool": "b"})
    .annotate("web", {"node-selector": "pool=a"})
    .then(run(loop=True))
)
CHECKS = (
    *(
        Attack(
            f"checks-that-are-{status}-for-a-moment-in-a-change-of-pools-leave-servers-that-answer",
            POOLS,
            run(loop=True)
            .deafen(3, 4)
            .then(TO_POOL_B, run(f"health:{status}", loop=True), run(loop=True))
            .sees(lambda stage: target_servers(stage.balancer()) & {1, 2}, "web has lost all that answer"),
            "Servers in the other pool do not answer.",
        )
        for status in ("unhealthy", "unknown")
    ),
    *(
        Attack(
            f"checks-that-are-{status}-for-a-moment-in-a-change-of-pools-leave-dedicated-servers-that-answer",
            METAL,
            TO_POOL_B.then(run(f"health:{status}", loop=True), run(loop=True)).sees(
                lambda stage: len(target_addresses(stage.balancer())) >= 2, "web has lost most targets"
            ),
            "Servers in the other pool do not answer.",
            before=IN_POOL_A.deafen(1, 2),
        )
        for status in ("unhealthy", "unknown")
    ),
)


@attacks(*CHECKS)
def test_checks_that_fail_for_a_moment_hurry_no_change_of_pools(attack: Attack) -> None:
    attack.play()
