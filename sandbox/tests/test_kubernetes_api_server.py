"""``--kubernetes auto``: a real API server beside the simulated cloud."""

import json
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.kubelets import KubeletOptions, Kubelets
from hcloud_sandbox.kubernetes.api_server import ASSETS, ApiServer, assets_of
from hcloud_sandbox.kubernetes.cluster import Cluster
from hcloud_sandbox.running import Sandbox, SandboxOptions

OLD_UID = "6a1f4d3e-2b7c-4c1a-9d55-0c2f1b7a8e90"
OLD_NAME = "a6a1f4d3e2b7c4c1a9d550c2f1b7a8e9"
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
WEB = {
    "metadata": {"name": "web", "uid": OLD_UID, "resourceVersion": "7", "finalizers": ["example.com/kept"]},
    "spec": {"type": "LoadBalancer", "clusterIP": "172.20.0.9", "ports": [{"port": 80, "nodePort": 30080}]},
    "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}},
}
OWNER = {"apiVersion": "v1", "kind": "Service", "name": "web", "uid": OLD_UID}
WORLD: dict[str, Any] = {
    "kubernetes": {
        "namespaces": [{"metadata": {"name": "kube-system", "labels": {"a": "b"}}}],
        "nodes": [
            {"metadata": {"name": "web-1"}, "spec": {"providerID": "hcloud://1"}, "status": READY},
            {
                "metadata": {
                    "name": "gone",
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                    "finalizers": ["example.com/x"],
                },
            },
        ],
        "services": [WEB],
        "configmaps": [{"metadata": {"name": "kept", "namespace": "team", "ownerReferences": [OWNER]}}],
    },
    "hetzner": {
        "servers": [{"id": 1, "name": "web-1"}],
        "load_balancers": [{"id": 5, "name": OLD_NAME, "labels": {"hcloud-ccm/service-uid": OLD_UID}}],
    },
}


@pytest.fixture(scope="module")
def assets() -> Path:
    """The programs that the variable names, as ``scripts/test`` sets it."""
    found = assets_of(os.environ)
    if found is None:
        pytest.skip(f"{ASSETS} names no API server")
    return found


