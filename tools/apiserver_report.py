"""Write the tables of docs/apiserver.md from replays on the embedded API server: ``python -m tools.apiserver_report``.

Every recording of a real kube-apiserver is replayed and every resource that is served is listed, so the tables say what
the tests say. Time and chance are fixed: the same code gives the same tables. ``--check`` writes nothing and fails when
the page is out of date.
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steersman.apiserver.resources.served_resource import ALL_VERBS, ServedResource
from steersman.apiserver.server import ApiServer
from steersman.testing.fake_clock import FakeClock
from tests.contract import recordings
from tests.contract.not_covered import NOT_COVERED
from tests.contract.replay import Replay
from tests.contract.test_controlled_recordings import ELSEWHERE, ORDER

PAGE = Path(__file__).parent.parent / "docs" / "apiserver.md"
BEGIN = "<!-- The tables from here on are written by `python -m tools.apiserver_report`. -->"
END = "<!-- The tables end here. -->"
_UNLISTED = "not alike yet"

RecordedSequence = recordings.Sequence


@dataclass(frozen=True, slots=True)
class Recording:
    """A set of recorded sequences with a descriptive name."""

    title: str
    file: str
    sequences: Callable[[], Iterable[RecordedSequence]]
    #: Whether it contains sequences with controllers or those without.
    controlled: bool = False


@dataclass(slots=True)
class Result:
    """Result of the replay of a recording."""

    title: str
    sequences: int = 0
    responses: int = 0
    #: Number of responses that differ, keyed by reason.
    different: Counter[str] = field(default_factory=Counter)


def _patches(name: str) -> Callable[[], Iterable[RecordedSequence]]:
    return lambda: recordings.patch_sequences(name)


def _builtin(name: str) -> Callable[[], Iterable[RecordedSequence]]:
    return lambda: recordings.builtin_sequences(name)


RECORDINGS = (
    Recording("requests to custom resources", "requests", lambda: [recordings.single_requests()]),
    Recording("requests of kubectl", "kubectl", lambda: [recordings.kubectl_requests()]),
    Recording("updates", "update", _patches("update")),
    Recording("merge patches", "merge_patch", _patches("merge_patch")),
    Recording("JSON patches", "json_patch", _patches("json_patch")),
    Recording("strategic merge patches", "strategic_patch", _patches("strategic_patch")),
    Recording("server-side apply, custom resources", "apply_custom", _patches("apply_custom")),
    Recording("server-side apply, built-in kinds", "apply_builtin", _patches("apply_builtin")),
    Recording("defaults of built-in kinds", "defaults", _builtin("defaults")),
    Recording("validation errors of built-in kinds", "validation", _builtin("validation")),
    Recording("tables of built-in kinds", "tables", _builtin("tables")),
    Recording("lifecycle of objects", "lifecycle", _builtin("lifecycle")),
    Recording("lifecycle of objects, with controllers", "lifecycle", _builtin("lifecycle"), controlled=True),
    Recording("access control", "authz", _builtin("authz")),
    Recording("HTTP: paths, media types, broken bodies", "http", _builtin("http")),
)


def reason_of(recording: Recording, sequence: RecordedSequence, place: str) -> str:
    """Return why a response may differ."""
    if recording.controlled:
        index = place.split(maxsplit=1)[0]
        ordered = ORDER.get((sequence.name, int(index))) if index.isdigit() else None
        return ELSEWHERE.get(sequence.name) or ordered or _UNLISTED
    return NOT_COVERED.get(recording.file, {}).get(sequence.name, {}).get(place, _UNLISTED)


async def replay(recording: Recording) -> Result | None:
    """Replay a recording; return ``None`` if its file is missing."""
    try:
        sequences = [one for one in recording.sequences() if one.needs_controllers == recording.controlled]
    except FileNotFoundError:
        return None
    result = Result(recording.title)
    for sequence in sequences:
        result.sequences += 1
        result.responses += len(sequence.steps)
        for place in await Replay(sequence).run():
            if not place.startswith("setup"):
                result.different[reason_of(recording, sequence, place)] += 1
    return result


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    return [_row(*head), "|" + "---|" * len(head), *(_row(*row) for row in rows)]


def render(results: Sequence[Result], resources: Iterable[ServedResource]) -> str:
    """Return the tables."""
    reasons: Counter[str] = Counter()
    for result in results:
        reasons.update(result.different)
    compared = [
        (result.title, result.sequences, result.responses, result.responses - result.different.total())
        for result in results
    ]
    lines = [
        "### Responses compared with those of a real server",
        "",
        *_table(("recorded on kube-apiserver v1.36.4", "sequences", "responses", "equal"), compared),
        "",
        "### Responses that differ, and why",
        "",
        *_table(("responses", "reason"), ((count, reason) for reason, count in _ordered(reasons))),
        "",
        "### Resources",
        "",
        *_table(("group and version", "resources", "subresources"), _resources(resources)),
    ]
    return "\n".join(lines)


def _ordered(reasons: Counter[str]) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))


def _resources(resources: Iterable[ServedResource]) -> list[tuple[str, str, str]]:
    groups: dict[str, list[ServedResource]] = {}
    for served in resources:
        groups.setdefault(served.api_version, []).append(served)
    return [
        (version, ", ".join(map(_resource, group)), ", ".join(part for served in group for part in _parts(served)))
        for version, group in groups.items()
    ]


def _resource(served: ServedResource) -> str:
    missing = [verb for verb in ALL_VERBS if verb not in served.verbs]
    return f"{served.plural} ({', '.join(sorted(served.verbs))} only)" if missing else served.plural


def _parts(served: ServedResource) -> list[str]:
    return [f"{served.plural}/{name}" for name in sorted(served.subresources)]


def placed(page: str, tables: str) -> str:
    """Return the page with new tables."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE.name} lacks the two comments around the tables")
    return f"{before}{begin}\n\n{tables}\n\n{end}{after}"


async def _tables() -> str:
    results = [result for recording in RECORDINGS if (result := await replay(recording)) is not None]
    return render(results, ApiServer(clock=FakeClock()).catalog)


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the page is out of date, and write nothing")
    arguments = parser.parse_args()
    page = PAGE.read_text()
    wanted = placed(page, asyncio.run(_tables()))
    if arguments.check:
        sys.exit(0 if page == wanted else f"{PAGE.name} is out of date: python -m tools.apiserver_report")
    PAGE.write_text(wanted)
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
