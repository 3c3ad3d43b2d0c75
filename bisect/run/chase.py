"""A step chased through all commits that a range holds, those that merges brought too, by its signature: what is caught
is one commit and its parent, for others to confirm."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from cpubisect.history.relevance import Irrelevant
from cpubisect.run.crew import begin_all
from cpubisect.run.measuring import Lab, Unobservable
from cpubisect.run.prior import Prior
from cpubisect.run.strategies.estimates import Estimates
from cpubisect.run.strategies.exact import built_before, cost, released, tell_price, tried_before, unprobed
from cpubisect.run.strategies.loop import Action, Searched, carry_out
from cpubisect.run.strategies.together import carry_out_together
from cpubisect.search import events
from cpubisect.search.chase import Caught, Chase, Lost, next_move, unclear
from cpubisect.search.costs import Cost
from cpubisect.search.ends import Yardstick
from cpubisect.search.exact import SPARE, Done, Found, Measure, Price, halvings
from cpubisect.search.graph import Graph
from cpubisect.search.line import Line
from cpubisect.search.many.speculation import moves_ahead, telling
from cpubisect.search.signature import HAS, Signature

NOTHING_CAUGHT = Done((), (), 0.0, 0.0)


def chase(lab: Lab, start: str, end: str, yardstick: Yardstick, inside: tuple[str, ...] = ()) -> Searched | None:
    """The line of one commit and its parent that shows the step which two commits, both measured, differ by, `inside`
    naming the merges that led to them; None where there are no branches, no profiles, or nothing was caught. Raises
    Unobservable if an end can't be measured.
    """
    graph = lab.history.graph(start, end)
    if not graph.branches:
        return None
    ends = [cost(lab, sha, yardstick) for sha in (start, end)]
    signature = Signature.of(ends[0], ends[1], yardstick.direction)
    if signature is None:
        return None
    line = graph.line(inside)
    lab.record_line(line)
    lab.tell(events.Chasing(commits=len(graph.nodes), functions=len(signature.growth), inside=inside))
    strategy = _ChaseSearch(lab, graph, line, yardstick, signature, (ends[0], ends[1]))
    (carry_out_together if lab.crew.builders > 1 else carry_out)(lab, line, strategy)
    caught = strategy.caught
    if caught is None:
        return None
    if inside and line.first(caught) == end:
        lab.tell(events.ChaseLost(why="nothing that the merge brought has it by itself", inside=inside))
        return None
    try:
        return _two(lab, line, graph, caught, yardstick, signature)
    except Unobservable as reason:
        lab.tell(events.ChaseLost(why=str(reason), inside=inside))
        return None


def _two(
    lab: Lab, line: Line, graph: Graph, caught: int, yardstick: Yardstick, signature: Signature
) -> Searched | None:
    """A commit and its parent as a line with their step; None if it has no parent or the step that was chased is not
    between the two. Raises Unobservable."""
    sha = line.first(caught)
    parent = line.parents.get(sha, "")
    shown = 0.0
    if parent:
        begin_all(lab.crew, (parent, sha))
        costs = [cost(lab, own, yardstick) for own in (parent, sha)]
        shown = signature.share(costs[1]) - signature.share(costs[0])
    if shown < HAS:
        lab.tell(events.ChaseLost(why=f"{sha[:12]} shows {shown:.0%} of it against its parent", inside=line.inside))
        return None
    # What is explained is no part of a percentage: that is of what the parent costs.
    before = cost(lab, parent, replace(yardstick, explained=())).total
    after = before + costs[1].total - costs[0].total
    percent = (after - before) / before * 100
    entered = tuple(merge for merge in graph.entered(sha) if merge not in line.inside)
    pair = replace(line, classes=((parent,), (sha,)), inside=(*line.inside, *entered))
    step = Found(0, 1, percent, abs(percent))
    return Searched(pair, Done((step,), (), 0.0, 0.0), {0: before, 1: after}, {})


class _ChaseSearch:
    """A strategy for a graph's line; what other searches measured of it counts from the beginning."""

    def __init__(
        self,
        lab: Lab,
        graph: Graph,
        line: Line,
        yardstick: Yardstick,
        signature: Signature,
        ends: tuple[Cost, Cost],
    ) -> None:
        self.caught: int | None = None
        self._lab = lab
        self._line = line
        self._yardstick = yardstick
        self._signature = signature
        self._estimates = Estimates(lab, line)
        prior = Prior(lab, line, yardstick.variables)
        prior.record(*ends, keep=not yardstick.explained)
        weights = prior.weights(0, line.size - 1, *ends)
        unchanged = _unchanged(lab, graph) | (_of_good(lab, graph) if not line.inside else frozenset())
        self._chase = Chase(
            graph=graph,
            weights=[0.0 if n in unchanged else weight for n, weight in enumerate(weights, start=1)],
            shares={line.size - 1: 1.0},
            tried=tried_before(lab, line),
            free=self._estimates.free(),
            released=released(lab, line),
        )
        self._take_what_is_known()
        most = halvings(sum(1 for weight in self._chase.weights if weight)) + SPARE
        tell_price(lab, line, self._estimates.forecast(self._chase.weights), most)

    def next(self) -> Action | Searched:
        """What to measure now, or the end of the chase."""
        price = self._estimates.price()
        move = next_move(self._chase, price)
        return self._action(move, price) if isinstance(move, Measure) else self._over(move)

    def next_together(self, free: int, pending: Mapping[int, float]) -> Sequence[Action] | Searched:
        """What so many free builders begin now, beside what is `pending` (number → seconds until it is measured), or
        the end of the chase."""
        price = self._estimates.price()
        move = next_move(self._chase, price)
        if not isinstance(move, Measure):
            return self._over(move)
        asked = moves_ahead(self._chase, price, free, pending)
        return [self._action(one, price, chance) for one, chance in asked]

    def next_probe(self, ready: Collection[int]) -> Action | None:
        """Which of the numbers that are built to measure now; None if none tells anything."""
        numbers = telling(self._chase, ready)
        return Action(numbers[0], "it is built", partial(self._measure, numbers[0])) if numbers else None

    def waiting(self, ready: Collection[int]) -> Collection[int]:
        """Those of the numbers that are built which are still to be measured."""
        return telling(self._chase, ready)

    def pointless(self, pending: Mapping[int, float]) -> frozenset[int]:
        """The pending numbers whose answers are known, but for what is caught and its parent."""
        shas = [sha for n in ([self.caught] if self.caught else []) for sha in self._pair(n)]
        asked = {*telling(self._chase, pending.keys())}
        return frozenset(n for n in pending if n not in asked and self._line.built(n) not in shas)

    def ahead(self, built: Collection[str]) -> Sequence[tuple[str, float]]:
        """None: what a chase asks for includes the parent."""
        return ()

    def _pair(self, number: int) -> tuple[str, str]:
        sha = self._line.first(number)
        return sha, self._line.parents.get(sha, "")

    def _action(self, move: Measure, price: Price, chance: float = 1.0) -> Action:
        likely = f"; asked with probability {chance:.0%}" if chance < 1 else ""
        seconds = self._estimates.build_s(move.number, price)
        return Action(move.number, move.why + likely, partial(self._measure, move.number), seconds=seconds)

    def _over(self, move: Caught | Lost) -> Searched:
        if isinstance(move, Caught):
            self.caught = move.number
            self._lab.tell(events.ChaseCaught(sha=self._line.first(move.number), inside=self._line.inside))
        else:
            self._lab.tell(events.ChaseLost(why=move.why, inside=self._line.inside))
        return Searched(self._line, NOTHING_CAUGHT, {}, self._chase.dead)

    def give_up(self, number: int, why: str) -> None:
        """A number could not be measured: it stays a candidate that can't be."""
        self._chase = self._chase.with_failure(number, why)

    def _take_what_is_known(self) -> None:
        """What was built between the ends so far, for this test or by another search, as far as its answer is clear and
        contradicts no other."""
        dead = {}
        waiting = unprobed(self._lab, self._line)
        for number in built_before(self._lab, self._line):
            if number in waiting:
                continue
            try:
                share, _ = self._share(self._line.built(number))
            except Unobservable as reason:
                dead[number] = str(reason)
                continue
            known = replace(self._chase, shares={**self._chase.shares, number: share})
            if not unclear(share) and known.left:
                self._chase = known
        self._chase = replace(self._chase, dead=dead)

    def _measure(self, number: int) -> None:
        sha = self._line.built(number)
        share, told = self._share(sha)
        self._lab.tell(events.ShareShown(sha=sha, share=share, variables=told))
        self._chase = self._chase.with_share(number, share)

    def _share(self, sha: str) -> tuple[float, Mapping[str, str]]:
        """What part of the step a commit shows, and the values of variables if these tell; raises Unobservable."""
        self._lab.build(sha)
        told = self._values(sha)
        share = _told(told, self._yardstick.values)
        if share is not None:
            return share, told
        return self._signature.share(cost(self._lab, sha, self._yardstick)), {}

    def _values(self, sha: str) -> dict[str, str]:
        """The values that a commit's server has of the variables that explain the step; none where there are no such
        or it was not told them."""
        if not self._yardstick.values:
            return {}
        try:
            all_of_them = self._lab.ask(sha, {})
        except Unobservable:
            return {}
        return {name: all_of_them[name] for name in self._yardstick.values if name in all_of_them}


def _told(values: Mapping[str, str], ends: Mapping[str, tuple[str, str]]) -> float | None:
    """What part of a step some values of variables show, which are all good's or all bad's; None if neither."""
    for share, end in ((0.0, 0), (1.0, 1)):
        if ends and values == {name: pair[end] for name, pair in ends.items()}:
            return share
    return None


def _of_good(lab: Lab, graph: Graph) -> frozenset[int]:
    """The commits that good contains too, where it lies on a branch of its own: they make no difference to it."""
    if lab.question.good_sha == graph.start:
        return frozenset()
    own = lab.history.graph(graph.start, lab.question.good_sha)
    return frozenset(graph.numbers[node.sha] for node in own.nodes if node.sha in graph.numbers)


def _unchanged(lab: Lab, graph: Graph) -> frozenset[int]:
    """The commits of one parent that change nothing but paths which cannot change a binary."""
    pairs = [(node.sha, node.parents[0]) for node in graph.nodes if len(node.parents) == 1]
    covers = Irrelevant(lab.irrelevant).covers
    return frozenset(graph.numbers[sha] for sha, paths in lab.history.changes(pairs) if covers(paths))
