"""``docs/reference/sandbox-coverage.md``: what is simulated of the API, from the tables of the simulator.

Values are the simulator's. Which operations and error codes there are is what the API document says; a row here that
goes beyond it names its source.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import hcloud_sandbox.hetzner
from hcloud_sandbox.hetzner import (
    HetznerOptions,
    attachments,
    certificate_authority,
    certificates,
    firewalls,
    metrics,
    paging,
    placement_groups,
    server_actions,
    subnets,
    volumes,
)
from hcloud_sandbox.hetzner.catalogue import LOAD_BALANCER_TYPES
from hcloud_sandbox.hetzner.errors import ApiError
from hcloud_sandbox.hetzner.operations import NO_OBJECTS, Operation
from sandbox_support.hetzner_spec import HetznerApi, load_spec

_INTRODUCTION = """\
# What the sandbox simulates

Made from the tables of the simulator and from Hetzner's API document of {date}, which leaves some kinds out: of those
the operation ids follow from the rule that holds for all others, and the vendor's clients judge the answers.

{counts}
Each operation that is simulated, wholly or in part, succeeds in a test in which the document, where it has the
operation, judges request and answer, and refuses each body with one thing wrong that the document does not allow. What
is simulated in part lacks what its row says. What is not answers 501 with the code `not_simulated` and the operation's
name, and is told on stderr, once. Nothing runs behind any object: no traffic, no disk, no log-in. Where the documents
are silent, there is often [an option](../sandbox.md#what-is-not-known-of-the-real-service).

`GET /datacenters` was removed from the API on 2026-10-01, and answers 410, as `GET /actions` does without ids.
"""
_CODES = """
## Error codes

What the simulator answers. Operations are those for which the document has the code.

| code | status | source |
|---|---|---|
"""
_NEVER = """
Never answered, though the document has them for operations that are simulated. Codes from 500 on come from
[the fault proxy](../sandbox.md#the-fault-proxy).

| code | status | of |
|---|---|---|
"""
_LIMITS = """
## Limits

Ranges of single fields are those of the API document's schemas, and not listed.

| limit | value | code | source |
|---|---|---|---|
"""
_VENDOR = "docs.hetzner.cloud"
_OTHER_CODES: Mapping[str, str] = {
    "cloud_resource_ip_not_allowed": "named by hcloud-go; the status is a guess",
    "firewall_already_applied": f"{_VENDOR}: `apply_firewall_to_resources`",
    "firewall_already_removed": "named by hcloud-go; the status is a guess",
    "firewall_managed_by_label_selector": f"{_VENDOR}: `remove_firewall_from_resources`",
    "firewall_resource_not_found": f"{_VENDOR}: 404 of actions, 422 of `create_firewall`",
    "not_simulated": "the sandbox's own",
    "private_net_only_server": f"{_VENDOR}: `apply_firewall_to_resources`",
    "resource_in_use": f"{_VENDOR}: `delete_firewall`; of others a guess",
    "server_has_ipv4": f"{_VENDOR}: `assign_primary_ip`",
    "server_has_ipv6": f"{_VENDOR}: `assign_primary_ip`",
    "volume_already_attached": "named by hcloud-go; the status is a guess",
}
"""Code that the document does not have → its source."""
_EXCEEDED, _INVALID = "resource_limit_exceeded", "invalid_input"
_USERS, _GUESS, _LETS_ENCRYPT = "reported by users", "a guess", "what Let's Encrypt publishes"


def _of_types(field: str) -> str:
    return ", ".join(f"{entry[field]} ({name})" for name, entry in LOAD_BALANCER_TYPES.items())


def _limits() -> Iterable[tuple[str, object, str, str]]:
    options = HetznerOptions()
    yield "requests an hour of a project", options.rate_limit, "rate_limit_exceeded", "API document, rate limiting"
    yield (
        "objects on a page",
        paging.MAX_PER_PAGE,
        "none: more count as so many",
        "API document; the clamping is a guess",
    )
    yield "load balancers of a project", options.load_balancer_limit, _EXCEEDED, "docs.hetzner.com, 2024"
    for part in ("services", "targets", "assigned_certificates"):
        yield f"{part.replace('_', ' ')} of a load balancer", _of_types(f"max_{part}"), _EXCEEDED, "API document, types"
    yield "subnets of a network", subnets.MAX_SUBNETS, _EXCEEDED, f"{_USERS}; the code is {_GUESS}"
    yield "routes of a network", subnets.MAX_ROUTES, _EXCEEDED, f"{_USERS}; the code is {_GUESS}"
    attached = options.network_attachment_limit
    yield "servers and load balancers in a network", attached, _EXCEEDED, f"{_USERS}; the code is {_GUESS}"
    yield "networks of a server", attachments.MAX_NETWORKS_PER_SERVER, _EXCEEDED, _GUESS
    yield "alias IPs of a server in a network", attachments.MAX_ALIAS_IPS, _EXCEEDED, _GUESS
    yield "rules of a firewall", firewalls.MAX_RULES, _EXCEEDED, "API document; the code is a guess"
    yield "ranges of a firewall's rule", firewalls._MAX_RANGES, _INVALID, "API document; the code is a guess"
    yield "servers of a placement group", placement_groups.MAX_SERVERS, "placement_error", "docs.hetzner.com"
    sizes = volumes._SIZES_GB
    yield "GB of a volume", f"{sizes.start} to {sizes.stop - 1}", _INVALID, "API document, `create_volume`"
    yield "KiB of user data", server_actions._MOST_USER_DATA // 1024, _INVALID, "API document, `create_server`"
    yield "managed certificates an hour", certificates.MANAGED_AN_HOUR, _EXCEEDED, "seen on the live API"
    issued = "ca_too_many_certificates_issued_for_registered_domain"
    yield "certificates a week of a domain", certificate_authority.CERTIFICATES_A_WEEK, issued, _LETS_ENCRYPT
    duplicates = certificate_authority.DUPLICATES_A_WEEK
    yield "certificates a week of the same names", duplicates, "ca_too_many_duplicate_certificates", _LETS_ENCRYPT
    failures = certificate_authority.FAILURES_AN_HOUR
    yield "failed issuances an hour", failures, "ca_too_many_authorizations_failed_recently", _LETS_ENCRYPT
    yield "samples of metrics", metrics.MAX_SAMPLES, "none: the step grows", "API document, metrics"
    yield "days of metrics", round(metrics.KEPT_S / 86400), "none: no samples before", "API document, metrics"


@cache
def documented() -> Mapping[str, Mapping[str, int]]:
    """Code → operation → status, as the API document has it; "" for what any operation may answer."""
    spec = load_spec()
    simulated = {each.name for each in operations() if each.coverage != "not" and each.lacks != NO_OBJECTS}
    found: dict[str, dict[str, int]] = {code: {"": status} for code, status in spec.errors.items()}
    for methods in spec.paths.values():
        for operation in methods.values():
            for code, status in operation["errors"].items() if operation["operation"] in simulated else ():
                found.setdefault(code, {})[operation["operation"]] = status
    return found


@cache
def operations() -> tuple[Operation, ...]:
    """All of the API."""
    return tuple(HetznerApi().simulator.operations())


@cache
def raised() -> frozenset[str]:
    """The codes in the text of the simulator: what it names as an error, and documented ones wherever they stand."""
    files = Path(hcloud_sandbox.hetzner.__file__).parent.glob("*.py")
    text = "".join(file.read_text("utf-8") for file in files)
    named = set(re.findall(r"ApiError\(\s*\"(\w+)\"", text))
    by_family = {"server_has_ipv4", "server_has_ipv6"} if 'f"server_has_{family}"' in text else set()
    special = {code for code, found in documented().items() if "" not in found}
    return frozenset(named | by_family | {code for code in special if f'"{code}"' in text})


def page() -> str:
    """The text of the page."""
    return (
        _INTRODUCTION.format(date=load_spec().date, counts=_counts())
        + "".join(f"\n## {tag}\n\n{_table(found)}" for tag, found in sorted(_by_tag().items()))
        + _CODES
        + "".join(f"| `{code}` | {_statuses(code)} | {_source(code)} |\n" for code in sorted(raised()))
        + _NEVER
        + "".join(_never())
        + _LIMITS
        + "".join(map(_limit, _limits()))
    )


def _limit(row: tuple[str, object, str, str]) -> str:
    what, value, code, source = row
    return f"| {what} | {value} | {code if ' ' in code else f'`{code}`'} | {source} |\n"


def _counts() -> str:
    rows = "| | simulated | in part | not simulated | operations |\n|---|---|---|---|---|\n"
    judged = [operation for operation in operations() if load_spec().judges(operation.template)]
    others = [operation for operation in operations() if operation not in judged]
    for what, those in (("in the document", judged), ("of the kinds that it leaves out", others)):
        count = Counter(operation.coverage for operation in those)
        rows += f"| {what} | {count['simulated']} | {count['partly']} | {count['not']} | {len(those)} |\n"
    return rows


def _by_tag() -> Mapping[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for operation in operations():
        methods = load_spec().paths.get(operation.template, {})
        found.setdefault(methods[operation.method.lower()]["tag"] if methods else _kind(operation), []).append(
            operation
        )
    return found


def _kind(operation: Operation) -> str:
    """The heading of an operation whose tag is not known."""
    words = operation.template.split("/")[1].replace("_", " ").title()
    return re.sub(r"\b(Ip|Ssh|Iso)(?=s?\b)", lambda found: found[0].upper(), words)


def _table(found: Iterable[Operation]) -> str:
    states = {"simulated": "yes", "partly": "in part", "not": "**no**"}
    return "| operation | request | simulated | what is missing, or what to do |\n|---|---|---|---|\n" + "".join(
        f"| `{each.name}` | `{each.method} {each.template}` | {states[each.coverage]} | {each.lacks} |\n"
        for each in found
    )


def _statuses(code: str) -> str:
    known = set(documented().get(code, {"": ApiError(code, "").status}).values())
    return ", ".join(str(status) if status else "error of the action" for status in sorted(known))


def _source(code: str) -> str:
    found = documented().get(code)
    if found is None:
        return _OTHER_CODES[code]
    return "API document" if "" in found else f"API document: {', '.join(f'`{name}`' for name in sorted(found))}"


def _never() -> Iterator[str]:
    for code, found in sorted(documented().items()):
        if code not in raised():
            of = ", ".join(f"`{name}`" for name in sorted(found) if name) or "any operation"
            yield f"| `{code}` | {_statuses(code)} | {of} |\n"
