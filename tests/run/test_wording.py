"""Why candidates cannot be told apart, as the verdict says it."""

import pytest

from cpubisect.run.wording import reasons
from cpubisect.search.ends import Regime
from cpubisect.search.exact import Found
from cpubisect.search.line import Line

LINE = Line(tuple((f"c{number}",) for number in range(6)))
NOISE = "noise hides which; one of them has the step with P = "
TRIED = "tried and cannot be measured (c2: no such header)"


@pytest.mark.parametrize(
    ("regime", "probability", "dead", "untried", "says"),
    [
        (Regime.NOISY, 1.0000000000000002, (), 0, f"{NOISE}1.000"),
        (Regime.NOISY, 0.9984, (2,), 0, f"{NOISE}0.998; 1 between was {TRIED}"),
        (Regime.NOISY, 0.9984, (2, 3, 4), 0, f"3 between were {TRIED}"),
        (Regime.EXACT, 1.0, (2,), 2, f"1 between was {TRIED}; 2 more fail alike on both sides and were not tried"),
    ],
)
def test_what_hides_the_commit_is_told(
    regime: Regime, probability: float, dead: tuple[int, ...], untried: int, says: str
) -> None:
    why = dict.fromkeys(dead, "no such header")
    assert reasons(LINE, Found(1, 5, 10.0, 10.0, untried, probability), why, regime) == says
