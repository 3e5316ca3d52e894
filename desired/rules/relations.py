"""Rows of changes that wait for another change, and that no guard withholds by itself."""

from desired.rules.rule import Rule

BLOCKED = Rule("blocked", "blocked by {change} ({state})")
NOT_NEEDED = Rule("not-needed", "not needed until {change} is allowed ({state})")
MADE_TOGETHER = Rule("made-together", "made together with {change} ({state})")
OUTLIVES = Rule("outlives", "kept until {change} is applied ({state})")
