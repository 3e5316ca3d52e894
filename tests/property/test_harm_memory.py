"""Attacks through records, approvals, the last hour, classes, short lists and labels: each is as short as it gets."""

from collections.abc import Mapping

from tests.support.harm_metal import METAL
from tests.support.harm_script import (
    TOLD,
    Attack,
    Script,
    attacks,
    do,
    is_told,
)
from tests.support.harm_stage import Stage
from tests.support.harm_start import EMPTY, HOME, NETWORK, Start, pods
from tests.support.harm_truth import Raw, addresses_of, published, service_uid, target_servers

LB = "HCLOUD_LOAD_BALANCERS_"
INTERNAL = (f"{LB}USE_PRIVATE_IP=true", f"{LB}DISABLE_PUBLIC_NETWORK=true")
EXCLUDED = {"node.kubernetes.io/exclude-from-external-load-balancers": ""}
INCLUDED = dict.fromkeys(EXCLUDED)
ONE, TWO = "example.com/one", "example.com/two"
TWO_SERVICES: tuple[tuple[str, Mapping[str, str]], ...] = (("db", {}), ("web", {}))
MOVED = "and its load balancer has"
"""The judge, if a Service publishes the addresses of a second load balancer."""
SHUT = "loses its public interface, and nobody has asked for that"
FEWER = "that answered at port 80 within the last hour"


def _of(load_balancer_class: str) -> tuple[str, ...]:
    """Flags of a process that serves one class and no others."""
    return (f"--load-balancer-class={load_balancer_class}",)


def _labelled(stage: Stage, name: str = "web") -> list[Raw]:
    """All load balancers with the label of a Service."""
    uid = stage.truth.seen().services["a"][f"default/{name}"]["metadata"]["uid"]
    return [each for each in stage.truth.seen().balancers[HOME].values() if service_uid(each["labels"]) == uid]


def _publishing(stage: Stage, name: str = "web") -> list[Raw]:
    """Load balancers with an address that a Service publishes."""
    now = published(stage.truth.seen().services["a"][f"default/{name}"])
    return [each for each in stage.truth.seen().balancers[HOME].values() if addresses_of(each) & now]


def _is_public(stage: Stage, *names: str) -> bool:
    return all(stage.balancer(name)["public_net"]["enabled"] for name in names)


def _serves(stage: Stage, *servers: int) -> bool:
    return target_servers(stage.balancer()) == {*servers}


def _publishes_as_at_first(stage: Stage) -> bool:
    """Whether the Service publishes its first addresses, and no others."""
    at_first = published(stage.first.services["a"]["default/web"])
    return published(stage.truth.seen().services["a"]["default/web"]) == at_first


ONE_LEFT, ALL_SERVE = do.sees(lambda stage: _serves(stage, 4)), do.sees(lambda stage: _serves(stage, 1, 2, 3, 4))
STAYS_PUBLIC = do.sees(lambda stage: _is_public(stage, "db", "web"), "a public interface was closed")
STILL_HELD = do.sees(lambda stage: stage.reports["a"].holds, "the hold is gone without a word")
ONLY_ONE = do.sees(lambda stage: len(_labelled(stage)) == 1, "a second one is made and paid")
FOUR = Start(nodes=4)


def _exclude(*, loop: bool = False) -> Script:
    """Three of four Nodes are excluded by hand, which a guard holds."""
    return do.each("label", (1, 2, 3), EXCLUDED).run(loop=loop)


def _include(*, loop: bool = False) -> Script:
    """The three Nodes serve again."""
    return do.each("label", (1, 2, 3), INCLUDED).passes(count=2, loop=loop).then(ALL_SERVE)


def _counts_once(*, loop: bool = False) -> Script:
    """The same hold comes again, and nothing passes."""
    return _exclude(loop=loop).sees(lambda stage: _serves(stage, 1, 2, 3, 4), "a used approval counts again").then(TOLD)


def _steps(*numbers: int) -> Script:
    """These Nodes are excluded within one pass."""
    return do.each("label", numbers, EXCLUDED).passes(count=1, loop=True)


FOUR_OF_EIGHT, TWO_MORE = do.run(loop=True).then(_steps(1, 2), _steps(3, 4)), _steps(5).then(_steps(6), TOLD)
"""Six of eight Nodes are excluded within the hour, in small steps."""


