"""Checks of a Service that claims a load balancer, as far as they need no API: errors and warnings."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial

from desired.annotations.choices import Protocol
from desired.annotations.combinations import (
    Circumstances,
    Combination,
    bad_combinations,
    idle_options,
)
from desired.annotations.options import OPTIONS, BadAnnotation, Options
from desired.annotations.port_keys import is_of_port, port_key, told
from desired.annotations.reading import (
    ReadAnnotations,
    Requested,
    Spoken,
    read_annotations,
    with_defaults,
)
from desired.annotations.warnings import AnnotationWarning, Lack, warnings_on, warnings_on_port
from desired.section import UNMANAGED
from desired.syntax.bounds import counted, shown_text

BOTH_FAMILIES = frozenset({4, 6})
_VERSIONS: Mapping[str, int] = {"IPv4": 4, "IPv6": 6}


@dataclass(frozen=True, slots=True)
class ClaimedPort:
    """One port of a Service's spec."""

    port: int
    protocol: str = "TCP"
    node_port: int = 0
    """0 when the API server has still to choose it, or never will."""
    app_protocol: str = ""
    """``appProtocol``, what clients speak on it; empty when it is not said."""


@dataclass(frozen=True)
class Claim:
    """The fields of a Service of type LoadBalancer that rules look at; its annotations are read once, here."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[ClaimedPort, ...] = ()
    allocates_node_ports: bool = True
    """``spec.allocateLoadBalancerNodePorts``."""
    source_ranges: tuple[str, ...] = ()
    external_ips: tuple[str, ...] = ()
    load_balancer_ip: str = ""
    session_affinity: str = "None"
    external_traffic_policy: str = "Cluster"
    health_check_node_port: int = 0
    """Where kube-proxy tells whether the Node has a pod (``spec.healthCheckNodePort``): with the policy Local, once the
    API server has chosen it; 0 otherwise."""
    ip_families: tuple[str, ...] = ()
    """``spec.ipFamilies``: ``IPv4`` and ``IPv6``, for which kube-proxy opens the node ports; empty where the API server
    has still to choose."""

    @property
    def families(self) -> frozenset[int]:
        """The versions of IP by which Nodes take the Service's traffic; both where that is not known."""
        found = frozenset(_VERSIONS[family] for family in self.ip_families if family in _VERSIONS)
        return found or BOTH_FAMILIES

    @property
    def is_local(self) -> bool:
        """Whether only Nodes that have a pod take traffic (``externalTrafficPolicy: Local``)."""
        return self.external_traffic_policy == "Local"

    @cached_property
    def tcp_ports(self) -> tuple[ClaimedPort, ...]:
        """Those that a load balancer can have: Hetzner balances TCP only."""
        return tuple(port for port in self.ports if port.protocol == "TCP")

    @cached_property
    def read(self) -> ReadAnnotations:
        """The annotations with their values, whatever the environment says."""
        return read_annotations(self.annotations)

    def requested(self, defaults: Options) -> Requested:
        """What the annotations ask for with these defaults of the environment: decided once."""
        return self._requested(defaults)

    @cached_property
    def _requested(self) -> Callable[[Options], Requested]:
        ports = frozenset(port.port for port in self.tcp_ports)
        return lru_cache(maxsize=2)(partial(with_defaults, self.read, ports=ports))  # present defaults, and former ones


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """The result of the checks of a claim."""

    problems: tuple[BadAnnotation, ...] = ()
    """With any of them no load balancer is created."""
    remarks: tuple[AnnotationWarning, ...] = ()


def check_claim(
    claim: Claim,
    defaults: Options,
    *,
    has_network: bool,
    is_created: bool = True,
    is_settled: bool = False,
    there: Mapping[int, Spoken] = {},
    unknown: Collection[str] = (),
) -> ClaimCheck:
    """Everything at once. ``is_created`` says that the load balancer has to be created; ``is_settled`` that there is
    one, which is not going to be attached to a network. A value that nothing reads is a warning, and no problem.
    Protocols of ports that are ``there`` count where nothing is asked.
    Nothing is concluded from the options in ``unknown``: their annotations are to be filled in, and not in ``claim``.
    """
    requested = claim.requested(defaults)
    effective = requested.beside(there, {port.port for port in claim.tcp_ports})
    around = Circumstances(is_created, has_network, is_settled, claim.is_local)
    check = _check(claim, effective, around, unknown)
    local = () if "health_check_node_port" in unknown else _local(claim, requested)
    return ClaimCheck(
        (*check.problems, *_unknown_ports(claim), *_port_problems(claim), *_redirect_problems(claim, effective)),
        (
            *check.remarks,
            *_unsupported(claim),
            *_spoken(claim, requested),
            *_checked_elsewhere(claim, requested),
            *_checked_by_http(claim, requested),
            *local,
            *_differing_ports(claim, requested),
        ),
    )


