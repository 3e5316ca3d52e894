"""A small Kubernetes API: what demo and fast tests need of the API server, as a synchronous state machine.

Served are nodes, services, namespaces, events, configmaps and leases, with discovery enough for kubectl and the typed
clients. What is claimed here is held against the real API server by ``tests/contract``. Known differences:

- no watch, no server-side apply (415), no YAML and no protobuf bodies, no Table answers, no deletecollection;
- unknown fields are kept, ``managedFields`` are neither written nor read, ``fieldValidation`` has no effect;
- of validation and defaults only what is in ``validation`` and ``defaults``; a Node gets no empty ``nodeInfo``;
- authorisation is a set of verbs per token; a token is also taken as the password of HTTP basic authentication;
- pods are an ever empty list; events never expire; ``propagationPolicy`` has no effect;
- nothing runs behind the API, so a deleted namespace stays ``Terminating`` for ever, as with a lone API server.
"""

from reconciler.sandbox.kubernetes.api import KubernetesSimulator

__all__ = ["KubernetesSimulator"]
