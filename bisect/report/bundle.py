"""A bisection as one tar.gz: every form of its report, the raw data behind it, and what is needed to measure again."""

import csv
import gzip
import io
import json
import shlex
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from cpubisect.base.patches import patches_of
from cpubisect.base.plain import plain
from cpubisect.records.readings import mean_attributed, mean_profile
from cpubisect.records.registry import Registry
from cpubisect.records.rows import BuildRow, ProbeRow
from cpubisect.report.charts import picture_of
from cpubisect.report.form import ENDINGS, Form, written
from cpubisect.report.reproduction import cases
from cpubisect.report.words import command, name_of
from cpubisect.views.bisection import Bisection
from cpubisect.views.gather import gather
from cpubisect.views.measured import profiled

Member = tuple[str, bytes]

SCRIPT = "reproduce.sh"
COLUMNS = ("commit", "purpose", "test", "metric", "number", "value", "started", "kind")

NO_FILE = "--no-defaults"
"""What the command line of every server we start has after its program: it reads no configuration file."""

PLACES = frozenset(
    (
        *("basedir", "datadir", "tmpdir", "socket", "loose-secure-file-priv", "lc-messages-dir", "language"),
        *("character-sets-dir", "user", "skip-networking", "skip-grant-tables"),
    )
)
"""Options that say where a probe's private server lives and who may come in: nobody wants those."""


def write(registry: Registry, bisection: int, file: IO[bytes]) -> None:
    """Write the bundle; the same finished bisection gives the same bytes. Raises UserError for an unknown id."""
    row = registry.store.bisection(bisection)
    when = int(row.finished or row.created)
    folder = name_of(row.id, row.verdict)
    members = sorted(_members(registry, bisection))
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in members:
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mtime = len(content), when
            member.mode = 0o755 if name == SCRIPT else 0o644
            archive.addfile(member, io.BytesIO(content))


def _members(registry: Registry, bisection: int) -> Iterator[Member]:
    told = gather(registry, bisection)
    builds = [build for build, _ in registry.store.builds(bisection)]
    probes = registry.store.probes(bisection)
    home = str(registry.home.root)
    yield "README.txt", _template("bundle-readme.txt", folder=name_of(bisection, told.verdict)).encode()
    yield SCRIPT, _script(told).encode()
    for form in (Form.TEXT, Form.MARKDOWN, Form.HTML, Form.JSON):
        yield f"report.{ENDINGS.get(form, form.value)}", written(registry, told, form)
    yield from _charts(registry, bisection, told.tests)
    yield "samples.csv", _samples(builds, probes)
    yield from _of_builds(builds, home)
    yield from _of_probes(builds, probes, home)
    yield from _matrix(Path(registry.store.bisection(bisection).question.matrix), builds)


def _charts(registry: Registry, bisection: int, tests: Sequence[str]) -> Iterator[Member]:
    for test in tests:
        name = f"chart-{test}" if len(tests) > 1 else "chart"
        yield f"{name}.svg", picture_of(registry, bisection, test=test)
        yield f"{name}.png", picture_of(registry, bisection, test=test, png=True)


def _samples(builds: Sequence[BuildRow], probes: Sequence[ProbeRow]) -> bytes:
    """Every sample, one a line; `started` is when its probe began, in epoch seconds."""
    by_id = {build.id: build for build in builds}
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for probe in probes:
        build = by_id.get(probe.build)
        sha, kind = (build.sha, build.variant) if build else ("", "")
        about = (sha, str(probe.purpose), probe.test)
        for metric, values in sorted(probe.values.items()):
            for number, value in enumerate(values):
                table.writerow((*about, metric, number, repr(value), f"{probe.started:.3f}", kind))
    return text.getvalue().encode()


def _of_builds(builds: Sequence[BuildRow], home: str) -> Iterator[Member]:
    """Recipe, source changes and log of each; of a commit that was tried twice, the last of each kind."""
    for build in {build.name: build for build in builds}.values():
        about = {"outcome": build.outcome, "first_error": build.first_error, "artifact": build.artifact}
        yield f"recipes/{build.name}.json", _json({**about, "recipe": build.recipe, "repairs": build.repairs})
        if build.diff:
            yield f"repairs/{build.name}.diff", build.diff.encode(errors="surrogateescape")
        log = Path(build.log)
        if log.is_file():
            yield f"logs/{build.name}.log", log.read_bytes().replace(home.encode(), b"$CPUBISECT_HOME")


def _of_probes(builds: Sequence[BuildRow], probes: Sequence[ProbeRow], home: str) -> Iterator[Member]:
    """Mean profile, command lines, and a server's variables and configuration, of each commit and test."""
    for build in builds:
        for test in dict.fromkeys(probe.test for probe in probes):
            own = [probe for probe in probes if (probe.build, probe.test) == (build.id, test) and not probe.error]
            name = f"{build.name}-{test}"
            if counted := profiled(own):
                profile = {"self": mean_profile(counted), "attributed": mean_attributed(counted)}
                yield f"profiles/{name}.json", _json(profile)
            if own:
                commands = [command.replace(home, "$CPUBISECT_HOME") for command in own[0].commands]
                yield f"commands/{name}.txt", "".join(f"{command}\n" for command in commands).encode()
                if config := server_config_of(commands):
                    yield f"server-config/{name}.cnf", config.encode()
            if own and own[0].variables:
                yield f"server-variables/{name}.json", _json(own[0].variables)


def server_config_of(commands: Sequence[str]) -> str:
    """A my.cnf for the last server among the command lines of a probe, the one whose CPU time was measured; empty if
    there is none. An option that holds spaces is taken to end before the next ` --`."""
    servers = [command for command in commands if f" {NO_FILE} " in command]
    if not servers:
        return ""
    options = servers[-1].partition(f" {NO_FILE} ")[2].removeprefix("--").split(" --")
    pairs = [option.partition("=") for option in options]
    kept = [f"{name}{equals}{value}" for name, equals, value in pairs if name not in PLACES]
    return "\n".join(("# as given on the command line of the measured server", "[mysqld]", *kept, ""))


def _matrix(path: Path, builds: Sequence[BuildRow]) -> Iterator[Member]:
    """The matrix in use, and the patches that its recipes name; nothing if it is not there any more."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    yield "matrix/compiler-matrix.yaml", content
    names = {name for build in builds for name in build.recipe["patches"]}
    names |= {repair["patch"] for build in builds for repair in build.recipe["repairs"] if repair["patch"]}
    for name in sorted(names):
        patch = patches_of(path) / name
        if patch.is_file():
            yield f"matrix/patches/{name}", patch.read_bytes()


def _script(told: Bisection) -> str:
    """The script that measures again."""
    return _template(SCRIPT, repository=told.origin or told.repository, cases=cases(told))


def _template(name: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("cpubisect.report"),
        autoescape=False,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["sh"] = shlex.quote
    environment.filters["words"] = lambda words: command(words, 110)
    environment.filters["number"] = lambda value: "null" if value is None else value
    return environment.get_template(name).render(**values)


def _json(data: Any) -> bytes:
    return (json.dumps(plain(data), indent=1, sort_keys=True) + "\n").encode()
