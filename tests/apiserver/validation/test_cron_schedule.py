import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.apiserver.validation.cron_schedule import ScheduleError, check_schedule

BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


@st.composite
def fields(draw: st.DrawFn) -> str:
    """Give a schedule in which every number is in its range."""
    parts = []
    for low, high in BOUNDS:
        first = draw(st.integers(low, high))
        last = draw(st.integers(first, high))
        step = draw(st.integers(1, 9))
        parts.append(draw(st.sampled_from(["*", "?", f"{first}", f"{first}-{last}", f"*/{step}", f"{first}/{step}"])))
    return " ".join(parts)


@given(fields())
@settings(max_examples=60, deadline=None)
def test_schedules_whose_numbers_are_in_range_are_read(schedule: str) -> None:
    """An author whose schedule is right must never be told that it is wrong."""
    check_schedule(schedule)


@given(st.integers(0, 4), st.integers(1, 1000), fields())
@settings(max_examples=60, deadline=None)
def test_a_number_above_its_range_is_refused(place: int, excess: int, schedule: str) -> None:
    """A job that would never run is refused when it is written, not when somebody misses it."""
    parts = schedule.split()
    parts[place] = str(BOUNDS[place][1] + excess)
    with pytest.raises(ScheduleError, match="above maximum"):
        check_schedule(" ".join(parts))


@pytest.mark.parametrize("schedule", ["@daily", "@every 1h30m", "0 0 * jan-mar MON", "CRON_TZ=UTC * * * * *"])
def test_names_and_descriptors_are_read(schedule: str) -> None:
    """Names of days and months, and the usual abbreviations, are part of the language."""
    check_schedule(schedule)


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("", "empty spec string"),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
    ],
)
def test_what_cannot_be_read_is_told_in_kubernetes_words(schedule: str, why: str) -> None:
    """Authors look the text up; it is that of the library that Kubernetes uses."""
    with pytest.raises(ScheduleError) as refused:
        check_schedule(schedule)
    assert str(refused.value) == why
