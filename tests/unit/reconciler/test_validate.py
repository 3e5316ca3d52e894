"""The command ``reconcile validate``: what it reads, what it says, how it ends, and the page that shows it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.support.rendering import golden
from tests.support.rows import rows
from tests.support.said import CommandLine, Said
from tests.support.schemas import published

PAGE = Path(__file__).resolve().parents[3] / "docs" / "validate.md"
EXAMPLE = re.compile(r"(<!-- example (?P<name>\w+) -->\n```\n)(?P<text>.*?)(```\n)", re.DOTALL)
P = "load-balancer.hetzner.cloud/"

MANIFESTS = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: shop
  annotations:
    load-balancer.hetzner.cloud/location: fsn1
    load-balancer.hetzner.cloud/health-check-interval: "10"
    load-balancer.hetzner.cloud/algoritm-type: round_robin
spec:
  type: LoadBalancer
  ports:
  - {port: 80}
  - {port: 53, protocol: UDP}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: api
    annotations: {load-balancer.hetzner.cloud/location: fsn1}
  spec: {type: LoadBalancer, ports: [{port: 443}]}
"""
FINE = """\
apiVersion: v1
kind: Service
metadata: {name: api}
spec: {type: LoadBalancer, ports: [{port: 443}]}
"""


Validate = Callable[..., Said]


@pytest.fixture
def validate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Validate:
    """Runs the command in a folder with web.yaml and fine.yaml; the environment has only what is given."""
    monkeypatch.chdir(tmp_path)
    Path("web.yaml").write_text(MANIFESTS)
    Path("fine.yaml").write_text(FINE)
    return partial(CommandLine(monkeypatch, capsys, schema=published("validation.schema.json")), "validate")


def test_the_page_shows_what_is_said(validate: Validate) -> None:
    """The examples of docs/validate.md are real; set UPDATE_DOCS to write them anew."""
    shown = {"text": validate("web.yaml").stdout, "json": validate("web.yaml", "--output", "json").stdout}
    page = PAGE.read_text("utf-8")
    fresh = EXAMPLE.sub(lambda found: f"{found[1]}{shown[found['name']]}{found[4]}", page)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(fresh, "utf-8")

    assert set(shown) == {found["name"] for found in EXAMPLE.finditer(page)}
    assert PAGE.read_text("utf-8") == fresh


VALUES = """\
controller:
  service:
    annotations:
      load-balancer.hetzner.cloud/location: fsn1
---
a: {load-balancer.hetzner.cloud/type: "{{ .Values.type }}"}
"""
LOCATED = {"HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1"}
RUNS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "configuration alone": ("", "", {}),
    "notes on the configuration": ("", "", {"HCLOUD_TOKEN": "short"}),
    "a wrong format in the environment": ("", "", {"RECONCILER_OUTPUT": "xml"}),
    "no location": ("fine.yaml", "", {}),
    "location of the environment": ("fine.yaml", "", LOCATED),
    "files that cannot be read hide no other": ("nowhere.yaml - . fine.yaml", f"{FINE}---\n[", LOCATED),
    "no Services": ("-", "kind: Deployment\n---\n---\n", {}),
    "annotations outside of Services": ("-", VALUES, {}),
    "a name that a terminal obeys": ("-", FINE.replace("name: api", 'name: "\\e[31m"'), LOCATED),
}
"""Run → words, stdin and environment."""


def test_whole_texts(validate: Validate) -> None:
    """No token is needed. Set UPDATE_GOLDEN to write the file anew, and read it."""
    text = ""
    for name, (words, stdin, environ) in RUNS.items():
        said = validate(*words.split(), stdin=stdin.encode(), **environ)
        assert said.stderr == ""
        text += f"=== {name}: {said.code}\n{said.stdout}\n"

    assert text == golden("validated.txt", text)


@rows(
    "manifest said",
    {
        "an unknown key": (f"{P}loction: fsn1", f"{P}loction is unknown, and ignored: did you mean {P}location?"),
        "a value without effect": (
            f"{P}health-check-http-path: /x",
            f"{P}health-check-http-path has no effect: ",
        ),
        "a zone beside a location": (
            f"{P}network-zone: eu-central",
            f"{P}network-zone has no effect: HCLOUD_LOAD_BALANCERS_LOCATION is fsn1",
        ),
        "a Service of another type": (
            f"{P}location: fsn1}}}}\nspec: {{type: ClusterIP}}\n---\na: {{b: {{c: d",
            "metadata.annotations has no effect: spec.type is 'ClusterIP'",
        ),
        "a label": (
            f"a: b}}, labels: {{{P}location: fsn1}}}}\nspec: {{type: ClusterIP}}\n---\na: {{b: {{c: d",
            "metadata.labels has no effect: annotations alone are read, not labels",
        ),
    },
)
def test_a_value_that_nothing_reads_is_in_the_exit_code(validate: Validate, manifest: str, said: str) -> None:
    rest = FINE.partition("spec")[1] + FINE.partition("spec")[2]
    text = f"apiVersion: v1\nkind: Service\nmetadata: {{name: api, annotations: {{{manifest}}}}}\n{rest}"

    found = validate("-", stdin=text, **LOCATED)

    assert found.code == 1
    assert [line for line in found.stdout.splitlines() if line.startswith(f"  error: {said}")], found.stdout


