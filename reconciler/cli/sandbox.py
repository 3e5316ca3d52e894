"""``reconcile sandbox``: the simulators of ``hcloud_sandbox``, or its fault proxy, until a signal comes."""

from collections.abc import Mapping, Sequence

from hcloud_sandbox.flags import contradictions
from hcloud_sandbox.session import serve
from reconciler.cli.stopping import stop_on_signals
from reconciler.cli.streams import fail
from reconciler.config.options import FLAGS, Command, read_flags
from reconciler.config.program import BAD_USAGE


def sandbox(_words: Sequence[str], given: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Serve until a signal comes; the exit code. Raises, when all is stopped, KeyboardInterrupt for Ctrl-C and
    BrokenPipeError without a reader."""
    usage: list[str] = []
    flags = read_flags(Command.SANDBOX, given, environ, usage, usage)
    usage += contradictions(flags, given, proxy="--proxy" if "--proxy" in given else FLAGS["--proxy"].variable)
    if usage:
        return fail(*usage, code=BAD_USAGE)
    try:
        serve(flags, environ, stop_on_signals)
    except BrokenPipeError:
        raise
    except (ValueError, OSError) as error:
        return fail(str(error), code=1)
    return 0
