import gc
from importlib import import_module
from pathlib import Path

import pytest

from steersman.errors import DeclarationError
from steersman.objects.codec import decode, encode
from steersman.objects.identity import ApiResource, GroupVersionKind
from steersman.objects.model import absent
from steersman.objects.registry import Registry, declare
from steersman.objects.registry import registry as declared_kinds
from steersman.objects.resource import KubeObject, Status, gvk_of, resource_of

BOAT = ApiResource(gvk=GroupVersionKind("example.com", "v1", "Boat"), plural="boats", short_names=("bo",))


def test_declared_class_is_found_by_its_kind() -> None:
    """Kind and class correspond one to one."""
    registry = Registry()

    @declare(BOAT, into=registry)
    class Boat(KubeObject):
        pass

    assert registry.find(BOAT.gvk) is Boat
    assert resource_of(Boat) is BOAT
    assert gvk_of(Boat) == BOAT.gvk
    assert registry.find(GroupVersionKind("example.com", "v2", "Boat")) is None
    assert repr(registry) == "<Registry kinds=1>"


def test_second_class_for_a_kind_is_rejected_and_both_are_named() -> None:
    """Two views of one kind would lose each other's fields."""
    registry = Registry()

    @declare(BOAT, into=registry)
    class First(KubeObject):
        pass

    with pytest.raises(DeclarationError, match=r"Boat\.v1\.example\.com is declared twice.*First.*Second"):

        @declare(BOAT, into=registry)
        class Second(KubeObject):
            pass

    assert registry.find(BOAT.gvk) is First


def test_class_of_a_module_that_failed_to_load_releases_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module is corrected and loaded again; the first class still exists in the caches of typing."""
    declaration = (
        "from steersman import Model, Resource, Status, custom_resource\n"
        "class Spec(Model):\n    def __len__(self): return 0\n"
        "@custom_resource('failing.example.com/v1')\nclass Boat(Resource[Spec, Status]): pass\n"
    )
    (tmp_path / "fails.py").write_text(declaration + "raise RuntimeError('stopped')\n")
    (tmp_path / "loads.py").write_text(declaration)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match="stopped"):
        import_module("fails")
    boat = import_module("loads").Boat
    assert declared_kinds.find(GroupVersionKind("failing.example.com", "v1", "Boat")) is boat


def test_unused_class_releases_its_kind() -> None:
    """Tests declare kinds inside functions; the next test declares them again."""
    registry = Registry()

    def declared() -> None:
        @declare(BOAT, into=registry)
        class Boat(KubeObject):
            pass

    declared()
    declared()
    gc.collect()
    assert registry.find(BOAT.gvk) is None


def test_class_that_was_used_releases_its_kind_too() -> None:
    """Caches of decoding and encoding must not keep the class alive."""
    registry = Registry()

    def used() -> None:
        @declare(BOAT, into=registry)
        class Boat(KubeObject):
            status: Status = absent()

        assert b"Boat" in encode(decode(Boat, b'{"metadata":{"name":"a","labels":null}}'))

    used()
    used()
    gc.collect()
    assert registry.find(BOAT.gvk) is None


def test_reloaded_module_replaces_its_class() -> None:
    """Development servers and notebooks reload modules."""
    registry = Registry()
    classes = []
    for _ in range(2):
        namespace = {"KubeObject": KubeObject, "__name__": "boats"}
        exec("class Boat(KubeObject):\n    pass", namespace)  # noqa: S102 - a module's text, as on reload
        classes.append(declare(BOAT, into=registry)(namespace["Boat"]))
    assert registry.find(BOAT.gvk) is classes[1]
