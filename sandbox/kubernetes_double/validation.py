"""Rules that make the API server refuse an object with 422, as lists of causes. Nothing here changes an object."""

import ipaddress
import json
import re
from collections.abc import Iterator
from typing import Any

from kubernetes_double.resources import CONFIG_MAPS, DEPLOYMENTS, EVENTS, LEASES, NODES, SERVICES, Resource
from kubernetes_double.status import Cause

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_KEY_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_CONFIG_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_GO = (",", ":")
_IP_MODES = ("Proxy", "VIP")
_IMMUTABLE = "field is immutable"


def causes_against_write(resource: Resource, new: dict[str, Any]) -> Iterator[Cause]:
    """What a request may not bring, but a world file may: there a deployment need not say what it is made of."""
    if resource != DEPLOYMENTS:
        return
    spec = new["spec"]
    selected = spec.get("selector", {}).get("matchLabels", {})
    template = spec.get("template", {})
    labels = template.get("metadata", {}).get("labels", {})
    if not spec.get("selector"):
        yield Cause.required("spec.selector")
    elif not selected.items() <= labels.items():
        yield Cause.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if not template.get("spec", {}).get("containers"):
        yield Cause.required("spec.template.spec.containers")


def causes_against(resource: Resource, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
    """Every rule that ``new`` breaks, in the API server's order; ``old`` is None for an object being created."""
    found = [*_metadata(resource, new["metadata"])]
    if old is not None:
        found += _metadata_change(new["metadata"], old["metadata"])
    if resource == NODES:
        found += _node(new)
        if old is not None:
            found += _node_change(new, old)
    elif resource == SERVICES:
        found += _service(new)
        if old is not None:
            found += _service_change(new["spec"], old["spec"])
    elif resource == LEASES:
        found += _lease(new)
    elif resource == EVENTS:
        found += _event(new)
    elif resource == CONFIG_MAPS:
        found += _config_map(new)
    return found


def _metadata(resource: Resource, metadata: dict[str, Any]) -> Iterator[Cause]:
    name = metadata.get("name", "")
    pattern, limit, text = (_LABEL, 63, _LABEL_TEXT) if resource.label_names else (_SUBDOMAIN, 253, _SUBDOMAIN_TEXT)
    if resource.label_names and "." in name:
        yield Cause.invalid("metadata.name", name, "must not contain dots")
    elif not pattern.fullmatch(name):
        yield Cause.invalid("metadata.name", name, text)
    elif len(name) > limit:
        yield Cause.invalid("metadata.name", name, f"must be no more than {limit} characters")
    for key, value in metadata.get("labels", {}).items():
        yield from _qualified_name("metadata.labels", key)
        if len(value) > 63:
            yield Cause.invalid("metadata.labels", value, "must be no more than 63 bytes")
        if value and not _QUALIFIED.fullmatch(value):
            yield Cause.invalid("metadata.labels", value, _VALUE_TEXT)
    for key in metadata.get("annotations", {}):
        yield from _qualified_name("metadata.annotations", key.lower())
    for number, finalizer in enumerate(metadata.get("finalizers", [])):
        yield from _qualified_name("metadata.finalizers", finalizer)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield Cause.invalid(f"metadata.finalizers[{number}]", finalizer, why)


def _qualified_name(path: str, key: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    if slash and not (prefix and _SUBDOMAIN.fullmatch(prefix)):
        yield Cause.invalid(path, key, f"prefix part {_SUBDOMAIN_TEXT}" if prefix else "prefix part must be non-empty")
    if not name:
        yield Cause.invalid(path, key, "name part must be non-empty")
    if len(name) > 63:
        yield Cause.invalid(path, key, "name part must be no more than 63 bytes")
    if not _QUALIFIED.fullmatch(name):
        yield Cause.invalid(path, key, _KEY_TEXT)


def _metadata_change(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Cause]:
    for field in ("uid", "deletionTimestamp"):
        if new.get(field) != old.get(field):
            yield Cause.invalid(f"metadata.{field}", new.get(field), _IMMUTABLE)
    added = [name for name in new.get("finalizers", []) if name not in old.get("finalizers", [])]
    if added and "deletionTimestamp" in old:
        shown = ", ".join(f'"{name}"' for name in added)
        why = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
        yield Cause.forbidden("metadata.finalizers", why)


def _node(node: dict[str, Any]) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for number, taint in enumerate(node["spec"].get("taints", [])):
        path = f"metadata.taints[{number}]"  # as the API server names it, wrongly
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        yield from _qualified_name(f"{path}.key", key)
        if value and not _QUALIFIED.fullmatch(value):
            yield Cause.invalid(f"{path}.value", value, _VALUE_TEXT)
        if effect not in _EFFECTS:
            yield Cause.unsupported(f"{path}.effect", effect, _EFFECTS) if effect else Cause.required(f"{path}.effect")
        if (key, effect) in seen:
            shown = json.dumps(
                {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}, separators=_GO
            )
            yield Cause.duplicate(path, f"{shown}: taints must be unique by key and effect pair")
        seen.add((key, effect))


def _node_change(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Cause]:
    before, after = old["spec"].get("providerID", ""), new["spec"].get("providerID", "")
    if before and after != before:
        why = 'node updates may not change providerID except from "" to valid'
        yield Cause.forbidden("spec.providerID", why)
    seen = set()
    for number, address in enumerate(new["status"].get("addresses", [])):
        pair = (address.get("type"), address.get("address"))
        if pair in seen:
            yield Cause.duplicate(
                f"status.addresses[{number}]", json.dumps({"Type": pair[0], "Address": pair[1]}, separators=_GO)
            )
        seen.add(pair)


def _service(service: dict[str, Any]) -> Iterator[Cause]:
    spec = service["spec"]
    if not spec.get("ports") and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        yield Cause.required("spec.ports")
    for number, port in enumerate(spec.get("ports", [])):
        if not 1 <= port.get("port", 0) <= 65535:
            why = "must be between 1 and 65535, inclusive"
            yield Cause.invalid(f"spec.ports[{number}].port", port.get("port", 0), why)
    ingresses = service["status"]["loadBalancer"].get("ingress", [])
    if ingresses and spec["type"] != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        yield Cause.forbidden("status.loadBalancer.ingress", why)
        return
    for number, ingress in enumerate(ingresses):
        yield from _ingress(f"status.loadBalancer.ingress[{number}]", ingress)


def _ingress(path: str, ingress: dict[str, Any]) -> Iterator[Cause]:
    address, mode, host = ingress.get("ip"), ingress.get("ipMode"), ingress.get("hostname")
    if address and not _is_address(address):
        yield Cause.invalid(f"{path}.ip", address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
    if address and mode is None:
        yield Cause.required(f"{path}.ipMode", "must be specified when `ip` is set")
    elif not address and mode is not None:
        yield Cause.forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set")
    elif mode not in (None, *_IP_MODES):
        yield Cause.unsupported(f"{path}.ipMode", str(mode), _IP_MODES)
    if host and _is_address(host):
        yield Cause.invalid(f"{path}.hostname", host, "must be a DNS name, not an IP address")
    elif host and not _SUBDOMAIN.fullmatch(host):
        yield Cause.invalid(f"{path}.hostname", host, _SUBDOMAIN_TEXT)


def _service_change(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Cause]:
    before, after = old.get("clusterIP"), new.get("clusterIP")
    if before and before != after and new["type"] != "ExternalName":
        yield Cause.invalid("spec.clusterIPs[0]", [after], "may not change once set")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _lease(lease: dict[str, Any]) -> Iterator[Cause]:
    spec = lease.get("spec", {})
    if "leaseDurationSeconds" in spec and spec["leaseDurationSeconds"] <= 0:
        yield Cause.invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
    if "leaseTransitions" in spec and spec["leaseTransitions"] < 0:
        yield Cause.invalid("spec.leaseTransitions", spec["leaseTransitions"], "must be greater than or equal to 0")


def _event(event: dict[str, Any]) -> Iterator[Cause]:
    involved = event.get("involvedObject", {}).get("namespace", "")
    own = event["metadata"].get("namespace", "")
    if involved != own and not (not involved and own == "default"):
        yield Cause.invalid("involvedObject.namespace", involved, "does not match event.namespace")
    if "eventTime" in event:
        yield from _qualified_name("reportingComponent", event["reportingComponent"])
        for field in ("reportingInstance", "action", "reason"):
            if not event.get(field):
                yield Cause.required(field)


def _config_map(config_map: dict[str, Any]) -> Iterator[Cause]:
    for field in ("data", "binaryData"):
        for key in config_map.get(field, {}):
            if not re.fullmatch(r"[-._a-zA-Z0-9]+", key):
                yield Cause.invalid(f"{field}[{key}]", key, _CONFIG_KEY_TEXT)