def check_annotations(annotations: Mapping[str, str], *, has_network: bool) -> ClaimCheck:
    """The same of annotations alone, as values of a chart or a patch have them: nothing is concluded from an option
    that is not among them, as it may come from elsewhere, nor from the rest of a Service."""
    claim = Claim(annotations)
    read = claim.read
    unknown = OPTIONS.keys() - {*read.values, *read.bad, *read.unset}
    around = Circumstances(has_network=has_network, is_local=True)
    return _check(claim, with_defaults(read, Options()), around, unknown)


def _check(claim: Claim, requested: Requested, around: Circumstances, unknown: Collection[str]) -> ClaimCheck:
    """The annotations of the Service, then those of its ports: what a port says of itself counts there alone."""
    problems: list[BadAnnotation] = []
    idle: dict[int | None, Mapping[str, Combination]] = {}
    for way in requested.ways:
        left_open = frozenset(unknown) - way.own
        at_port = replace(around, kept_check=way.kept_check)
        idle[way.port] = found = idle_options(way.options, {*way.bad, *left_open}, at_port)
        problems += (why for name, why in way.bad.items() if name not in found and name not in left_open)
        problems += bad_combinations(way, {*way.bad, *found, *left_open}, at_port)
    remarks = list(warnings_on(claim.annotations, requested, _idle_everywhere(requested, idle)))
    for way in requested.ports.values():
        remarks += warnings_on_port(claim.annotations, way, idle[way.port])
    return ClaimCheck((*dict.fromkeys(problems), *claim.read.wrong_keys), tuple(sorted(remarks)))


def _idle_everywhere(
    requested: Requested, idle: Mapping[int | None, Mapping[str, Combination]]
) -> Mapping[str, Combination]:
    """The options of the Service that have no effect at any port: nothing reads them there, or the port has an
    annotation of its own."""
    found: dict[str, Combination] = {}
    for name in OPTIONS:
        rows = [idle[way.port].get(name) for way in requested.ways if name not in way.own]
        if not rows:
            found[name] = Combination(name, {}, "each port has an annotation of its own for it")
        elif all(rows) and rows[0] is not None:
            found[name] = rows[0]
    return found


def _unknown_ports(claim: Claim) -> tuple[BadAnnotation, ...]:
    """Problems of annotations of ports that the Service does not have."""
    known, others = {port.port for port in claim.tcp_ports}, {port.port: port.protocol for port in claim.ports}
    found = []
    for port, read in sorted(claim.read.ports.items()):
        if port not in known:
            key = port_key(port, min(read.own))
            lacks = f"of port {port}, which the Service does not have"
            why = f"of a port of {others[port]}, and Hetzner balances TCP only" if port in others else lacks
            found.append(BadAnnotation(key, f"{key} is {why}; correct the number, or remove it", port))
    return told(found)


def _port_problems(claim: Claim) -> Iterator[BadAnnotation]:
    """Problems of a Service without any node port, now or later."""
    if claim.tcp_ports and all(not port.node_port for port in claim.tcp_ports):
        yield from (BadAnnotation(key, f"{text}; {_SET_NODE_PORT}") for key, text, _ in _without_node_port(claim))


def _without_node_port(claim: Claim) -> Iterator[tuple[str, str, int]]:
    """Key, sentence and port of each TCP port that never gets a node port."""
    for index, port in enumerate(claim.ports):
        if port.protocol == "TCP" and not port.node_port and not claim.allocates_node_ports:
            key = f"spec.ports[{index}].nodePort"
            yield key, f"{key} is not set: port {port.port} has no port on the Nodes to lead to", port.port


def _redirect_problems(claim: Claim, requested: Requested) -> Iterator[BadAnnotation]:
    """A redirect takes port 80, which a load balancer has once."""
    name = "http_redirect_http"
    redirecting = [way for way in requested.ways if way.redirects]
    asking = [way for way in redirecting if name in way.own]
    if redirecting and any(port.port == 80 for port in claim.tcp_ports):
        (first, *_) = asking or redirecting
        key = first.key(name) if first in asking else OPTIONS[name].full_key
        yield BadAnnotation(
            key, f"{key} is true: it takes port 80, which the Service has as well; remove that port, or the redirect"
        )
    if len(asking) > 1:
        key, others = asking[0].key(name), ", ".join(way.key(name) for way in asking[1:])
        yield BadAnnotation(key, f"{key} is true, and so is {others}: a redirect takes port 80, of one port; keep one")


