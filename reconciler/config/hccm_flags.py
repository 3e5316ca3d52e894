"""HCCM's flags that are accepted without effect: those of Kubernetes' cloud-controller-manager 1.36, any of which a
Helm values file may carry. One line says what there is instead. Flags with a meaning are in the product's own table.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

_ALONE = "this controller has no other cloud"
_LISTS = "each pass lists Nodes and Services; --interval sets how often"
_ACTS = "changes that share no object are made side by side"
_HTTPS = "health is plain HTTP on --health-address, metrics on HCLOUD_METRICS_ADDRESS, and nothing else is served"
_WEBHOOKS = "there are no webhooks"
_LOGS = "--log-format and HCLOUD_DEBUG set what is logged"
_METRICS = "all metrics are served, see docs/metrics.md"
_QPS = "a pass needs few requests, and waits when the API server asks for it"
_VERSIONS = "there are no feature gates and no versions to emulate"

_INSTEAD: Mapping[str, tuple[str, ...]] = {
    _ALONE: ("cloud-provider", "cloud-config", "allow-untagged-cloud", "external-cloud-volume-plugin", "cluster-name"),
    "pod CIDRs are given by kube-controller-manager; routes to them follow from --cluster-cidr": (
        "allocate-node-cidrs",
        "cidr-allocator-type",
    ),
    _LISTS: (
        "min-resync-period",
        "node-monitor-period",
        "node-status-update-frequency",
        "node-sync-period",
        "route-reconciliation-period",
        "controller-start-interval",
    ),
    _ACTS: ("concurrent-service-syncs", "concurrent-node-syncs", "concurrent-node-status-updates"),
    _QPS: ("kube-api-qps", "kube-api-burst", "kube-api-content-type"),
    "the address of the API server is in the kubeconfig": ("master",),
    "all requests are made with one account": ("use-service-account-credentials",),
    "the Lease is taken as it is": ("enable-leader-migration", "leader-migration-config"),
    _HTTPS: (
        "secure-port",
        "bind-address",
        "cert-dir",
        "client-ca-file",
        "disable-http2-serving",
        "http2-max-streams-per-connection",
        "permit-address-sharing",
        "permit-port-sharing",
        "tls-cert-file",
        "tls-cipher-suites",
        "tls-curve-preferences",
        "tls-min-version",
        "tls-private-key-file",
        "tls-sni-cert-key",
        "authentication-kubeconfig",
        "authentication-skip-lookup",
        "authentication-token-webhook-cache-ttl",
        "authentication-tolerate-lookup-failure",
        "authorization-always-allow-paths",
        "authorization-kubeconfig",
        "authorization-webhook-cache-authorized-ttl",
        "authorization-webhook-cache-unauthorized-ttl",
        "requestheader-allowed-names",
        "requestheader-client-ca-file",
        "requestheader-extra-headers-prefix",
        "requestheader-group-headers",
        "requestheader-uid-headers",
        "requestheader-username-headers",
        "profiling",
        "contention-profiling",
    ),
    _WEBHOOKS: (
        "webhooks",
        "webhook-bind-address",
        "webhook-cert-dir",
        "webhook-disable-http2-serving",
        "webhook-secure-port",
        "webhook-tls-cert-file",
        "webhook-tls-cipher-suites",
        "webhook-tls-curve-preferences",
        "webhook-tls-min-version",
        "webhook-tls-private-key-file",
        "webhook-tls-sni-cert-key",
    ),
    _LOGS: (
        "v",
        "vmodule",
        "logging-format",
        "log-flush-frequency",
        "log-json-info-buffer-size",
        "log-json-split-stream",
        "log-text-info-buffer-size",
        "log-text-split-stream",
    ),
    _METRICS: (
        "allow-metric-labels",
        "allow-metric-labels-manifest",
        "disabled-metrics",
        "show-hidden-metrics-for-version",
    ),
    _VERSIONS: ("feature-gates", "emulated-version", "min-compatibility-version"),
}

SWITCHES = frozenset(
    f"--{name}"
    for name in (
        "allow-untagged-cloud",
        "allocate-node-cidrs",
        "authentication-skip-lookup",
        "authentication-tolerate-lookup-failure",
        "contention-profiling",
        "disable-http2-serving",
        "enable-leader-migration",
        "log-json-split-stream",
        "log-text-split-stream",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
        "use-service-account-credentials",
        "webhook-disable-http2-serving",
    )
)
"""Those that may be given without a value."""

INSTEAD: Mapping[str, str] = MappingProxyType(
    {f"--{name}": instead for instead, names in _INSTEAD.items() for name in names}
)
"""Flag → what there is instead of it."""


def without_effect(given: Mapping[str, str]) -> Iterator[str]:
    """A line for each kind of flags among ``given`` that mean nothing here, with what there is instead."""
    for instead, names in _INSTEAD.items():
        found = [f"--{name}" for name in names if f"--{name}" in given]
        if found:
            verb = "has" if len(found) == 1 else "have"
            yield f"{', '.join(found)} {verb} no effect: {instead}"
