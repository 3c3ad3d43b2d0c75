"""Where an `#include` goes in a source file, and which ones it has. Pure functions over the file's text."""

import re
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"\s*#\s*(?P<word>\w+)\s*(?P<rest>.*)")
_HEADER = re.compile(r'(?P<name><[^>]+>|"[^"]+")')


@dataclass(frozen=True)
class Prologue:
    """The part of a file before its first line of code, with line numbers from 0.

    `includes` are its unconditional includes, quotes or brackets kept; a header's include guard is no condition.
    `insert_at` is the line before which another include belongs: behind the last of them, else behind the guard or
    `#pragma once` or macros such as `_GNU_SOURCE`, else behind the comment the file begins with.
    """

    includes: tuple[str, ...]
    insert_at: int


def prologue(text: str) -> Prologue:
    """Read the beginning of a C or C++ file."""
    lines = text.splitlines()
    includes: list[str] = []
    after_include = after_guard = after_comment = 0
    guards = depth = 0
    first_directive = True
    number = 0
    while number < len(lines):
        number, code = _skip_comments(lines, number)
        if number >= len(lines):
            break
        if not code.strip():
            if not includes and not depth and first_directive:
                after_comment = number + 1
            number += 1
            continue
        match = _DIRECTIVE.match(code)
        if match is None:
            if depth == guards:
                break
            number += 1
            continue
        end = _end_of_directive(lines, number)
        word, rest = match["word"], match["rest"]
        if word in ("if", "ifdef", "ifndef"):
            if first_directive and _is_guard(word, rest, lines, end):
                guards = 1
                after_guard = _end_of_directive(lines, _next_code(lines, end))
            depth += 1
        elif word == "endif":
            depth -= 1
            if depth < guards:
                break
        elif (word == "pragma" and rest.strip().startswith("once")) or (word == "define" and _is_feature_macro(rest)):
            after_guard = end if depth == guards else after_guard
        elif word in ("include", "include_next") and depth == guards and (header := _HEADER.match(rest)):
            includes.append(header["name"])
            after_include = end
        first_directive = False
        number = end
    return Prologue(tuple(includes), after_include or after_guard or _without_blank_end(lines, after_comment))


def insert_include(text: str, header: str) -> str:
    """The text with `#include header` (a name in quotes or brackets) at its place; line ends stay as they are."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    at = prologue(text).insert_at
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += newline
    return "".join([*lines[:at], f"#include {header}{newline}", *lines[at:]])


def remove_include(text: str, header: str) -> str:
    """The text without the last `#include header` of its prologue; unchanged if it has none."""
    lines = text.splitlines(keepends=True)
    directive = f"#include {header}"
    for number in reversed(range(min(prologue(text).insert_at, len(lines)))):
        if lines[number].strip() == directive:
            return "".join(lines[:number] + lines[number + 1 :])
    return text


def _skip_comments(lines: list[str], number: int) -> tuple[int, str]:
    """The line on which code goes on after any comments from here, and its text without them."""
    code = lines[number]
    while True:
        begin = re.search(r"//|/\*", code)
        if begin is None or code[: begin.start()].strip():
            return number, code
        if begin[0] == "//":
            return number, code[: begin.start()]
        rest = code[begin.end() :]
        while "*/" not in rest:
            number += 1
            if number >= len(lines):
                return number, ""
            rest = lines[number]
        code = rest.partition("*/")[2]


def _end_of_directive(lines: list[str], number: int) -> int:
    """The line after a directive, which a backslash or a comment may continue."""
    while number < len(lines) and lines[number].rstrip().endswith("\\"):
        number += 1
    if number < len(lines):
        line = lines[number]
        opened = line.rfind("/*")
        if opened >= 0 and "*/" not in line[opened:] and "//" not in line[:opened]:
            number += 1
            while number < len(lines) and "*/" not in lines[number]:
                number += 1
    return number + 1


def _next_code(lines: list[str], number: int) -> int:
    while number < len(lines):
        number, code = _skip_comments(lines, number)
        if code.strip():
            return number
        number += 1
    return number


def _is_guard(word: str, rest: str, lines: list[str], after: int) -> bool:
    guard = re.match(r"\w+", rest) if word == "ifndef" else re.match(r"!\s*defined\s*\(?\s*(\w+)", rest)
    following = _next_code(lines, after)
    if guard is None or following >= len(lines):
        return False
    name = guard[guard.lastindex or 0]
    return re.match(rf"\s*#\s*define\s+{re.escape(name)}\b", lines[following]) is not None


def _is_feature_macro(rest: str) -> bool:
    """`_GNU_SOURCE` and the like, which must stand before any include to have effect."""
    return re.match(r"_[A-Z]\w*_SOURCE\b|_FILE_OFFSET_BITS\b|__STDC_\w+_MACROS\b", rest) is not None


def _without_blank_end(lines: list[str], number: int) -> int:
    while number and not lines[number - 1].strip():
        number -= 1
    return number
