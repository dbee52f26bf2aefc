"""Mistakes that would otherwise silently do nothing: each is an error or a warning that says what to write instead."""

import importlib
import logging
import re
import sys
from collections.abc import AsyncIterator, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from steersman.controller.run.unsent_changes import FIRST_RUNS, ONE_IN, is_checked
from steersman.errors import DeclarationError
from steersman.kinds.core_v1 import ConfigMap
from steersman.manager.operator import Operator
from steersman.objects.meta import meta
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock
from tests.controller.stage import OPTIONS, Ctx, create
from tests.support.widgets import Widget

# Declarations.


def test_a_decorator_without_parentheses_is_an_error() -> None:
    """The function would become the kind, and nothing would ever run."""
    operator = Operator("op")
    with pytest.raises(DeclarationError, match=r"write @operator.reconciler\(MyKind\) above reconcile"):

        @operator.reconciler  # type: ignore[arg-type] # the mistake
        async def reconcile(_: Widget, __: Ctx) -> None: ...

    assert operator.reconcilers == ()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (dict, "builtins.dict is not a kind: derive it from Resource"),
        ("Widget", "needs the class of a kind, got 'Widget'"),
        (None, "needs the class of a kind, got None"),
    ],
)
def test_a_value_that_is_not_a_kind_is_an_error(kind: Any, message: str) -> None:
    """At the declaration, not at the first start."""
    with pytest.raises(DeclarationError, match=message):
        Operator("op").reconciler(kind)


@pytest.mark.parametrize(
    ("owns", "message"),
    [
        (Widget, r"owns is a list of kinds: write owns=\[Widget\]"),
        ("Widget", r"owns is a list of kinds: write owns=\[Widget\]"),
        (["Widget"], "owns is a list of classes of kinds, and 'Widget' is not a class"),
        ([dict], "builtins.dict is not a kind"),
    ],
)
def test_a_value_that_is_not_a_list_of_kinds_is_an_error(owns: Any, message: str) -> None:
    """It failed at the start, with a message about the framework's own code."""
    with pytest.raises(DeclarationError, match=message):
        Operator("op").reconciler(Widget, owns=owns)


def test_annotations_of_a_reconciler_are_not_evaluated() -> None:
    """They may name imports that exist for type checkers only; since Python 3.14 without quotes."""
    name = "Unknown" if sys.version_info >= (3, 14) else "'Unknown'"
    namespace: dict[str, Any] = {}
    exec(f"async def reconcile(widget: {name}, ctx: {name}) -> None: ...", namespace)  # noqa: S102 - the line is here
    assert Operator("op").reconciler(Widget)(namespace["reconcile"]).kind is Widget


async def one(_: Any) -> None:
    """Take one argument."""


async def two(_: Any, __: Any) -> None:
    """Take two arguments."""


async def four(_: Any, __: Any, ___: Any, ____: Any) -> None:
    """Take four arguments."""


async def keyword_only(*, obj: Any, ctx: Any) -> None:
    """Take arguments by name only."""


def generator(_: Any, __: Any) -> Iterator[None]:
    """Run nothing when called, because it yields."""
    yield


async def async_generator(_: Any, __: Any) -> AsyncIterator[None]:
    """Run nothing when called, because it yields."""
    yield


@pytest.mark.parametrize("function", [one, four, keyword_only, generator, async_generator])
def test_a_function_with_a_wrong_signature_is_rejected(function: Any) -> None:
    """Otherwise every run would fail with a TypeError, or succeed and do nothing."""
    with pytest.raises(DeclarationError, match=function.__name__):
        Operator("op").reconciler(Widget)(function)
    declared = Operator("op").reconciler(Widget)(two)
    with pytest.raises(DeclarationError, match=rf"{function.__name__}.*a cleanup"):
        declared.cleanup(function)
    with pytest.raises(DeclarationError, match="an on_error"):
        declared.on_error(function)


def test_the_error_says_what_to_write() -> None:
    """The actual signature, and the expected one."""
    with pytest.raises(DeclarationError, match=r"one\(_: Any\).*declared as async def one\(object, ctx\)"):
        Operator("op").reconciler(Widget)(one)
    with pytest.raises(DeclarationError, match=r"declared as async def two\(object, ctx, error\)"):
        Operator("op").reconciler(Widget)(two).on_error(two)  # type: ignore[arg-type] # the mistake


