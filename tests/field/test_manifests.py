"""Manifests of people's Services: what is said of them without any API."""

import pytest

from desired.annotations.claims import check_claim
from desired.annotations.options import Defaults
from reconciler.observe.manifests import read_services
from tests.field.conftest import FOLDER

P = "load-balancer.hetzner.cloud/"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        pytest.param(
            "10-https-on-every-port",
            f"spec.ports[0].port is 80, and {P}protocol is https for all ports: plain http on it fails; remove the port"
            f" and set {P}http-redirect-http to true, or use a second Service",
            id="https-on-port-80",
        ),
        pytest.param(
            "11-network-annotation",
            f"{P}network is unknown, and ignored: the network is the controller's: HCLOUD_NETWORK",
            id="the-network-is-no-annotation",
        ),
        pytest.param(
            "12-load-balancer-ip",
            f"spec.loadBalancerIP has no effect: for '203.0.113.10' name its Primary IP in {P}public-net-ipv4, or set"
            f" {P}private-ipv4 for an address of the private network",
            id="an-address-of-ones-own",
        ),
    ],
)
def test_what_a_manifest_asks_for_in_vain(file: str, said: str) -> None:
    """It is the one note on the Service, and no error."""
    (found,) = read_services((FOLDER / f"{file}.yaml").read_bytes())
    assert found.claim is not None

    check = check_claim(found.claim, Defaults(), has_network=True)

    assert (check.problems, [remark.text for remark in check.remarks]) == ((), [said])