def without_robot_account(claim: Claim, defaults: Options) -> Iterator[AnnotationWarning]:
    """A warning where Robot is on and has no credentials: InternalIPs are then all that is known of its servers. In a
    cluster each Node says so by itself, and without one it is of no use."""
    requested = claim.requested(defaults)
    if requested.options.use_private_ip is not True and "use_private_ip" not in requested.bad:
        key = OPTIONS["use_private_ip"].full_key
        why = "without ROBOT_USER and ROBOT_PASSWORD Robot servers are reached by the InternalIPs of their Nodes alone"
        yield AnnotationWarning(key, f"{key} is not true: {why}, and get no traffic; set it to true")


def without_nodes_addresses(claim: Claim) -> Iterator[AnnotationWarning]:
    """A warning where the Service takes one family alone, and nothing is known of Nodes: those without a public address
    of it get no traffic. In a cluster each Node says so by itself."""
    if claim.families == {6}:
        key = "spec.ipFamilies"
        why = "node ports are opened for it alone, so that only Nodes with a public IPv6 address get traffic"
        text = f"{key} is IPv6: {why}, and none by private address; for all Nodes set ipFamilyPolicy: PreferDualStack"
        yield AnnotationWarning(key, text)


def _unsupported(claim: Claim) -> Iterator[AnnotationWarning]:
    """Warnings about what the spec asks for and Hetzner's load balancers cannot do."""
    for index, port in enumerate(claim.ports):
        if port.protocol != "TCP":
            key = f"spec.ports[{index}].protocol"
            text = f"{key} is {port.protocol}: Hetzner balances TCP only, so port {port.port} is left out"
            yield AnnotationWarning(key, text, Lack.PORT, port.port)
    if any(port.node_port for port in claim.tcp_ports):
        for key, text, number in _without_node_port(claim):
            yield AnnotationWarning(key, f"{text}, and is left out; {_SET_NODE_PORT}", Lack.NODE_PORT, number)
    if not claim.tcp_ports:
        key = "spec.ports"
        yield AnnotationWarning(
            key, f"{key} has no TCP port: the load balancer will listen on nothing", Lack.EVERY_PORT
        )
    if claim.source_ranges:
        key = "spec.loadBalancerSourceRanges"
        text = f"{key} has no effect: Hetzner's load balancers have no firewall, any address can connect"
        yield AnnotationWarning(key, text, Lack.SOURCE_RANGES)
    if claim.session_affinity != "None":
        sticky = OPTIONS["http_sticky_sessions"].full_key
        key = "spec.sessionAffinity"
        yield AnnotationWarning(key, f"{key} has no effect on the load balancer: with http and https there is {sticky}")
    if claim.load_balancer_ip:
        key, field = "spec.loadBalancerIP", "public_net_ipv6" if ":" in claim.load_balancer_ip else "public_net_ipv4"
        primary, private = OPTIONS[field].full_key, OPTIONS["private_ipv4"].full_key
        address = shown_text(claim.load_balancer_ip)
        text = f"{key} has no effect: for {address} name its Primary IP in {primary}, or set {private}"
        yield AnnotationWarning(key, f"{text} for an address of the private network")
    if claim.external_ips:
        key = "spec.externalIPs"
        yield AnnotationWarning(key, f"{key} has no effect on the load balancer")


def _spoken(claim: Claim, requested: Requested) -> Iterator[AnnotationWarning]:
    """Warnings about TCP ports on which the protocol of all ports cannot be meant, by the port's number (IANA's
    registry) or by its ``appProtocol``. What is said of one port alone is meant."""
    for index, port in enumerate(claim.ports):
        way = requested.of_port(port.port)
        options, row, redirect = way.options, OPTIONS["protocol"].full_key, OPTIONS["http_redirect_http"].full_key
        if port.protocol != "TCP" or "protocol" in way.own or options.protocol is Protocol.TCP:
            continue
        key, given = f"spec.ports[{index}].port", f"{row} is {options.protocol} for all ports"
        other = port_key(port.port, "protocol")
        if (options.protocol, port.port) == (Protocol.HTTPS, 80):
            if options.http_redirect_http is True:
                continue  # the two cannot be together, which is an error
            text = f"plain http on it fails; remove the port and set {redirect} to true, or set {other} to http"
        elif (options.protocol, port.port) == (Protocol.HTTP, 443):
            text = f"TLS on it fails; set {other} to https with certificates, or to tcp where pods end TLS"
        elif port.app_protocol in _HTTP2:
            text = f"{port.app_protocol} needs HTTP/2 up to the pod; set {other} to tcp"
        elif port.port in _NO_HTTP:
            text = f"clients of this port speak {_NO_HTTP[port.port]}; set {other} to tcp"
        else:
            continue
        yield AnnotationWarning(key, f"{key} is {port.port}, and {given}: {text}", port=port.port)