def test_a_service_of_another_class_is_another_controllers(validate: Validate) -> None:
    text = FINE.replace("name: api", f"name: api, annotations: {{{P}location: fsn1}}").replace(
        "type: LoadBalancer", "type: LoadBalancer, loadBalancerClass: example.com/other"
    )

    assert validate("-", stdin=text, **LOCATED).code == 0


def test_a_wrong_configuration_does_not_hide_services(validate: Validate) -> None:
    said = validate("web.yaml", "--output", "json", HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP="yes")

    assert len(said.document["configuration"]["errors"]) == 1
    assert [len(service["errors"]) for service in said.document["services"]] == [2, 0]


def test_a_file_without_services(validate: Validate) -> None:
    """Nobody is told that it is fine."""
    document = validate("fine.yaml", "-", "--output=json", stdin=b"", HCLOUD_LOAD_BALANCERS_LOCATION="fsn1").document
    assert [entry["file"] for entry in document["not_judged"]] == ["-"]
    assert (document["result"], document["summary"]["not_judged"]) == ("valid", 1)


CLASSED = """\
apiVersion: v1
kind: Service
metadata: {name: "a b;c", namespace: shop, annotations: {hcloud-reconciler/deletion-policy: delete}}
spec: {type: LoadBalancer, externalTrafficPolicy: Local, ports: [{port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: ours}
spec: {type: LoadBalancer, loadBalancerClass: example.com/lb, ports: [{port: 443}]}
"""


@rows("words names", {
    "without a class": ((), ["a b;c"]),
    "of a class": (("--load-balancer-class=example.com/lb",), ["ours"]),
})  # fmt: skip
def test_the_class_that_is_validated(validate: Validate, words: tuple[str, ...], names: list[str]) -> None:
    """Services of the process with these flags are judged; any other is another controller's."""
    document = validate("-", *words, "-o", "json", stdin=CLASSED.encode()).document
    assert [each["name"] for each in document["services"]] == names
    for wrong in (("--for", "class"), ("--load-balancer-class", "a/b/c")):
        assert validate(*wrong).code == 64


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--output", "xml"), id="format"),
        pytest.param(("--policy", "maybe", "web.yaml"), id="value"),
        pytest.param(("--world", "w.json"), id="flag-of-another-command"),
        pytest.param(("--dry-run", "--once"), id="contradiction"),
        pytest.param(("--no-such-flag",), id="no-flag"),
    ],
)
def test_bad_usage(validate: Validate, words: tuple[str, ...]) -> None:
    said = validate(*words)

    assert (said.code, said.stdout) == (64, "")
    assert said.stderr.startswith("reconcile: ")


def test_the_variable_for_the_format(validate: Validate) -> None:
    assert validate(RECONCILER_OUTPUT="json").document["result"] == "valid"


def test_nothing_heavy_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(MANIFESTS)
    code = (
        "import sys\n"
        "from reconciler.cli import main\n"
        f"main(['validate', {str(tmp_path / 'web.yaml')!r}])\n"
        "heavy = ('kubernetes', 'hcloud', 'requests', 'urllib3', 'rich', 'deepdiff', 'aiohttp')\n"
        "sys.stderr.write(' '.join(module for module in heavy if module in sys.modules))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HCLOUD", "RECONCILER"))}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)

    assert "service/shop/web" in ran.stdout
    assert ran.stderr == ""


ROBOT = {"ROBOT_ENABLED": "true", "HCLOUD_NETWORK": "private", "HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1"}
NO_ROUTES = {"HCLOUD_NETWORK_ROUTES_ENABLED": "false"}


@pytest.mark.parametrize(("private", "notes"), [("false", 1), ("true", 0)])
def test_robot_without_credentials(validate: Validate, private: str, notes: int) -> None:
    """A Service whose traffic no dedicated server would get is told; the configuration has a note in any case."""
    said = validate("fine.yaml", "--output=json", HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP=private, **ROBOT, **NO_ROUTES)

    assert said.code == 0
    assert len(said.document["configuration"]["notes"]) == 1
    assert [note["key"] for note in said.document["services"][0]["notes"]] == [f"{P}use-private-ip"] * notes
