from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.objects.codec import decode_as, encode_json
from steersman.objects.model import Model
from steersman.objects.times import Duration, MicroTime, format_time, parse_time


class Times(Model):
    """Each sort of time."""

    time: datetime | None = None
    micro: MicroTime | None = None
    span: Duration | None = None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2006-01-02T15:04:05Z", datetime(2006, 1, 2, 15, 4, 5, tzinfo=UTC)),
        ("2006-01-02T15:04:05.1Z", datetime(2006, 1, 2, 15, 4, 5, 100000, tzinfo=UTC)),
        ("2006-01-02T15:04:05.123456789Z", datetime(2006, 1, 2, 15, 4, 5, 123456, tzinfo=UTC)),
        ("2006-01-02T15:04:05+02:00", datetime(2006, 1, 2, 13, 4, 5, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_rfc_3339_time_is_parsed_as_utc(text: str, moment: datetime) -> None:
    """Go writes up to nine decimals and any zone."""
    assert parse_time(text) == moment
    assert parse_time(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["", "2006-01-02", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z", "20060102T150405Z", "2006-W01-1T00:00:00Z",
     "2006-01-02T15:04Z", "2006-13-02T15:04:05Z", "2006-01-02T25:04:05Z", "2006-01-02T15:04:05.Z", "now",
     "0001-01-01T00:00:00+05:00", "2006-01-02T15:04:05+99:00", "٢٠٠٦-01-02T15:04:05Z"],
)  # fmt: skip
def test_other_formats_are_rejected(text: str) -> None:
    """A server would reject them, and a time without a zone is ambiguous."""
    with pytest.raises(ValueError, match="not an RFC 3339 time"):
        parse_time(text)


def test_time_is_formatted_in_whole_seconds_of_utc() -> None:
    """As ``metav1.Time``; Go's zero time has a year of four digits."""
    assert format_time(datetime(2026, 1, 2, 3, 4, 5, 999999, tzinfo=UTC)) == "2026-01-02T03:04:05Z"
    assert format_time(datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-01T23:00:00Z"
    assert format_time(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00Z"


def test_time_without_a_zone_is_rejected() -> None:
    """The machine's own zone must not affect what other machines read."""
    naive = datetime(2026, 1, 1)  # noqa: DTZ001 - the mistake that is tested
    with pytest.raises(ValueError, match="without a zone"):
        format_time(naive)
    with pytest.raises(ValueError, match="without a zone"):
        MicroTime.of(naive)


def test_micro_time_always_has_six_decimals() -> None:
    """Servers reject leases and events with fewer."""
    assert encode_json(Times(micro=MicroTime(2026, 1, 2, tzinfo=UTC))) == b'{"micro":"2026-01-02T00:00:00.000000Z"}'
    assert str(MicroTime.of(datetime(1, 1, 1, microsecond=5, tzinfo=UTC))) == "0001-01-01T00:00:00.000005Z"
    assert str(MicroTime.parse("2026-01-02T03:04:05.123456789+01:00")) == "2026-01-02T02:04:05.123456Z"


def test_arithmetic_with_micro_time_returns_micro_time() -> None:
    """Renew times are computed by adding."""
    later = MicroTime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=1)
    assert isinstance(later, MicroTime)
    assert later == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_each_type_of_time_has_its_own_format() -> None:
    """The field's type decides."""
    data = b'{"time":"2026-01-02T03:04:05Z","micro":"2026-01-02T03:04:05.000000Z","span":"1m30s"}'
    times = decode_as(Times, data)
    assert times.time == times.micro == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert times.span == timedelta(seconds=90)
    assert encode_json(times) == data


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("0", timedelta()),
        ("0s", timedelta()),
        ("1h30m", timedelta(minutes=90)),
        ("-1.5s", timedelta(seconds=-1.5)),
        ("+90s", timedelta(seconds=90)),
        (".5h", timedelta(minutes=30)),
        ("1.s", timedelta(seconds=1)),
        ("100us", timedelta(microseconds=100)),
        ("100µs", timedelta(microseconds=100)),
        ("2562047h47m16.854775s", timedelta(microseconds=9223372036854775)),
        ("1500ns", timedelta(microseconds=2)),
    ],
)
def test_duration_is_parsed_in_go_notation(text: str, span: timedelta) -> None:
    """As ``time.ParseDuration`` does, to the microsecond."""
    assert Duration.parse(text) == span


@pytest.mark.parametrize("text", ["", "1", "s", "1 s", "1d", "1h 30m", "-", "1hh", "1e3s", "٣s", "9" * 30 + "h"])
def test_invalid_duration_is_rejected(text: str) -> None:
    """The notation has no days, because not all days have the same length."""
    with pytest.raises(ValueError, match="not a duration"):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(microseconds=1), "1µs"),
        (timedelta(microseconds=1500), "1.5ms"),
        (timedelta(seconds=1), "1s"),
        (timedelta(seconds=90), "1m30s"),
        (timedelta(hours=1), "1h0m0s"),
        (timedelta(days=2, microseconds=1), "48h0m0.000001s"),
        (timedelta(seconds=-90), "-1m30s"),
    ],
)
def test_duration_is_formatted_as_in_go(span: timedelta, text: str) -> None:
    """An unchanged value must keep its text."""
    assert str(Duration.of(span)) == text


@settings(max_examples=100)
@given(st.timedeltas(min_value=timedelta(days=-40000), max_value=timedelta(days=40000)))
def test_duration_is_restored_from_its_text(span: timedelta) -> None:
    """Formatting is exact to the microsecond."""
    assert Duration.parse(str(Duration.of(span))) == span


@settings(max_examples=100)
@given(st.datetimes(timezones=st.just(UTC)))
def test_micro_time_is_restored_from_its_text(moment: datetime) -> None:
    """Formatting is exact to the microsecond, in every year."""
    assert MicroTime.parse(str(MicroTime.of(moment))) == moment
    assert parse_time(format_time(moment)) == moment.replace(microsecond=0)
