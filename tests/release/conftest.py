"""Fixtures of the release lane: what users install, and a stage for it."""

from tests.e2e.conftest import a_stage, stage

__all__ = ["a_stage", "stage"]
