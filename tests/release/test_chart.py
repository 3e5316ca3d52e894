"""The chart, rendered by a real helm, judged by a real API server: HCCM's values are understood, bad ones refused."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.app import parse_command_line
from reconciler.config.config import load_config
from tests.support.apiserver import ApiServer
from tests.support.chart import (
    CHART,
    RefusedError,
    by_kind,
    collection,
    complaints,
    container_in,
    helm,
    pod_in,
    rendered,
)
from tests.support.rows import rows
from tests.support.stage import wait_for

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]
"""The first test may have to build helm."""

OPERATOR = "monitoring.coreos.com/v1"
KNOWS_OPERATOR = ("--api-versions", f"{OPERATOR}/PodMonitor", "--api-versions", f"{OPERATOR}/PrometheusRule")
UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"


def _of_secret(key: str, **more: Any) -> dict[str, Any]:
    return {"valueFrom": {"secretKeyRef": {"name": "hcloud", "key": key, **more}}}


ARGS_OF_HCCM = {
    "cloud-provider": "hcloud",
    "allow-untagged-cloud": "",
    "route-reconciliation-period": "30s",
    "webhook-secure-port": "0",
}
OF_HCCM: Mapping[str, Any] = {
    "args": {**ARGS_OF_HCCM, "feature-gates": "CloudControllerManagerWatchBasedRoutesReconciliation=true"},
    "kind": "Deployment",
    "replicaCount": 1,
    "env": {
        "HCLOUD_TOKEN": _of_secret("token"),
        "ROBOT_USER": _of_secret("robot-user", optional=True),
        "ROBOT_PASSWORD": _of_secret("robot-password", optional=True),
    },
    "image": {"tag": "v{{ $.Chart.Version }}", "pullSecrets": []},
    "monitoring": {"enabled": True, "podMonitor": {
        "enabled": False, "labels": {}, "annotations": {}, "spec": {"podMetricsEndpoints": [{"port": "metrics"}]}
    }},
    "nameOverride": None,
    "networking": {"enabled": False, "clusterCIDR": "10.244.0.0/16", "network": _of_secret("network")},
    "resources": {"requests": {"cpu": "100m", "memory": "50Mi"}},
    "podSecurityContext": {
        "runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}
    },
    "securityContext": {
        "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}
    },
    "selectorLabels": {
        "app.kubernetes.io/name": '{{ include "hcloud-cloud-controller-manager.name" $ }}',
        "app.kubernetes.io/instance": "{{ $.Release.Name }}",
    },
    "strategy": {},
    "additionalTolerations": [],
    "nodeSelector": {},
    "affinity": {},
    "priorityClassName": "system-cluster-critical",
    "dnsPolicy": "Default",
    "dnsConfig": {},
    "robot": {"enabled": False},
    "rbac": {"create": True},
    "serviceAccount": {"annotations": {}},
    "podLabels": {},
    "podAnnotations": {},
    "extraVolumes": [],
    "extraVolumeMounts": [],
}  # fmt: skip
"""Every value of HCCM's chart with its default, to the letter; but its image."""

OF_K3S_INSTALLERS: Mapping[str, Any] = {
    "networking": {"enabled": "true", "clusterCIDR": "10.42.0.0/16"},
    "args": {**ARGS_OF_HCCM, "secure-port": "10288", "allocate-node-cidrs": "true"},
    "env": {
        "HCLOUD_LOAD_BALANCERS_LOCATION": {"value": "fsn1"},
        "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": {"value": "true"},
        "HCLOUD_LOAD_BALANCERS_ENABLED": {"value": "true"},
        "HCLOUD_LOAD_BALANCERS_DISABLE_PRIVATE_INGRESS": {"value": "true"},
        "HCLOUD_NETWORK_ROUTES_ENABLED": {"value": "false"},
        "HCLOUD_DEBUG": {"value": "1"},
    },
    "robot": {"enabled": True},
    "hostNetwork": True,
}
"""The shape of what installers of k3s on Hetzner write, kube-hetzner above all."""

OF_TALOS_INSTALLERS: Mapping[str, Any] = {
    "kind": "DaemonSet",
    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    "networking": {"enabled": True, "clusterCIDR": "10.0.128.0/17"},
    "env": {"HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP": {"value": "true"}, "HCLOUD_NETWORK": _of_secret("network")},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
}
"""The shape of what installers of Talos on Hetzner write."""

