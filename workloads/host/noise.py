"""How noisy CPU time is on this host: the same work again and again, and the step that can be seen through it."""

import math
import statistics
import sys
import time
from dataclasses import dataclass

from cpubisect.base.process import run

# A pure interpreter loop: about 50 ms of CPU time, no memory traffic of its own.
_LOOP = ("-I", "-S", "-c", "n = 0\nfor i in range(700000): n += i")
_RUNS, _LEAST_RUNS, _LIMIT_S = 20, 5, 2.5

# A step is called real at P >= 0.998 (one-sided), and should then be seen four times out of five.
_CONFIDENCE, _POWER = 0.998, 0.8


@dataclass(frozen=True)
class Noise:
    """`cv_percent` is the coefficient of variation of CPU time over `runs` runs of a fixed loop."""

    cv_percent: float
    runs: int

    def visible_step_percent(self, pairs: int) -> float:
        """The smallest step that CPU time shows in `pairs` interleaved pairs of runs.

        Minimal detectable difference of two means of normal samples: (z_confidence + z_power) · CV · √(2 / pairs).
        """
        normal = statistics.NormalDist()
        z = normal.inv_cdf(_CONFIDENCE) + normal.inv_cdf(_POWER)
        return z * self.cv_percent * math.sqrt(2 / pairs)


def measure() -> Noise:
    """Run the loop in a child process up to 20 times, in under 3 s; a slow host gets fewer runs, at least five."""
    seconds: list[float] = []
    started = time.monotonic()
    while len(seconds) < _RUNS and (len(seconds) < _LEAST_RUNS or time.monotonic() - started < _LIMIT_S):
        seconds.append(run([sys.executable, *_LOOP], timeout_s=60).cpu_seconds)
    return Noise(100 * statistics.stdev(seconds) / statistics.fmean(seconds), len(seconds))
