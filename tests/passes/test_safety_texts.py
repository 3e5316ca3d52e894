"""Texts that were made to stop everything: they cost the object that they stand on, and nothing else."""

import pytest

from tests.support.objects import a_service, ingress, port, said_of
from tests.support.stage import Stage

POISONED = {
    "duration": {"protocol": "http", "http_timeout_idle": "9" * 60_000 + "s"},
    "selector": {"node_selector": "a," * 100_000},
    "certificates": {"protocol": "https", "http_certificates": ",".join(f"cert-{n}" for n in range(20_000))},
}


def test_a_poisoned_service_costs_itself_alone(balanced: Stage) -> None:
    """Durations, selectors and lists without end took minutes, each pass anew, and nobody was served."""
    balanced.have_services(a_service("good"), *(a_service(name) for name in POISONED))
    for name, options in POISONED.items():
        balanced.annotate(name, **options)

    ran = balanced.reconcile("--once", "--output=json", "--detailed-exitcode")

    found = balanced.services()
    told = {note["key"]: note["text"] for note in ran.report["notes"] if note["kind"] == "malformed"}
    assert ran.code == 3, ran.stderr
    assert ingress(found["good"])
    assert told.keys() == {f"service/default/{name}" for name in POISONED}
    assert all(" at most " in text and "; correct it, or remove it" in text for text in told.values())
    assert len(ran.stdout) + len(ran.stderr) < 100_000
    for name in POISONED:
        assert said_of(found[name])["LoadBalancerInSync"] == ("False", "InvalidAnnotation")
        assert not ingress(found[name])


@pytest.mark.parametrize("flag", ["--interval", "--request-timeout", "--delete-not-ready-for", "--given-up-after"])
def test_a_duration_that_nobody_can_wait_for_is_bad_usage(balanced: Stage, flag: str) -> None:
    """It was taken, something was written, and then it ended in a traceback."""
    balanced.have_services(a_service())

    ran = balanced.reconcile("run", flag, "99999999999999999h")

    assert ran.code == 64
    assert ran.stderr.count("expect a shorter duration, of at most 277778h") == 1
    assert "Traceback" not in ran.stderr
    assert balanced.writes() == []


def test_an_object_with_thousands_of_faults_has_ten_events(balanced: Stage) -> None:
    """Each fault was an event: 21,410 of them in forty seconds, and nothing else was served."""
    ports = [port(number, "UDP") for number in range(1, 301)]
    many = a_service("many")
    many["spec"] |= {"ports": [port(80), *ports], "allocateLoadBalancerNodePorts": False}
    balanced.have_services(many, a_service("good"))

    ran = balanced.reconcile("--once", "--output=json")

    told = [e for e in balanced.events() if e["involvedObject"]["name"] == "many"]
    assert ran.code == 3, ran.stderr
    assert ingress(balanced.service("good"))
    assert len(told) == 10
    (more,) = [e["message"] for e in told if e["reason"] == "MoreWarnings"]
    assert more.startswith("and 292 more warnings on this object: 292 UnsupportedProtocolConfigured; the first of them")
    assert "Hetzner balances TCP only" in more


def test_a_service_that_waits_for_a_part_that_is_switched_off_is_named(balanced: Stage) -> None:
    """It stayed for ever, and every run said that there was nothing to do."""
    balanced.have_services(a_service())
    assert balanced.reconcile("--once").code == 0
    balanced.delete_service()
    balanced.forget()

    ran = balanced.reconcile("--once", "--detailed-exitcode", "--output=json", HCLOUD_LOAD_BALANCERS_ENABLED="false")

    (note,) = [note for note in ran.report["notes"] if note["kind"] == "stuck"]
    assert (ran.code, ran.report["result"]) == (3, "blocked")
    assert note["key"] == "service/default/web"
    assert "1 Service needs a person, see the report: service/default/web" in ran.stderr
    assert balanced.writes() == balanced.written_to_hetzner() == []

    told = [event["message"] for event in balanced.events("DeletionStuck")]
    assert told == [note["text"]]
    assert any(finalizer in note["text"] for finalizer in balanced.service()["metadata"]["finalizers"])
    assert balanced.reconcile("--once", "--controllers=*").code == 0
    assert balanced.services() == {}


def test_passwords_in_addresses_are_never_printed(balanced: Stage) -> None:
    """Not in a report, not in the log of every request, and not in an error."""
    balanced.have_services(a_service())
    address = balanced.environment["HCLOUD_ENDPOINT"].replace("//", "//somebody:s3cr3t-w0rd@")
    proxies = {"HTTPS_PROXY": "http://somebody:s3cr3t-w0rd@127.0.0.1:1", "HCLOUD_DEBUG": "true"}

    for endpoint in (
        address,
        f"{balanced.environment['HCLOUD_ENDPOINT']}?token=s3cr3t-w0rd",
        "https://somebody:s3cr3t-w0rd@hetzner.invalid/v1",
        "https://hetzner.invalid/v1?token=s3cr3t-w0rd#s3cr3t-w0rd",
        "http://hetzner.invalid:port/v1?token=s3cr3t-w0rd",
        "somebody:s3cr3t-w0rd@hetzner.invalid",
        "hetzner.invalid?token=s3cr3t-w0rd",
    ):
        for command in (["--once"], ["--dry-run", "--output=json"], ["explain", "service", "default/web"], ["capture"]):
            ran = balanced.reconcile(*command, HCLOUD_ENDPOINT=endpoint, RECONCILER_REQUEST_TIMEOUT="300ms", **proxies)
            assert "s3cr3t-w0rd" not in ran.stdout + ran.stderr