def _checked_elsewhere(claim: Claim, requested: Requested) -> Iterator[AnnotationWarning]:
    """Warnings about health checks of a port that the Service does not open on the Nodes."""
    node_ports = {port.node_port for port in claim.tcp_ports}
    opened = {*node_ports, claim.health_check_node_port, _KUBE_PROXY} - {0}
    for way in requested.ways:
        asked = way.options.health_check_port
        is_open = asked in opened or (0 in node_ports and asked in _NODE_PORTS)
        if isinstance(asked, int) and not is_open:
            key = way.key("health_check_port")
            text = f"{key} is {asked}, no node port of the Service: every Node has to answer there itself"
            yield AnnotationWarning(key, f"{text}; remove it to check the node ports", port=way.port)


def _checked_by_http(claim: Claim, requested: Requested) -> Iterator[AnnotationWarning]:
    """Warnings about checks by http of ports that speak something else."""
    for index, port in enumerate(claim.tcp_ports):
        way = requested.of_port(port.port)
        spoken = _NO_HTTP.get(port.port, "HTTP/2" if port.app_protocol in _HTTP2 else "")
        spoken = "TLS" if port.port == _TLS and way.options.protocol is Protocol.TCP else spoken
        is_checked = way.options.health_check_protocol is Protocol.HTTP and way.options.health_check_port is UNMANAGED
        if spoken and is_checked and "health_check_protocol" not in way.own and not way.options.health_check_node_port:
            key, own = f"spec.ports[{index}].port", port_key(port.port, "health_check_protocol")
            text = f"{key} is {port.port}, and {OPTIONS['health_check_protocol'].full_key} is http for all ports"
            text += f": pods that speak {spoken} fail it; set {own} to tcp"
            yield AnnotationWarning(key, text, port=port.port)


def _local(claim: Claim, requested: Requested) -> Iterator[AnnotationWarning]:
    """A warning about where health checks are sent, if that differs from what the spec suggests."""
    policy, asks = "spec.externalTrafficPolicy", OPTIONS["health_check_node_port"].full_key
    if claim.is_local and not all(way.options.health_check_node_port for way in requested.ways):
        yield AnnotationWarning(
            policy,
            f"{policy} is Local: Nodes without a pod stay targets, and only health checks keep traffic from them; set"
            f" {asks} to true, and they ask whether there is a pod",
        )


def _differing_ports(claim: Claim, requested: Requested) -> Iterator[AnnotationWarning]:
    """Warnings about what is the whole load balancer's though ports have annotations of their own: its ``ipMode``, and
    what HCCM would make of it."""
    if not requested.ports:
        return
    where = "metadata.annotations"
    keys = sorted(key for key in claim.annotations if is_of_port(key))
    text = f"{where} has {keys[0]}" + (f" and {counted(len(keys) - 1, 'more option')} of ports" if keys[1:] else "")
    text += ": hcloud-cloud-controller-manager ignores that, and would make all ports alike"
    yield AnnotationWarning(where, text)
    speaking = [way for way in requested.ways if way.options.uses_proxyprotocol is True]
    if speaking and len(speaking) < len(requested.ways):
        key = speaking[0].key("uses_proxyprotocol")
        text = f"{key} is true: the status has ipMode Proxy for all ports, so that pods reach the others through the"
        yield AnnotationWarning(key, f"{text} load balancer as well")


_TLS, _KUBE_PROXY = 443, 10256
"""kube-proxy answers the second one on every Node (``--healthz-bind-address``)."""
_NODE_PORTS = range(30000, 32768)
"""The API server's usual ``--service-node-port-range``."""
_SET_NODE_PORT = "set it, or remove spec.allocateLoadBalancerNodePorts"
_HTTP2 = ("grpc", "kubernetes.io/h2c")
"""Values of ``appProtocol`` that stand for HTTP/2 to the pod (gRPC, and KEP-3726)."""
_NO_HTTP: Mapping[int, str] = {
    22: "SSH",
    25: "SMTP",
    53: "DNS",
    110: "POP3",
    143: "IMAP",
    389: "LDAP",
    465: "SMTP",
    587: "SMTP",
    636: "LDAP",
    853: "DNS",
    993: "IMAP",
    995: "POP3",
    1883: "MQTT",
    3306: "MySQL",
    5432: "PostgreSQL",
    5672: "AMQP",
    6379: "Redis",
    8883: "MQTT",
    9092: "Kafka",
    27017: "MongoDB",
}
"""Port → what is spoken on it, and never inside of HTTP."""
