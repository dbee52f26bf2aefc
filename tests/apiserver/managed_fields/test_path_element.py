import pytest

from steersman.apiserver.managed_fields.path_element import json_text


@pytest.mark.parametrize(
    ("number", "text"), [(1.0, "1"), (1.5, "1.5"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (1e30, "1e+30")]
)
def test_numbers_in_path_elements_are_written_as_go_writes_them(number: float, text: str) -> None:
    """An element names a set item by its value; error messages that contain it must equal a real server's."""
    assert json_text(number) == text