SHORT_LISTS = (
    Attack(
        "a-renamed-load-balancer-stays-the-only-one",
        Start(nodes=2),
        do.rename_balancer("edge").passes("load_balancers:one", count=2).run().then(ONLY_ONE),
        "two short lists prove no absence, and a second load balancer costs money for ever",
    ),
    Attack(
        "a-load-balancer-that-is-to-be-renamed-stays-the-only-one",
        Start(nodes=2),
        do.annotate("web", {"name": "edge"}).run("a", "load_balancers:one").run().then(ONLY_ONE),
        "a person asks for another name in the minute of one short list",
    ),
    Attack(
        "a-load-balancer-of-the-default-name-stays-the-only-one",
        Start(nodes=2),
        do.passes("load_balancers:all", count=2).run().then(ONLY_ONE).settle(),
        "Hetzner refuses a second load balancer of the same name",
    ),
    Attack(
        "a-load-balancer-by-hand-is-not-published-for-one-that-a-list-lacks",
        Start(nodes=2),
        do.copy_labels(EMPTY)
        .run()
        .advance(90)
        .run("a", "load_balancers:one")
        .sees(_publishes_as_at_first, "another address is published"),
        "a copied label makes no load balancer the Service's while another one has the published address",
    ),
    Attack(
        "a-load-balancer-that-has-the-wanted-name-is-not-taken-for-one-that-a-list-lacks",
        Start(nodes=2),
        do.annotate("web", {"name": "empty"}).run("a", "load_balancers:one").run().then(ONLY_ONE),
        "an adoption by name is an answer to an absence, too",
    ),
    Attack(
        "a-service-that-goes-leaves-nothing-that-is-paid",
        Start(nodes=2),
        do.delete_service()
        .run("a", "load_balancers:one")
        .advance(90)
        .run()
        .sees(lambda stage: is_told(stage) or len(stage.truth.seen().balancers[HOME]) == 4, "it is paid for ever"),
        "the last Service goes in the minute of one short list, and later passes list no load balancers",
    ),
)


@attacks(*SHORT_LISTS)
def test_a_short_list_proves_nothing(attack: Attack) -> None:
    attack.play()


LABELS = (
    Attack(
        "a-service-with-two-labelled-load-balancers-goes-on-being-served",
        Start(nodes=2),
        do.make_twin()
        .passes(count=1)
        .join()
        .passes(count=2)
        .sees(lambda stage: len(target_servers(stage.balancer())) == 3, "the newcomer gets no traffic"),
        "a Node that joins gets a target at the published load balancer",
    ),
    Attack(
        "a-second-load-balancer-with-the-label-is-told",
        Start(nodes=2),
        do.make_twin().passes(count=2).then(TOLD),
        "a second load balancer with one label is nobody's wish, and costs money",
    ),
    Attack(
        "a-hold-outlives-a-second-load-balancer-with-the-label",
        FOUR,
        _exclude().sees(lambda stage: stage.reports["a"].holds).make_twin().run().then(ALL_SERVE, STILL_HELD),
        "three Nodes are excluded as before, and the person has not answered yet",
    ),
    Attack(
        "a-service-with-two-labelled-load-balancers-can-go",
        Start(nodes=2),
        do.make_twin()
        .run()
        .delete_service()
        .passes(count=2)
        .sees(lambda stage: is_told(stage) or not stage.home.services(), "it waits for ever, and nobody is told"),
        "the published load balancer goes with its Service, and the one by hand stays",
    ),
)


@attacks(*LABELS)
def test_a_label_on_two_load_balancers_freezes_nothing(attack: Attack) -> None:
    attack.play()


