"""How a run of a command ended that was called in this process."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker


@dataclass(frozen=True, slots=True)
class Said:
    """Exit code, and what it wrote."""

    code: int
    stdout: str
    stderr: str
    schema: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What is published of the JSON that it writes; nothing when there is none to be judged."""

    @property
    def document(self) -> Any:
        """The JSON on stdout, which is valid against the schema."""
        found = json.loads(self.stdout)
        judge = Draft202012Validator(dict(self.schema), format_checker=FormatChecker())
        assert [error.message for error in judge.iter_errors(found)] == []
        return found
