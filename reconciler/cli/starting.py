"""What every command does with its configuration before anything else."""

import sys

from reconciler.cli.streams import say
from reconciler.config import Config
from reconciler.report.terminal import is_terminal
from reconciler.telemetry import logs


def begin(config: Config) -> None:
    """Log for a person who waits for the end, with no secret in any line, and say what the configuration is worth a
    warning for. What a run says at its end is enough where nobody watches it."""
    logs.set_up(debug=config.debug, quiet=not is_terminal(sys.stderr))
    logs.hide(config.token)
    for warning in config.warnings:
        say(f"warning: {warning}")
