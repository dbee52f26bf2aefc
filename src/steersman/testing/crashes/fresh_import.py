"""Imports an operator again, so that a new instance does not share memory with an earlier one.

The operator's own packages are imported a second time: the module that holds the operator, and the modules of the
packages of its functions and kinds that it imports. They are in ``sys.modules`` while the new instance runs, so that
imports inside functions find them too; afterwards the old modules are restored. The memory of other libraries is
shared, and so are the test's own references: a test still uses the classes that it imported.
"""

import copy
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.abc import Loader, SourceLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from weakref import WeakSet

import msgspec

from steersman.errors import ConfigError
from steersman.manager.operator import Operator
from steersman.objects.registry import registry

_OURS = "steersman"
#: Packages that are imported again right now.
_active: set[str] = set()
#: Kinds whose annotations are resolved.
_resolved: WeakSet[type] = WeakSet()


@dataclass(frozen=True)
class ImportedOperator:
    """An operator that can be found by its name: ``module:operator``."""

    module: str
    name: str
    _codes: dict[str, CodeType] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def parse(cls, target: str) -> "ImportedOperator":
        """Parse a target in the form of ``steer run``, and import it."""
        module, _, name = target.partition(":")
        found = cls(module, name or "operator")
        operator = getattr(import_module(module), found.name, None)
        if not isinstance(operator, Operator):
            raise ConfigError(f"{target} is not an Operator: {operator!r}")
        return found

    @classmethod
    def find(cls, operator: Operator) -> "ImportedOperator":
        """Return where an operator can be imported from; ``ConfigError`` if it is not a global of a module."""
        for module, name in _holders(operator, frozenset(_packages_of(operator))):
            return cls(module, name)
        raise ConfigError(
            f"operator {operator.name!r} cannot be imported again, because it is not a global of a module: "
            "after a crash it would keep its memory; pass a function that creates it, or "
            "'module:operator'"
        )

    @cached_property
    def original(self) -> Operator:
        """The operator as the test imported it."""
        operator: Operator = getattr(import_module(self.module), self.name)
        return operator

    @cached_property
    def packages(self) -> frozenset[str]:
        """The operator's own packages, by their top-level name."""
        return frozenset({_top(self.module), *_packages_of(self.original)})

    @contextmanager
    def fresh(self) -> Iterator[Operator]:
        """Import the operator again for the block."""
        others = self._others  # found before the modules are set aside
        with _set_aside(self.packages, self._codes):
            try:
                operator: Operator = getattr(import_module(self.module), self.name)
                for module, _ in others:
                    import_module(module)
            except Exception as error:
                raise ConfigError(
                    f"{self.module} cannot be imported a second time ({type(error).__name__}: {error}); "
                    "a crash test does so for every instance of the operator: pass a function that creates it instead"
                ) from error
            self._check(operator)
            yield operator

    @cached_property
    def _others(self) -> tuple[tuple[str, str], ...]:
        """Modules that use the operator: where reconcilers are registered by importing them, that must happen again."""
        return tuple(_holders(self.original, self.packages))

    def _check(self, operator: Operator) -> None:
        """Reject an operator that was extended after its import: importing it again would lose the additions."""
        before = [one.name for one in self.original.reconcilers]
        after = [one.name for one in operator.reconcilers]
        if sorted(before) != sorted(after):
            raise ConfigError(
                f"{self.module}:{self.name} has reconcilers {after} when it is imported again, and {before} now: "
                "pass 'module:operator' of the module that registers all of them, or a function that creates it"
            )


