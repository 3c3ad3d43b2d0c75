"""Makes an object with something in the place of all that sources which are not compiled would have defined; a build
starts it, it is never imported by us.

argv is `object sources compiler arguments…`: the object to make, a file that names the sources, one in a line, and the
command that links the program without them and without `-o`. It is run once for what the linker does not find. Of that,
what those sources speak of gets a place: a function that ends the process at once, so that nobody takes what runs for
the real thing, or an object of zeros; what they do not speak of stays missing, so that the real link fails as ever.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

UNDEFINED = re.compile(r"undefined (?:reference to `([^']+)'|symbol: (\S+))")
WORD = re.compile(r"[A-Za-z_]\w*")

BYTES = 4096
"""Room for what is no function: a table of virtual functions takes two or three thousand."""


def missing(link: list[str], output: str) -> list[str]:
    """The symbols that the command does not find, in alphabetical order."""
    # Undefined symbols are only warned about, so that all of them are named.
    argv = [*link, "-Wl,--warn-unresolved-symbols,--no-demangle", "-o", output]
    said = subprocess.run(argv, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, errors="replace")
    Path(output).unlink(missing_ok=True)
    return sorted({one or other for one, other in UNDEFINED.findall(said.stderr + said.stdout)})


def demangled(symbols: list[str]) -> list[str]:
    """The same as C++ spells them."""
    text = "".join(f"{symbol}\n" for symbol in symbols)
    return subprocess.run(["c++filt"], input=text, capture_output=True, text=True, check=True).stdout.splitlines()


def name_of(spelled: str) -> str:
    """The last word of what a symbol is called, without arguments: `area` of `gis::area(gis::Geometry const&)`."""
    text = spelled.replace("(anonymous namespace)", "")
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    head, *_ = text.partition("(")
    words: list[str] = WORD.findall(head)
    return words[-1] if words else ""


def is_function(symbol: str, spelled: str) -> bool:
    """Whether it is one; what is not mangled is taken for one."""
    return not symbol.startswith("_Z") or spelled.endswith((")", ") const", ") &", ") &&"))


def assembly(found: list[tuple[str, str]]) -> str:
    """The text that defines symbols, each given with what it is as C++ spells it."""
    lines = []
    for symbol, spelled in found:
        label = f'"{symbol}"'
        lines.append(f".globl {label}")
        if is_function(symbol, spelled):
            lines += [".text", f".type {label}, @function", f"{label}:", "ud2"]
        elif symbol.startswith("_ZTI"):
            # Types are compared by their names.
            lines += ['.section .data.rel.ro,"aw"', ".balign 8", f"{label}:", ".quad 0", f".quad {label}+16"]
            lines += [f'.asciz "{symbol[4:]}"']
        else:
            lines += [".bss", ".balign 32", f".type {label}, @object", f"{label}:", f".zero {BYTES}"]
    return "\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""])


def main() -> None:
    made, names, *link = sys.argv[1:]
    known: set[str] = set()
    for name in Path(names).read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        known.update(WORD.findall(Path(name).read_text(encoding="latin-1")))
    symbols = missing(link, f"{made}.linked")
    found = [pair for pair in zip(symbols, demangled(symbols), strict=True) if name_of(pair[1]) in known]
    text = f"{made}.s"
    Path(text).write_text(assembly(found), encoding="utf-8")
    print(f"{len(found)} of {len(symbols)} missing symbols have something in their place")
    subprocess.run([link[0], "-c", text, "-o", made], check=True)


if __name__ == "__main__":
    main()