LAST_HOUR = (
    Attack(
        "dedicated-servers-that-go-one-by-one-are-held",
        Start(nodes=1, metal=9),
        do.then(*(do.delete_node(METAL + place).passes(count=1, loop=True) for place in range(9)), TOLD),
        "the most of the last hour counts targets of every type",
        before=do.run(loop=True),
    ),
    Attack(
        "dedicated-servers-stay-while-checks-fail-for-a-moment",
        Start(nodes=1, network=None, metal=4, services=(("web", {"node-selector": "pool=a"}),)),
        do.annotate("web", {"node-selector": "pool=b"}).run("a", "health:unhealthy", loop=True),
        "the former pool answered a minute ago, and the next one never has",
        before=do.each("label", (METAL, METAL + 1), {"pool": "a"})
        .each("label", (METAL + 2, METAL + 3), {"pool": "b"})
        .passes(count=2, loop=True)
        .deafen(METAL + 2, METAL + 3),
    ),
    Attack(
        "a-short-list-of-load-balancers-does-not-end-the-hour",
        Start(nodes=8),
        do.passes("load_balancers:one", count=1, loop=True).then(TWO_MORE),
        "a list without a load balancer is no news of its targets",
        before=FOUR_OF_EIGHT,
    ),
    *(
        Attack(
            f"small-steps-are-held-{name}",
            Start(nodes=8),
            between.then(TWO_MORE),
            "the most of the last hour lives in the process",
            before=FOUR_OF_EIGHT,
        )
        for name, between in (
            ("after-a-short-list-of-servers", do.passes("servers:half", count=1, loop=True)),
            ("after-the-record-was-lost", do.restore_record().passes(count=1, loop=True)),
            ("while-the-record-is-forbidden", do.passes("record:403", count=1, loop=True)),
        )
    ),
)


@attacks(*LAST_HOUR)
def test_small_steps_mean_what_one_means(attack: Attack) -> None:
    attack.play()


def _lose(*numbers: int) -> Script:
    """These servers are gone, and nobody has announced that."""
    return do.each("kill", numbers).advance(150).passes(count=2, loop=True)


def _unroute(*numbers: int) -> Script:
    """These Nodes are deleted, and their servers go on."""
    return do.each("delete_node", numbers).passes(count=1, loop=True)


TWO_NODES, TWO_ROUTES = do.run(loop=True).then(_lose(1, 2)), do.run(loop=True).then(_unroute(1, 2))
WITHOUT_NODE = do.sees(lambda stage: "n3" not in stage.nodes())
WITHOUT_ROUTE = do.sees(lambda stage: (NETWORK, pods(3)) not in stage.truth.seen().routes(HOME))
COUNTS_ONE = do.sees(lambda stage: [hold.value for hold in stage.reports["a"].holds] == ["1"], "four count as lost")
PROXY = "uses-proxyprotocol"
BEGUN_ANEW = (
    Attack(
        "of-nodes-that-were-let-go",
        Start(nodes=8, services=(), routes=False),
        _lose(4).sees(lambda stage: "n4" not in stage.nodes(), "what was let go counts as lost"),
        "a person has seen three of eight go",
        before=TWO_NODES.then(_lose(3)).must_approve().passes(count=2, loop=True).then(WITHOUT_NODE),
    ),
    Attack(
        "of-routes-that-were-let-go",
        Start(nodes=8, services=()),
        _unroute(4).then(COUNTS_ONE),
        "a person has seen three of eight go, and a route to a server that is no Node is held by itself",
        before=TWO_ROUTES.then(_unroute(3)).must_approve().passes(count=2, loop=True).then(WITHOUT_ROUTE),
    ),
    Attack(
        "of-no-other-load-balancer",
        Start(nodes=8, services=TWO_SERVICES),
        TWO_MORE.sees(lambda stage: target_servers(stage.balancer("db")) == {5, 6, 7, 8}, "db was not approved"),
        "a person has let targets of one load balancer go, while another one loses a target without a hold",
        before=do.run(loop=True)
        .then(_steps(1, 2), _steps(3))
        .each("label", (5, 6, 7, 8), {"pool": "a"})
        .annotate("web", {"node-selector": "pool=b"})
        .run(loop=True)
        .must_approve()
        .then(_steps(4))
        .sees(lambda stage: target_servers(stage.balancer("web")) == set()),
    ),
    Attack(
        "by-the-guard-that-held-them-alone",
        Start(nodes=8),
        TWO_MORE.sees(lambda stage: _serves(stage, 5, 6, 7, 8), "a person has approved something else"),
        "a person has approved another protocol of the same load balancer",
        before=do.annotate("web", {PROXY: "false"})
        .configure(HCLOUD_LOAD_BALANCERS_USES_PROXYPROTOCOL="true")
        .then(FOUR_OF_EIGHT)
        .annotate("web", {PROXY: None})
        .run(loop=True)
        .must_approve()
        .run(loop=True)
        .holds(),
    ),
    Attack(
        "of-targets-and-of-no-nodes",
        Start(nodes=8),
        _lose(3).sees(lambda stage: "n3" in stage.nodes(), "a person has approved something else"),
        "a person has let targets go whose Nodes stay",
        before=TWO_NODES.each("label", (3, 4, 5), EXCLUDED)
        .run(loop=True)
        .must_approve()
        .run(loop=True)
        .sees(lambda stage: _serves(stage, 6, 7, 8)),
    ),
)


