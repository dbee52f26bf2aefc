"""Times, names, amounts, addresses: cases that the recordings do not cover."""

import ipaddress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steersman.cel.library.network import Ip, parse_cidr, parse_ip
from steersman.cel.library.quantity import parse_amount
from steersman.cel.library.semver import parse_version
from steersman.cel.library.urls import UrlError, parse_url
from steersman.cel.syntax.escaping import escape, unescape
from steersman.cel.types import DYN, INT, STRING, Substitution, list_of, map_of, optional_of, param
from steersman.cel.values.times import (
    duration_text,
    parse_duration,
    parse_loose_duration,
    parse_timestamp,
    timestamp_text,
)
from steersman.cel.values.values import CelMap, Duration, Timestamp, Uint
from steersman.structural.cel_rules.field_path import normalized_field_path

_SECOND = 1_000_000_000


@given(st.integers(-62_135_596_800 * _SECOND, 253_402_300_799 * _SECOND))
def test_timestamps_are_restored_from_their_text(nanos: int) -> None:
    """Exactly, to the nanosecond."""
    assert parse_timestamp(timestamp_text(Timestamp(nanos))) == Timestamp(nanos)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_durations_are_restored_from_their_text(nanos: int) -> None:
    """Exactly, to the nanosecond."""
    assert parse_duration(duration_text(Duration(nanos))) == Duration(nanos)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h30m", 5400), ("-1.5h", -5400), ("+5s", 5), ("0", 0), (".5m", 30), ("1us", None), ("1d", None), ("", None)],
)
def test_durations_are_parsed_as_in_go(text: str, seconds: int | None) -> None:
    """There are no days and no bare numbers, and fractions may lack a leading zero."""
    parsed = parse_duration(text)
    if text == "1us":
        assert parsed == Duration(1000)
    else:
        assert parsed == (None if seconds is None else Duration(seconds * _SECOND))


def test_the_format_duration_accepts_days() -> None:
    """Values of the OpenAPI format are parsed more leniently than literals in rules."""
    assert parse_loose_duration("2d") == parse_loose_duration("48 hours") == Duration(48 * 3600 * _SECOND)
    assert parse_loose_duration("soon") is None


@pytest.mark.parametrize(
    "text", ["2023-02-30T00:00:00Z", "2023-01-01T25:00:00Z", "2023-01-01 00:00:00Z", "2023-01-01T00:00:00", "", "x"]
)
def test_times_that_do_not_exist_are_rejected(text: str) -> None:
    """RFC 3339 requires a zone, and the calendar the rest."""
    assert parse_timestamp(text) is None


def test_a_time_keeps_its_zone() -> None:
    """Equal times may be written differently; the text shows the given zone."""
    there = parse_timestamp("2023-10-29T12:34:56+02:00")
    assert there == parse_timestamp("2023-10-29T10:34:56Z")
    assert there is not None
    assert timestamp_text(there) == "2023-10-29T12:34:56+02:00"


@given(st.text("abcXYZ019_./-", min_size=1, max_size=12))
def test_property_names_are_restored_from_their_escaped_form(name: str) -> None:
    """Every property that rules can name is found under its JSON name."""
    escaped = escape(name)
    if escaped is not None:
        assert unescape(escaped) == name or "___" in name
        assert escaped.replace("_", "a").isalnum()


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("namespace", "__namespace__"),
        ("a.b-c/d", "a__dot__b__dash__c__slash__d"),
        ("a__b", "a__underscores__b"),
        ("1a", None),
        ("$ref", None),
        ("", None),
        ("plain", "plain"),
    ],
)
def test_names_are_escaped_as_documented(name: str, escaped: str | None) -> None:
    """Rules are portable between clusters only if names are escaped alike."""
    assert escape(name) == escaped


_PATHS = {
    "type": "object",
    "properties": {
        "a": {"type": "object", "properties": {"b.c": {"type": "integer"}}},
        "m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}},
    },
}


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        (".a", "a"),
        (".a['b.c']", "a.b.c"),
        ("['a']['b.c']", "a.b.c"),
        (".m.key.x", "m[key].x"),
        (".m['it\\'s'].x", "m[it's].x"),
        (".a.b.c", None),
        (".a[b]", None),
        (".a['b.c'", None),
        ("a", None),
        (".", None),
        (".m['\\q']", None),
    ],
)
def test_field_paths_exist_or_are_rejected(path: str, normal: str | None) -> None:
    """A rule cannot refer to a field that its schema does not have."""
    assert normalized_field_path(path, _PATHS) == normal


