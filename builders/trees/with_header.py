"""Runs one compiler command with the header that its source shares, compiled once; started by ccache in place of the
compiler where it has no result, never imported.

argv is `folder compiler arguments…`. `folder` holds `plan`, lines of a source, a tab and a number, and of each number
`N.h`; what that is compiled to, `N.h.gch`, is made by the first command that needs it, with its own arguments. Where
that or the command fails, and for every source that is not in the plan, the command runs as it was given, so that a
compiler's complaints are about the source alone. It is started for each compilation, so it imports little.
"""

import fcntl
import os
import sys

# The heap grows to 512 MB before garbage is first collected: the same code in a twentieth to an eighth less time, by
# gcc 12 on sources of MySQL 8.0.
HEAP = ("--param", "ggc-min-heapsize=524288")

CXX = (".cc", ".cpp", ".cxx", ".C")
VALUED = ("-o", "-MF", "-MT", "-MQ")


def number_of(source: str, folder: str) -> str:
    """The number of the header that a source takes; empty if none."""
    wanted = f"{source}\t"
    with open(f"{folder}/plan", encoding="utf-8", errors="surrogateescape") as plan:
        return next((line[len(wanted) :].strip() for line in plan if line.startswith(wanted)), "")


def run(argv: list[str], output: str) -> int:
    """The status of a command whose output goes to a file; 255 if a signal ended it."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status if status >= 0 else 255


def for_header(command: list[str], source: str, header: str, output: str) -> list[str]:
    """The command that compiles a header as the given one compiles its source; without `-MD` it would not know what it
    depends on."""
    kept, skip = [], False
    for word in command:
        if skip or word in ("-c", "-MD", "-MMD", source):
            skip = False
        elif word in VALUED:
            skip = True
        else:
            kept.append(word)
    return [*kept, *HEAP, "-MD", "-MF", f"{output}.d", "-x", "c++-header", "-o", output, header]


def ready(command: list[str], source: str, header: str) -> bool:
    """Whether a header is compiled, by this command if by none before; one that could not be is not tried again."""
    made = f"{header}.gch"
    with open(f"{header}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(f"{header}.failed"):
            return False
        if not os.path.exists(made):
            attempt = f"{made}.new"
            if run(for_header(command, source, header, attempt), f"{header}.out") != 0:
                os.rename(f"{header}.out", f"{header}.failed")
                return False
            os.rename(attempt, made)
    return True


def without(folder: str, command: list[str]) -> None:
    """Take our own headers out of the dependency file: in another tree they have other numbers, or are none."""
    if "-MF" not in command:
        return
    path = command[command.index("-MF") + 1]
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        words = file.read().split(" ")
    own = [word for word in words if not word.strip(" \\\n").startswith(f"{folder}/")]
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(" ".join(own))


def main() -> None:
    folder, command = sys.argv[1], sys.argv[2:]
    source = next((word for word in reversed(command) if word.endswith(CXX)), "")
    number = number_of(os.path.normpath(os.path.join(os.getcwd(), source)), folder) if source else ""
    header = f"{folder}/{number}.h"
    if number and ready(command, source, header):
        output = f"{header}.{os.getpid()}"
        status = run([command[0], "-include", header, "-fpch-deps", *HEAP, *command[1:]], output)
        if status == 0:
            without(folder, command)
            with open(output, "rb") as said:
                os.write(2, said.read())
            os.unlink(output)
            return
        os.unlink(output)
    os.execvp(command[0], [command[0], *HEAP, *command[1:]])


if __name__ == "__main__":
    main()