@attacks(*BEGUN_ANEW)
def test_an_approval_begins_the_hour_anew(attack: Attack) -> None:
    attack.play()


APPROVALS = (
    Attack(
        "an-approval-in-git-counts-once-though-the-record-is-lost",
        FOUR,
        _counts_once(),
        "the approval still stands in Git, and the record began after it",
        before=_exclude().approve_in_git().run().then(ONE_LEFT).restore_record().then(_include()),
    ),
    Attack(
        "an-approval-in-the-cluster-counts-once-though-the-record-is-lost",
        FOUR,
        _exclude().must_approve().run().then(ONE_LEFT).restore_record().then(_include(), _counts_once()),
        "an approval from before the record began counts no more",
    ),
    Attack(
        "an-approval-in-the-arguments-counts-once",
        FOUR,
        _counts_once(),
        "a CronJob brings the flag along with each run",
        before=_exclude().approve_by_flag().run().then(ONE_LEFT, _include()),
    ),
    Attack(
        "an-approval-in-git-counts-once-though-the-record-of-yesterday-is-back",
        FOUR,
        _counts_once(),
        "an approval lasts a day at most, even if its record is older again",
        before=do.save_record()
        .then(_exclude())
        .approve_in_git(hours=100)
        .run()
        .then(ONE_LEFT)
        .advance(25 * 3600)
        .restore_record()
        .then(_include()),
    ),
    Attack(
        "an-approval-counts-once-though-the-record-of-a-minute-ago-is-back",
        FOUR,
        _counts_once(loop=True),
        "a process knows its own use better than a backup does",
        before=do.run(loop=True)
        .then(_exclude(loop=True))
        .must_approve()
        .save_record()
        .run(loop=True)
        .then(ONE_LEFT)
        .restore_record()
        .then(_include(loop=True)),
    ),
    Attack(
        "an-approval-waits-for-a-record-that-can-be-written",
        FOUR,
        _exclude()
        .must_approve()
        .run("a", "record:403")
        .then(ALL_SERVE, TOLD)
        .run("a", "record:readonly")
        .then(ALL_SERVE, TOLD)
        .run()
        .then(ONE_LEFT, _include(), _counts_once()),
        "the use is marked in the record before anything is written",
    ),
    *(
        Attack(
            f"an-approval-counts-once-though-its-process-dies-{when}-its-mark",
            FOUR,
            _exclude().must_approve().run("a", f"dies:{when}:0").run().run().then(ONE_LEFT, _include(), _counts_once()),
            "the next process goes on with what was marked, and with nothing else",
        )
        for when in ("before", "after")
    ),
    Attack(
        "an-approval-in-the-arguments-waits-for-a-record-that-can-be-read",
        FOUR,
        do.run("a", "record:403").sees(lambda stage: _serves(stage, 1, 2, 3, 4), "it passes without a record"),
        "a record that is not read may say that the approval was used",
        before=_exclude().approve_by_flag(),
    ),
    Attack(
        "a-default-takes-nothing-though-no-record-was-ever-written",
        Start(nodes=2, services=TWO_SERVICES),
        do.run("a", "release", "record:readonly", *INTERNAL).then(STAYS_PUBLIC, TOLD),
        "a missing right to ConfigMaps is not the absence of former settings",
        before=do.install_again().run("a", "release", "record:readonly"),
    ),
    *(
        Attack(
            f"a-held-default-stays-held-while-the-record-is-forbidden-{'in-the-loop' if loop else 'once'}",
            Start(nodes=2, services=TWO_SERVICES),
            do.run("a", *INTERNAL, "record:403", loop=loop).then(STAYS_PUBLIC, TOLD),
            "a record that cannot be read is no empty record",
            before=do.run(loop=loop).run("a", *INTERNAL, loop=loop).then(STAYS_PUBLIC, TOLD),
        )
        for loop in (True, False)
    ),
)


