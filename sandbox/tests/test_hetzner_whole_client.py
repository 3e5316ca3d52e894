"""What people have in a project beside a cluster, seen by the vendor's own client over HTTP."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from hcloud import APIException, Client
from hcloud.firewalls import FirewallResource, FirewallResourceLabelSelector, FirewallRule
from hcloud.images import Image
from hcloud.isos import Iso
from hcloud.locations import Location
from hcloud.server_types import ServerType
from hcloud.servers import ServerCreatePublicNetwork
from hcloud.ssh_keys import SSHKey

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from sandbox_support.hetzner_spec import ValidatingSimulator, load_spec

FSN1 = Location(name="fsn1")
SSH = FirewallRule(direction="in", protocol="tcp", port="22", source_ips=["0.0.0.0/0", "::/0"])
OPTIONS = HetznerOptions(action_s=0, rate_limit=100_000)


def public_key(text: str) -> str:
    """A key that nobody has the other half of."""
    kind = b"ssh-ed25519"
    blob = len(kind).to_bytes(4, "big") + kind + text.encode().rjust(36)
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} {text}@laptop"


@pytest.fixture
def client(background_loop: BackgroundLoop) -> Iterator[Any]:
    """The vendor's client, of an empty project whose every answer is judged; its types leave too much open."""
    clock = SimulatedClock()
    simulator: Any = HetznerSimulator(clock, OPTIONS)
    judged = ValidatingSimulator(simulator, load_spec(), collect=True)
    server = SimulatorServer(background_loop, judged, clock).start()
    endpoint = f"{server.url}/v1"
    yield Client(token=HetznerSimulator.TOKEN, api_endpoint=endpoint, api_endpoint_hetzner=endpoint, poll_interval=0.01)
    server.stop()
    assert judged.problems == []


def created(client: Any, name: str, **wishes: Any) -> Any:
    """A new server, as it is when its actions have ended."""
    defaults = {"server_type": ServerType(name="cx23"), "image": Image(name="debian-12"), "location": FSN1}
    made = client.servers.create(name=name, **(defaults | wishes))
    for action in (made.action, *made.next_actions):
        action.wait_until_finished()
    return client.servers.get_by_id(made.server.id)


def refusal(call: Any, *arguments: Any, **named: Any) -> str:
    """The code that a call is refused with."""
    with pytest.raises(APIException) as refused:
        call(*arguments, **named)
    return str(refused.value.code)


def test_every_part_of_the_client_can_list(client: Any) -> None:
    """What the client has today, and what its next version brings, but for what was removed from the API."""
    removed = {"actions", "_datacenters"}
    parts = {name: part for name, part in vars(client).items() if hasattr(part, "get_all") and name not in removed}
    counts = {name: len(part.get_all()) for name, part in parts.items()}

    assert {name for name, count in counts.items() if count} == {
        "images",
        "isos",
        "load_balancer_types",
        "locations",
        "server_types",
    }
    assert {"floating_ips", "zones", "storage_boxes", "storage_box_types", "volumes", "firewalls"} <= counts.keys()
    assert client.images.get_by_name_and_architecture("ubuntu-24.04", "arm").architecture == "arm"
    assert client.floating_ips.get_by_name("none") is None
    assert refusal(client.zones.get, "example.com") == "not_found"
    assert refusal(client.floating_ips.create, type="ipv4", home_location=FSN1) == "not_simulated"


def test_a_server_gets_all_that_its_creation_names(client: Any) -> None:
    """Key, firewall, group, volume, addresses and network; whoever has it says the same."""
    key = client.ssh_keys.create(name="me", public_key=public_key("me"))
    firewall = client.firewalls.create(name="nodes", rules=[SSH]).firewall
    group = client.placement_groups.create(name="spread", type="spread").placement_group
    volume = client.volumes.create(name="data", size=10, location=FSN1, format="ext4").volume
    address = client.primary_ips.create(name="kept", type="ipv4", location=FSN1, auto_delete=False).primary_ip
    assert refusal(address.change_dns_ptr, "192.0.2.1", "web.example.com") == "not_found"
    server = created(
        client,
        "web-1",
        ssh_keys=[key],
        firewalls=[firewall],
        placement_group=group,
        volumes=[volume],
        user_data="#cloud-config\n",
        public_net=ServerCreatePublicNetwork(ipv4=address, enable_ipv6=False),
    )

    assert (server.status, server.placement_group.id, [found.id for found in server.volumes]) == ("running", 1, [1])
    assert (server.public_net.ipv4.ip, server.public_net.ipv6) == (address.ip, None)
    assert [(found.firewall.id, found.status) for found in server.public_net.firewalls] == [(firewall.id, "applied")]
    assert [found.server.id for found in client.firewalls.get_by_id(firewall.id).applied_to] == [server.id]
    assert client.placement_groups.get_by_id(group.id).servers == [server.id]
    assert client.volumes.get_by_id(volume.id).server.id == server.id
    assert client.primary_ips.get_by_name("kept").assignee_id == server.id

    refused = [
        refusal(client.firewalls.get_by_id(firewall.id).delete),
        refusal(client.placement_groups.get_by_id(group.id).delete),
        refusal(client.volumes.get_by_id(volume.id).delete),
        refusal(client.primary_ips.get_by_name("kept").delete),
    ]
    assert refused == ["resource_in_use", "resource_in_use", "service_error", "must_be_unassigned"]
    server.delete().wait_until_finished()
    assert client.primary_ips.get_by_name("kept").assignee_id is None
    assert client.volumes.get_by_name("data").server is None
    for left in (firewall, group, volume, client.primary_ips.get_by_name("kept"), key):
        left.delete()
    assert client.primary_ips.get_all() == []


