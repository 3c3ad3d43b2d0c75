"""What every bisection does besides searching, for a peer's rule: the product's own first phase before it, and the
product's own confirmation after it, on the same clock."""

from cpubisect.records.purpose import Purpose
from cpubisect.records.readings import cpu_samples
from cpubisect.run.confirm import Confirmer, Whole
from cpubisect.run.ends import ToSearch, examine
from cpubisect.run.strategies.loop import Searched
from cpubisect.search.clock.digest import Reading, digest
from cpubisect.search.exact import Done, Found
from searching.bench import Begun, Rule
from searching.host import Answer, Host
from searching.lab import SimulatedLab
from searching.result import Result

NO_ANSWER = "no-answer"
"""The kind of an answer that a rule did not give."""


def bisect(host: Host, rule: Rule) -> Result:
    """Measure the ends, search by a rule if they differ, and confirm its answer.

    The rule gets the readings of the ends first, as the product's search does. Raises Stopped.
    """
    lab = SimulatedLab(host)
    task = examine(lab)
    if not isinstance(task, ToSearch):
        return Result.of(task.verdict(lab.question, lab.test_name))
    rows = [(int(sha), cpu_samples([row])[0], row.started) for sha, row in lab.series(Purpose.CLOCK)]
    data = digest([Reading(*one) for one in rows])
    answer = rule(Begun(host, {end: [value for number, value, _ in rows if number == end] for end in data.averages}))
    # That good itself is the culprit is no answer either.
    if answer is None or answer.high < 1:
        return Result(NO_ANSWER)
    costs = {number: data.level * (1 + mean / 100) for number, mean in data.averages.items()}
    searched = Searched(task.line, _done(task, answer), costs, dict(host.failures), data.sigma)
    confirmed = _confirmed(lab, task, searched)
    return confirmed if answer.probability is not None else confirmed.unstated()


def _done(task: ToSearch, answer: Answer) -> Done:
    """The answer as the end of a search; no rule says how large the step is, so it is thought to be all there is."""
    percent = task.change.percent
    stated = 1.0 if answer.probability is None else answer.probability
    return Done((Found(answer.low, answer.high, percent, abs(percent), probability=stated),), (), 0.0, 0.0)


def _confirmed(lab: SimulatedLab, task: ToSearch, searched: Searched) -> Result:
    confirmer = Confirmer(lab, task.yardstick, Whole.of(searched, task.change.percent))
    findings = confirmer.refine(searched, searched.done.steps[0])
    return Result.found(findings.culprits, findings.groups) if findings else Result(NO_ANSWER)
