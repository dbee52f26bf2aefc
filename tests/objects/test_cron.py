from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.objects.cron import CronSchedule, ScheduleError, zone_named

BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> datetime:
    """Return a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def due(schedule: str, after: str, count: int = 1, zone: str = "UTC") -> list[str]:
    """Return the next times in the zone's local time."""
    cron = CronSchedule.parse(schedule, zone=zone_named(zone))
    found, moment = [], at(after)
    for _ in range(count):
        following = cron.next_after(moment)
        assert following is not None
        found.append(following.astimezone(cron.zone).strftime("%Y-%m-%d %H:%M %z"))
        moment = following
    return found


@st.composite
def fields(draw: st.DrawFn) -> str:
    """Generate a schedule in which every number is in its range."""
    parts = []
    for low, high in BOUNDS:
        first = draw(st.integers(low, high))
        last = draw(st.integers(first, high))
        step = draw(st.integers(1, 9))
        parts.append(draw(st.sampled_from(["*", "?", f"{first}", f"{first}-{last}", f"*/{step}", f"{first}/{step}"])))
    return " ".join(parts)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("*/15 * * * *", "2026-03-01T10:07", "2026-03-01 10:15 +0000"),
        ("*/15 * * * *", "2026-03-01T10:15", "2026-03-01 10:30 +0000"),
        ("0 3 * * *", "2026-12-31T03:00", "2027-01-01 03:00 +0000"),
        ("30 8 29 2 *", "2026-01-01T00:00", "2028-02-29 08:30 +0000"),
        ("0 0 * jan-mar MON", "2026-01-01T00:00", "2026-01-05 00:00 +0000"),
        ("20-40/10,55 9 * * *", "2026-05-05T09:41", "2026-05-05 09:55 +0000"),
        ("@hourly", "2026-05-05T09:41", "2026-05-05 10:00 +0000"),
        ("@weekly", "2026-05-05T09:41", "2026-05-10 00:00 +0000"),
        ("@monthly", "2026-05-05T09:41", "2026-06-01 00:00 +0000"),
        ("@yearly", "2026-05-05T09:41", "2027-01-01 00:00 +0000"),
    ],
)
def test_the_next_time_is_the_first_that_matches(schedule: str, after: str, expected: str) -> None:
    """Every form of the cron syntax."""
    assert due(schedule, after) == [expected]


@given(fields(), st.datetimes(datetime(2026, 3, 1), datetime(2026, 11, 30)))  # noqa: DTZ001 - the zone is given below
@settings(max_examples=12, deadline=None)
def test_no_match_is_skipped_whatever_the_schedule(schedule: str, moment: datetime) -> None:
    """Skipping times that cannot match must find the same as checking every minute, also at changes of the clock."""
    cron = CronSchedule.parse(schedule, zone=BERLIN)
    start = moment.replace(second=0, microsecond=0, tzinfo=UTC)
    minutes = (start + timedelta(minutes=number) for number in range(1, 2 * 24 * 60))
    expected = next((one for one in minutes if _matches(schedule, one.astimezone(BERLIN))), None)
    found = cron.next_after(start)
    if expected is None:
        assert found is None or found >= start + timedelta(days=2)
    else:
        assert found == expected


def _matches(schedule: str, local: datetime) -> bool:
    texts = schedule.split()
    values = (local.minute, local.hour, local.day, local.month, (local.weekday() + 1) % 7)
    minute, hour, day, month, weekday = (
        value in _numbers(text, *bounds) for text, value, bounds in zip(texts, values, BOUNDS, strict=True)
    )
    stars = [text in ("*", "?", "*/1") for text in texts]
    is_day = (day and weekday) if stars[2] or stars[4] else (day or weekday)
    return minute and hour and month and is_day


def _numbers(text: str, low: int, high: int) -> list[int]:
    span, _, step = text.partition("/")
    if span not in ("*", "?"):
        first, dash, last = span.partition("-")
        low, high = int(first), int(last) if dash else high if step else int(first)
    return [number for number in range(low, high + 1) if (number - low) % int(step or 1) == 0]


