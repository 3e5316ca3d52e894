"""Guards that are switched off, one at a time: the test of the laws or of the campaign that notices each."""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from desired.guards.table import GUARDS
from tests.campaign.planting import ROOT, UNSEEN, first_finder, noticed_by

Look = Callable[[], str | None]
"""Asks which test notices it; None: none does."""


def switch_guards_off(given: argparse.Namespace) -> int:
    """How many guards are found missing that are said to be unseen, or the other way round."""
    named = noticed_by()

    def look(guard: str) -> Look:
        return lambda: first_finder(named.get(guard, ()), ROOT, WITHOUT_GUARD=guard)

    return tell_finders("guards switched off", {f"guards/{guard}": look(guard) for guard in GUARDS}, given.named)


def tell_finders(what: str, looks: Mapping[str, Look], named: str | None) -> int:
    """Ask for each with ``named`` in its name, tell which test found it and after how many seconds, and return how many
    are not as they are said to be."""
    chosen = {name: look for name, look in looks.items() if named is None or named in name}

    def timed(look: Look) -> tuple[str | None, float]:
        began = time.monotonic()
        return look(), time.monotonic() - began

    began, wrong, found = time.monotonic(), 0, 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, (finder, seconds) in zip(chosen, pool.map(timed, chosen.values()), strict=True):
            is_wrong = (finder is None) is not (name in UNSEEN)
            wrong, found = wrong + is_wrong, found + (finder is not None)
            said = finder or f"unseen: {UNSEEN.get(name, 'no reason is given')}"
            print(f"{'WRONG ' * is_wrong}{name}, {seconds:.0f} s: {said}", flush=True)
    print(f"{len(chosen)} {what}, {found} found, {wrong} wrong, {(time.monotonic() - began) / 60:.1f} min")
    return wrong
