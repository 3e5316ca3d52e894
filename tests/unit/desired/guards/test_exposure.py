"""The guard ``exposure``: what is internal becomes public by an annotation of its own Service alone."""

from dataclasses import replace
from typing import Any

from desired.annotations.options import Options
from desired.model.service import Ingress
from desired.plan.change import Verdict
from desired.section import Present
from tests.balancers import IN_NETWORK, NETWORK, a_balancer, a_world
from tests.support.balancer_plans import HERE, asking, fleet, new, private
from tests.support.balancer_verdicts import judged, verdicts
from tests.support.rows import rows

PUBLIC = "load_balancer/default/web/public"


@rows("published annotations default expected", {
    "a setting was lost": (("10.0.0.9",), {}, False, (Verdict.HELD, "exposure")),
    "it is internal again": (("10.0.0.9",), {}, True, (Verdict.ALLOWED, None)),
    "asked for": (("10.0.0.9",), {"disable_public_network": "false"}, False, (Verdict.ALLOWED, None)),
    "it was public": (("203.0.113.9", "10.0.0.9"), {}, False, (Verdict.ALLOWED, None)),
    "nothing was published": ((), {}, False, (Verdict.ALLOWED, None)),
    "another controller has published": (("10.20.0.5",), {}, False, (Verdict.ALLOWED, None)),
    "what nobody understands": (("nonsense",), {}, False, (Verdict.ALLOWED, None)),
})  # fmt: skip
def test_an_internal_load_balancer_that_was_deleted(
    published: tuple[str, ...], annotations: dict[str, str], default: bool, expected: Any
) -> None:
    """By hand, beside the setting that kept it internal: the new one would be public."""
    entries = tuple(Ingress(ip) for ip in published)
    service = replace(asking(use_private_ip="true", **annotations), ingress=entries)
    world = a_world([service], [], network=Present(NETWORK), **fleet(1))
    settings = replace(IN_NETWORK, balancer_defaults=Options(location="fsn1", disable_public_network=default))
    assert verdicts(judged(world, settings))["load_balancer/default/web"] == expected


@rows("annotations default expected", {
    "a setting for all": ({}, False, (Verdict.HELD, "by-default")),
    "its own annotation": ({"disable_public_network": "false"}, True, (Verdict.ALLOWED, None)),
    "both": ({"disable_public_network": "false"}, False, (Verdict.ALLOWED, None)),
    "its own annotation keeps it internal": ({"disable_public_network": "true"}, False, None),
    "a setting keeps it internal": ({}, True, None),
})  # fmt: skip
def test_an_internal_load_balancer(annotations: dict[str, str], default: bool, expected: Any) -> None:
    """Opened where its own Service says so, and else when a person does."""
    balancer = a_balancer(attachments=(HERE,), targets=private(1), spec={"public_interface": False})
    service = asking(use_private_ip="true", **annotations)
    world = a_world([service], [balancer], network=Present(NETWORK), **fleet(1))
    settings = replace(IN_NETWORK, balancer_defaults=Options(location="fsn1", disable_public_network=default))

    plan = judged(world, settings)

    assert verdicts(plan).get(PUBLIC) == expected
    approved = judged(world, settings, [hold.hash for hold in plan.holds])
    assert all(change.decision.verdict is Verdict.ALLOWED for change in approved.changes if change.key == PUBLIC)


@rows("others expected", {
    "most are internal": (("internal", "internal", "public"), (Verdict.HELD, "exposure")),
    "half of them": (("internal", "public"), (Verdict.ALLOWED, None)),
    "a list lacks them": (("unlisted", "unlisted"), (Verdict.HELD, "exposure")),
    "an annotation decides on them": (("decided", "decided"), (Verdict.ALLOWED, None)),
    "it is the first": ((), (Verdict.ALLOWED, None)),
})  # fmt: skip
def test_a_new_one_is_public_as_most_others_are(others: tuple[str, ...], expected: Any) -> None:
    """Whatever setting was lost. Those that a list lacks publish private addresses alone."""
    services, balancers = [new(use_private_ip="true")], []
    for number, kind in enumerate(others):
        name, uid, options = f"other-{number}", f"uid-{number}", {"use_private_ip": "true"}
        options |= {"disable_public_network": "true"} if kind == "decided" else {}
        ingress = (Ingress("10.0.0.200"),) if kind != "public" else ()
        services.append(replace(asking(**options), name=name, uid=uid, ingress=ingress))
        spec = {"public_interface": kind == "public", "name": name}
        if kind != "unlisted":
            balancers.append(
                a_balancer(100 + number, service_uid=uid, attachments=(HERE,), targets=private(1), spec=spec)
            )
    plan = judged(a_world(services, balancers, network=Present(NETWORK), **fleet(1)), IN_NETWORK)
    assert verdicts(plan)["load_balancer/default/web"] == expected
