"""Operators that are imported again remember nothing, and leave nothing behind."""

import sys
from pathlib import Path

import pytest

from steersman import Operator
from steersman.errors import ConfigError
from steersman.kinds.core_v1 import ConfigMap
from steersman.objects.registry import registry
from steersman.objects.resource import resource_of
from steersman.testing.crashes.fresh_import import ImportedOperator
from tests.testing import remembering
from tests.testing.lazily import memory

TARGET = "tests.testing.remembering:operator"


def test_a_fresh_operator_has_its_own_memory() -> None:
    """Also for imports inside functions: they find the module of the running instance."""
    remembering.copied.add("before")
    try:
        with ImportedOperator.parse(TARGET).fresh() as operator:
            assert operator is not remembering.operator
            assert operator.kinds[0] is not remembering.Note
            assert memory() == set()
            memory().add("inside")
        assert memory() is remembering.copied
        assert remembering.copied == {"before"}
    finally:
        remembering.copied.clear()


def test_modules_and_kinds_are_restored() -> None:
    """A test continues with the classes that it imported."""
    gvk = resource_of(remembering.Note).gvk
    modules = {name: module for name, module in sys.modules.items() if name.startswith("tests")}
    with ImportedOperator.parse(TARGET).fresh() as operator:
        assert registry.find(gvk) is operator.kinds[0]
    assert {name: module for name, module in sys.modules.items() if name.startswith("tests")} == modules
    assert sys.modules["tests.testing"].remembering is remembering
    assert registry.find(gvk) is remembering.Note
    assert registry.find(resource_of(ConfigMap).gvk) is ConfigMap


def test_an_operator_is_found_by_its_module() -> None:
    """So tests can pass the operator that they imported."""
    assert ImportedOperator.find(remembering.operator) == ImportedOperator.parse(TARGET)


def test_an_operator_that_no_module_has_cannot_be_imported() -> None:
    """It would keep its memory; the error says what to pass instead."""
    local = Operator("local")
    with pytest.raises(
        ConfigError, match=r"operator 'local' cannot be imported again.* pass a function that creates it"
    ):
        ImportedOperator.find(local)


def test_a_module_that_cannot_be_imported_twice_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example one that registers itself with a library."""
    module = tmp_path / "only_once.py"
    module.write_text(
        "import sys\n"
        "from steersman import Operator\n"
        "if hasattr(sys, 'imported_once'):\n    raise ValueError('registered already')\n"
        "sys.imported_once = True\n"
        "operator = Operator('once')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "imported_once", None, raising=False)
    monkeypatch.delattr(sys, "imported_once")
    once = ImportedOperator.parse("only_once:operator")
    with pytest.raises(
        ConfigError, match=r"only_once cannot be imported a second time .ValueError: registered already"
    ):
        once.fresh().__enter__()
    del sys.modules["only_once"]


def test_two_fresh_imports_of_one_package_exclude_each_other() -> None:
    """Each would find the modules of the other."""
    imported = ImportedOperator.parse(TARGET)
    with imported.fresh(), pytest.raises(ConfigError, match="package tests cannot be imported again at the same time"):
        imported.fresh().__enter__()
