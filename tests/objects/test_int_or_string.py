import pytest

from steersman.objects.int_or_string import scaled


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [("25%", 3, 1, 0), ("25%", 4, 1, 1), ("50%", 5, 3, 2), ("0%", 7, 0, 0), ("100%", 7, 7, 7), (2, 10, 2, 2)],
)
def test_percentage_is_rounded_as_the_caller_requests(value: int | str, total: int, up: int, down: int) -> None:
    """A Deployment rounds maxSurge up and maxUnavailable down, so that a rollout can always continue."""
    assert scaled(value, total, round_up=True) == up
    assert scaled(value, total, round_up=False) == down


@pytest.mark.parametrize("value", ["5", "%", "a%", "2.5%", "", "25 %", "٣%"])
def test_other_texts_are_rejected(value: str) -> None:
    """The name of a port instead of a number is a mistake, not zero."""
    with pytest.raises(ValueError, match="neither a number nor a percentage"):
        scaled(value, 10, round_up=True)