@given(
    st.integers(-(10**30), 10**30), st.integers(0, 12), st.sampled_from(["", "k", "m", "n", "Ki", "Gi", "e3", "E-2"])
)
def test_amounts_are_exact_down_to_nanos(digits: int, point: int, suffix: str) -> None:
    """A quantity is the written number, rounded away from zero below one nano."""
    text = str(abs(digits)).rjust(point + 1, "0")
    written = (
        f"{'-' if digits < 0 else ''}{text[: len(text) - point]}{'.' + text[len(text) - point :] if point else ''}"
    )
    factor = {
        "": Fraction(1),
        "k": Fraction(1000),
        "m": Fraction(1, 1000),
        "n": Fraction(1, 10**9),
        "Ki": Fraction(1024),
        "Gi": Fraction(1 << 30),
        "e3": Fraction(1000),
        "E-2": Fraction(1, 100),
    }[suffix]
    amount = parse_amount(written + suffix)
    got = Fraction(amount.digits) * Fraction(10) ** amount.scale
    true = Fraction(digits, 10**point) * factor
    if suffix in ("Ki", "Gi") and abs(true) > (1 << 63) - 1:
        assert abs(got) == (1 << 63) - 1
    else:
        assert abs(got) >= abs(true)
        assert abs(got - true) < Fraction(1, 10**9)


@given(st.ip_addresses())
def test_addresses_are_restored_from_their_text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """Canonical texts are parsed as the same address."""
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    if not mapped:
        assert parse_ip(str(address)) == Ip(address.packed)


@given(st.ip_addresses(v=4), st.ip_addresses(v=4), st.integers(0, 32))
def test_networks_contain_the_same_addresses_as_in_the_standard_library(
    base: ipaddress.IPv4Address, other: ipaddress.IPv4Address, bits: int
) -> None:
    """Containment follows from the leading bits."""
    network = ipaddress.ip_network((base, bits), strict=False)
    assert parse_cidr(f"{base}/{bits}").contains(Ip(other.packed)) is (other in network)


def test_versions_without_patch_are_invalid() -> None:
    """Strict parsing needs all three numbers; the recordings cover the order."""
    with pytest.raises(Exception, match=r"No Major\.Minor\.Patch elements found"):
        parse_version("1.2")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://a b/", 'invalid character " " in host name'),
        ("http://[::1", "missing ']' in host"),
        ("http://a:b/", 'invalid port ":b" after host'),
        ("http://a/%zz", 'invalid URL escape "%zz"'),
        ("", "empty url"),
        ("x", "invalid URI for request"),
        (":x", "missing protocol scheme"),
        ("http://a\x7f/", "net/url: invalid control character in URL"),
    ],
)
def test_errors_of_urls_have_the_messages_of_go(text: str, reason: str) -> None:
    """Users find these texts in the documentation of Go and Kubernetes."""
    with pytest.raises(UrlError) as caught:
        parse_url(text)
    assert str(caught.value).endswith(reason)


def test_maps_distinguish_true_and_one() -> None:
    """Keys are the same if CEL says they are equal, whatever Python does with booleans."""
    found = CelMap([(True, "t"), (1, "i")])
    assert (found.find(True), found.find(1), found.find(Uint(1)), found.find(1.0)) == ("t", "i", "i", "i")  # noqa: FBT003 - a key


def test_type_parameters_have_the_most_general_type() -> None:
    """Inference uses dyn for dynamic values, and rejects what cannot be one type."""
    known = Substitution()
    unknown = param("T")
    assert known.all_fit([list_of(INT), INT], [list_of(unknown), unknown])
    assert known.apply(unknown) == INT
    assert not known.fits(unknown, STRING)
    assert known.fits(unknown, DYN)
    assert str(map_of(STRING, optional_of(list_of(INT)))) == "map(string, optional_type(list(int)))"
    assert not known.fits(param("A"), list_of(param("A")))
