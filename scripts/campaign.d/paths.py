"""All paths of wishes, on all cores."""

import argparse

from telling import Told, all_cores, tell

from tests.campaign.paths import differing, paths


def try_paths(given: argparse.Namespace) -> Told:
    """How many paths end elsewhere than their last wish."""
    every, failed = [*paths()], 0
    with all_cores() as pool:
        for path, found in zip(every, pool.map(differing, every, chunksize=16), strict=True):
            failed += tell(str(path), found, given.failures, ["--case", str(path)])
    return Told(f"{len(every)} paths", failed)
