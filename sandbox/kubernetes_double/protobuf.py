"""Protobuf bodies, as kubectl and typed clients in Go send them: read into the same objects as JSON.

kubectl asks for an answer in either form and takes JSON, but it does not try again when its own body is refused: what
its commands create has to be understood. Below are the messages and fields that they use; any other is refused by its
number, never dropped. Field numbers are those of ``k8s.io/api``, which never change.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from kubernetes_double.decoding import format_time

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}

_FIELDS: Mapping[str, str] = {
    "Unknown": "1 typeMeta TypeMeta, 2 raw bytes, 3 contentEncoding str, 4 contentType str",
    "TypeMeta": "1 apiVersion str, 2 kind str",
    "ObjectMeta": "1 name str, 2 generateName str, 3 namespace str, 4 selfLink str, 5 uid str, 6 resourceVersion str, "
    "7 generation int, 8 creationTimestamp Time, 11 labels map, 12 annotations map, 14 finalizers [str",
    "Time": "1 seconds int, 2 nanos int",
    "IntOrString": "1 type int, 2 intVal int, 3 strVal str",
    "LabelSelector": "1 matchLabels map",
    "Namespace": "1 metadata ObjectMeta, 2 spec NamespaceSpec, 3 status NamespaceStatus",
    "NamespaceSpec": "1 finalizers [str",
    "NamespaceStatus": "1 phase str",
    "ConfigMap": "1 metadata ObjectMeta, 2 data map, 4 immutable ?bool",
    "Service": "1 metadata ObjectMeta, 2 spec ServiceSpec, 3 status ServiceStatus",
    "ServiceSpec": "1 ports [ServicePort, 2 selector map, 3 clusterIP str, 4 type str, 5 externalIPs [str, "
    "7 sessionAffinity str, 8 loadBalancerIP str, 9 loadBalancerSourceRanges [str, 10 externalName str, "
    "11 externalTrafficPolicy str, 12 healthCheckNodePort int, 13 publishNotReadyAddresses bool, "
    "17 ipFamilyPolicy str, 18 clusterIPs [str, 19 ipFamilies [str, 20 allocateLoadBalancerNodePorts ?bool, "
    "21 loadBalancerClass str, 22 internalTrafficPolicy str",
    "ServicePort": "1 name str, 2 protocol str, 3 port int, 4 targetPort IntOrString, 5 nodePort int, "
    "6 appProtocol str",
    "ServiceStatus": "1 loadBalancer LoadBalancerStatus",
    "LoadBalancerStatus": "",
    "Deployment": "1 metadata ObjectMeta, 2 spec DeploymentSpec, 3 status DeploymentStatus",
    "DeploymentSpec": "1 replicas ?int, 2 selector LabelSelector, 3 template PodTemplateSpec, "
    "4 strategy DeploymentStrategy, 5 minReadySeconds int, 7 paused bool",
    "DeploymentStrategy": "1 type str",
    "DeploymentStatus": "1 observedGeneration int, 2 replicas int, 3 updatedReplicas int, 4 availableReplicas int, "
    "5 unavailableReplicas int, 7 readyReplicas int",
    "PodTemplateSpec": "1 metadata ObjectMeta, 2 spec PodSpec",
    "PodSpec": "2 containers [Container, 3 restartPolicy str, 6 dnsPolicy str, 7 nodeSelector map, "
    "8 serviceAccountName str, 9 serviceAccount str, 10 nodeName str, 11 hostNetwork bool, 12 hostPID bool, "
    "13 hostIPC bool, 16 hostname str, 17 subdomain str, 19 schedulerName str, 24 priorityClassName str",
    "Container": "1 name str, 2 image str, 3 command [str, 4 args [str, 5 workingDir str, 6 ports [ContainerPort, "
    "8 resources ResourceRequirements, 13 terminationMessagePath str, 14 imagePullPolicy str, 16 stdin bool, "
    "17 stdinOnce bool, 18 tty bool, 20 terminationMessagePolicy str",
    "ContainerPort": "1 name str, 2 hostPort int, 3 containerPort int, 4 protocol str, 5 hostIP str",
    "ResourceRequirements": "",
    "SelfSubjectAccessReview": "1 metadata ObjectMeta, 2 spec SelfSubjectAccessReviewSpec, 3 status ReviewStatus",
    "SelfSubjectAccessReviewSpec": "1 resourceAttributes ResourceAttributes, 2 nonResourceAttributes PathAttributes",
    "ResourceAttributes": "1 namespace str, 2 verb str, 3 group str, 4 version str, 5 resource str, 6 subresource str, "
    "7 name str",
    "PathAttributes": "1 path str, 2 verb str",
    "ReviewStatus": "1 allowed bool, 2 reason str, 3 evaluationError str, 4 denied bool",
    "SelfSubjectRulesReview": "1 metadata ObjectMeta, 2 spec SelfSubjectRulesReviewSpec, 3 status RulesStatus",
    "SelfSubjectRulesReviewSpec": "1 namespace str",
    "RulesStatus": "3 incomplete bool, 4 evaluationError str",
    "SelfSubjectReview": "1 metadata ObjectMeta, 2 status SelfSubjectReviewStatus",
    "SelfSubjectReviewStatus": "1 userInfo UserInfo",
    "UserInfo": "1 username str, 2 uid str",
}
"""Message → its fields: number, name and type. ``[`` marks a list, ``?`` a field that is there even when it is zero."""


def read_object(body: bytes) -> dict[str, Any]:
    """The object in a body, as it would be in JSON. Raises ValueError that says what cannot be read."""
    if not body.startswith(_MAGIC):
        raise ValueError("the body does not begin as protobuf of Kubernetes does")
    try:
        envelope = _message("Unknown", body[len(_MAGIC) :])
        kind = envelope.get("typeMeta", {}).get("kind", "")
        if kind not in _FIELDS:
            raise ValueError(f"kind {kind!r} is not read from protobuf here: send JSON")
        return {**envelope["typeMeta"], **_message(kind, envelope.get("raw", b""))}
    except IndexError:
        raise ValueError("the protobuf body ends in the middle of a field") from None
    except UnicodeDecodeError:
        raise ValueError("a text in the protobuf body is not text in UTF-8") from None


def _message(name: str, raw: bytes) -> dict[str, Any]:
    fields = {int(n): (field, kind) for n, field, kind in map(str.split, filter(None, _FIELDS[name].split(", ")))}
    found: dict[str, Any] = {}
    for number, value in _split(raw):
        if number not in fields:
            raise ValueError(f"field {number} of {name} is not read from protobuf here: send JSON")
        field, kind = fields[number]
        if kind == "map" and isinstance(value, bytes):
            entry = dict(_split(value))
            found.setdefault(field, {})[_text(entry.get(1, b""))] = _text(entry.get(2, b""))
        elif kind.startswith("["):
            found.setdefault(field, []).append(_value(kind[1:], value))
        elif (read := _value(kind.lstrip("?"), value)) or kind.startswith("?"):
            found[field] = read
    return found


def _value(kind: str, value: int | bytes) -> Any:
    if kind == "int" and isinstance(value, int):
        return value - 2**64 if value >= 2**63 else value
    if kind == "bool" and isinstance(value, int):
        return bool(value)
    if isinstance(value, int) or kind in ("int", "bool"):
        sent = "a number" if isinstance(value, int) else "bytes"
        raise ValueError(f"protobuf has {sent} where a {kind} belongs")
    if kind in ("str", "bytes"):
        return _text(value) if kind == "str" else value
    read = _message(kind, value)
    if kind == "Time":
        try:
            return format_time(datetime.fromtimestamp(read["seconds"], UTC)) if read.get("seconds") else None
        except (OverflowError, OSError, ValueError):
            raise ValueError("protobuf has a time that no calendar has") from None
    if kind == "IntOrString":
        return read.get("strVal", "") if read.get("type") else read.get("intVal", 0)
    return read


def _text(value: int | bytes) -> str:
    if isinstance(value, int):
        raise ValueError("protobuf has a number where a text belongs")  # noqa: TRY004 - one error for a bad body
    return value.decode()


def _split(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: number, and number or bytes. Raises IndexError at a sudden end."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(raw, at)
        elif wire in _FIXED_SIZES:
            size = _FIXED_SIZES[wire]
        else:
            raise ValueError(f"protobuf has no wire type {wire}")
        if at + size > len(raw):
            raise IndexError
        yield number, raw[at : at + size]
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (raw[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not raw[at - 1] & 0x80:
            return value, at
        if shift > 63:
            raise ValueError("protobuf has a number that is too long")
