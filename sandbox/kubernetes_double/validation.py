"""Rules that make the API server refuse an object with 422, as lists of causes: those that the product's own writes can
break. Nothing here changes an object."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Any

from kubernetes_double.errors import Cause
from kubernetes_double.resources import CONFIG_MAPS, EVENTS, NODES, SERVICES, Resource

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")

_SUBDOMAIN_TEXT = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"
_KEY_TEXT = "it must consist of alphanumeric characters, '-', '_' or '.'"
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def causes_against(resource: Resource, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
    """Every rule that ``new`` breaks, in the API server's order; ``old`` is None for an object being created."""
    found = [*_metadata(resource, new["metadata"])]
    if old is not None:
        found += _metadata_change(new["metadata"], old["metadata"])
    if resource == NODES:
        found += [] if old is None else _node_change(new, old)
    elif resource == SERVICES:
        found += _service(new["spec"], new["status"]["loadBalancer"].get("ingress", []))
    elif resource == EVENTS:
        involved, own = new["involvedObject"].get("namespace", ""), new["metadata"].get("namespace", "")
        if involved != own and not (not involved and own == "default"):
            found.append(Cause.invalid("involvedObject.namespace", involved, "does not match event.namespace"))
    elif resource == CONFIG_MAPS:
        for field in ("data", "binaryData"):
            wrong = (key for key in new.get(field, {}) if not _CONFIG_KEY.fullmatch(key))
            found += (Cause.invalid(f"{field}[{key}]", key, _KEY_TEXT) for key in wrong)
    return found


def _metadata(resource: Resource, metadata: dict[str, Any]) -> Iterator[Cause]:
    name = metadata.get("name", "")
    pattern, limit = (_LABEL, 63) if resource.label_names else (_SUBDOMAIN, 253)
    if len(name) > limit or not pattern.fullmatch(name):
        why = f"must be no more than {limit} characters: {_SUBDOMAIN_TEXT}"
        yield Cause.invalid("metadata.name", name, f"{why}, without dots" if resource.label_names else why)
    for key, value in metadata.get("labels", {}).items():
        yield from _qualified_name("metadata.labels", key)
        if len(value) > 63 or (value and not _QUALIFIED.fullmatch(value)):
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
    if slash and not _SUBDOMAIN.fullmatch(prefix):
        yield Cause.invalid(path, key, f"prefix part {_SUBDOMAIN_TEXT}")
    if len(name) > 63 or not _QUALIFIED.fullmatch(name):
        yield Cause.invalid(path, key, f"name part must be no more than 63 bytes: {_KEY_TEXT}")


def _metadata_change(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Cause]:
    for field in ("uid", "deletionTimestamp"):
        if new.get(field) != old.get(field):
            yield Cause.invalid(f"metadata.{field}", new.get(field), "field is immutable")
    added = [name for name in new.get("finalizers", []) if name not in old.get("finalizers", [])]
    if added and "deletionTimestamp" in old:
        shown = ", ".join(f'"{name}"' for name in added)
        why = f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
        yield Cause("metadata.finalizers", "Forbidden", why)


def _node_change(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Cause]:
    before, after = old["spec"].get("providerID", ""), new["spec"].get("providerID", "")
    if before and after != before:
        yield Cause("spec.providerID", "Forbidden", 'node updates may not change providerID except from "" to valid')
    addresses = [(entry.get("type"), entry.get("address")) for entry in new["status"].get("addresses", [])]
    for number, (kind, address) in enumerate(addresses):
        if (kind, address) in addresses[:number]:
            shown = f'{{"Type":"{kind}","Address":"{address}"}}'
            yield Cause(f"status.addresses[{number}]", "Duplicate", shown)


def _service(spec: dict[str, Any], ingresses: list[dict[str, Any]]) -> Iterator[Cause]:
    if not spec.get("ports") and spec["type"] != "ExternalName" and spec.get("clusterIP") != "None":
        yield Cause("spec.ports", "Required")
    for number, port in enumerate(spec.get("ports", [])):
        if (value := port.get("port", 0)) not in range(1, 65536):
            yield Cause.invalid(f"spec.ports[{number}].port", value, "must be between 1 and 65535, inclusive")
    if ingresses and spec["type"] != "LoadBalancer":
        yield Cause("status.loadBalancer.ingress", "Forbidden", "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for number, ingress in enumerate(ingresses):
        path = f"status.loadBalancer.ingress[{number}]"
        address, mode, host = ingress.get("ip"), ingress.get("ipMode"), ingress.get("hostname")
        if address and not _is_address(address):
            yield Cause.invalid(f"{path}.ip", address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
        if not address and mode is not None:
            yield Cause(f"{path}.ipMode", "Forbidden", "may not be specified when `ip` is not set")
        elif mode not in (None, "Proxy", "VIP"):
            yield Cause(f"{path}.ipMode", "NotSupported", f'"{mode}": supported values: "Proxy", "VIP"')
        if host and (_is_address(host) or not _SUBDOMAIN.fullmatch(host)):
            yield Cause.invalid(f"{path}.hostname", host, f"must be a DNS name, not an IP address: {_SUBDOMAIN_TEXT}")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
