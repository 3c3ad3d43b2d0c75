"""Makes a tree compile that only lacks includes, that the compiler accepts with a flag which its error names, or that a
rule of the matrix knows the cure for.

Every change adds a declaration (an include), lets the compiler accept what it complains of (a flag that its error
names), or was written down by a human (a rule); whatever would change what the code means is left alone, and the build
stays a failure.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatch
from pathlib import Path

from cpubisect.builders.build import Repair, RepairRule
from cpubisect.builders.repairs.diagnostics import Diagnostic, parse_diagnostics, plain
from cpubisect.builders.repairs.flags import Acceptance, acceptances
from cpubisect.builders.repairs.header_search import IncludeOption, find_headers
from cpubisect.builders.repairs.includes import insert_include, prologue, remove_include
from cpubisect.builders.repairs.std_headers import is_c_name, standard_header
from cpubisect.builders.repairs.symbols import MissingName, hinted_headers, missing_name
from cpubisect.builders.trees.source import SourceTree


class Change(Enum):
    """What a round of repairs changed: nothing (give up), sources (compile on), or flags (compile all anew)."""

    NOTHING = "nothing"
    SOURCES = "sources"
    FLAGS = "flags"


@dataclass
class _Attempt:
    """The includes tried, one after the other, for one missing name in one file."""

    file: str
    options: Sequence[IncludeOption]
    number: int = 0

    @property
    def option(self) -> IncludeOption | None:
        return self.options[self.number] if self.number < len(self.options) else None


class Repairer:
    """Repairs one tree, round by round; `repairs` are the changes that stand.

    `add_flags` is called with (cflags, cxxflags) that a rule adds or an error names.
    """

    def __init__(
        self,
        tree: SourceTree,
        rules: Sequence[RepairRule],
        patches: Path,
        add_flags: Callable[[Sequence[str], Sequence[str]], None],
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._patches = patches
        self._add_flags = add_flags
        self._used_rules: set[tuple[int, str]] = set()
        self._rule_repairs: list[Repair] = []
        self._accepted: dict[tuple[str, bool], Acceptance] = {}
        self._attempts: dict[tuple[str, str], _Attempt] = {}
        self._latest: list[_Attempt] = []
        self._locations: dict[str, str | None] = {}

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """All changes made and not taken back: rules, flags that errors name, includes."""
        includes = (
            Repair("include", attempt.file, f"#include {option.directive}", option.why)
            for attempt in self._attempts.values()
            if (option := attempt.option)
        )
        flags = (Repair("flag", "", accepted.flag, accepted.why) for accepted in self._accepted.values())
        return (*self._rule_repairs, *flags, *includes)

    def round(self, output: str) -> Change:
        """Look at the output of a failed command and change what may help; the caller then runs it again.

        Ends: each rule is applied once per file, each include tried once per file and name, and each flag that an error
        names once per language.
        """
        errors = [diagnostic for diagnostic in parse_diagnostics(output) if diagnostic.is_error]
        change = self._apply_rules(errors, output)
        if change is not Change.NOTHING:
            return change
        wrong = self._wrong_attempts(errors)
        for attempt in wrong:
            self._next_option(attempt)
        retried = [attempt for attempt in wrong if attempt.option]
        begun = retried or self._new_attempts(errors)
        if not begun and self._accept(errors):
            return Change.FLAGS
        self._latest = begun or self._backtrack(errors)
        return Change.SOURCES if self._latest else Change.NOTHING

    def _apply_rules(self, errors: Sequence[Diagnostic], output: str) -> Change:
        for number, rule in enumerate(self._rules):
            for file in self._places(rule, errors, output):
                if (number, file) in self._used_rules:
                    continue
                self._used_rules.add((number, file))
                if rule.cflags or rule.cxxflags:
                    self._add_flags(rule.cflags, rule.cxxflags)
                    flags = " ".join(dict.fromkeys((*rule.cflags, *rule.cxxflags)))
                    self._rule_repairs.append(Repair("flag", "", flags, rule.why))
                    return Change.FLAGS
                if repair := self._carry_out(rule, file):
                    self._rule_repairs.append(repair)
                    return Change.SOURCES
        return Change.NOTHING

    def _accept(self, errors: Sequence[Diagnostic]) -> bool:
        """Add the flags that errors name and that were not tried yet; whether there are any."""
        found = [accepted for accepted in acceptances(errors) if (accepted.flag, accepted.c) not in self._accepted]
        for accepted in found:
            self._accepted[accepted.flag, accepted.c] = accepted
            flags = (accepted.flag,)
            self._add_flags(flags if accepted.c else (), () if accepted.c else flags)
        return bool(found)

    def _places(self, rule: RepairRule, errors: Sequence[Diagnostic], output: str) -> list[str]:
        """The files a rule has to do with; the file is empty where it does not matter."""
        found = []
        for error in errors:
            if re.search(rule.diagnostic, "\n".join((error.message, *error.notes))):
                file = self._file_of(error)
                if file and fnmatch(file, rule.file):
                    found.append(file if rule.include else "")
        if not found and not rule.include and rule.file == "*":
            found += [""] if re.search(rule.diagnostic, plain(output), re.MULTILINE) else []
        return list(dict.fromkeys(found))

    def _carry_out(self, rule: RepairRule, file: str) -> Repair | None:
        if rule.include:
            self._tree.write(file, insert_include(self._tree.read(file), rule.include))
            return Repair("include", file, f"#include {rule.include}", rule.why)
        if rule.edit and self._tree.apply_edit(rule.edit):
            return Repair("edit", rule.edit.file, f"{rule.edit.find} -> {rule.edit.replace}", rule.why)
        if rule.patch and self._tree.apply_patch(self._patches / rule.patch):
            return Repair("patch", rule.patch, rule.patch, rule.why)
        return None

    def _wrong_attempts(self, errors: Sequence[Diagnostic]) -> list[_Attempt]:
        """Attempts whose include did not bring the name, or is itself what fails now."""
        wrong: list[_Attempt] = []
        for error in errors:
            missing = missing_name(error)
            file = self._file_of(error)
            attempt = self._attempts.get((file, missing.name)) if file and missing else None
            blamed = (
                [attempt] if attempt else [found for found in self._attempts.values() if self._blames(error, found)]
            )
            wrong += [found for found in blamed if found.option and found not in wrong]
        return wrong

    def _blames(self, error: Diagnostic, attempt: _Attempt) -> bool:
        """True if the error stands at the attempt's include, or in what it includes."""
        if attempt.option is None:
            return False
        directive = f"#include {attempt.option.directive}"
        places = [(error.file, error.line), *((place.file, place.line) for place in error.included_from)]
        for file, line in places:
            if self._locate(file) == attempt.file:
                lines = self._tree.read(attempt.file).splitlines()
                if line <= len(lines) and lines[line - 1].strip() == directive:
                    return True
        return False

    def _next_option(self, attempt: _Attempt) -> None:
        option = attempt.option
        if option is not None:
            self._tree.write(attempt.file, remove_include(self._tree.read(attempt.file), option.directive))
            attempt.number += 1
        if attempt.option is not None:
            self._insert(attempt)

    def _insert(self, attempt: _Attempt) -> None:
        if attempt.option is not None:
            text = self._tree.read(attempt.file)
            self._tree.write(attempt.file, insert_include(text, attempt.option.directive))

    def _new_attempts(self, errors: Sequence[Diagnostic]) -> list[_Attempt]:
        """Begin with names not met before: in each file all that the standard library declares, else one of the tree's.

        One missing declaration makes a compiler complain of many names; only the first can be trusted to be missing.
        """
        begun: list[_Attempt] = []
        for error in errors:
            file = self._file_of(error)
            missing, hints = missing_name(error), hinted_headers(error)
            if file is None or (missing is None and not hints):
                continue
            key = (file, missing.name if missing else hints[0])
            standard = _standard_options(error, missing)
            same_file = [attempt for attempt in begun if attempt.file == file]
            answered = any(attempt.option in standard for attempt in same_file)
            if key in self._attempts or answered or (same_file and not standard):
                continue
            options = self._options(missing, standard, file)
            if options:
                attempt = self._attempts[key] = _Attempt(file, options)
                self._insert(attempt)
                begun.append(attempt)
        return begun

    def _options(
        self, missing: MissingName | None, standard: Sequence[IncludeOption], file: str
    ) -> list[IncludeOption]:
        """Includes to try, best first, without those the file has."""
        has = prologue(self._tree.read(file)).includes
        options = [*standard]
        if missing is not None and missing.scope != "std":
            options += find_headers(self._tree, missing, file, has)
            if not standard and (header := standard_header(missing.name, c=False)):
                options.append(_standard(missing.name, header))
        return list({option.directive: option for option in options if option.directive not in has}.values())

    def _backtrack(self, errors: Sequence[Diagnostic]) -> list[_Attempt]:
        """Try another include in a file that still fails, if the last one was put in just now."""
        files = {self._file_of(error) for error in errors}
        for attempt in self._latest:
            if attempt.file in files and attempt.number + 1 < len(attempt.options):
                self._next_option(attempt)
                return [attempt]
        return []

    def _file_of(self, error: Diagnostic) -> str | None:
        """The file of the tree to mend: the one complained of, or where a template of another's was used."""
        for spelled in (error.file, *(place.file for place in reversed(error.required_at))):
            if file := self._locate(spelled):
                return file
        return None

    def _locate(self, spelled: str) -> str | None:
        if spelled not in self._locations:
            self._locations[spelled] = self._tree.locate(spelled)
        return self._locations[spelled]


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
