from typing import Any

import pytest

from steersman.apiserver.verbs.patch_order import in_read_order
from tests.apiserver.api import Api


def _names(value: Any) -> Any:
    return [(name, _names(part)) for name, part in value.items()] if isinstance(value, dict) else None


def test_objects_on_the_path_of_a_patch_are_sorted_and_others_are_not() -> None:
    """A real server encodes what it has decoded in another order than what it left alone."""
    document = {"z": {"d": {"y": 1, "x": 1}, "c": 1}, "a": {"q": 1, "p": 1}}
    operations = [{"op": "add", "path": "/z/c", "value": 1}]
    by_operations = {"a": {"q": 1, "p": 1}, "z": {"c": 1, "d": {"y": 1, "x": 1}}}
    by_merge = {"a": {"q": 1, "p": 1}, "z": {"c": 1, "d": {"x": 1, "y": 1}}}
    assert _names(in_read_order(document, operations)) == _names(by_operations)
    assert _names(in_read_order(document, {"z": {"d": {"x": 1}}})) == _names(by_merge)


def test_an_object_copied_into_itself_is_sorted() -> None:
    """The target path leads through the object, so it is decoded before it is copied."""
    document = {"m": {"b": 1, "a": 1, "inner": {"b": 1, "a": 1}}}
    operations = [{"op": "copy", "from": "/m", "path": "/m/inner"}]
    assert _names(in_read_order(document, operations)) == _names({"m": {"a": 1, "b": 1, "inner": {"a": 1, "b": 1}}})


TWO_FAULTS = [
    (
        "application/json-patch+json",
        [{"op": "add", "path": "/binaryData", "value": ""}, {"op": "add", "path": "/data/o", "value": {}}],
    ),
    ("application/merge-patch+json", {"data": {"z": []}, "binaryData": ""}),
]


@pytest.mark.parametrize(("media", "patch"), TWO_FAULTS)
async def test_of_two_errors_in_a_patch_the_first_in_order_is_reported(media: str, patch: Any) -> None:
    """A real server names the invalid value that comes first in what it has written, not in what was stored."""
    api, place = Api(), "/api/v1/namespaces/default/configmaps"
    await api.send("POST", place, {"metadata": {"name": "a"}, "data": {"k": "2"}, "binaryData": {"b": ""}})
    refused = await api.ask("PATCH", f"{place}/a", patch, content_type=media)
    assert "cannot unmarshal string into Go struct field ConfigMap.binaryData" in refused["message"]
