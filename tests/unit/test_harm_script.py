"""Attacks of the law of harm: a failure is expected of the attack, not of the steps before it."""

import pytest

from tests.support.harm_script import CAPABILITY, Attack, Script, Succeeded, do
from tests.support.harm_start import Start

TODAY = "the cluster is empty"
ENDS = do.sees(lambda _: False, f"alas, {TODAY}")
OTHERWISE = do.sees(lambda _: False, "the table is wrong")


@pytest.mark.parametrize(
    ("before", "script", "today", "raised"),
    [
        pytest.param(do, ENDS, TODAY, Succeeded, id="the-attack-ends-as-today"),
        pytest.param(do, OTHERWISE, TODAY, AssertionError, id="the-attack-ends-otherwise"),
        pytest.param(do, ENDS, "", AssertionError, id="an-attack-that-was-held-succeeds"),
        pytest.param(ENDS, do, TODAY, AssertionError, id="the-same-words-before-the-attack"),
        pytest.param(do, do, TODAY, None, id="the-attack-is-held"),
    ],
)
def test_an_attack_succeeds_by_its_own_steps(
    before: Script, script: Script, today: str, raised: type[AssertionError] | None
) -> None:
    attack = Attack("empty", Start(nodes=1), script, "clusters are not emptied", today, CAPABILITY, before)
    ended: type[BaseException] | None = None
    try:
        attack.play()
    except AssertionError as error:
        ended = type(error)
    assert ended is raised
