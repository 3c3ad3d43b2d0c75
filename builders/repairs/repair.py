"""Makes a tree compile that only lacks includes, that the compiler accepts with a flag which its error names, or that a
rule of the matrix knows the cure for.

Every change adds a declaration (an include), lets the compiler accept what it complains of (a flag that its error
names), or was written down by a human (a rule); whatever would change what the code means is left alone, and the build
stays a failure.
"""

import re
from collections.abc import Callable, Sequence
from enum import Enum
from fnmatch import fnmatch
from pathlib import Path

from cpubisect.builders.build import Repair, RepairRule
from cpubisect.builders.repairs.diagnostics import Diagnostic, parse_diagnostics, plain
from cpubisect.builders.repairs.flags import Acceptance, acceptances
from cpubisect.builders.repairs.include_repairs import IncludeRepairs
from cpubisect.builders.repairs.includes import insert_include
from cpubisect.builders.trees.source import SourceTree


class Change(Enum):
    """What a round of repairs changed: nothing (give up), sources (compile on), or flags (compile all anew)."""

    NOTHING = "nothing"
    SOURCES = "sources"
    FLAGS = "flags"


class Repairer:
    """Repairs one tree, round by round; `repairs` are the changes that stand, `vain` those that were taken back.

    `bundled` are directories that the matrix says are a library's each; `add_flags` is called with (cflags, cxxflags)
    that a rule adds or an error names.
    """

    def __init__(
        self,
        tree: SourceTree,
        rules: Sequence[RepairRule],
        patches: Path,
        bundled: Sequence[str],
        add_flags: Callable[[Sequence[str], Sequence[str]], None],
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._patches = patches
        self._add_flags = add_flags
        self._used_rules: set[tuple[int, str]] = set()
        self._rule_repairs: list[Repair] = []
        self._accepted: dict[tuple[str, bool], Acceptance] = {}
        self._includes = IncludeRepairs(tree, bundled)

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """All changes made and not taken back: rules, flags that errors name, includes."""
        flags = (Repair("flag", "", accepted.flag, accepted.why) for accepted in self._accepted.values())
        return (*self._rule_repairs, *flags, *self._includes.repairs)

    @property
    def vain(self) -> tuple[Repair, ...]:
        """The includes that were tried and taken back."""
        return tuple(self._includes.vain)

    @property
    def hopeless(self) -> str:
        """Why no include can make the tree compile, once that is known."""
        return self._includes.hopeless

    def judge(self, output: str) -> bool:
        """Take back the includes that did not help, by the output of a failed command; True if there are none."""
        return self._includes.judge(_errors(output))

    def round(self, output: str) -> Change:
        """Change what may help after a failed command whose output was judged; the caller then runs it again.

        Ends: each rule is applied once per file, each include tried once per file, and each flag that an error names
        once per language. A name whose include leaves it missing is given up, and with it whatever would be a guess.
        """
        errors = _errors(output)
        change = self._apply_rules(errors, output)
        if change is not Change.NOTHING:
            return change
        includes = self._includes
        if includes.retry() or includes.begin():
            return Change.SOURCES
        if not includes.hopeless and self._accept(errors):
            return Change.FLAGS
        return Change.SOURCES if includes.try_others() else Change.NOTHING

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
                file = self._includes.file_of(error)
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


def _errors(output: str) -> list[Diagnostic]:
    return [diagnostic for diagnostic in parse_diagnostics(output) if diagnostic.is_error]
