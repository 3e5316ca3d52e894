"""Decoders that several threads build at the same moment."""

import subprocess
import sys

_RACE = """
import sys, threading
import msgspec
from actuators.http.decoding import decoder

sys.setswitchinterval(1e-6)
for _ in range(100):
    inner = msgspec.defstruct("Inner", [("x", int, 0)])
    outer = msgspec.defstruct("Outer", [(f"f{n}", list[inner] | None, None) for n in range(20)])
    start = threading.Barrier(6)

    def decode():
        start.wait()
        assert decoder(outer).decode(b'{"f1": [{"x": 1}]}').f1[0].x == 1

    threads = [threading.Thread(target=decode) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_decode_into_a_type_for_the_first_time() -> None:
    """msgspec alone ends such a process with SIGSEGV, most of the time within these hundred types."""
    ended = subprocess.run([sys.executable, "-c", _RACE], check=False, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
