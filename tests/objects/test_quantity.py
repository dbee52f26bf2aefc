import copy
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.objects.codec import decode_as, encode_json
from steersman.objects.model import Model
from steersman.objects.quantity import Quantity

_SCALES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1), "k": Fraction(10**3),
    "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
}  # fmt: skip


class Resources(Model):
    """A class with quantities."""

    limits: dict[str, Quantity]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        # Recorded from a kube-apiserver: the value that was sent, and the answer.
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1000000", "1M"),
        ("1.5Gi", "1536Mi"),
        ("2000m", "2"),
        ("2048Mi", "2Gi"),
        ("1024Ki", "1Mi"),
        ("1000m", "1"),
        # Facts of resource.Quantity.
        ("0", "0"),
        ("-0", "0"),
        ("0.1", "100m"),
        ("100m", "100m"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12e4", "120e3"),
        ("1e-3", "1e-3"),
        ("1500e-3", "1500e-3"),
        ("1000", "1k"),
        ("10", "10"),
        ("100000", "100k"),
        ("1023Ki", "1023Ki"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("1.1Ki", "1126400m"),
        ("-2Gi", "-2Gi"),
        ("-1.5", "-1500m"),
        ("1E", "1E"),
        ("12E", "12E"),
        ("1Ei", "1Ei"),
        (".5", "500m"),
        ("5.", "5"),
        (".", "0"),
        ("+1", "1"),
        ("+.5m", "500u"),
    ],
)
def test_canonical_form_is_what_the_server_prints(text: str, canonical: str) -> None:
    """Code that compares texts compares them with a server's."""
    assert Quantity(text).canonical() == canonical


@pytest.mark.parametrize(
    ("text", "canonical"), [("0.1n", "1n"), ("1e-10", "1e-9"), ("-0.1n", "-1n"), ("1.0000000001", "1000000001n")]
)
def test_below_one_nano_is_rounded_away_from_zero(text: str, canonical: str) -> None:
    """A request for a tiny amount must not become a request for nothing."""
    assert Quantity(text).canonical() == canonical


@pytest.mark.parametrize("text", ["100000000000000000000Ei", "8Ei"])
def test_binary_amounts_stop_at_the_largest_int64(text: str) -> None:
    """As Kubernetes caps them; decimal amounts are not capped."""
    assert Quantity(text) == Quantity("9223372036854775807")
    assert Quantity(f"-{text}") == Quantity("-9223372036854775807")
    assert Quantity("9223372036854775808") > Quantity(text)
    assert Quantity("1e100") > Quantity("1e99")


@pytest.mark.parametrize(
    "text",
    ["", "1K", "0x10", "1_000", "1,5", "1GiB", "1mm", "1e3Ki", "NaN", "1Zi", "bad", " 1", "1 ", "1e", "--1", "1.2.3",
     "٣", "1e999999999", "1" * 301, "Infinity"],
)  # fmt: skip
def test_invalid_quantity_is_rejected(text: str) -> None:
    """The first part of the list was recorded from a server."""
    with pytest.raises(ValueError, match="not a quantity"):
        Quantity(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), Decimal("-Infinity"), 10**2000])
def test_number_that_is_not_an_amount_is_rejected(number: float | Decimal) -> None:
    """The error is a ValueError for infinity and NaN, too."""
    with pytest.raises(ValueError, match="not a quantity"):
        Quantity(number)


def test_quantity_is_written_as_it_was_read() -> None:
    """An update must not change a text that its author did not change."""
    resources = decode_as(Resources, b'{"limits":{"cpu":"0.5","memory":1073741824,"x":1.5}}')
    assert resources.limits["cpu"] == Quantity("500m")
    assert resources.limits["memory"] == Quantity("1Gi")
    assert encode_json(resources) == b'{"limits":{"cpu":"0.5","memory":"1073741824","x":"1500m"}}'
    assert str(Quantity(Quantity("0.5"))) == "0.5"


@pytest.mark.parametrize("form", ["1Gi", "1024Mi", "1073741824", "1073741824000m"])
def test_equal_amounts_are_equal_however_they_are_written(form: str) -> None:
    """Comparing resources compares amounts."""
    assert Quantity(form) == Quantity("1Gi")
    assert hash(Quantity(form)) == hash(Quantity("1Gi"))
    assert Quantity("1Gi") != "1Gi"


def test_result_has_the_format_of_the_first_amount_that_is_not_zero() -> None:
    """A sum of memory stays binary; zero does not count."""
    assert str(Quantity("1Gi") + Quantity("512Mi")) == "1536Mi"
    assert str(Quantity("0") + Quantity("1Gi")) == "1Gi"
    assert str(Quantity("1Gi") - Quantity("1Gi")) == "0"
    assert str(Quantity("250m") * 3) == "750m"
    assert str(2 * Quantity("500m")) == "1"
    assert str(-Quantity("1k")) == "-1k"


def test_amount_as_a_number() -> None:
    """Whole numbers round up, as ``Quantity.Value()`` does."""
    assert int(Quantity("1500m")) == 2
    assert int(Quantity("-1500m")) == -1
    assert float(Quantity("1500m")) == 1.5
    assert bool(Quantity("1n"))
    assert not Quantity("0Gi")
    assert repr(Quantity("1Gi")) == "Quantity('1Gi')"


def test_amounts_are_ordered_only_among_each_other() -> None:
    """Comparing with a bare number is a type error."""
    assert Quantity("1G") < Quantity("1Gi") <= Quantity("1.1Gi")
    assert max(Quantity("2"), Quantity("1500m")) == Quantity("2")
    with pytest.raises(TypeError):
        sorted([Quantity("1"), 2])


def test_quantity_can_be_copied() -> None:
    """Objects are copied deeply by user code."""
    assert copy.deepcopy({"cpu": Quantity("0.5")}) == {"cpu": Quantity("500m")}


amounts = st.builds(
    lambda sign, whole, fraction, suffix: f"{sign}{whole}{'.' + fraction if fraction else ''}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**6),
    st.text("0123456789", max_size=4),
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi"]),
)


def exact(text: str) -> Fraction:
    """Return the exact amount of a text, computed independently of our code, before rounding."""
    number = text.rstrip("numkKMGTPEi")
    return Fraction(number) * _SCALES[text[len(number) :]]


@settings(max_examples=150)
@given(amounts)
def test_amount_is_exact_and_its_canonical_form_means_the_same(text: str) -> None:
    """No float is involved, and printing loses nothing."""
    quantity = Quantity(text)
    amount = exact(text)
    difference = abs(Fraction(quantity.value)) - abs(amount)
    assert 0 <= difference < Fraction(1, 10**9)
    if (amount * 10**9).denominator == 1:
        assert difference == 0
    assert Quantity(quantity.canonical()) == quantity
    assert Quantity(quantity.canonical()).canonical() == quantity.canonical()


@settings(max_examples=100)
@given(amounts, amounts)
def test_arithmetic_is_exact(left: str, right: str) -> None:
    """Adding and subtracting again returns the same amount."""
    a, b = Quantity(left), Quantity(right)
    assert Fraction((a + b).value) == Fraction(a.value) + Fraction(b.value)
    assert (a + b) - b == a
    assert (a < b) == (Fraction(a.value) < Fraction(b.value))