def test_a_firewall_follows_a_label_selector(client: Any) -> None:
    """A server that a selector found is behind the firewall, and cannot be taken out by name."""
    by_label = FirewallResource("label_selector", label_selector=FirewallResourceLabelSelector("pool=web"))
    firewall = client.firewalls.create(name="web", resources=[by_label]).firewall
    server = created(client, "web-1", labels={"pool": "web"})
    resource = FirewallResource("server", server=server)

    assert [found.firewall.id for found in server.public_net.firewalls] == [firewall.id]
    [applied] = client.firewalls.get_by_id(firewall.id).applied_to
    assert [found.server.id for found in applied.applied_to_resources] == [server.id]
    assert refusal(firewall.remove_from_resources, [resource]) == "firewall_managed_by_label_selector"
    firewall.apply_to_resources([resource])
    assert refusal(firewall.apply_to_resources, [resource]) == "firewall_already_applied"
    firewall.set_rules([SSH])
    firewall.remove_from_resources([resource, by_label])
    assert refusal(firewall.remove_from_resources, [resource]) == "firewall_already_removed"
    assert client.servers.get_by_id(server.id).public_net.firewalls == []
    assert [rule.port for rule in client.firewalls.get_by_name("web").rules] == ["22"]


def test_primary_ips_move_between_stopped_servers(client: Any) -> None:
    """Those that came with a server, too; the reverse name goes with the address."""
    first, second = created(client, "web-1"), created(client, "web-2")
    moving = client.primary_ips.get_by_id(first.public_net.primary_ipv4.id)

    assert (moving.auto_delete, moving.assignee_id) == (True, first.id)
    assert refusal(moving.unassign) == "server_not_stopped"
    first.power_off()
    second.power_off()
    moving.change_dns_ptr(ip=moving.ip, dns_ptr="web.example.com")
    moving.unassign()
    assert client.servers.get_by_id(first.id).public_net.ipv4 is None
    assert refusal(moving.assign, second.id, "server") == "server_has_ipv4"
    other = client.primary_ips.get_by_id(second.public_net.primary_ipv4.id)
    assert refusal(other.delete) == "must_be_unassigned"
    assert refusal(other.assign, first.id, "server") == "primary_ip_already_assigned"
    other.unassign()
    other.delete()
    moving.assign(second.id, "server")
    held = client.servers.get_by_id(second.id).public_net
    assert (held.primary_ipv4.id, held.ipv4.ip, held.ipv4.dns_ptr) == (moving.id, moving.ip, "web.example.com")
    second.delete()
    assert client.primary_ips.get_by_name(f"primary-ip-{moving.id}") is None


def test_looking_after_a_server(client: Any) -> None:
    """Rescue system, backups, snapshot, rebuild, ISO, reverse names; a console is refused in words."""
    server = created(client, "web-1")
    address = server.public_net.ipv6.ip.replace("/64", "1")
    assert server.enable_rescue(type="linux64").root_password
    assert client.servers.get_by_id(server.id).rescue_enabled
    server.reset()
    assert refusal(server.create_image, type="backup") == "service_error"
    server.enable_backup()
    snapshot = server.create_image(description="before", labels={"a": "b"}).image
    backup = server.create_image(type="backup").image
    server.attach_iso(Iso(name="netboot.xyz.iso"))
    server.change_dns_ptr(ip=address, dns_ptr="six.example.com")
    server.rebuild(Image(id=snapshot.id), return_response=True)

    found = client.servers.get_by_id(server.id)
    assert (found.rescue_enabled, found.image.id, found.iso.name) == (False, snapshot.id, "netboot.xyz.iso")
    assert [(entry["ip"], entry["dns_ptr"]) for entry in found.public_net.ipv6.dns_ptr] == [
        (address, "six.example.com")
    ]
    assert [image.id for image in client.images.get_all(type=["snapshot", "backup"])] == [snapshot.id, backup.id]
    with pytest.raises(APIException, match="request_server_console is not simulated"):
        server.request_console()
    assert refusal(client.images.get_all(name="debian-12")[0].delete) == "forbidden"
    server.disable_backup()
    snapshot.change_protection(delete=True)
    assert refusal(snapshot.delete) == "protected"
    assert [image.id for image in client.images.get_all(type="backup")] == []
    server.delete()
    assert created(client, "web-2", image=Image(id=snapshot.id)).image.description == "before"


