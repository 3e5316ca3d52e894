"""A small Kubernetes API, as a synchronous state machine: the part of the API server that demo and fast tests need.

Served are nodes, services, namespaces, events, configmaps, leases and deployments, as objects and as tables, with
discovery enough for kubectl and the typed clients; daemonsets only to be read. What it answers is held against the real
API server 1.36 by ``tests/contract``, which runs every test against both. Known differences:

- no server-side apply (415), no deletecollection; answers in JSON only, bodies in JSON, and in protobuf as far as
  ``protobuf`` knows the fields; of OpenAPI only what ``openapi`` serves;
- unknown fields are kept, ``fieldValidation`` and ``propagationPolicy`` do nothing;
- ``managedFields`` tell of writes through the status alone, and cannot be set or cleared by a client;
- validation and defaults are those in ``validation`` and ``defaults``: the rest is accepted, and what is left out of an
  item of a list (a condition's times, say) stays out, where the real server answers null or "";
- messages about malformed bodies have other words; causes of a refused update are listed once, not twice;
- ``<`` and ``>`` in label selectors, ``$retainKeys`` and unknown ``$`` directives are refused (400);
- ``$setElementOrder`` for a list that is not merged is ignored, where the real server panics and hangs up;
- PUT to the status of an absent Service is 404, where the real server creates half a Service;
- authorization is a set of verbs per token; a token is also taken as the password of HTTP basic authentication;
- pods are an ever empty list; events never expire; addresses and ports are allocated in order, not at random;
- of a deployment only selector and containers are checked, and nothing is made of it; daemonsets come from a world
  file, as they are there, and cannot be written;
- nothing runs behind the API, so a deleted namespace stays ``Terminating``, as with a lone API server.

Only the simulator's own tests cover faults, tokens' verbs and world files: a real server has none of them.
"""

from kubernetes_double.api import KubernetesSimulator

__all__ = ["KubernetesSimulator"]
