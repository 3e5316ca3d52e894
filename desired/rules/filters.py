"""Rows of changes that no guard withholds by itself: what ``--only`` or an agreed plan leaves out, and what waits for
another change."""

from desired.plan.change import GuardName, Verdict
from desired.plan.notes import NoteKind
from desired.rules.rule import Rule

EXCLUDED_BY_ONLY = Rule("excluded-by-only", "excluded by --only {keys}", of=GuardName.ONLY, verdict=Verdict.WAITING)
NOT_AGREED = Rule("not-agreed", "not in {plan}; skipped", of=GuardName.AGREED_PLAN, verdict=Verdict.WAITING)
AGREED_PART = Rule("agreed-part", "{changes} skipped, not in {plan}: {keys}", of=NoteKind.AGREED_PLAN)
UNNEEDED = Rule("unneeded", "{changes} of {plan} no longer needed: {keys}", of=NoteKind.AGREED_PLAN)
ONLY_PART = Rule("only-part", "limited to {keys} by --only; {changes} left out", of=NoteKind.PARTIAL)
UNKNOWN_KEY = Rule("unknown-key", "--only {key}: no such object")
UNKNOWN_KEY_NEAR = Rule("unknown-key-near", UNKNOWN_KEY.says, "nearest: {keys}")
BLOCKED = Rule("blocked", "blocked by {change} ({state})")
NOT_NEEDED = Rule("not-needed", "not needed until {change} is allowed ({state})")
MADE_TOGETHER = Rule("made-together", "made together with {change} ({state})")
