"""New projects: valid names, their files, and how kinds are registered."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.errors import ConfigError
from steersman.scaffold.api import Api
from steersman.scaffold.files import Addition, check_known, project_files
from steersman.scaffold.project import Project, project_in
from steersman.scaffold.registration import Import, declare_kind, natural_order, register_reconciler
from steersman.scaffold.tree import Tree
from tests.scaffold import golden_tree

MAIN = project_files(Project(name="a"))["a/main.py"]


def test_the_scaffold_is_the_golden_tree() -> None:
    """A changed template shows its effect here; renew with python -m tests.scaffold.golden_tree."""
    assert golden_tree.text() == golden_tree.GOLDEN.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the golden project as a folder."""
    root = tmp_path_factory.mktemp("project")
    Tree(root).add(golden_tree.files())
    return root


@pytest.mark.parametrize("target", ["check", "test"])
def test_the_scaffold_passes_its_own_checks(project: Path, target: str) -> None:
    """A project that starts with findings teaches users to ignore them."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    answer = subprocess.run(  # noqa: S603 - the project's own commands
        ["make", target],  # noqa: S607 - the make of this machine
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        "../a",
        "a/b",
        "a.b",
        "1a",
        "-a",
        "a-",
        "a_b",
        "class",
        "json",
        "steersman",
        "tests",
        "a" * 40,
        "a\n",
        "ä",
    ],
)
def test_a_name_that_is_not_a_label_or_package_is_rejected(name: str) -> None:
    """Names become paths, packages and objects, so they are validated first."""
    with pytest.raises(ConfigError):
        Project(name=name)


@pytest.mark.parametrize("domain", ["", "com", "a..b", "-a.com", "A.com", "a.com/x"])
def test_an_invalid_domain_is_rejected(domain: str) -> None:
    """API groups end with it."""
    with pytest.raises(ConfigError, match="not a domain"):
        Project(name="a", domain=domain)


@pytest.mark.parametrize("kind", ["", "pod", "../Pod", "Pod_", 'P"od', "Pod\n", "P" * 64, "Operator", "Model", "Pöd"])
def test_a_kind_that_cannot_be_a_class_and_a_path_is_rejected(kind: str) -> None:
    """An accepted name is an identifier: it cannot become other code."""
    with pytest.raises(ConfigError):
        Api(group="a.example.com", version="v1", kind=kind)


def test_a_reserved_group_is_rejected() -> None:
    """A server would reject its CRD later, with a less helpful message."""
    with pytest.raises(ConfigError, match="community"):
        Api(group="apps.k8s.io", version="v1", kind="Pod").check_custom()


def test_a_built_in_kind_that_does_not_exist_is_rejected() -> None:
    """The import would fail later, far from the typo."""
    with pytest.raises(ConfigError, match="no Deploiment in apps/v1"):
        check_known(Api(group="apps", version="v1", kind="Deploiment"))


def test_a_project_is_read_from_its_own_file(tmp_path: Path) -> None:
    """Later commands read what `init` writes."""
    wanted = Project(name="my-operator", domain="mock.com")
    Tree(tmp_path).add(project_files(wanted))
    assert project_in(tmp_path) == wanted


def test_the_error_in_a_folder_without_a_project_says_how_to_create_one(tmp_path: Path) -> None:
    """An error contains the next step."""
    with pytest.raises(ConfigError, match="steer init NAME"):
        project_in(tmp_path)


def test_registering_twice_changes_nothing() -> None:
    """`create api` can be run again."""
    once = register_reconciler(MAIN, "a", "b_reconciler")
    assert "from a.reconcilers import b_reconciler\n" in once
    assert register_reconciler(once, "a", "b_reconciler") == once


def test_edits_in_main_are_kept() -> None:
    """Only the lists of imports and exports are rewritten."""
    edited = MAIN.replace("__all__", "LIMIT = 3  # mine\n\n__all__") + "\n\ndef mine() -> None:\n    ...\n"
    made = register_reconciler(edited, "a", "b_reconciler")
    assert "LIMIT = 3  # mine" in made
    assert made.endswith("def mine() -> None:\n    ...\n")


def test_many_reconcilers_are_listed_one_per_line() -> None:
    """The file stays as the formatter would write it."""
    text = MAIN
    for number in range(12):
        text = register_reconciler(text, "a", f"kind_{number:02}_reconciler")
    assert "from a.reconcilers import (\n    kind_00_reconciler,\n" in text
    assert max(map(len, text.splitlines())) <= 120


def test_kinds_without_a_reconciler_are_registered_once() -> None:
    """They still need a CRD in the cluster."""
    once = declare_kind(MAIN, Import("a.api.box_v1", "Box"), "a.operator")
    twice = declare_kind(once, Import("a.api.box_v1", "Box"), "a.operator")
    assert once == twice
    assert once.count("operator.declare(Box)") == 1
    both = declare_kind(once, Import("a.api.oak_v1", "Oak"), "a.operator")
    assert both.endswith("operator.declare(Box)\noperator.declare(Oak)\n")


def test_every_further_version_of_a_kind_is_registered() -> None:
    """Their classes have one name: the second one used to count as registered already, and had no CRD version."""
    main = MAIN
    for version in ("v1alpha1", "v1beta1"):
        addition = Addition(api=Api(group="a.example.com", version=version, kind="Box"), controller=False)
        main = addition.registered(main, Project(name="a"))
    assert (
        "from a.api.box_v1alpha1 import Box as BoxV1alpha1\nfrom a.api.box_v1beta1 import Box as BoxV1beta1\n" in main
    )
    assert main.endswith("operator.declare(BoxV1alpha1)\noperator.declare(BoxV1beta1)\n")


def test_a_rewritten_main_is_not_changed_but_advice_is_printed() -> None:
    """Guessing where a line belongs would break a user's file."""
    with pytest.raises(ConfigError, match=r"add 'from a\.reconcilers import b'"):
        register_reconciler("x = 1\n", "a", "b")
    with pytest.raises(ConfigError, match=r"main\.py, line 1"):
        register_reconciler("x = = 1\n", "a", "b")


