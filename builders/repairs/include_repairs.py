"""Puts includes into files that lack a declaration, and takes back those that do not help."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cpubisect.builders.build import Repair
from cpubisect.builders.repairs.bundled import Libraries
from cpubisect.builders.repairs.diagnostics import Diagnostic, Place
from cpubisect.builders.repairs.flags import accepting_flag
from cpubisect.builders.repairs.header_search import SHORTEST_NAME, IncludeOption, find_headers, is_declared
from cpubisect.builders.repairs.includes import insert_include, prologue, remove_include
from cpubisect.builders.repairs.judgement import Fate, Sighting, Trial
from cpubisect.builders.repairs.std_headers import is_c_name, standard_header
from cpubisect.builders.repairs.symbols import MissingName, hinted_headers, missing_name
from cpubisect.builders.trees.source import SourceTree


@dataclass
class _Attempt:
    """The includes for one missing name in one file: the one that stands, with its trial, and those left to try."""

    file: str
    left: list[IncludeOption]
    trial: Trial
    option: IncludeOption | None = None


class IncludeRepairs:
    """The includes of one tree; `bundled` are directories that the matrix says are a library's each.

    `hopeless` says why no include can make the tree compile, once that is known; `vain` are the includes that were
    tried and taken back; `own` are the errors of the last run that no include brought.
    """

    def __init__(self, tree: SourceTree, bundled: Sequence[str]) -> None:
        self.hopeless = ""
        self.vain: list[Repair] = []
        self.own: list[Sighting] = []
        self._tree = tree
        self._bundled = bundled
        self._libraries: Libraries | None = None
        self._attempts: dict[tuple[str, str], _Attempt] = {}
        self._latest: list[_Attempt] = []
        self._pending: list[_Attempt] = []
        self._refused: set[tuple[str, str]] = set()
        self._declared: dict[str, bool] = {}
        self._locations: dict[str, str | None] = {}

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """The includes that stand."""
        return tuple(_repair(attempt.file, option) for attempt in self._attempts.values() if (option := attempt.option))

    def judge(self, errors: Sequence[Diagnostic]) -> bool:
        """Take back what did not help, by the errors of a run; True if all of it did."""
        sightings = [self._sighting(error) for error in errors]
        standing = [attempt for attempt in self._attempts.values() if attempt.option]
        for attempt in standing:
            self._find_again(attempt)
        inside = [seen for seen in sightings if any(attempt.trial.leads_to(seen) for attempt in standing)]
        self.own = [seen for seen in sightings if seen not in inside]
        fates = []
        for attempt in standing:
            seen_here = [seen for seen in sightings if seen not in inside or attempt.trial.leads_to(seen)]
            fates.append((attempt, attempt.trial.fate(seen_here, fresh=attempt in self._latest)))
        taken_back = [(attempt, fate) for attempt, fate in fates if fate is not Fate.KEPT]
        for attempt, fate in taken_back:
            self._take_back(attempt, fate)
        for attempt, _ in taken_back:
            if not attempt.left:
                self.hopeless = f"no include brings {attempt.trial.what} into {attempt.file}"
        self._pending += [attempt for attempt, _ in taken_back]
        self.hopeless = self.hopeless or self._undeclared()
        return not taken_back

    def retry(self) -> bool:
        """Put the next include in the place of each that was taken back; True if there are any."""
        retried = [] if self.hopeless else [attempt for attempt in self._pending if self._try_next(attempt)]
        self._pending = []
        self._latest = retried or self._latest
        return bool(retried)

    def begin(self) -> bool:
        """Try includes for names not met before; True if there are any.

        In each file all that the standard library declares, else one of the tree's: one missing declaration makes a
        compiler complain of many names, and only the first can be trusted to be missing. In a hopeless tree only what
        is surely the standard library's is tried.
        """
        begun: list[_Attempt] = []
        before = frozenset(seen.fingerprint for seen in self.own)
        for seen in self.own:
            missing, hints = seen.missing, hinted_headers(seen.error)
            if seen.file is None or (missing is None and not hints):
                continue
            what = missing.name if missing else hints[0]
            standard = _standard_options(seen.error, missing)
            same_file = [attempt for attempt in begun if attempt.file == seen.file]
            answered = any(attempt.option in standard for attempt in same_file)
            guess = bool(self.hopeless or same_file) and not standard
            if (seen.file, what) in self._attempts or answered or guess:
                continue
            options = self._options(missing, standard, seen.file)
            needs_definition = missing is not None and missing.needs_definition
            trial = Trial(what, needs_definition, Place(seen.file, 0), seen.path, "", before)
            attempt = _Attempt(seen.file, options, trial)
            if options:
                self._attempts[seen.file, what] = attempt
            if self._try_next(attempt):
                begun.append(attempt)
        self._latest = begun or self._latest
        return bool(begun)

    def try_others(self) -> bool:
        """Try another header for a name that the last one declared, but not as the file has it: new errors of the file
        speak of it. True if there is one."""
        for attempt in self._latest:
            trial, option = attempt.trial, attempt.option
            word = re.compile(rf"\b{re.escape(trial.what)}\b")
            texts = [
                f"{seen.error.message}\n{seen.error.code}"
                for seen in self.own
                if seen.file == attempt.file and seen.fingerprint not in trial.before
            ]
            others = [other for other in attempt.left if option and other.header != option.header]
            if others and not self.hopeless and any(word.search(text) for text in texts):
                self._take_back(attempt, Fate.HARMFUL)
                if self._try_next(attempt):
                    self._latest = [attempt]
                    return True
        return False

    def file_of(self, error: Diagnostic) -> str | None:
        """The file of the tree to mend: the one complained of, or where a template of another's was used."""
        for spelled in (error.file, *(place.file for place in reversed(error.required_at))):
            if file := self._locate(spelled):
                return file
        return None

    def _undeclared(self) -> str:
        """That a name which stops a compilation is declared nowhere, if so.

        Only the first missing name of each is asked for: it alone is surely missing, not lost with what went before.
        """
        units: dict[str, MissingName] = {}
        for seen in self.own:
            if seen.missing and len(seen.missing.name) >= SHORTEST_NAME:
                sought = seen.missing.scope != "std" and not hinted_headers(seen.error)
                if units.setdefault(seen.path[0].file, seen.missing) is seen.missing and sought:
                    name = seen.missing.name
                    if not accepting_flag(seen.error) and not self._declares(name):
                        return f"{name} is declared nowhere in the tree"
        return ""

    def _declares(self, name: str) -> bool:
        if name not in self._declared:
            known = is_c_name(name) or standard_header(name, c=False) is not None
            self._declared[name] = known or is_declared(self._tree, name)
        return self._declared[name]

    def _take_back(self, attempt: _Attempt, fate: Fate) -> None:
        """Remove the include that stands, and refuse what need not be tried after that."""
        option = attempt.option
        if option is None:
            return
        text = remove_include(self._tree.read(attempt.file), option.directive)
        self._write(attempt.file, text, attempt.trial.include.line, -1)
        attempt.option = None
        self._refused.add((attempt.file, option.directive))
        if fate is not Fate.NOT_FOUND:
            self.vain.append(_repair(attempt.file, option))
            self._refused.add((attempt.file, option.header or option.directive))
        left = [] if fate is Fate.USELESS else attempt.left
        attempt.left = [other for other in left if not self._is_refused(attempt.file, other)]

    def _try_next(self, attempt: _Attempt) -> bool:
        """Put in the next include of an attempt that was not refused; False if there is none."""
        while attempt.left:
            option = attempt.left.pop(0)
            if not self._is_refused(attempt.file, option):
                text = self._tree.read(attempt.file)
                line = prologue(text).insert_at + 1
                self._write(attempt.file, insert_include(text, option.directive), line, 1)
                attempt.trial = replace(attempt.trial, include=Place(attempt.file, line), header=option.header)
                attempt.option = option
                return True
        return False

    def _is_refused(self, file: str, option: IncludeOption) -> bool:
        return not self._refused.isdisjoint({(file, option.directive), (file, option.header)})

    def _find_again(self, attempt: _Attempt) -> None:
        """Look where an include stands now: rules change files too."""
        text = self._tree.read(attempt.file)
        lines = text.splitlines()[: prologue(text).insert_at]
        directive = f"#include {attempt.option.directive if attempt.option else ''}"
        numbers = [number for number, line in enumerate(lines, 1) if line.strip() == directive]
        if numbers:
            attempt.trial = replace(attempt.trial, include=Place(attempt.file, numbers[-1]))

    def _write(self, file: str, text: str, line: int, by: int) -> None:
        """Change a file whose lines from `line` on move by so many."""
        self._tree.write(file, text)
        for attempt in self._attempts.values():
            attempt.trial = attempt.trial.moved(file, line, by)
        if self._libraries:
            self._libraries.forget(file)

    def _options(
        self, missing: MissingName | None, standard: Sequence[IncludeOption], file: str
    ) -> list[IncludeOption]:
        """Includes to try, best first, without those the file has."""
        has = prologue(self._tree.read(file)).includes
        options = [*standard]
        if missing is not None and missing.scope != "std":
            options += find_headers(self._tree, missing, file, has, self._admitted(file))
            if not standard and (header := standard_header(missing.name, c=False)):
                options.append(_standard(missing.name, header))
        return list({option.directive: option for option in options if option.directive not in has}.values())

    def _admitted(self, file: str) -> Callable[[str], bool]:
        """Whether a header may go into a file: one of the engine's own, or of a library that it includes already."""
        libraries = self._libraries
        if libraries is None:
            libraries = self._libraries = Libraries(self._tree.files(), self._bundled, self._tree.read)
        included = libraries.included_by(file)
        return lambda header: libraries.of(header) in included

    def _sighting(self, error: Diagnostic) -> Sighting:
        return Sighting(
            error=error,
            file=self.file_of(error),
            missing=missing_name(error),
            path=self._place(error.path),
            noted=tuple(self._place(note) for note in error.noted_at),
        )

    def _place(self, places: Sequence[Place]) -> tuple[Place, ...]:
        return tuple(Place(self._locate(place.file) or place.file, place.line) for place in places)

    def _locate(self, spelled: str) -> str | None:
        if spelled not in self._locations:
            self._locations[spelled] = self._tree.locate(spelled)
        return self._locations[spelled]


def _repair(file: str, option: IncludeOption) -> Repair:
    return Repair("include", file, f"#include {option.directive}", option.why)


def _standard(name: str, header: str) -> IncludeOption:
    return IncludeOption(header, f"{name} is declared in {header}")


def _standard_options(error: Diagnostic, missing: MissingName | None) -> list[IncludeOption]:
    """Includes for names that are surely the standard library's: the compiler says so, or they stand after `std::`, or
    are the C library's."""
    options = [IncludeOption(header, "the compiler asks for it") for header in hinted_headers(error)]
    if missing is not None and (missing.scope == "std" or is_c_name(missing.name)):
        root = error.included_from[-1].file if error.included_from else error.file
        header = standard_header(missing.name, c=root.endswith(".c"))
        options += [_standard(missing.name, header)] if header else []
    return options
