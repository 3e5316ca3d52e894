"""``reconcile validate [FILE...]``: flags, variables and manifests, checked offline."""

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from msgspec.structs import replace

from desired.annotations.choices import DeletionPolicy
from desired.annotations.claims import (
    ClaimCheck,
    check_annotations,
    check_claim,
    without_nodes_addresses,
    without_robot_account,
)
from desired.annotations.options import ANNOTATIONS, OPTIONS, OWN_PREFIX, PREFIX, Options, defaults_of
from desired.annotations.port_keys import option_of
from desired.annotations.reading import read_annotations, with_defaults
from desired.annotations.warnings import AnnotationWarning
from desired.model.service import TYPE_LOAD_BALANCER, Classes, Marks
from desired.names import CONDITION_IN_SYNC
from reconciler.cli.streams import Writer, fail, publish
from reconciler.config.config import ConfigurationError, load_config
from reconciler.config.environment import read_variables
from reconciler.config.options import TO_CLASS, Color, Command, Output, asked
from reconciler.config.program import BAD_USAGE
from reconciler.observe.manifests import FoundAnnotations, FoundService, read_manifests
from reconciler.observe.yaml_documents import NotManifests
from reconciler.report.validation import (
    CheckedAnnotations,
    CheckedConfiguration,
    CheckedService,
    NotJudged,
    Unreadable,
    Validation,
)