def test_a_day_matches_by_either_of_its_fields() -> None:
    """If both a day of the month and of the week are given, either matches, as in cron."""
    assert due("0 0 13 * fri", "2026-03-01T00:00", 3) == [
        "2026-03-06 00:00 +0000",
        "2026-03-13 00:00 +0000",
        "2026-03-20 00:00 +0000",
    ]


def test_a_time_that_the_clock_skips_does_not_occur() -> None:
    """When clocks go forward there is no half past two: the next one is a day later."""
    assert due("30 2 * * *", "2026-03-28T12:00", 2, "Europe/Berlin") == [
        "2026-03-30 02:30 +0200",
        "2026-03-31 02:30 +0200",
    ]


def test_a_time_that_the_clock_repeats_occurs_twice() -> None:
    """When clocks go back the same local time occurs twice."""
    assert due("30 2 * * *", "2026-10-24T12:00", 3, "Europe/Berlin") == [
        "2026-10-25 02:30 +0200",
        "2026-10-25 02:30 +0100",
        "2026-10-26 02:30 +0100",
    ]


def test_midnight_that_does_not_exist_is_skipped() -> None:
    """Some zones change their clocks at midnight: the day then begins at one."""
    assert due("@daily", "2018-11-03T12:00", 1, "America/Sao_Paulo") == ["2018-11-05 00:00 -0200"]


def test_an_interval_counts_from_the_moment_itself() -> None:
    """An interval has no fields: it counts from the last time, in whole seconds and at least one."""
    moment = at("2026-03-01T10:07:13")
    assert CronSchedule.parse("@every 90s").next_after(moment) == moment + timedelta(seconds=90)
    assert CronSchedule.parse("@every 10ms").next_after(moment) == moment + timedelta(seconds=1)


def test_a_schedule_that_is_never_due_is_reported() -> None:
    """Otherwise a search for the 30th of February would never end."""
    assert CronSchedule.parse("0 0 30 2 *").next_after(at("2026-01-01T00:00")) is None


def test_times_between_two_moments_exclude_the_first_and_include_the_last() -> None:
    """A controller that checks again must neither repeat a run nor lose one."""
    cron = CronSchedule.parse("*/30 * * * *")
    found = list(cron.between(at("2026-01-01T00:00"), at("2026-01-01T01:30")))
    assert found == [at("2026-01-01T00:30"), at("2026-01-01T01:00"), at("2026-01-01T01:30")]


def test_a_zone_in_the_schedule_takes_precedence() -> None:
    """Old CronJobs have their zone in the schedule."""
    assert CronSchedule.parse("CRON_TZ=Asia/Tokyo 0 5 * * *").next_after(at("2026-01-01T00:00")) == at(
        "2026-01-01T20:00"
    )
    with pytest.raises(ScheduleError, match="unknown time zone Mars/Phobos"):
        CronSchedule.parse("TZ=Mars/Phobos 0 5 * * *")


@given(fields())
@settings(max_examples=60, deadline=None)
def test_schedules_with_numbers_in_range_are_accepted(schedule: str) -> None:
    """A valid schedule must never be rejected."""
    assert len(CronSchedule.parse(schedule).fields) == len(BOUNDS)


@given(st.integers(0, 4), st.integers(1, 1000), fields())
@settings(max_examples=60, deadline=None)
def test_a_number_above_its_range_is_rejected(place: int, excess: int, schedule: str) -> None:
    """A job that would never run is rejected when it is written, not when a user misses it."""
    parts = schedule.split()
    parts[place] = str(BOUNDS[place][1] + excess)
    with pytest.raises(ScheduleError, match="above maximum"):
        CronSchedule.parse(" ".join(parts))


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
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
    ],
)
def test_error_messages_are_those_of_kubernetes(schedule: str, why: str) -> None:
    """Authors search for the text; it is that of the library that Kubernetes uses."""
    with pytest.raises(ScheduleError) as refused:
        CronSchedule.parse(schedule)
    assert str(refused.value) == why