def test_volumes_grow_and_move(client: Any) -> None:
    """Created at a server, detached, attached to another one."""
    first, second = created(client, "web-1"), created(client, "web-2")
    volume = client.volumes.create(name="data", size=10, server=first, automount=True).volume
    assert client.volumes.get_by_id(volume.id).server.id == first.id
    assert refusal(volume.attach, second) == "volume_already_attached"
    assert refusal(volume.resize, 10) == "invalid_input"
    volume.resize(20)
    volume.detach()
    volume.attach(second)
    assert [found.size for found in client.servers.get_by_id(second.id).volumes if found.reload() is None] == [20]
    elsewhere = created(client, "far", location=Location(name="nbg1"))
    volume.detach()
    assert refusal(volume.attach, elsewhere) == "invalid_input"


@pytest.mark.parametrize("text", ["", "ssh-ed25519", "ssh-rsa " + public_key("x").split(" ")[1], "ssh-ed25519 %%%"])
def test_what_is_no_ssh_key(client: Any, text: str) -> None:
    """A key says in its first bytes what it is."""
    assert refusal(client.ssh_keys.create, name="me", public_key=text) == "invalid_input"


def test_ssh_keys_are_unique(client: Any) -> None:
    """By name and by fingerprint; a creation that names none of them is refused."""
    key = client.ssh_keys.create(name="me", public_key=public_key("me"))
    assert client.ssh_keys.get_by_fingerprint(key.fingerprint).id == key.id
    assert refusal(client.ssh_keys.create, name="me", public_key=public_key("you")) == "uniqueness_error"
    assert refusal(client.ssh_keys.create, name="you", public_key=public_key("me")) == "uniqueness_error"
    assert key.update(name="mine", labels={"a": "b"}).name == "mine"
    assert refusal(created, client, "web-1", ssh_keys=[SSHKey(id=9)]) == "not_found"


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"protocol": "tcp", "source_ips": ["0.0.0.0/0"]}, "rules.port"),
        ({"protocol": "icmp", "port": "80", "source_ips": ["0.0.0.0/0"]}, "rules.port"),
        ({"protocol": "tcp", "port": "90-80", "source_ips": ["0.0.0.0/0"]}, "rules.port"),
        ({"protocol": "udp", "port": "65536", "source_ips": ["0.0.0.0/0"]}, "rules.port"),
        ({"protocol": "tcp", "port": "any", "source_ips": ["10.0.0.1/8"]}, "rules.source_ips"),
        ({"protocol": "gre"}, "rules.source_ips"),
        ({"protocol": "gre", "direction": "out", "source_ips": ["10.0.0.0/8"]}, "rules.destination_ips"),
    ],
)
def test_wrong_firewall_rules(client: Any, rule: dict[str, Any], field: str) -> None:
    """The refusal names the field."""
    wrong = FirewallRule(**{"direction": "in", "source_ips": [], **rule})
    with pytest.raises(APIException) as refused:
        client.firewalls.create(name="wrong", rules=[wrong])
    details: Any = refused.value.details
    assert [named["name"] for named in details["fields"]] == [field]


def test_a_placement_group_has_ten_servers_at_most(client: Any) -> None:
    """Servers come and go while they are stopped."""
    group = client.placement_groups.create(name="spread", type="spread").placement_group
    servers = [created(client, f"web-{number}", placement_group=group) for number in range(10)]
    late = created(client, "late")
    assert refusal(late.add_to_placement_group, group) == "placement_error"
    servers[0].remove_from_placement_group()
    assert refusal(late.add_to_placement_group, group) == "server_not_stopped"
    late.power_off()
    late.add_to_placement_group(group)
    assert refusal(late.add_to_placement_group, group) == "already_in_placement_group"
    assert len(client.placement_groups.get_by_id(group.id).servers) == 10