@pytest.mark.parametrize("name", ["/etc/passwd", "../a", "a/../../b", ""])
def test_files_are_written_into_the_folder_only(tmp_path: Path, name: str) -> None:
    """A name is data and must not lead elsewhere."""
    with pytest.raises(ConfigError):
        Tree(tmp_path).put({name: "x"})


def test_no_link_is_followed(tmp_path: Path) -> None:
    """A link in the folder may point anywhere."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "file").symlink_to(outside / "file")
    for name in ("link/a", "file"):
        with pytest.raises(ConfigError, match="symbolic link"):
            Tree(inside).put({name: "x"})
    assert list(outside.iterdir()) == []


def test_adding_is_atomic(tmp_path: Path) -> None:
    """Half a project is worse than none."""
    (tmp_path / "b").write_text("mine")
    with pytest.raises(ConfigError, match="b would be overwritten"):
        Tree(tmp_path).add({"a": "1", "b": "2"})
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "b").read_text() == "mine"


def test_a_further_version_differs_from_a_repetition() -> None:
    """A second version shares the reconciler of the first, but not its class."""
    addition = Addition(api=Api(group="a.example.com", version="v2", kind="Box"))
    assert addition.is_further_version(["a/reconcilers/box_reconciler.py"])
    assert not addition.is_further_version(["a/reconcilers/box_reconciler.py", "a/api/box_v2.py"])
    assert not addition.is_further_version([])


MODULES = st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,20}_reconciler", fullmatch=True), unique=True, max_size=12)


@settings(max_examples=40, deadline=None)
@given(modules=MODULES, data=st.data())
def test_the_order_of_added_kinds_does_not_matter(modules: list[str], data: st.DataObject) -> None:
    """Two users who add kinds on two branches get the same file, and it is always valid Python."""
    texts = []
    for order in (modules, data.draw(st.permutations(modules))):
        text = MAIN
        for module in order:
            text = register_reconciler(text, "a", module)
        texts.append(text)
    assert texts[0] == texts[1]
    names: dict[str, object] = {}
    exported = texts[0][texts[0].index("__all__") :]
    exec(exported, names)  # noqa: S102 - what was just made
    assert names["__all__"] == sorted([*modules, "operator"], key=natural_order)


@settings(max_examples=60, deadline=None)
@given(name=st.text(alphabet="ab./\\\0 ", max_size=12))
def test_no_file_name_leads_out_of_the_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """Dots, slashes and worse."""
    outer = tmp_path_factory.mktemp("outer")
    root = outer / "root"
    root.mkdir()
    with contextlib.suppress(ConfigError):
        Tree(root).put({name: "x"})
    assert list(outer.iterdir()) == [root]