TOKEN_FROM_A_FILE: Mapping[str, Any] = {
    "env": {"HCLOUD_TOKEN": None, "HCLOUD_TOKEN_FILE": {"value": "/var/run/secrets/hcloud/token"}},
    "extraVolumes": [{"name": "token", "secret": {"secretName": "hcloud"}}],
    "extraVolumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/hcloud", "readOnly": True}],
}
PLACED: Mapping[str, Any] = {
    "additionalTolerations": [{"key": "example.com/blue", "operator": "Exists", "effect": "NoSchedule"}],
    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "Exists"}]}
    ]}}},
    "priorityClassName": "system-node-critical",
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["185.12.64.1"]},
    "image": {"pullSecrets": [{"name": "registry"}]},
    "podLabels": {"team": "blue"},
    "podAnnotations": {"example.com/note": "yes"},
    "serviceAccount": {"annotations": {"example.com/note": "yes"}},
}  # fmt: skip
WATCHED: Mapping[str, Any] = {
    "monitoring": {
        "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "annotations": {"example.com/note": "x"}},
        "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
        "dashboard": {"enabled": True},
    }
}

IN_A_NETWORK: Mapping[str, Any] = {"networking": {"enabled": True}}
VALUES: Mapping[str, Mapping[str, Any]] = {
    "the defaults": {},
    "all of HCCM's with their defaults": OF_HCCM,
    "what installers of k3s write": OF_K3S_INSTALLERS,
    "what installers of Talos write": OF_TALOS_INSTALLERS,
    "texts where HCCM's chart takes them": {"replicaCount": "2", "rbac": {"create": "true"}, "robot": {"enabled": ""},
        "monitoring": {"enabled": "true", "podMonitor": {"enabled": ""}}},
    "HCCM's example for production": {"replicaCount": 3, "resources": {"requests": {"cpu": "500m", "memory": "100Mi"}},
        "monitoring": {"podMonitor": {"enabled": True}},
        "networking": {"enabled": True, "clusterCIDR": "10.244.0.0/16"}},
    "a DaemonSet that is placed": {"kind": "DaemonSet", **PLACED},
    "a Deployment that is placed": PLACED,
    "a CronJob": {"kind": "CronJob"},
    "a CronJob in a network": {"kind": "CronJob", **IN_A_NETWORK},
    "a network": IN_A_NETWORK,
    "networking": {"networking": {"enabled": True, "network": {"value": "private"}}},
    "Robot in a network": {**IN_A_NETWORK, "robot": {"enabled": True},
        "env": {"HCLOUD_NETWORK_ROUTES_ENABLED": {"value": "false"}}},
    "no monitoring": {"monitoring": {"enabled": False}},
    "all monitoring": WATCHED,
    "a token from a file": TOKEN_FROM_A_FILE,
    "only looking": {"policy": "observe", "health": {"port": 10259}, "monitoring": {"port": 8234}},
    "a network policy": {"networkPolicy": {"enabled": True, "metricsFrom": [{"namespaceSelector": {}}]}},
    "a long name": {"nameOverride": f"{'n' * 62}-too-long"},
    "one port for probes and metrics": {"health": {"port": 8233}, "networkPolicy": {"enabled": True}},
    "no roles": {"rbac": {"create": False}},
    "a Lease of its own": {"args": {"leader-elect-resource-name": "a", "leader-elect-resource-namespace": "default"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def operated(api_server: ApiServer) -> Iterator[ApiServer]:
    """The shared API server, which knows the operator's two kinds as far as a name goes."""
    made = [_operators_kind("PodMonitor"), _operators_kind("PrometheusRule")]
    for definition in made:
        assert api_server.request("POST", collection(definition), definition)[0] in (201, 409)
    yield api_server
    for definition in made:
        api_server.request("DELETE", f"{collection(definition)}/{definition['metadata']['name']}")


def _operators_kind(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free}, "required": ["spec"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.monitoring.coreos.com",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def test_helm_finds_nothing_to_complain_of() -> None:
    """``helm lint --strict``, and every default is described by the schema."""
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))
    schema = json.loads((CHART / "values.schema.json").read_text())

    assert set(schema["properties"]) - {"global"} == set(yaml.safe_load((CHART / "values.yaml").read_text()))


@pytest.mark.parametrize("name", VALUES)
def test_the_api_server_takes_every_object(operated: ApiServer, name: str) -> None:
    """Server-side dry run with strict fields, whatever the values."""
    objects = [each for each in rendered(VALUES[name], *KNOWS_OPERATOR) if each["apiVersion"] != OPERATOR]

    assert complaints(operated, objects) == {}
    assert all(len(each["metadata"]["name"]) <= 63 for each in objects)


def test_the_operators_objects_are_taken_where_it_is_installed(operated: ApiServer) -> None:
    """PodMonitor and PrometheusRule, as far as a definition without a schema can tell."""
    objects = by_kind(rendered(WATCHED, *KNOWS_OPERATOR))
    (monitor,), (rule,) = objects["PodMonitor"], objects["PrometheusRule"]
    wait_for(lambda: complaints(operated, [monitor, rule]) == {}, "kinds that have just been defined")

    assert monitor["metadata"]["labels"] == rule["metadata"]["labels"] == {"release": "prometheus"}
    assert monitor["spec"]["selector"]["matchLabels"] == pod_in(rendered())["metadata"]["labels"]
    assert monitor["spec"]["podMetricsEndpoints"] == [{"port": "metrics"}]
    assert all({"alert", "expr", "labels", "annotations"} <= set(each) for each in rule["spec"]["groups"][0]["rules"])


def test_alerts_lead_to_the_runbook_where_it_is_served() -> None:
    """By the address of its page, once somebody has said that; and that is one."""
    served = {
        "monitoring": {"prometheusRule": {"enabled": True, "runbookURL": "https://docs.example.com/runbook.html"}}
    }
    (rule,) = by_kind(rendered(served, *KNOWS_OPERATOR))["PrometheusRule"]
    links = {each["alert"]: each["annotations"] for each in rule["spec"]["groups"][0]["rules"]}

    assert {name: said["runbook_url"] for name, said in links.items()} == {
        name: f"https://docs.example.com/runbook.html#{name.lower()}" for name in links
    }
    assert all("runbook" not in said for said in links.values())
    with pytest.raises(RefusedError, match="runbookURL"):
        rendered({"monitoring": {"prometheusRule": {"runbookURL": "docs.example.com/runbook.html"}}})


@rows("name called", {
    "by default": (None, "hcloud-reconciler"),
    "too long a name": (f"{'n' * 62}-too-long", "n" * 62),
})  # fmt: skip
def test_the_selector_is_the_same_with_hccms_values_and_without(name: str | None, called: str) -> None:
    """Nobody can change it later on: a release may take in HCCM's whole file, or leave it out again."""
    own = rendered({"nameOverride": name}, *KNOWS_OPERATOR)
    given = rendered(
        {**OF_HCCM, "replicaCount": 2, "nameOverride": name, "monitoring": WATCHED["monitoring"]}, *KNOWS_OPERATOR
    )
    expected = {"app.kubernetes.io/name": called, "app.kubernetes.io/instance": "hcloud-reconciler"}

    assert [_selector(own, "Deployment"), _selector(given, "Deployment")] == [expected, expected]
    assert [_selector(given, kind) for kind in ("PodDisruptionBudget", "PodMonitor")] == [expected, expected]
    assert [pod_in(objects)["metadata"]["labels"] for objects in (own, given)] == [expected, expected]


def _selector(objects: list[dict[str, Any]], kind: str) -> dict[str, str]:
    (found,) = by_kind(objects)[kind]
    labels: dict[str, str] = found["spec"]["selector"]["matchLabels"]
    return labels


DEFAULT_ARGS = ["run", "--health-address=:10258", "--log-format=json", "--policy=sync"]


@rows("values arguments", {
    "the defaults": ({}, DEFAULT_ARGS),
    "null leaves one out": ({"args": {"policy": None}}, DEFAULT_ARGS[:3]),
    "empty renders it bare": ({"args": {"dry-run": ""}}, ["--dry-run", *DEFAULT_ARGS[1:]]),
    "numbers and booleans": ({"args": {"leader-elect": False, "v": 4, "kube-api-qps": 2000000}},
        [*DEFAULT_ARGS[:2], "--kube-api-qps=2000000", "--leader-elect=false", *DEFAULT_ARGS[2:], "--v=4"]),
    "args win over other values": ({"args": {"policy": "upsert"}, "policy": "sync"},
        [*DEFAULT_ARGS[:3], "--policy=upsert"]),
    "only looking, without the Lease": ({"policy": "observe", "interval": "5m", "logFormat": "text",
        "health": {"port": 10259}}, ["run", "--health-address=:10259", "--interval=5m", "--leader-elect=false",
        "--log-format=text", "--policy=observe"]),
    "networking": ({"networking": {"enabled": True, "clusterCIDR": "10.1.0.0/16"}},
        ["run", "--cluster-cidr=10.1.0.0/16", "--health-address=127.0.0.1:10258", *DEFAULT_ARGS[2:]]),
    "a CronJob": ({"kind": "CronJob"}, ["--once", "--policy=sync"]),
})  # fmt: skip
def test_arguments(values: Mapping[str, Any], arguments: list[str]) -> None:
    """``run``, but where a flag says that it is no controller; flags in the order of their names. The Lease is taken by
    whoever may write."""
    assert container_in(rendered(values))["args"] == arguments


FROM_SECRET = {
    "HCLOUD_TOKEN": {"key": "token", "name": "hcloud"},
    "ROBOT_PASSWORD": {"key": "robot-password", "name": "hcloud", "optional": True},
    "ROBOT_USER": {"key": "robot-user", "name": "hcloud", "optional": True},
}


@rows("values changed", {
    "the defaults": ({}, {}),
    "a token from a file": (TOKEN_FROM_A_FILE,
        {"HCLOUD_TOKEN": None, "HCLOUD_TOKEN_FILE": "/var/run/secrets/hcloud/token"}),
    "templates": ({"env": {"CLUSTER": {"value": "{{ .Release.Name }}-{{ .Release.Namespace }}"}}},
        {"CLUSTER": "hcloud-reconciler-kube-system"}),
    "networking": ({"networking": {"enabled": True}},
        {"HCLOUD_NETWORK": {"key": "network", "name": "hcloud"}, "HCLOUD_METRICS_ADDRESS": "127.0.0.1:8233"}),
    "a network by name": ({"networking": {"enabled": True, "network": {"value": "private"}}, "hostNetwork": False},
        {"HCLOUD_NETWORK": "private"}),
    "Robot": ({"robot": {"enabled": True}}, {"ROBOT_ENABLED": "true"}),
    "no monitoring": ({"monitoring": {"enabled": False}}, {"HCLOUD_METRICS_ENABLED": "false"}),
    "another port": ({"monitoring": {"port": 9000}}, {"HCLOUD_METRICS_ADDRESS": ":9000"}),
})  # fmt: skip
def test_variables(values: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
    """The secret's keys are those of HCCM's; null takes a variable out."""
    found = {
        each["name"]: each["value"] if "value" in each else each["valueFrom"]["secretKeyRef"]
        for each in container_in(rendered(values))["env"]
    }

    assert found == {name: of for name, of in {**FROM_SECRET, **changed}.items() if of is not None}


@pytest.mark.parametrize("name", VALUES)
def test_the_product_takes_every_flag_and_variable(name: str, tmp_path: Path) -> None:
    """HCCM's without a meaning here are warned of, and nothing else is."""
    (tmp_path / "token").write_text("t" * 64)
    container = container_in(rendered(VALUES[name]))
    of_secret = {"token": "t" * 64, "robot-user": "u", "robot-password": "p", "network": "private"}
    environment = {
        each["name"]: each["value"].replace("$(BIND_ADDRESS)", "10.0.0.9")
        if "value" in each
        else of_secret[each["valueFrom"]["secretKeyRef"]["key"]]
        for each in container["env"]
        if "fieldRef" not in each.get("valueFrom", {})
    }
    if "HCLOUD_TOKEN_FILE" in environment:
        environment["HCLOUD_TOKEN_FILE"] = str(tmp_path / "token")

    command, flags, _ = parse_command_line(container["args"])
    config = load_config(command, flags, environment)

    of_hccm = set(VALUES[name].get("args", {})) - {"leader-elect-resource-name", "leader-elect-resource-namespace"}
    assert set(re.findall(r"--([a-z-]+)", " ".join(each.partition(": ")[0] for each in config.warnings))) == of_hccm


def test_deployment_and_daemon_set_have_the_same_pods() -> None:
    """Affinity, priority and name servers included, which HCCM's DaemonSet loses."""
    assert pod_in(rendered(PLACED)) == pod_in(rendered({**PLACED, "kind": "DaemonSet"}))
    spec = pod_in(rendered({**PLACED, "kind": "DaemonSet"}))["spec"]

    assert {key: spec[key] for key in ("affinity", "nodeSelector", "priorityClassName", "dnsPolicy", "dnsConfig")} == {
        key: PLACED[key] for key in ("affinity", "nodeSelector", "priorityClassName", "dnsPolicy", "dnsConfig")
    }
    assert spec["tolerations"][-1:] == PLACED["additionalTolerations"]


def test_a_toleration_that_is_there_is_not_added() -> None:
    """Values written for HCCM repeat some, and some of their own; what tolerates more is another one."""
    usual = pod_in(rendered())["spec"]["tolerations"]
    more = {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}
    said = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Equal"}
    values = {"additionalTolerations": [*usual, more, more, {**said, "value": "true", "effect": "NoSchedule"}]}

    assert pod_in(rendered(values))["spec"]["tolerations"] == [*usual, more]


@rows("values flags", {
    "none": ({}, []),
    "a range": ({"networking": {"enabled": True, "clusterCIDR": "10.42.0.0/16"}}, ["--cluster-cidr=10.42.0.0/16"]),
    "an argument": ({"args": {"cluster-cidr": "10.43.0.0/16"}}, ["--cluster-cidr=10.43.0.0/16"]),
})  # fmt: skip
def test_the_notes_show_the_plan_of_the_process(values: Mapping[str, Any], flags: list[str], tmp_path: Path) -> None:
    """What is run in its pod does not know its flags: without the range of the pods no route would be removed."""
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    notes = (chart / "templates" / "NOTES.txt").read_text()
    (chart / "templates" / "_notes.tpl").write_text('{{- define "notes" -}}\n' + notes + "{{- end }}\n")
    (chart / "templates" / "notes.yaml").write_text('notes: {{ include "notes" . | toJson }}\n')

    told = yaml.safe_load(helm("template", "a-release", str(chart), "-s", "templates/notes.yaml", values=values))[
        "notes"
    ]

    (command,) = re.findall(r"-- reconcile (plan.*)", told)
    assert command.split() == ["plan", *flags]


def test_the_defaults_survive_the_loss_of_a_node() -> None:
    """Two replicas, apart where that can be, one of them evicted at a time; on Nodes that nothing runs on yet."""
    objects = by_kind(rendered())
    pod = pod_in(rendered())["spec"]
    container = pod["containers"][0]

    assert objects["Deployment"][0]["spec"]["replicas"] == 2
    assert objects["PodDisruptionBudget"][0]["spec"]["maxUnavailable"] == 1
    assert "preferredDuringSchedulingIgnoredDuringExecution" in pod["affinity"]["podAntiAffinity"]
    tolerated = {each["key"]: each.get("effect") for each in pod["tolerations"]}
    assert tolerated[UNINITIALIZED] == "NoSchedule"
    assert tolerated["node.kubernetes.io/not-ready"] is None
    assert (pod["dnsPolicy"], "hostNetwork" in pod) == ("Default", False)
    for name, path in {"livenessProbe": "/livez", "readinessProbe": "/readyz"}.items():
        assert container[name]["httpGet"] == {"path": path, "port": "health"}
    assert {each["name"]: each["containerPort"] for each in container["ports"]} == {"health": 10258, "metrics": 8233}


@rows("values kinds", {
    "one replica": ({"replicaCount": 1}, {"PodDisruptionBudget": 0, "Deployment": 1}),
    "DaemonSet": ({"kind": "DaemonSet"}, {"PodDisruptionBudget": 0, "DaemonSet": 1, "Deployment": 0}),
    "no roles": ({"rbac": {"create": False}}, {"ClusterRole": 0, "Role": 0, "ServiceAccount": 1}),
    "by default": ({}, {"NetworkPolicy": 1, "ConfigMap": 2, "PodMonitor": 0}),
    "kinds of an operator that is not there": (WATCHED, {"PodMonitor": 0, "PrometheusRule": 0}),
    "an empty text means no": ({"monitoring": {"enabled": ""}}, {"Deployment": 1, "PodMonitor": 0}),
    "no network policy": ({"networkPolicy": {"enabled": False}}, {"NetworkPolicy": 0}),
    "where it has no effect": ({"hostNetwork": True}, {"NetworkPolicy": 0, "ConfigMap": 2}),
    "asked for all the same": ({"hostNetwork": True, "networkPolicy": {"enabled": True}}, {"NetworkPolicy": 1}),
})  # fmt: skip
def test_objects_by_kind(values: Mapping[str, Any], kinds: Mapping[str, int]) -> None:
    objects = by_kind(rendered(values))

    assert {kind: len(objects.get(kind, [])) for kind in kinds} == kinds


def test_in_the_nodes_network_one_pod_leaves_before_the_next_one_comes() -> None:
    """Two on a Node would need the same ports, so that an upgrade of as many replicas as Nodes would never end."""
    objects = rendered({"networking": {"enabled": True}})

    assert pod_in(objects)["spec"]["hostNetwork"] is True
    update = by_kind(objects)["Deployment"][0]["spec"]["strategy"]["rollingUpdate"]
    assert update == {"maxSurge": 0, "maxUnavailable": 1}
    assert "hostNetwork" not in pod_in(rendered({"networking": {"enabled": True}, "hostNetwork": False}))["spec"]
    assert pod_in(rendered({"hostNetwork": True}))["spec"]["hostNetwork"] is True


def test_the_oldest_version_of_kubernetes() -> None:
    """Nothing that is rendered needs one newer than 1.30, where ``ipMode`` in the status of Services is taken."""
    assert rendered({}, "--kube-version", "1.30.0") == rendered({}, "--kube-version", "1.36.0")
    with pytest.raises(RefusedError, match=r"requires kubeVersion: >= 1\.30"):
        rendered({}, "--kube-version", "1.29.9")


@rows("values", {
    "no network": {},
    "no routes": {"networking": {"enabled": True}, "env": {"HCLOUD_NETWORK_ROUTES_ENABLED": {"value": "F"}}},
    "what a secret says is not known": {"networking": {"enabled": True},
        "env": {"HCLOUD_NETWORK_ROUTES_ENABLED": {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}}},
    "the network taken out": {"networking": {"enabled": True}, "env": {"HCLOUD_NETWORK": None}},
})  # fmt: skip
def test_robot_without_routes(values: Mapping[str, Any]) -> None:
    assert container_in(rendered({"robot": {"enabled": True}, **values}))


HCCM = "docker.io/hetznercloud/hcloud-cloud-controller-manager"
NO_ROUTES = (
    "robot.enabled is set, but routes cannot lead to Robot servers: "
    'set env.HCLOUD_NETWORK_ROUTES_ENABLED.value to "false"'
)
ROBOT: Mapping[str, Any] = {"robot": {"enabled": "true"}}


@rows("values named", {
    "a misspelt value": ({"replicaCont": 2}, "replicaCont"),
    "a kind that is none": ({"kind": "StatefulSet"}, "kind"),
    "a policy that is none": ({"policy": "none"}, "policy"),
    "a number that is none": ({"replicaCount": "two"}, "replicaCount"),
    "a variable that is neither": ({"env": {"HCLOUD_TOKEN": "secret"}}, "HCLOUD_TOKEN"),
    "a flag with its dashes": ({"args": {"--policy": "sync"}}, "--policy"),
    "a duration without a unit": ({"interval": "60"}, "interval"),
    "an address that is none": ({"bindAddress": "eth0"}, "bindAddress"),
    "the image of HCCM": ({"image": {"repository": HCCM}},
        f"image.repository is {HCCM}, which is another controller: leave it out"),
    "the image of HCCM with its tag": ({"image": {"repository": f"{HCCM.partition('/')[2]}:v1.30.1"}},
        "which is another controller"),
    "a text that HCCM's chart reads otherwise": ({"networking": {"enabled": "false"}},
        'networking.enabled is the text "false", which the chart of HCCM takes for yes: write true or false'),
    "Robot with routes by default": ({**ROBOT, **IN_A_NETWORK}, NO_ROUTES),
    "Robot with routes as asked": (
        {**ROBOT, **IN_A_NETWORK, "env": {"HCLOUD_NETWORK_ROUTES_ENABLED": {"value": "true"}}}, NO_ROUTES),
    "Robot with a network by its variable": ({**ROBOT, "env": {"HCLOUD_NETWORK": {"value": "private"}}}, NO_ROUTES),
})  # fmt: skip
def test_bad_values_are_refused(values: Mapping[str, Any], named: str) -> None:
    with pytest.raises(RefusedError, match=named):
        rendered(values)
