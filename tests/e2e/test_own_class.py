"""Services of our own class on a real API server: which class it lets be set, and what is left by a change of class."""

import json
import shlex

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

OTHER = "example.com/internal"
CLASS_ALONE = {**ONCE, "--default-load-balancer": "false"}


def test_the_printed_steps_give_a_service_our_class(balanced: Stage) -> None:
    """Each patch is accepted, and UID, node ports, addresses and the load balancer stay; the way back is the same."""
    balanced.have_services(a_service())
    one_pass(balanced)
    before, balancer = balanced.service(), balanced.balancers()[0]
    refused, _ = balanced.to_cluster("PATCH", f"{SERVICES}/web", {"spec": {"loadBalancerClass": OWN_CLASS}})
    assert refused == 422

    manifest = balanced.folder / "web.json"
    manifest.write_text(json.dumps(a_service()))
    said = balanced.reconcile("validate", str(manifest), "--for", "class").stdout
    commands = [
        shlex.split(line.strip())
        for line in said.splitlines()
        if line.lstrip().startswith("kubectl") and " patch " in line
    ]
    patches = [json.loads(words[words.index("-p") + 1]) for words in commands]
    assert len(patches) == 2
    for patch in patches:
        balanced.patch_service(patch)
    assert ingress(balanced.service()) == []
    assert one_pass(balanced, CLASS_ALONE)["result"] == "no_changes"

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
    assert "loadBalancerClass" not in balanced.service()["spec"]
    balanced.turn("web", "LoadBalancer")
    assert one_pass(balanced)["result"] == "no_changes"
    assert (finalizers(balanced.service()), balanced.balancers()[0]["id"]) == ({FINALIZER_BALANCER}, balancer["id"])
    assert balanced.balancers()[0]["labels"] == balancer["labels"]


def test_two_processes_serve_one_cluster(balanced: Stage) -> None:
    """Each its class: by turns neither writes anything on what the other serves, and each deletes its own."""
    ours, theirs = a_service("ours"), a_service("theirs")
    ours["spec"]["loadBalancerClass"], theirs["spec"]["loadBalancerClass"] = OWN_CLASS, OTHER
    balanced.have_services(ours, theirs)
    second = {**CLASS_ALONE, "--load-balancer-class": OTHER}
    for flags in (CLASS_ALONE, second):
        assert one_pass(balanced, flags)["result"] == "no_changes"
    there = sorted(each["id"] for each in balanced.balancers())
    assert len(there) == 2
    balanced.forget()
    for flags in (CLASS_ALONE, second, ONCE):
        assert one_pass(balanced, flags)["changes"] == []
    assert (balanced.writes(), balanced.asked_of_hetzner()) == ([], [])

    balanced.delete_service("theirs")
    assert one_pass(balanced, CLASS_ALONE)["changes"] == []
    assert sorted(each["id"] for each in balanced.balancers()) == there
    one_pass(balanced, second)
    assert (list(balanced.services()), len(balanced.balancers())) == (["ours"], 1)
