from collections import Counter

from steersman.apiserver.server import ApiServer
from steersman.testing.fake_clock import FakeClock
from tests.contract.recordings import Sequence, builtin_sequences
from tools.apiserver_report import BEGIN, END, PAGE, RECORDINGS, Recording, Result, placed, render, replay


def test_the_page_has_a_place_for_the_tables_and_keeps_everything_else() -> None:
    """The tool must never delete text that a person wrote."""
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    written = placed(page, "TABLES")
    assert written.startswith(before)
    assert written.endswith(after)
    assert placed(written, "TABLES") == written
    assert placed(written, "OTHER").count("TABLES") == 0


def test_the_tables_count_differences_by_reason() -> None:
    """A reader wants to know how many there are, and why."""
    results = [Result("a", 2, 10, Counter({"x": 3, "y": 1})), Result("b", 1, 5, Counter({"x": 1}))]
    text = render(results, ApiServer(clock=FakeClock()).catalog)
    assert "| a | 2 | 10 | 6 |" in text
    assert "| b | 1 | 5 | 4 |" in text
    assert text.index("| 4 | x |") < text.index("| 1 | y |")
    assert "| coordination.k8s.io/v1 | leases |  |" in text


async def test_equal_code_gives_equal_tables() -> None:
    """A table that changes without a change of the code could not be kept under version control."""
    sequences = [sequence for sequence in builtin_sequences("lifecycle") if sequence.name.startswith("gc-foreground")]
    recording = Recording("some", "lifecycle", lambda: sequences, controlled=True)
    first, second = await replay(recording), await replay(recording)
    assert first == second
    assert first is not None
    assert first.different == {
        "dependents are deleted in the order of their creation; a real collector has no order": 1
    }


async def test_a_missing_recording_is_left_out() -> None:
    """A missing row is better than a wrong one."""

    def missing() -> list[Sequence]:
        raise FileNotFoundError

    assert await replay(Recording("none", "none", missing)) is None
    assert len({recording.title for recording in RECORDINGS}) == len(RECORDINGS)