def validate(files: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Say everything that is wrong with the configuration and the Services in ``files``; the exit code."""
    variables = read_variables(environ, [])
    defaults = defaults_of(variables)
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    output = Output(asked(Command.VALIDATE, "--output", flags, environ))
    color = Color(asked(Command.VALIDATE, "--color", flags, environ))
    classes = Classes()
    try:
        config = load_config(Command.VALIDATE, flags, environ)
        notes, classes = config.warnings, config.settings.classes
    except ConfigurationError as error:
        if error.usage:
            return fail(*error.lines, code=BAD_USAGE)
        errors = error.lines
    errors += tuple(bad.text for bad in with_defaults(read_annotations({}), defaults).bad.values())
    told = None if "--for" not in flags else classes.own if flags["--for"] == TO_CLASS else ""
    found = [entry for file in files for entry in _check(file, defaults, variables, classes, told)]
    validation = Validation(
        len(files),
        CheckedConfiguration(errors, notes),
        services=tuple(entry for entry in found if isinstance(entry, CheckedService)),
        annotations=tuple(entry for entry in found if isinstance(entry, CheckedAnnotations)),
        not_judged=tuple(entry for entry in found if isinstance(entry, NotJudged)),
        unreadable=tuple(entry for entry in found if isinstance(entry, Unreadable)),
    )
    written = publish(Writer(output, color=color), validation)
    return 0 if written and not validation.errors else 1


def _check(
    file: str, defaults: Options, variables: Mapping[str, Any], classes: Classes, told: str | None
) -> Iterator[CheckedService | CheckedAnnotations | NotJudged | Unreadable]:
    """Each Service in ``file`` and each place with annotations, why there may be more, or that there is none; with the
    steps to the class that is to be ``told``, "" for none; None where no steps are."""
    is_empty = True
    try:
        for found in read_manifests(_content(file), classes):
            is_empty = False
            if isinstance(found, FoundService):
                checked = _checked_service(file, found, defaults, variables)
                if told is not None:
                    checked = replace(checked, steps=tuple(_steps(found, told, checked.errors)))
                yield checked
            else:
                yield _checked_annotations(file, found, has_network=bool(variables["HCLOUD_NETWORK"]))
    except OSError as error:
        yield Unreadable(file, None, f"cannot be read: {error.strerror or error}")
    except NotManifests as error:
        yield Unreadable(file, error.document, str(error))
    else:
        if is_empty:
            yield NotJudged(file, _NOTHING)


def _checked_service(file: str, found: FoundService, defaults: Options, variables: Mapping[str, Any]) -> CheckedService:
    knows_internal_ips_alone = variables["ROBOT_ENABLED"] and not (
        variables["ROBOT_USER"] or variables["ROBOT_PASSWORD"]
    )
    left_open = {given.key for given in found.not_judged}
    unknown = {row.name for key in left_open if (row := ANNOTATIONS.get(key))} & OPTIONS.keys()
    unknown |= {option for key in left_open if (option := option_of(key))}
    check, remarks = ClaimCheck(), list[AnnotationWarning]()
    if found.claim is not None:
        has_network = bool(variables["HCLOUD_NETWORK"])
        check = check_claim(found.claim, defaults, has_network=has_network, unknown=unknown)
        remarks = [*check.remarks, *without_nodes_addresses(found.claim)]
        if knows_internal_ips_alone and "use_private_ip" not in unknown:
            remarks += without_robot_account(found.claim, defaults)
    place = (file, found.document, found.item)
    errors = (*found.malformed, *check.problems)
    return CheckedService(*place, found.namespace, found.name, errors, tuple(remarks), found.not_judged)


def _checked_annotations(file: str, found: FoundAnnotations, *, has_network: bool) -> CheckedAnnotations:
    place = (file, found.document, found.item, found.kind, found.namespace, found.name, found.carried.path)
    if found.unread is not None:
        return CheckedAnnotations(*place, errors=(), notes=(found.unread,))
    check = check_annotations(found.carried.annotations, has_network=has_network)
    errors = (*found.carried.malformed, *check.problems)
    return CheckedAnnotations(*place, errors, check.remarks, found.carried.not_judged)


def _steps(found: FoundService, to_class: str, errors: Collection[object]) -> Iterator[str]:
    """The commands that give a Service ``to_class``, "" for none, while its load balancer stays, in their order; a line
    with ``#`` is a warning. None for one with ``errors``: its load balancer, released on the way, would not be taken
    back.

    They are one subshell that ends with the first step that fails, as all that follows rests on the protection. The
    class is immutable while the type is LoadBalancer, and the API server empties the status when that changes
    (Kubernetes core/v1 Service).
    """
    if (found.load_balancer_class or "") == to_class:
        yield f"# its class is {to_class} already" if to_class else "# it has no class already"
        return
    if errors:
        yield "# correct the errors first: a Service with errors does not get its load balancer back"
        return
    kubectl = "kubectl" if found.namespace is None else f"kubectl -n {quote(found.namespace)}"
    marks = Marks.HCCM if to_class else Marks.OWN_CLASS
    name, policy = quote(found.name), OPTIONS["deletion_policy"].full_key
    annotations = {} if found.claim is None else found.claim.annotations
    given = annotations.get(policy)
    back = f"{policy}-" if given is None else f"--overwrite {policy}={quote(given)}"
    yield "# pause DNS controllers that delete records: the first patch empties the status of the Service"
    if to_class:
        yield "# a running HCCM deletes the load balancer at the first patch, unless it is protected"
    else:
        yield "# run this controller with --default-load-balancer=true until the last step is done, and HCCM only then"
    yield "# leave the last step out if it was protected before"
    if found.claim is not None and found.claim.is_local:
        yield "# healthCheckNodePort changes: health checks fail until the load balancer has the new one"
    yield "(set -e"
    yield f"SERVICE=$({kubectl} get service {name} -o jsonpath='{{.metadata.uid}}')"
    yield f'ID=$(hcloud load-balancer list -o noheader -o columns=id -l "{marks.label}=$SERVICE")'
    yield 'test "$ID" -gt 0'
    yield 'hcloud load-balancer enable-protection "$ID" delete'
    yield f"{kubectl} annotate service {name} --overwrite {policy}={DeletionPolicy.RETAIN}"
    yield f"{kubectl} patch service {name} --type=merge -p {quote(_PATCH_TYPE)}"
    patch = {"spec": {"type": TYPE_LOAD_BALANCER} | ({"loadBalancerClass": to_class} if to_class else {})}
    yield f"{kubectl} patch service {name} --type=merge -p {quote(json.dumps(patch))}"
    yield f"{kubectl} wait service {name} --for=jsonpath='{{.status.loadBalancer.ingress}}' --timeout=10m"
    yield f"{kubectl} wait service {name} --for=condition={CONDITION_IN_SYNC} --timeout=10m"
    yield f"{kubectl} annotate service {name} {back}"
    yield 'hcloud load-balancer disable-protection "$ID" delete'
    yield ")"
    yield f"# then {'set' if to_class else 'remove'} spec.loadBalancerClass in its manifest"


_PATCH_TYPE = json.dumps({"spec": {"type": "NodePort"}})


def _content(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


_NOTHING = (
    "nothing was checked: it has no Service of type LoadBalancer without a loadBalancerClass, and no annotation of"
    f" {PREFIX} or {OWN_PREFIX}"
)
