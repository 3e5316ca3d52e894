"""What commands that look or delete once do with their configuration before anything else."""

import sys

from reconciler.cli.streams import say
from reconciler.config.config import Config
from reconciler.report.terminal import is_terminal
from reconciler.telemetry import logs


def begin(config: Config) -> None:
    """Log for a person who watches, and warnings alone where nobody does, with no secret in any line; and say what the
    configuration is worth a warning for."""
    logs.set_up(debug=config.debug, quiet=not is_terminal(sys.stderr))
    logs.hide(config.token, *config.passwords)
    for warning in config.warnings:
        say(f"warning: {warning}")
