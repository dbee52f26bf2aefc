"""Run the Python of the guides: all blocks of a page, in order, then the tests that they define.

The blocks of a page are one module, unless a block begins with a comment that names its file, such as ``# website.py``:
that block and those below it are a module of that name, which blocks further down can import as a reader's files do.
"""

import ast
import asyncio
import inspect
import re
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from steersman.objects.identity import GroupVersionKind
from steersman.objects.registry import registry
from steersman.objects.resource import KubeObject
from steersman.testing.cluster import Cluster
from steersman.testing.fake_clock import FakeClock

pytest_plugins = ["tests.support.suite_process"]

# A machine that does other things too must not fail a test: how long an example takes says nothing.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if settings.get_current_profile_name() == "default":
    settings.load_profile("untimed")

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+)\.py\n")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect every page that has Python in it; the code of a translation is that of its source."""
    if (
        file_path.suffix == ".md"
        and file_path.parent.name != "zh"
        and _BLOCK.search(file_path.read_text(encoding="utf-8"))
    ):
        page: pytest.Collector = Page.from_parent(parent, path=file_path)
        return page
    return None


class Page(pytest.File):
    """A page of the documentation."""

    def collect(self) -> Iterator[pytest.Item]:
        """Give one test: the page as a whole, because its blocks build on each other."""
        yield PageCode.from_parent(self, name=self.path.stem)


class PageCode(pytest.Item):
    """All Python of a page."""

    def runtest(self) -> None:
        """Run the blocks as one module, then each test in it, coroutines on an event loop of their own."""
        with _own_kinds():
            self._run()

    def _run(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        modules: list[types.ModuleType] = []
        try:
            for block in _BLOCK.finditer(text):
                if (named := _FILE.match(block[1])) is not None:
                    modules.append(_new_module(named[1]))
                elif not modules:
                    modules.append(_new_module(f"docs_{self.path.stem.replace('-', '_')}"))
                tree = ast.parse(block[1], filename=str(self.path))
                ast.increment_lineno(tree, text.count("\n", 0, block.start(1)))
                _run_block(compile(tree, str(self.path), "exec"), modules[-1])
            for test in [test for module in modules for test in _tests_of(module)]:
                work = test(**_arguments(test))
                if inspect.iscoroutine(work):
                    asyncio.run(work)
        finally:
            for module in modules:
                del sys.modules[module.__name__]

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the page."""
        return self.path, 0, f"guide: {self.name}"


class _PageLoader(Loader):
    """Runs the blocks of a page once more, for tests that import their operator afresh."""

    def __init__(self) -> None:
        self.blocks: list[types.CodeType] = []

    def exec_module(self, module: types.ModuleType) -> None:
        """Run all blocks that were run before."""
        for block in self.blocks:
            exec(block, module.__dict__)  # noqa: S102 - our own pages


def _run_block(block: types.CodeType, module: types.ModuleType) -> None:
    """Run a block in a module that can be imported again."""
    if module.__spec__ is None:
        module.__spec__ = ModuleSpec(module.__name__, _PageLoader(), origin=block.co_filename)
    loader = module.__spec__.loader
    if isinstance(loader, _PageLoader):
        loader.blocks.append(block)
    exec(block, module.__dict__)  # noqa: S102 - our own pages


def _new_module(name: str) -> types.ModuleType:
    """Return an empty module that can be imported; models look up their types there."""
    if name in sys.modules:
        raise ValueError(f"a page declares {name}.py, but a module of that name is already imported: rename the file")
    module = types.ModuleType(name)
    sys.modules[name] = module
    return module


def _tests_of(module: types.ModuleType) -> list[types.FunctionType]:
    return [
        test for name, test in vars(module).items() if name.startswith("test_") and isinstance(test, types.FunctionType)
    ]


def _arguments(test: types.FunctionType) -> dict[str, object]:
    wanted = inspect.signature(test).parameters
    clock = FakeClock() if "fake_clock" in wanted else None
    known = {"cluster": Cluster(clock=clock), "fake_clock": clock}
    return {name: known[name] for name in wanted}


@contextmanager
def _own_kinds() -> Iterator[None]:
    """Let a page declare kinds that an example declares too: whatever tests have declared is set aside meanwhile."""
    classes = registry._classes  # noqa: SLF001 - nobody but a page needs to begin anew
    others = _declared_by_others(classes)
    for gvk in others:
        del classes[gvk]
    try:
        yield
    finally:
        for gvk in _declared_by_others(classes):
            del classes[gvk]
        classes.update(others)


def _declared_by_others(
    classes: Mapping[GroupVersionKind, type[KubeObject]],
) -> dict[GroupVersionKind, type[KubeObject]]:
    return {gvk: kind for gvk, kind in classes.items() if not kind.__module__.startswith("steersman.")}
