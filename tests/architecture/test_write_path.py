"""The write path of the API server: its types fix the order, its values are frozen, nothing is set from outside."""

import ast
import inspect
import re
from pathlib import Path
from typing import get_type_hints

import pytest
from msgspec import Struct

from steersman.apiserver.messages.api_request import ApiRequest, ApiResponse
from steersman.apiserver.resources.request_context import RequestContext
from steersman.apiserver.verbs import delete, write_path
from steersman.apiserver.verbs.write_path import ObjectWriter

APISERVER = Path(write_path.__file__).parents[1]
#: Method → the value that it returns, in the order in which `ObjectWriter.write` calls them.
STAGES = {
    "_own": "Owned",
    "_admit": "Admitted",
    "_prepare": "Prepared",
    "_validate": "Validated",
    "_approve": "Approved",
    "_commit": "Committed",
}


def test_each_stage_takes_the_result_of_the_one_before() -> None:
    """An admission step in the wrong place must not type-check; that only holds while the stages form a chain."""
    before = "Proposed"
    for name, made in STAGES.items():
        taken, returned = get_type_hints(getattr(ObjectWriter, name)).values()
        assert (taken.__name__, returned.__name__) == (before, made)
        before = made


def test_the_stages_run_in_the_order_that_the_diagram_shows() -> None:
    """The diagram at the top of the file is where contributors look first."""
    text = write_path.__doc__ or ""
    drawn = [name for name in re.findall(r"[A-Z]\w+", text.partition("delete ")[0]) if name in STAGES.values()]
    assert list(dict.fromkeys(drawn)) == list(STAGES.values())
    called = re.findall(r"self\.(_\w+)\(", inspect.getsource(ObjectWriter.write))
    assert called == list(STAGES)


def _values() -> list[type[Struct]]:
    modules = (write_path, delete)
    found = [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Struct)
    ]
    return [*found, ApiRequest, ApiResponse, RequestContext]


@pytest.mark.parametrize("value", _values(), ids=lambda value: value.__name__)
def test_values_of_a_write_are_frozen(value: type[Struct]) -> None:
    """A verb may run again after a webhook's reply: a value changed by the first run would leak into the second."""
    assert value.__struct_config__.frozen or value is Struct


def _foreign_assignments(path: Path) -> list[str]:
    """Return the assignments to attributes of anything but ``self``."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found += [
            f"{path.name}:{target.lineno} {ast.unparse(target)}"
            for target in targets
            if isinstance(target, ast.Attribute)
            and not (isinstance(target.value, ast.Name) and target.value.id == "self")
        ]
    return found


@pytest.mark.parametrize("path", [APISERVER / "server.py", APISERVER / "local.py", *(APISERVER / "verbs").glob("*.py")])
def test_no_attribute_is_assigned_from_outside(path: Path) -> None:
    """A component gets what it needs in its constructor; the state of a request is in the request."""
    assert _foreign_assignments(path) == []


@pytest.mark.parametrize("path", list((APISERVER / "verbs").glob("*.py")), ids=lambda path: path.name)
def test_verbs_keep_no_state(path: Path) -> None:
    """Two requests may be between their runs at the same time, so a verb must not store anything about one."""
    outside = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            outside += [
                f"{path.name}:{part.lineno}"
                for part in ast.walk(node)
                if isinstance(part, ast.Assign)
                for target in part.targets
                if isinstance(target, ast.Attribute)
            ]
    assert outside == []
