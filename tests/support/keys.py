"""Keys from their texts: tests name objects as people do."""

from desired.model.key import Key, ObjectKind

_NAMESPACED = frozenset(
    {ObjectKind.SERVICE, ObjectKind.LOAD_BALANCER, ObjectKind.CERTIFICATE, ObjectKind.DEPLOYMENT, ObjectKind.DAEMON_SET}
)


def key_of(text: str) -> Key:
    sort, *names = text.split("/")
    kind = ObjectKind(sort)
    if kind is ObjectKind.ROUTE:
        return Key(kind, names[0], "/".join(names[1:]))
    length = 2 if kind in _NAMESPACED and not text.startswith("load_balancer/#") else 1
    made = Key(kind, "/".join(names[:length]), *names[length:])
    assert made == text
    return made
