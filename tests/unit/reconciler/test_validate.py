"""The command ``reconcile validate``: what it reads, what it says, how it ends, and the page that shows it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

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


def test_configuration_alone(validate: Validate) -> None:
    assert validate() == Said(0, "Configuration  ok\n\nConfiguration checked: 0 errors, 0 notes.\n", "")


def test_notes_on_the_configuration(validate: Validate) -> None:
    """What is accepted and odd is a note, and all is well."""
    said = validate(HCLOUD_TOKEN="short")

    assert said.code == 0
    assert said.stdout.startswith("Configuration\n  note: HCLOUD_TOKEN has 5 characters")


def test_defaults_of_the_environment_count(validate: Validate) -> None:
    said = validate("fine.yaml", "--output", "json")
    assert said.code == 1
    assert [bad["key"] for bad in said.document["services"][0]["errors"]] == [f"{P}location"]

    said = validate("fine.yaml", HCLOUD_LOAD_BALANCERS_LOCATION="fsn1")
    assert (said.code, said.stdout.splitlines()[1]) == (0, "fine.yaml, document 1: service/api  ok")


def test_a_wrong_configuration_does_not_hide_services(validate: Validate) -> None:
    said = validate("web.yaml", "--output", "json", HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP="yes")

    assert len(said.document["configuration"]["errors"]) == 1
    assert [len(service["errors"]) for service in said.document["services"]] == [1, 0]


def test_several_files_and_stdin(validate: Validate) -> None:
    said = validate(
        "nowhere.yaml", "-", ".", "fine.yaml", stdin=f"{FINE}---\n[".encode(), HCLOUD_LOAD_BALANCERS_LOCATION="fsn1"
    )

    assert (said.code, said.stderr) == (1, "")
    assert said.stdout == (
        "Configuration  ok\n"
        "stdin, document 1: service/api  ok\n"
        "fine.yaml, document 1: service/api  ok\n"
        "nowhere.yaml\n"
        "  error: cannot be read: No such file or directory\n"
        "stdin, document 2\n"
        "  error: cannot be read as YAML: line 6, column 2: expected the node content, but found '<stream end>'\n"
        ".\n"
        "  error: cannot be read: Is a directory\n"
        "\n"
        "2 Services of type LoadBalancer in 4 files, and the configuration: 3 errors, 0 notes.\n"
    )


def test_a_file_without_services(validate: Validate) -> None:
    """Manifests without load balancers are no error, and nobody is told that they are fine."""
    said = validate("-", stdin=b"kind: Deployment\n---\n---\n")

    assert said.code == 0
    assert said.stdout.splitlines()[1:] == [
        "stdin",
        (
            "  note: nothing was checked: it has no Service of type LoadBalancer without a loadBalancerClass, and no"
            " annotation of load-balancer.hetzner.cloud/ or hcloud-reconciler/"
        ),
        "",
        "0 Services of type LoadBalancer in 1 file, and the configuration: 0 errors, 1 note (1 not checked).",
    ]
    document = validate("fine.yaml", "-", "--output=json", stdin=b"", HCLOUD_LOAD_BALANCERS_LOCATION="fsn1").document
    assert [entry["file"] for entry in document["not_judged"]] == ["-"]
    assert (document["result"], document["summary"]["not_judged"]) == ("valid", 1)


VALUES = """\
controller:
  service:
    annotations:
      load-balancer.hetzner.cloud/location: fsn1
---
a: {load-balancer.hetzner.cloud/type: "{{ .Values.type }}"}
"""


def test_annotations_outside_of_services(validate: Validate) -> None:
    said = validate("-", stdin=VALUES.encode())

    assert said.code == 0
    assert said.stdout.splitlines()[1:] == [
        "stdin, document 1: controller.service.annotations  keys and values ok",
        "stdin, document 2: a",
        "  note: not checked: load-balancer.hetzner.cloud/type is filled in later: '{{ .Values.type }}'",
        "",
        (
            "0 Services of type LoadBalancer and 2 other places with annotations (keys and values only) in 1 file, and"
            " the configuration: 0 errors, 1 note (1 not checked)."
        ),
    ]


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

    said = validate(RECONCILER_OUTPUT="xml")
    assert (said.code, "RECONCILER_OUTPUT is 'xml'" in said.stdout) == (1, True)


def test_nothing_that_a_terminal_obeys(validate: Validate) -> None:
    manifest = FINE.replace("name: api", 'name: "\\e[31m"')

    said = validate("-", stdin=manifest.encode())
    assert "service/\\x1b[31m" in said.stdout
    assert "\x1b" not in said.stdout


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