def _holders(operator: Operator, packages: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield the modules of packages that have an operator as a global, and its name there; the oldest first."""
    for module_name, module in list(sys.modules.items()):
        if _top(module_name) in packages and _can_be_imported(module):
            yield from ((module_name, name) for name, value in list(vars(module).items()) if value is operator)


def _packages_of(operator: Operator) -> Iterator[str]:
    """Yield the packages of what the author declared, without Steersman itself."""
    declared: list[object] = [*operator.kinds]
    for one in operator.reconcilers:
        declared += [one.function, one.cleanup_function, one.error_function]
    declared += [webhook.function for webhook in operator.webhooks]
    declared += operator.background_functions
    for thing in declared:
        module = getattr(thing, "__module__", None)
        if isinstance(module, str) and _top(module) != _OURS:
            yield _top(module)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _loaded(packages: frozenset[str]) -> list[str]:
    """Return the loaded modules of packages."""
    # A thousand modules are loaded, and each life of an operator asks: `startswith` looks at all packages at once.
    insides = tuple(f"{package}." for package in packages)
    return [name for name in sys.modules if name in packages or name.startswith(insides)]


def _can_be_imported(module: ModuleType) -> bool:
    spec = getattr(module, "__spec__", None)
    return isinstance(spec, ModuleSpec) and spec.name == module.__name__ and spec.loader is not None


@contextmanager
def _set_aside(packages: frozenset[str], codes: dict[str, CodeType]) -> Iterator[None]:
    """Import the modules of packages again inside the block; restore the earlier ones afterwards."""
    if both := sorted(_active & packages):
        raise ConfigError(f"two operators of package {', '.join(both)} cannot be imported again at the same time")
    before = {name: sys.modules[name] for name in _loaded(packages)}
    aside = {name: module for name, module in before.items() if _can_be_imported(module)}
    _resolve_types(packages)
    kinds = registry.declared()
    finder = _Again(aside, codes)
    _active.update(packages)
    for name in aside:
        del sys.modules[name]
    kept = frozenset(sys.modules)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in sys.modules.keys() - kept:
            if _top(name) in packages:
                del sys.modules[name]
        sys.modules.update(before)
        _rebind(before)
        others = {gvk: kind for gvk, kind in registry.declared().items() if _top(kind.__module__) not in packages}
        registry.restore(others | kinds)
        _active.difference_update(packages)


def _resolve_types(packages: Iterable[str]) -> None:
    """Resolve the annotations of classes now: msgspec does so on first use, in the module that has their name then."""
    for kind in registry.declared().values():
        if _top(kind.__module__) in packages and kind not in _resolved:
            _resolved.add(kind)
            # A kind that cannot be decoded raises where it is used.
            with suppress(TypeError, NameError, AttributeError):
                msgspec.json.Decoder(kind)


def _rebind(modules: dict[str, ModuleType]) -> None:
    """Restore the earlier modules in parents that could not be imported again, such as namespace packages."""
    for name, module in modules.items():
        parent, _, leaf = name.rpartition(".")
        if parent in modules:
            setattr(modules[parent], leaf, module)


class _Again:
    """Finds modules where they were found before: a test's module need not be on ``sys.path``."""

    def __init__(self, modules: dict[str, ModuleType], codes: dict[str, CodeType]) -> None:
        self._specs = {name: module.__spec__ for name, module in modules.items()}
        self._codes = codes

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is set aside, for a new module."""
        del path, target
        known = self._specs.get(name)
        if known is None or known.origin is None:
            # Namespace packages have no origin; the usual finders handle them.
            return None
        spec = copy.copy(known)
        source = _source_loader(spec)
        if source is not None:
            spec.loader = _CompiledOnce(source, self._codes)
        return spec


def _source_loader(spec: ModuleSpec) -> SourceLoader | None:
    """Return a loader that can compile a module; pytest's own only executes it."""
    if isinstance(spec.loader, SourceLoader):
        return spec.loader
    if spec.origin is not None and spec.origin.endswith(".py"):
        return SourceFileLoader(spec.name, spec.origin)
    return None


class _CompiledOnce(Loader):
    """Compiles a module once for all instances: without bytecode files, compiling would take most of the time."""

    def __init__(self, loader: SourceLoader, codes: dict[str, CodeType]) -> None:
        self._loader = loader
        self._codes = codes

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return ``None``: Python creates the module."""
        del spec
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        name = module.__name__
        if name not in self._codes:
            code = self._loader.get_code(name)
            if code is None:
                raise ImportError(f"{name} has no code", name=name)
            self._codes[name] = code
        exec(self._codes[name], module.__dict__)  # noqa: S102 - what importing a module is