def test_any_callable_with_the_right_signature_is_accepted() -> None:
    """Methods, partial functions, defaults and star arguments."""

    class Author:
        async def reconcile(self, widget: Widget, ctx: Ctx, extra: int = 0) -> None: ...

        async def __call__(self, *arguments: Any) -> None: ...

    Operator("op").reconciler(Widget)(Author().reconcile)
    Operator("op").reconciler(Widget)(Author())


def test_one_operator_reconciles_a_kind_once() -> None:
    """Two reconcilers of one object would write the same list of conditions from two caches."""
    operator = Operator("op")
    operator.reconciler(Widget)(two)
    with pytest.raises(
        DeclarationError, match=r"reconciles Widget.v1.runtime.example.com twice, by 'widget' and by 'b'"
    ):
        operator.reconciler(Widget, name="b")(two)
    operator.reconciler(Widget, name="c", selector="tier=c")(two)
    operator.reconciler(ConfigMap)(two)
    assert [reconciler.name for reconciler in operator.reconcilers] == ["widget", "c", "configmap"]


def test_a_class_declared_twice_in_one_module_is_rejected_but_a_reload_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second class would silently replace the first."""
    declaration = "@custom_resource('twice.example.com/v1')\nclass Twice(Resource[Spec, Status]):\n    '''A kind.'''\n"
    head = (
        "from steersman import Model, Resource, Status, custom_resource\n"
        "class Spec(Model):\n    '''Wanted.'''\n    size: int = 0\n"
    )
    (tmp_path / "declares_twice.py").write_text(head + declaration + declaration)
    (tmp_path / "declares_once.py").write_text(head + declaration)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DeclarationError, match=r"declared twice: by declares_twice.Twice and by declares_twice.Twice"):
        importlib.import_module("declares_twice")
    module = importlib.import_module("declares_once")
    importlib.reload(module)
    del sys.modules["declares_once"]
    assert importlib.import_module("declares_once").Twice is not module.Twice


# Changes that are not written.


@pytest.mark.parametrize("part", ["spec", "labels", "annotations"])
async def test_a_change_of_the_object_itself_is_reported_once(part: str, caplog: pytest.LogCaptureFixture) -> None:
    """It seems to work and has no effect: only the status is written."""
    operator = Operator("changing")

    @operator.reconciler(Widget)
    async def reconcile(widget: Widget, _: Ctx) -> None:
        if part == "spec":
            widget.spec.size += 1
        else:
            getattr(widget.metadata, part)["seen"] = "yes"
        widget.status.size = 1

    name = part if part == "spec" else f"metadata.{part}"
    advice = (
        f"the reconciler changes {name} of the Widget that it reconciles, and only the status is written: "
        "write it with ctx.update or ctx.patch, or work on a copy (copy.deepcopy)"
    )

    async def story() -> None:
        async with (
            Cluster.start(clock=FakeClock(), seed=1) as cluster,
            cluster.running(operator, options=OPTIONS) as manager,
        ):
            with caplog.at_level(logging.WARNING):
                for key in ("a", "b"):
                    await create(cluster, key)
            (controller,) = manager.controllers
            assert controller.mistakes == [advice]

    with pytest.raises(AssertionError, match=re.escape(advice)):
        await story()
    assert sum("changes without effect" in line.message for line in caplog.records) == 1


async def test_changes_that_are_written_or_made_to_a_copy_are_not_reported() -> None:
    """Nor are changes of the status, the finalizer of the framework, or a child made from the spec."""
    operator = Operator("right")
    operator.permit(Widget, "patch")

    @operator.reconciler(Widget, owns=[ConfigMap])
    async def reconcile(widget: Widget, ctx: Ctx) -> None:
        other = deepcopy(widget)
        other.spec.size = 9
        widget.status.size = widget.spec.size
        await ctx.apply(ConfigMap(meta(widget.name), data={"size": str(other.spec.size)}))
        if widget.name == "b":
            widget.metadata.labels["seen"] = "yes"
            await ctx.update(widget)

    @reconcile.cleanup
    async def cleanup(_: Widget, __: Ctx) -> None: ...

    async with (
        Cluster.start(clock=FakeClock(), seed=1) as cluster,
        cluster.running(operator, options=OPTIONS) as manager,
    ):
        for name in ("a", "b"):
            await create(cluster, name)
        assert [controller.mistakes for controller in manager.controllers] == [[]]


def test_the_first_runs_are_checked_and_some_of_the_others() -> None:
    """A mistake occurs in every run, and checking every run would cost CPU."""
    assert all(is_checked(run) for run in range(1, FIRST_RUNS + 1))
    later = [run for run in range(FIRST_RUNS + 1, 100 * ONE_IN) if is_checked(run)]
    assert len(later) == 98
