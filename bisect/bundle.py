"""A bisection as one tar.gz: every form of its report, the raw data behind it, and what is needed to measure again."""

import csv
import gzip
import io
import json
import shlex
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from cpubisect import report, server_config
from cpubisect.builders.matrix import Matrix
from cpubisect.errors import UserError
from cpubisect.lab import Purpose
from cpubisect.question import Question
from cpubisect.readings import mean_attributed, mean_profile
from cpubisect.report_charts import picture_of
from cpubisect.report_words import command, name_of
from cpubisect.reproduction import cases
from cpubisect.session import Session
from cpubisect.store import BuildRow, ProbeRow

Json = dict[str, Any]
Member = tuple[str, bytes]

SCRIPT = "reproduce.sh"
COLUMNS = ("commit", "purpose", "test", "metric", "number", "value", "started")


def write(session: Session, bisection: int, file: IO[bytes]) -> None:
    """Write the bundle; the same finished bisection gives the same bytes. Raises UserError for an unknown id."""
    row = session.store.bisection(bisection)
    when = int(row.finished or row.created)
    folder = name_of(row.id, row.verdict)
    members = sorted(_members(session, bisection))
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, content in members:
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mtime = len(content), when
            member.mode = 0o755 if name == SCRIPT else 0o644
            archive.addfile(member, io.BytesIO(content))


def _members(session: Session, bisection: int) -> Iterator[Member]:
    data = report.gather(session, bisection)
    question = Question.from_json(session.store.bisection(bisection).question)
    builds = [build for build, _ in session.store.builds(bisection)]
    probes = session.store.probes(bisection)
    home = str(session.home.root)
    yield "README.txt", _template("bundle-readme.txt", folder=name_of(bisection, data["verdict"])).encode()
    yield SCRIPT, _script(data).encode()
    for form in (report.Form.TEXT, report.Form.MARKDOWN, report.Form.HTML, report.Form.JSON):
        yield f"report.{report.ENDINGS.get(form, form.value)}", report.render(session, bisection, form)
    yield from _charts(session, bisection, question.tests)
    yield "samples.csv", _samples(builds, probes)
    yield from _of_builds(builds, home)
    yield from _of_probes(builds, probes, home)
    yield from _matrix(Path(question.matrix), builds)


def _charts(session: Session, bisection: int, tests: Sequence[str]) -> Iterator[Member]:
    for test in tests:
        name = f"chart-{test}" if len(tests) > 1 else "chart"
        yield f"{name}.svg", picture_of(session, bisection, test=test)
        yield f"{name}.png", picture_of(session, bisection, test=test, png=True)


def _samples(builds: Sequence[BuildRow], probes: Sequence[ProbeRow]) -> bytes:
    """Every sample, one a line; `started` is when its probe began, in epoch seconds."""
    shas = {build.id: build.sha for build in builds}
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for probe in probes:
        for metric, values in sorted(probe.values.items()):
            for number, value in enumerate(values):
                about = (shas.get(probe.build, ""), probe.purpose, probe.test)
                table.writerow((*about, metric, number, repr(value), f"{probe.started:.3f}"))
    return text.getvalue().encode()


def _of_builds(builds: Sequence[BuildRow], home: str) -> Iterator[Member]:
    """Recipe, source changes and log of each; of a commit that was tried twice, the last."""
    for build in {build.sha: build for build in builds}.values():
        about = {"outcome": build.outcome, "first_error": build.first_error, "artifact": build.artifact}
        yield f"recipes/{build.sha}.json", _json({**about, "recipe": build.recipe, "repairs": build.repairs})
        if build.diff:
            yield f"repairs/{build.sha}.diff", build.diff.encode(errors="surrogateescape")
        log = Path(build.log)
        if log.is_file():
            yield f"logs/{build.sha}.log", log.read_bytes().replace(home.encode(), b"$CPUBISECT_HOME")


def _of_probes(builds: Sequence[BuildRow], probes: Sequence[ProbeRow], home: str) -> Iterator[Member]:
    """Mean profile, command lines, and a server's variables and configuration, of each commit and test."""
    for build in builds:
        for test in dict.fromkeys(probe.test for probe in probes):
            own = [probe for probe in probes if (probe.build, probe.test) == (build.id, test) and not probe.error]
            name = f"{build.sha}-{test}"
            counted = [probe for probe in own if probe.purpose == Purpose.SEARCH and probe.profile]
            if counted:
                profile = {"self": mean_profile(counted), "attributed": mean_attributed(counted)}
                yield f"profiles/{name}.json", _json(profile)
            if own:
                commands = [command.replace(home, "$CPUBISECT_HOME") for command in own[0].commands]
                yield f"commands/{name}.txt", "".join(f"{command}\n" for command in commands).encode()
                if config := server_config.of_commands(commands):
                    yield f"server-config/{name}.cnf", config.encode()
            if own and own[0].variables:
                yield f"server-variables/{name}.json", _json(own[0].variables)


def _matrix(path: Path, builds: Sequence[BuildRow]) -> Iterator[Member]:
    """The matrix in use, and the patches that its recipes name; nothing if it is not there any more."""
    try:
        matrix, content = Matrix.load(path), path.read_bytes()
    except (UserError, OSError):
        return
    yield "matrix/compiler-matrix.yaml", content
    names = {name for build in builds for name in build.recipe["patches"]}
    names |= {repair["patch"] for build in builds for repair in build.recipe["repairs"] if repair["patch"]}
    for name in sorted(names):
        patch = matrix.patches_dir / name
        if patch.is_file():
            yield f"matrix/patches/{name}", patch.read_bytes()


def _script(data: Json) -> str:
    """The script that measures again."""
    return _template(SCRIPT, repository=data["origin"] or data["repository"], cases=cases(data))


def _template(name: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("cpubisect"),
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


def _json(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()
