"""Manifests of people's Services: what is said of them without any API."""

import pytest

from desired.annotations.claims import check_claim
from desired.annotations.options import Options
from desired.model.serving import Serving
from reconciler.cli import main
from reconciler.observe.manifests import FoundService, read_manifests
from tests.field.conftest import FOLDER
from tests.support.said import logging_as_before

P = "load-balancer.hetzner.cloud/"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        pytest.param(
            "10-https-on-every-port",
            f"spec.ports[0].port is 80, and {P}protocol is https for all ports: plain http on it fails; remove the port"
            f" and set {P}http-redirect-http to true, or set port-80.hcloud-reconciler/protocol to http",
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
    (found,) = read_manifests((FOLDER / f"{file}.yaml").read_bytes(), Serving())
    assert isinstance(found, FoundService)
    assert found.claim is not None

    check = check_claim(found.claim, Options(), has_network=True)

    assert (check.problems, [remark.text for remark in check.remarks]) == ((), [said])


def test_annotations_in_other_documents(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Helm's values, an EnvoyProxy and values inside of a text are judged, and the summary says how far."""
    monkeypatch.setenv("HCLOUD_NETWORK", "private")
    file = FOLDER / "13-annotations-in-other-documents.yaml"

    with logging_as_before():
        assert main(["validate", str(file)]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"{file}, document 1: controller.service.annotations",
        f'  error: {P}use-private-ip is a boolean and no text: put it in quotes, as in "true"',
        f"  error: {P}locaton is unknown, and ignored: did you mean {P}location?",
        f"{file}, document 2: EnvoyProxy/proxy: spec.provider.kubernetes.envoyService.annotations",
        (
            f"  error: {P}health-check-interval is '5': expect a duration with a unit, such as 30s, 1m30s or 500ms (did"
            " you mean 5s?); correct it, or remove it"
        ),
        f"{file}, document 3: HelmChartConfig/kube-system/ingress: spec.valuesContent: service.annotations",
        f'  error: {P}uses-proxyprotocol is a boolean and no text: put it in quotes, as in "true"',
        "",
        (
            "0 Services of type LoadBalancer and 3 other places with annotations (keys and values only) in 1 file, and"
            " the configuration: 4 errors, 0 notes."
        ),
    ]
