"""Sequences on the stage of the law of harm, written as chains of its verbs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import pytest

from reconciler.result import Result
from tests.support.harm_stage import Stage, a_stage
from tests.support.harm_start import Start


class Script:
    """What happens on a stage, one after the other: its verbs, and those here. Each gives a longer script."""

    def __init__(self, *steps: Callable[[Stage], object]) -> None:
        self.steps = steps

    def __call__(self, stage: Stage) -> None:
        for step in self.steps:
            step(stage)

    def then(self, *steps: Callable[[Stage], object]) -> "Script":
        """This happens, which no verb of the stage says."""
        return Script(*self.steps, *steps)

    def __getattr__(self, verb: str) -> Callable[..., "Script"]:
        if verb.startswith("_") or not hasattr(Stage, verb):
            raise AttributeError(verb)
        return lambda *given, **named: self.then(lambda stage: getattr(stage, verb)(*given, **named))

    def each(self, verb: str, values: Iterable[int | str], *given: object, **named: object) -> "Script":
        """The same of several."""
        return self.then(*(getattr(do, verb)(value, *given, **named) for value in values))

    def times(self, count: int, script: "Script") -> "Script":
        """The same several times."""
        return self.then(*[script] * count)

    def passes(self, *lies: str, count: int = 3, loop: bool = False) -> "Script":
        """Some passes, each a while after the other."""
        return self.times(count, do.run("a", *lies, loop=loop).advance(90))

    def once_planned(self, script: "Script") -> "Script":
        """It happens between a plan and its writes."""
        return self.then(lambda stage: stage.once_planned(partial(script, stage)))

    def meanwhile(self, script: "Script") -> "Script":
        """It happens while a run is at work."""
        return self.then(lambda stage: stage.meanwhile(partial(script, stage)))

    def sees(self, holds: Callable[[Stage], object], otherwise: str = "") -> "Script":
        """This has to be so by now; ``otherwise`` says what is wrong if it is not."""

        def look(stage: Stage) -> None:
            assert holds(stage), otherwise

        return self.then(look)

    def must_approve(self) -> "Script":
        """A person approves what is held, of which there is something."""
        return self.sees(lambda stage: stage.approve())

    def holds(self, *rules: str) -> "Script":
        """The last run has held by these guards."""
        return self.sees(lambda stage: {str(hold.rule) for hold in stage.reports["a"].holds} == {*rules})


do = Script()


def is_told(stage: Stage) -> bool:
    """Whether the last run held something, or ended otherwise than well."""
    report = stage.reports["a"]
    return bool(report.holds) or report.result not in (Result.NO_CHANGES, Result.CHANGES)


TOLD = do.sees(is_told, "nobody is told")
"""A person has to be told by now."""


@dataclass(frozen=True)
class Row:
    """Some innocent things that come together, and that once emptied clusters or hid that with exit code 0."""

    name: str
    start: Start
    script: Callable[[Stage], object]
    says: str
    """What has to hold, beside what the judge says of each run; or what happens."""


CAPABILITY = "one promise a capability"
"""Promises that mend attacks."""


class Succeeded(AssertionError):
    """An attack ends as its row says that it does today."""


@dataclass(frozen=True)
class Attack(Row):
    """A row that does not hold yet; or that holds, if ``today`` is empty."""

    today: str = ""
    """Words of the error with which it fails today."""
    until: str = ""
    """The promise that mends it."""
    before: Callable[[Stage], object] = do
    """Steps before the attack, which have to hold."""

    @property
    def marks(self) -> tuple[pytest.MarkDecorator, ...]:
        """Strict: a row that is mended fails until its mark goes."""
        if not self.today:
            return ()
        return (pytest.mark.xfail(raises=Succeeded, strict=True, reason=f"{self.until}: {self.today}"),)

    def play(self) -> None:
        """Raises Succeeded if the attack ends as ``today`` says; otherwise errors are those of the steps."""
        stage = a_stage(self.start)
        self.before(stage)
        try:
            self.script(stage)
        except AssertionError as error:
            if self.today and self.today in str(error):
                raise Succeeded(self.today) from error
            raise


def attacks(*table: Attack) -> pytest.MarkDecorator:
    """The test that takes ``attack`` runs once for each row, under its name."""
    return pytest.mark.parametrize("attack", [pytest.param(each, id=each.name, marks=each.marks) for each in table])
