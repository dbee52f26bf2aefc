import pytest

from steersman.apiserver.custom.printer_columns import custom_columns
from steersman.apiserver.resources.columns import human_duration
from tests.apiserver.api import BOATS, Api, boat

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (-1, "0s"),
        (-5, "<invalid>"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (5 * 3600 + 61, "5h1m"),
        (47 * 3600, "47h"),
        (49 * 3600, "2d1h"),
        (100 * 86400, "100d"),
        (3 * 365 * 86400, "3y"),
        (2 * 365 * 86400 + 319 * 86400, "2y319d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_are_shown_with_two_digits_of_precision(seconds: int, text: str) -> None:
    """The format of `kubectl get`, at every change of unit."""
    assert human_duration(seconds) == text


def test_a_column_with_an_invalid_path_is_empty() -> None:
    """A real server accepts such a CRD."""
    _, column = custom_columns([{"name": "X", "type": "string", "jsonPath": "..[["}])
    assert column.cell({"metadata": {"name": "a"}}, None) is None  # type: ignore[arg-type]  # the moment is not looked at


async def test_only_the_first_table_of_a_watch_contains_the_columns() -> None:
    """Kubectl reads them from there and would print later ones again."""
    api = Api()
    await api.define(additionalPrinterColumns=[{"name": "Sails", "type": "integer", "jsonPath": ".spec.sails"}])
    async with api.watching(f"{BOATS}?watch=1", accept=TABLE) as events:
        for name in ("a", "b"):
            await api.send("POST", BOATS, boat(name, sails=2))
        await api.clock.settle()
    first, second = (event["object"] for event in events.all)
    assert [column["name"] for column in first["columnDefinitions"]] == ["Name", "Sails"]
    assert second["columnDefinitions"] is None
    assert second["rows"][0]["cells"] == ["b", 2]
