"""Guards that are switched off, one at a time: the test of the laws or of the campaign that notices each."""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from telling import Told, chosen, tell

from desired.guards.table import GUARDS
from tests.campaign.planting import ROOT, UNSEEN, all_planted, first_finder, noticed_by

Look = Callable[[], str | None]
"""Asks which test notices it; None: none does. Raises RuntimeError when the tests tell nothing."""
NAMES: Mapping[str, list[str]] = {
    "guards": [f"guards/{guard}" for guard in GUARDS],
    "planted": [each.name for each in all_planted()],
}
"""Part → what it takes out."""


def switch_guards_off(given: argparse.Namespace) -> Told:
    """How many guards are found missing that are said to be unseen, or the other way round."""
    # A unit test of the guard itself is named for one that no law notices: it says nothing of the laws.
    named = {guard: tests for guard, tests in noticed_by().items() if f"guards/{guard}" not in UNSEEN}

    def look(guard: str) -> Look:
        return lambda: first_finder(named.get(guard, ()), ROOT, ROOT, WITHOUT_GUARD=guard)

    return tell_finders("guards", {f"guards/{guard}": look(guard) for guard in GUARDS}, given)


def tell_finders(part: str, looks: Mapping[str, Look], given: argparse.Namespace) -> Told:
    """Ask for each that ``--named`` chooses, tell which test found it and after how many seconds, and return how many
    are not as they are said to be."""
    there = [name for each in given.part for name in NAMES.get(each, ())]
    names = [name for name in chosen("--named", given.named, there) if name in looks]

    def timed(look: Look) -> tuple[str | None, str, float]:
        began = time.monotonic()
        try:
            finder, trouble = look(), ""
        except RuntimeError as error:
            finder, trouble = None, str(error)
        return finder, trouble, time.monotonic() - began

    wrong, found = 0, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (finder, trouble, seconds) in zip(names, pool.map(timed, map(looks.__getitem__, names)), strict=True):
            found += finder is not None
            said = trouble or finder or f"unseen: {UNSEEN.get(name, 'no reason is given')}"
            is_wrong = bool(trouble) or (finder is None) is not (name in UNSEEN)
            if not is_wrong:
                print(f"{name}, {seconds:.0f} s: {said}", flush=True)
            wrong += tell(f"WRONG {name}", [said] if is_wrong else [], given.failures, [part, f"--named={name}"])
    return Told(f"{len(names)} {part}, {found} found", wrong)
