"""Services of a class on a real API server: how it lets the class be set, and what a change of class leaves."""

from desired.names import (
    FINALIZER_BALANCER,
    FINALIZER_OWN_CLASS,
    LABEL_CLASS,
    LABEL_OWN_CLASS_UID,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from tests.support.in_process import ONCE, one_pass
from tests.support.objects import a_service, finalizers, ingress, said_of
from tests.support.stage import Stage
from tests.support.world import SERVICES

OF_CLASS = {**ONCE, "--load-balancer-class": OWN_CLASS}


def test_a_retained_load_balancer_goes_to_a_class_and_back(balanced: Stage) -> None:
    """By its name: UID, node ports and addresses stay."""
    balanced.have_services(a_service(name="shared", deletion_policy="retain"))
    one_pass(balanced)
    before, balancer = balanced.service(), balanced.balancers()[0]
    refused, _ = balanced.to_cluster("PATCH", f"{SERVICES}/web", {"spec": {"loadBalancerClass": OWN_CLASS}})
    assert refused == 422

    balanced.turn("web", "NodePort")
    balanced.turn("web", "LoadBalancer", OWN_CLASS)
    assert ingress(balanced.service()) == []
    one_pass(balanced)
    one_pass(balanced, OF_CLASS)

    after, (kept,) = balanced.service(), balanced.balancers()
    assert (after["metadata"]["uid"], after["spec"]["ports"]) == (before["metadata"]["uid"], before["spec"]["ports"])
    assert (kept["id"], kept["public_net"], finalizers(after)) == (
        balancer["id"],
        balancer["public_net"],
        {FINALIZER_OWN_CLASS},
    )
    assert {LABEL_OWN_CLASS_UID, LABEL_CLASS} <= kept["labels"].keys()
    assert LABEL_SERVICE_UID not in kept["labels"]
    assert (ingress(after), said_of(after)["LoadBalancerInSync"][0]) == (ingress(before), "True")

    balanced.turn("web", "NodePort")
    balanced.turn("web", "LoadBalancer")
    assert "loadBalancerClass" not in balanced.service()["spec"]
    one_pass(balanced, OF_CLASS)
    one_pass(balanced)
    assert (finalizers(balanced.service()), balanced.balancers()[0]["id"]) == ({FINALIZER_BALANCER}, balancer["id"])


def test_the_api_server_takes_the_finalizer_of_a_long_class(balanced: Stage) -> None:
    """As a digest, which is as long as can be."""
    long = f"example.com/{'x' * 63}"
    classed = a_service()
    classed["spec"]["loadBalancerClass"] = long
    balanced.have_services(classed)
    one_pass(balanced, {**ONCE, "--load-balancer-class": long})
    (finalizer,) = finalizers(balanced.service())
    assert finalizer.startswith(f"{FINALIZER_OWN_CLASS}.sha256-")
    assert ingress(balanced.service())
