"""A small Kubernetes API, as a synchronous state machine: the part of the API server that demo and fast tests need.

Served are nodes, services, namespaces, events, configmaps and leases, and as they are written deployments, daemonsets
and volumeattachments, with discovery enough for kubectl's ``get``, ``apply``, ``annotate`` and ``delete``. What it
answers is held against the real API server 1.36 by ``tests/contract``, which runs every test against both. Known
differences:

- no server-side apply (415), no dry run and no label selectors (400), no deletecollection, no deletion of namespaces
  (405); JSON alone, no tables (kubectl prints NAME and AGE by itself), of OpenAPI only what ``discovery`` says;
- unknown fields are kept, ``fieldValidation`` and ``propagationPolicy`` do nothing;
- validation and defaults are those in ``validation`` and ``defaults``: the rest is accepted, and what is left out of an
  item of a list (a condition's times, say) stays out, where the real server answers null or "";
- messages about malformed bodies and names have other words; causes of a refused update are listed once, not twice;
- ``managedFields`` tell who wrote a Service's addresses last, and nothing else;
- ``$retainKeys`` and unknown ``$`` directives of a strategic patch are refused (400);
- a JSON patch that tests for null does not hold where nothing is;
- a PUT never creates (404), and one without ``resourceVersion`` is unconditional, of Leases too;
- pages do not count what remains, and an expired ``continue`` token comes without one that carries on;
- authorization is a set of verbs per token, and who sends none may read of the API what ``discovery`` says; a token is
  also taken as the password of HTTP basic authentication;
- pods are an ever empty list; events never expire; addresses and ports are allocated in order, not at random.

Only the double's own tests cover tokens' verbs and world files: a real server has none of them.
"""

from kubernetes_double.api import KubernetesSimulator

__all__ = ["KubernetesSimulator"]
