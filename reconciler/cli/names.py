"""Names for completion, from the cluster that the command line means: with its kubeconfig alone, without a token, and
without a word when there is trouble, as a person is typing.

What a cluster calls its objects is foreign text that is about to stand in a shell: only what Kubernetes takes for a
name is passed on.
"""

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import msgspec

from actuators.http.decoding import decoder
from actuators.http.kubeconfig import contexts_of
from actuators.http.kubernetes import KubernetesReader, connect, load_client, segment
from actuators.http.retry import NO_PATIENCE, Retry
from desired.model.key import Key, ObjectKind
from desired.names import CONFIG_MAP
from reconciler import __version__
from reconciler.cli.words import WordSource
from reconciler.config.options import Command, read_flags

_LONGEST_S = 1.0
"""How long the cluster, or a credential plugin, may take: a person waits no longer for what a key shows."""
_MOST = 1_000
_OF_CLUSTER = ("--kubeconfig", "--context", "--leader-elect-resource-namespace")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)
_HASH = re.compile(r"sha256:[0-9a-f]{16}", re.ASCII)
_CONTEXT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9@:/._-]{0,251}[A-Za-z0-9])?", re.ASCII)


class _Meta(msgspec.Struct):
    name: str
    namespace: str = ""


class _Spec(msgspec.Struct):
    type: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _List(msgspec.Struct):
    items: list[_Object]


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


class _Hold(msgspec.Struct):
    hash: str


class _Status(msgspec.Struct):
    holds: list[_Hold]


def print_names(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Answer a script of a former version, which gives the kind of names, how they begin, and the words of the command
    line: a name a line. Returns 0, whatever the trouble."""
    if len(arguments) > 1 and arguments[0] in list(WordSource):
        kind, prefix, *words = arguments
        parts = [(*word.partition("="), after) for word, after in zip(words, [*words[1:], ""], strict=False)]
        given = {name: value if equals else after for name, equals, value, after in parts if name in _OF_CLUSTER}
        sys.stdout.write("".join(f"{name}\n" for name in names(WordSource(kind), prefix, given, environ)))
    return 0


def names(source: WordSource, prefix: str, given: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """The names that begin with ``prefix``, a thousand at most, in the cluster that the flags or the environment mean;
    none where there is any trouble. Ends the process when that takes too long, and leaves it without stdin and
    stderr."""
    with _quietly():
        return _read(source, prefix, given, environ)
    return []


@contextmanager
def _quietly() -> Iterator[None]:
    """Nothing is said on stderr, nothing is read from stdin, and it is over soon: a credential plugin may ask or hang.
    No error gets out."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 2):
        os.dup2(null, stream)
    os.close(null)
    load_client()  # not counted: a machine that is busy would never get an answer
    limit = threading.Timer(_LONGEST_S, os._exit, (0,))
    limit.daemon = True
    limit.start()
    with suppress(Exception):
        yield
    limit.cancel()


def _read(source: WordSource, prefix: str, given: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """Raises whatever the trouble is."""
    flags = read_flags(Command.APPROVE, given, environ, [], [], _OF_CLUSTER)
    kubeconfig = flags["--kubeconfig"] and os.path.expanduser(flags["--kubeconfig"])  # noqa: PTH111 - keeps the rest
    if source is WordSource.CONTEXT:
        return _listed(filter(_CONTEXT.fullmatch, contexts_of(kubeconfig)), prefix)
    connection = connect(
        kubeconfig,
        flags["--context"],
        user_agent=f"hcloud-reconciler/{__version__} completion",
        retry=Retry(threading.Event(), NO_PATIENCE),
        timeout_s=_LONGEST_S,
        read_only=True,
    )
    reader = KubernetesReader(connection)
    read: Mapping[WordSource, Callable[[], Iterable[str]]] = {
        WordSource.NODE: lambda: _nodes(reader),
        WordSource.SERVICE: lambda: _services(reader),
        WordSource.KEY: lambda: _keys(reader, prefix),
        WordSource.HOLD: lambda: _holds(reader, flags["--leader-elect-resource-namespace"]),
    }
    return _listed(read[source](), prefix)


def _listed(found: Iterable[str], prefix: str) -> list[str]:
    return sorted(name for name in found if name.startswith(prefix))[:_MOST]


def _objects(reader: KubernetesReader, path: str) -> Iterator[_Object]:
    read = decoder(_List)
    for page in reader.list_pages(path, lambda answer: read.decode(answer.body).items):
        yield from (each for each in page if _NAME.fullmatch(each.metadata.name))


def _nodes(reader: KubernetesReader) -> Iterator[str]:
    return (node.metadata.name for node in _objects(reader, "/api/v1/nodes"))


def _services(reader: KubernetesReader) -> Iterator[str]:
    """Those that want a load balancer: of others there is nothing to say."""
    for service in _objects(reader, "/api/v1/services"):
        if service.spec.type == "LoadBalancer" and _NAME.fullmatch(service.metadata.namespace):
            yield f"{service.metadata.namespace}/{service.metadata.name}"


def _keys(reader: KubernetesReader, prefix: str) -> Iterator[str]:
    """Both kinds, but for the one that the prefix rules out."""
    for kind, read in ((ObjectKind.NODE, _nodes), (ObjectKind.SERVICE, _services)):
        head = f"{kind}/"
        if prefix.startswith(head) or head.startswith(prefix):
            yield from (Key(kind, name) for name in read(reader))


def _holds(reader: KubernetesReader, namespace: str) -> Iterator[str]:
    """Hashes of the holds that the controller published."""
    path = f"/api/v1/namespaces/{segment(namespace)}/configmaps/{CONFIG_MAP}"
    published = decoder(_ConfigMap).decode(reader.get(path).body).data["status"]
    return (hold.hash for hold in decoder(_Status).decode(published.encode()).holds if _HASH.fullmatch(hold.hash))