@pytest.fixture(scope="module")
def server(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """One API server for all tests; each has a world of names of its own."""
    server = ApiServer(assets, tmp_path_factory.mktemp("api-server"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture(scope="module")
def loaded(server: ApiServer) -> Any:
    """The world, as the server has taken it."""
    return Cluster(server).load(WORLD)


@pytest.mark.apiserver
def test_load_balancers_know_their_services_by_the_new_uids(server: ApiServer, loaded: Any) -> None:
    """In the label, and in the name that cloud controllers make of it."""
    uid = server.request("GET", "/api/v1/namespaces/default/services/web").body["metadata"]["uid"]

    [balancer] = loaded["hetzner"]["load_balancers"]

    assert uid != OLD_UID
    assert balancer["labels"] == {"hcloud-ccm/service-uid": uid}
    assert balancer["name"] == f"a{uid.replace('-', '')}"[:32]


@pytest.mark.apiserver
@pytest.mark.usefixtures("loaded")
def test_a_service_has_its_status_and_an_address_of_this_cluster(server: ApiServer) -> None:
    """Finalizers and node ports are the world's."""
    service = server.request("GET", "/api/v1/namespaces/default/services/web").body
    cluster = Cluster(server)
    cluster.refresh()

    [ingress] = service["status"]["loadBalancer"]["ingress"]
    assert ingress["ip"] == "203.0.113.9"
    assert service["metadata"]["finalizers"] == ["example.com/kept"]
    assert service["spec"]["ports"][0]["nodePort"] == 30080
    assert service["spec"]["clusterIP"].startswith("10.96.")
    assert cluster.families_of(30080) == {4}


@pytest.mark.apiserver
@pytest.mark.usefixtures("loaded")
def test_objects_keep_labels_owners_and_that_they_are_being_deleted(server: ApiServer) -> None:
    """Also those that the server had made before."""
    uid = server.request("GET", "/api/v1/namespaces/default/services/web").body["metadata"]["uid"]
    kept = server.request("GET", "/api/v1/namespaces/team/configmaps/kept").body
    gone = server.request("GET", "/api/v1/nodes/gone").body
    system = server.request("GET", "/api/v1/namespaces/kube-system").body

    assert kept["metadata"]["ownerReferences"] == [{**OWNER, "uid": uid}]
    assert "deletionTimestamp" in gone["metadata"]
    assert system["metadata"]["labels"]["a"] == "b"


@pytest.mark.apiserver
def test_an_object_that_the_server_refuses_is_named(server: ApiServer) -> None:
    """By its place in the file, with the server's words."""
    world = {"kubernetes": {"services": [{"metadata": {"name": "bad"}, "spec": {"ports": [{"port": 0}]}}]}}

    with pytest.raises(
        ValueError, match=r"kubernetes\.services\[0\] is refused: Service \"bad\" is invalid: \[spec\.ports"
    ):
        Cluster(server).load(world)


@pytest.mark.apiserver
def test_a_short_uid_is_no_part_of_another_text(server: ApiServer) -> None:
    """A UID of a world may be a piece of any name, or of the file's own words."""
    world = {
        "kubernetes": {
            "nodes": [{"metadata": {"name": "edu1", "uid": "u1"}}, {"metadata": {"name": "n-1", "uid": "1"}}]
        },
        "hetzner": {"servers": [{"id": 1, "name": "edu1", "labels": {"node": "u1"}}]},
    }

    [found] = Cluster(server).load(world)["hetzner"]["servers"]

    uid = server.request("GET", "/api/v1/nodes/edu1").body["metadata"]["uid"]
    assert found == {"id": 1, "name": "edu1", "labels": {"node": uid}}


@pytest.mark.apiserver
def test_it_takes_what_a_capture_leaves_of_a_workload(server: ApiServer) -> None:
    """Which has the image and not the rest that the server demands."""
    pod = {"containers": [{"image": "docker.io/hetznercloud/hcloud-cloud-controller-manager:v1.33.0"}]}
    sent = {"metadata": {"name": "hccm", "namespace": "kube-system"}, "spec": {"template": {"spec": pod}}}

    Cluster(server).load({"kubernetes": {"deployments": [sent]}})

    made = server.request("GET", "/apis/apps/v1/namespaces/kube-system/deployments/hccm").body
    assert made["spec"]["template"]["spec"]["containers"][0]["image"] == pod["containers"][0]["image"]


@pytest.mark.apiserver
def test_it_takes_what_a_capture_leaves_of_a_volume_attachment(server: ApiServer) -> None:
    """Which has the Node, and neither driver nor volume."""
    sent = {"metadata": {"name": "csi-1"}, "spec": {"nodeName": "web-1"}}

    Cluster(server).load({"kubernetes": {"volumeattachments": [sent]}})

    made = server.request("GET", "/apis/storage.k8s.io/v1/volumeattachments/csi-1").body
    assert made["spec"]["nodeName"] == "web-1"


@pytest.mark.apiserver
@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
def test_it_has_services_of_both_families(server: ApiServer, family: str) -> None:
    """As a world may have them."""
    spec = {"ipFamilies": [family], "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}]}

    Cluster(server).load({"kubernetes": {"services": [{"metadata": {"name": family.lower()}, "spec": spec}]}})

    made = server.request("GET", f"/api/v1/namespaces/default/services/{family.lower()}").body
    assert made["spec"]["ipFamilies"] == [family]


@pytest.mark.apiserver
@pytest.mark.parametrize("metadata", [{"name": "x", "uid": 5}, {}, None])
def test_an_object_without_a_name_or_with_a_wrong_uid_is_named(server: ApiServer, metadata: Any) -> None:
    """Before anything of it is sent."""
    with pytest.raises(ValueError, match=r"kubernetes\.nodes\[0\]"):
        Cluster(server).load({"kubernetes": {"nodes": [{"metadata": metadata, "spec": None}]}})


@pytest.mark.apiserver
def test_kubelets_speak_to_it(server: ApiServer) -> None:
    """A server is created and joins; when it is off, its Node is Unknown and tainted."""
    clock = SimulatedClock()
    hetzner = HetznerSimulator(clock, HetznerOptions(action_s=0), world={"servers": []})
    cluster = Cluster(server)
    kubelets = Kubelets(hetzner, cluster, clock, KubeletOptions(join_s=5, grace_s=50))

    def cloud(method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {HetznerSimulator.TOKEN}"}
        answer = hetzner.handle(Request.of(method, f"/v1{path}", body, headers))
        assert answer.status < 300, answer.body
        kubelets.tick()
        return answer.body

    def said_after(seconds: float) -> tuple[str, set[str]]:
        """Status of Ready and the keys of taints."""
        clock.advance(seconds)
        for _ in range(2):
            cluster.refresh()
            kubelets.tick()
        node = server.request("GET", "/api/v1/nodes/joining").body
        [ready] = [each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready"]
        return ready, {taint["key"].rpartition("/")[2] for taint in node["spec"].get("taints", ())}

    made = cloud("POST", "/servers", {"name": "joining", "server_type": "cx23", "image": "debian-12"})
    assert said_after(6) == ("False", {"uninitialized", "not-ready"})

    cloud("POST", f"/servers/{made['server']['id']}/actions/poweroff")
    assert said_after(60) == ("Unknown", {"uninitialized", "unreachable"})
    lease = server.request("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/joining")
    assert lease.body["spec"]["holderIdentity"] == "joining"


@pytest.mark.apiserver
def test_a_sandbox_has_it_with_its_world(assets: Path) -> None:
    """Its clients get a kubeconfig, and its load balancer is the Service's. All ends with it, but its Nodes are not
    gone because its server is."""
    with Sandbox(SandboxOptions(world=WORLD, kubernetes_assets=assets)) as sandbox:
        kubeconfig = json.loads(Path(sandbox.environment["KUBECONFIG"]).read_text())
        address = urlsplit(kubeconfig["clusters"][0]["cluster"]["server"])
        [balancer] = sandbox.hetzner.world()["hetzner"]["load_balancers"]
        cluster = sandbox._cluster

    assert balancer["labels"]["hcloud-ccm/service-uid"] != OLD_UID
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(address.hostname), int(address.port or 0)))
    assert cluster is not None
    cluster.refresh()
    assert {node["metadata"]["name"] for node in cluster.nodes()} == {"web-1", "gone"}
    assert cluster.act("POST", "/api/v1/nodes", {"metadata": {"name": "x"}}).status == 503


@pytest.mark.apiserver
def test_a_start_can_be_stopped(assets: Path) -> None:
    """Nobody waits for an API server that is not wanted any more, and nothing of it stays."""
    with pytest.raises(InterruptedError), Sandbox(SandboxOptions(kubernetes_assets=assets), stopped=lambda: True):
        pass


def test_a_port_that_is_taken_is_told_before_anything_starts(tmp_path: Path) -> None:
    """In the words of the other ports."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} of 127.0.0.1 cannot be used: Address already in use"):
            ApiServer(tmp_path, tmp_path, port).start()


@pytest.mark.parametrize(("made", "missing"), [((), "etcd and no kube-apiserver"), (("etcd",), "kube-apiserver")])
def test_a_folder_without_the_programs_is_refused(tmp_path: Path, made: Sequence[str], missing: str) -> None:
    """With the variable's name; without the variable there is none, which is no error."""
    for name in made:
        (tmp_path / name).touch(mode=0o755)

    with pytest.raises(ValueError, match=rf"KUBEBUILDER_ASSETS is '.*', which has no {missing}: name a folder"):
        assets_of({ASSETS: str(tmp_path)})
    assert assets_of({}) is None


def test_a_program_that_ends_at_once_is_told_with_its_log(tmp_path: Path) -> None:
    """Nobody waits for a deadline."""
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).write_text("#!/bin/sh\necho cannot run here\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    server = ApiServer(tmp_path, tmp_path)
    try:
        with pytest.raises(OSError, match=r"has ended; the end of its log:\ncannot run here"):
            server.start()
    finally:
        server.stop()
