"""``reconcile validate [FILE...]``: flags, variables and manifests, checked offline."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from desired.annotations.claims import (
    ClaimCheck,
    check_annotations,
    check_claim,
    without_nodes_addresses,
    without_robot_account,
)
from desired.annotations.options import ANNOTATIONS, OPTIONS, OWN_PREFIX, PREFIX, BadAnnotation, Options, defaults_of
from desired.annotations.port_keys import option_of
from desired.annotations.reading import read_annotations, with_defaults
from desired.annotations.warnings import AnnotationWarning
from desired.model.serving import Serving
from reconciler.cli.streams import Writer, fail, publish
from reconciler.config.config import ConfigurationError, load_config
from reconciler.config.environment import read_variables
from reconciler.config.options import Color, Command, Output, asked
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
    serving = Serving()
    try:
        config = load_config(Command.VALIDATE, flags, environ)
        notes, serving = config.warnings, config.settings.serving
    except ConfigurationError as error:
        if error.usage:
            return fail(*error.lines, code=BAD_USAGE)
        errors = error.lines
    errors += tuple(bad.text for bad in with_defaults(read_annotations({}), defaults).bad.values())
    found = [entry for file in files for entry in _check(file, defaults, variables, serving)]
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
    file: str, defaults: Options, variables: Mapping[str, Any], serving: Serving
) -> Iterator[CheckedService | CheckedAnnotations | NotJudged | Unreadable]:
    """Each Service in ``file`` and each place with annotations, why there may be more, or that there is none."""
    is_empty = True
    try:
        for found in read_manifests(_content(file), serving):
            is_empty = False
            if isinstance(found, FoundService):
                yield _checked_service(file, found, defaults, variables)
            else:
                yield _checked_annotations(file, found, has_network=bool(variables["HCLOUD_NETWORK"]))
    except OSError as error:
        yield Unreadable(file, None, f"cannot be read: {error.strerror or error}")
    except NotManifests as error:
        yield Unreadable(file, error.document, str(error))
    else:
        if is_empty:
            which = f"of class {serving.balancer_class}" if serving.balancer_class else "without a loadBalancerClass"
            yield NotJudged(file, _NOTHING.format(which))


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
    place = (file, found.document, found.item, found.namespace, found.name)
    return CheckedService(*place, *_sorted_out((*found.malformed, *check.problems), remarks), found.not_judged)


def _checked_annotations(file: str, found: FoundAnnotations, *, has_network: bool) -> CheckedAnnotations:
    place = (file, found.document, found.item, found.kind, found.namespace, found.name, found.path)
    if found.unread is not None:
        return CheckedAnnotations(*place, *_sorted_out((), (found.unread,)))
    check = check_annotations(found.annotations, has_network=has_network)
    return CheckedAnnotations(
        *place, *_sorted_out((*found.malformed, *check.problems), check.remarks), found.not_judged
    )


def _sorted_out(
    problems: tuple[BadAnnotation, ...], remarks: Iterable[AnnotationWarning]
) -> tuple[tuple[BadAnnotation, ...], tuple[AnnotationWarning, ...]]:
    """Errors and notes. A value that nothing reads is an error here: whoever wrote it can still correct it."""
    remarks = tuple(remarks)
    unread = tuple(BadAnnotation(each.key, each.text) for each in remarks if each.is_unread)
    return (*problems, *unread), tuple(each for each in remarks if not each.is_unread)


def _content(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


_NOTHING = (
    f"nothing was checked: it has no Service of type LoadBalancer {{}}, and no annotation of {PREFIX} or {OWN_PREFIX}"
)
