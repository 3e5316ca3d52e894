"""``reconcile validate [FILE...]``: flags, variables and manifests, checked offline."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from desired.annotations.claims import ClaimCheck, check_claim, without_nodes_addresses, without_robot_account
from desired.annotations.options import Defaults, defaults_of
from desired.annotations.parsing import read_annotations, with_defaults
from reconciler.cli.streams import fail, publish
from reconciler.config.config import ConfigurationError, load_config
from reconciler.config.flags import Color, Command, Output, asked
from reconciler.config.program import BAD_USAGE
from reconciler.config.variables import read_variables
from reconciler.observe.manifests import NotManifests, read_services
from reconciler.report.terminal import Writer
from reconciler.report.validation import CheckedConfiguration, CheckedService, Unreadable, Validation


def validate(files: Sequence[str], flags: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Say everything that is wrong with the configuration and the Services in ``files``; the exit code."""
    variables = read_variables(environ, [])
    defaults = defaults_of(variables)
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    output = Output(asked(Command.VALIDATE, "--output", flags, environ))
    color = Color(asked(Command.VALIDATE, "--color", flags, environ))
    try:
        notes = load_config(Command.VALIDATE, flags, environ).warnings
    except ConfigurationError as error:
        if error.usage:
            return fail(*error.lines, code=BAD_USAGE)
        errors = error.lines
    errors += tuple(bad.text for bad in with_defaults(read_annotations({}), defaults)[1].values())
    services: list[CheckedService] = []
    unreadable: list[Unreadable] = []
    for file in files:
        _check(file, defaults, services, unreadable, variables)
    configuration = CheckedConfiguration(errors, notes)
    validation = Validation(len(files), configuration, tuple(services), tuple(unreadable))
    written = publish(Writer(output, color=color), validation)
    return 0 if written and not validation.errors else 1


def _check(
    file: str,
    defaults: Defaults,
    services: list[CheckedService],
    unreadable: list[Unreadable],
    variables: Mapping[str, Any],
) -> None:
    """Append each Service in ``file`` to ``services``, and why there may be more to ``unreadable``."""
    has_network = bool(variables["HCLOUD_NETWORK"])
    knows_internal_ips_alone = variables["ROBOT_ENABLED"] and not (
        variables["ROBOT_USER"] or variables["ROBOT_PASSWORD"]
    )
    try:
        for found in read_services(_content(file)):
            check = ClaimCheck()
            if found.claim is not None:
                check = check_claim(found.claim, defaults, has_network=has_network)
            remarks = check.remarks
            if found.claim is not None:
                remarks += tuple(without_nodes_addresses(found.claim))
            if found.claim is not None and knows_internal_ips_alone:
                remarks += tuple(without_robot_account(found.claim, defaults))
            errors = (*found.malformed, *check.problems)
            place = (file, found.document, found.item)
            services.append(CheckedService(*place, found.namespace, found.name, errors, remarks))
    except OSError as error:
        unreadable.append(Unreadable(file, None, f"cannot be read: {error.strerror or error}"))
    except NotManifests as error:
        unreadable.append(Unreadable(file, error.document, str(error)))


def _content(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