@attacks(*APPROVALS)
def test_an_approval_counts_once(attack: Attack) -> None:
    attack.play()


BESIDE = ("release", *INTERNAL)
"""Settings of a second process, with a record of its own, for load balancers inside the network."""
TURN = do.turn("web", "NodePort").turn("web", "LoadBalancer", TWO)
CLASSES = (
    Attack(
        "a-process-without-its-flags-closes-nothing-of-another",
        Start(nodes=2, services=TWO_SERVICES),
        do.run("a", *BESIDE).then(STAYS_PUBLIC, TOLD).run().then(STAYS_PUBLIC),
        "a process without its flags meets load balancers that were made by other defaults",
        before=do.install_again()
        .make_service("inside", load_balancer_class=ONE)
        .run("a", *_of(ONE), *BESIDE)
        .sees(lambda stage: not _is_public(stage, "inside")),
    ),
    Attack(
        "processes-that-swap-their-classes-close-nothing",
        Start(nodes=2, services=()),
        do.run("a", *_of(ONE), *BESIDE)
        .sees(lambda stage: _is_public(stage, "web"), "a public interface was closed")
        .then(TOLD)
        .sees(lambda stage: len(_labelled(stage)) == len(_labelled(stage, "inside")) == 1),
        "each process meets load balancers that were made by other defaults",
        before=do.install_again()
        .make_service("web", load_balancer_class=ONE)
        .make_service("inside", load_balancer_class=TWO)
        .run("a", *_of(ONE))
        .run("a", *_of(TWO), *BESIDE)
        .advance(90)
        .run("a", *_of(TWO))
        .sees(lambda stage: not _is_public(stage, "inside")),
    ),
    Attack(
        "a-renamed-class-ends-nothing",
        Start(nodes=2, services=()),
        do.make_service("web", load_balancer_class=ONE)
        .run("a", *_of(ONE))
        .advance(90)
        .run("a", *_of(TWO))
        .sees(lambda stage: len(_publishing(stage)) == len(_labelled(stage)) == 1)
        .then(TURN)
        .passes(*_of(TWO), count=2)
        .sees(_labelled)
        .sees(lambda stage: is_told(stage) or [target_servers(each) for each in _publishing(stage)] == [{1, 2}]),
        "a Service keeps its load balancer in the former class, and has one in the next or an explanation",
    ),
    Attack(
        "a-service-back-in-another-class-loses-nothing-later",
        Start(nodes=2, retained=True, services=()),
        do.advance(700).run("a", *_of(ONE)).run().sees(_publishing, "it is served by none"),
        "time alone deletes nothing, and the next class need not wait for the former one",
        before=do.make_service("web", load_balancer_class=ONE)
        .run("a", *_of(ONE))
        .sees(_labelled)
        .turn("web", "ClusterIP")
        .run("a", *_of(ONE))
        .turn("web", "LoadBalancer")
        .run(),
    ),
)


@attacks(*CLASSES)
def test_a_class_changes_hands_without_loss(attack: Attack) -> None:
    attack.play()


COPIES = (
    Attack(
        "orphans-of-a-copy-that-serve-stay",
        Start(nodes=2),
        do.command("orphans", "--delete", cluster="copy").sees(
            lambda stage: _publishing(stage, "db"), "it is deleted, and serves the living cluster"
        ),
        "two machines of its own report to a copy that knows no Service db",
        before=do.restore().make_service("db").run().advance(300).each("join", ("copy", "copy")).run("copy"),
    ),
    Attack(
        "orphans-of-a-silent-copy-stay",
        Start(nodes=2),
        do.restore()
        .make_service("db")
        .run()
        .advance(300)
        .command("orphans", "--delete", cluster="copy")
        .sees(lambda stage: _publishing(stage, "db")),
        "no kubelet reports to the copy",
    ),
)


@attacks(*COPIES)
def test_a_copy_deletes_nothing_of_the_living_cluster(attack: Attack) -> None:
    attack.play()
