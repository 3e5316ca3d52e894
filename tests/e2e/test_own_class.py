"""Services of our own class on a real API server: which class it lets be set, and what is left by a change of class."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

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


def printed_patches(stage: Stage, service: Mapping[str, Any], to: str) -> list[dict[str, Any]]:
    """Those of the steps that the command prints for a Service."""
    manifest = stage.folder / "web.json"
    manifest.write_text(json.dumps(service))
    said = stage.reconcile("validate", str(manifest), "--for", to).stdout
    commands = [shlex.split(line) for line in said.splitlines() if line.lstrip().startswith("kubectl")]
    found = [json.loads(words[words.index("-p") + 1]) for words in commands if "patch" in words]
    assert len(found) == 2
    return found


def test_the_printed_steps_give_a_service_our_class(balanced: Stage) -> None:
    """Each patch is accepted, and UID, node ports, addresses and the load balancer stay, there and back."""
    balanced.have_services(a_service())
    one_pass(balanced)
    before, balancer = balanced.service(), balanced.balancers()[0]
    refused, _ = balanced.to_cluster("PATCH", f"{SERVICES}/web", {"spec": {"loadBalancerClass": OWN_CLASS}})
    assert refused == 422

    for patch in printed_patches(balanced, a_service(), "class"):
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

    classed = a_service()
    classed["spec"]["loadBalancerClass"] = OWN_CLASS
    for patch in printed_patches(balanced, classed, "no-class"):
        balanced.patch_service(patch)
    assert "loadBalancerClass" not in balanced.service()["spec"]
    assert one_pass(balanced)["result"] == "no_changes"
    assert (finalizers(balanced.service()), balanced.balancers()[0]["id"]) == ({FINALIZER_BALANCER}, balancer["id"])
    assert balanced.balancers()[0]["labels"] == balancer["labels"]
