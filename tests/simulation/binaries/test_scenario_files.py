"""Scenarios that are written as manifests."""

from pathlib import Path

import pytest

from steersman.errors import ConfigError
from steersman.kinds.core_v1 import ConfigMap
from steersman.simulation.binaries.scenario_files import read_steps, scenario_of
from steersman.testing.cluster import Cluster

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


async def test_files_are_applied_patched_and_deleted_in_the_order_of_their_names(tmp_path: Path) -> None:
    """Users of kubectl write a scenario without Python."""
    (tmp_path / "01-create.yaml").write_text(f"{MAP}data: {{x: '1', z: '1'}}\n---\n{MAP.replace('a}', 'b}')}")
    (tmp_path / "02-patch-x.yaml").write_text(f"{MAP}data: {{x: '2'}}\n")
    (tmp_path / "03-change.yaml").write_text(f"{MAP}data: {{x: '3'}}\n")
    (tmp_path / "04-delete.yaml").write_text(MAP)
    seen = []
    async with Cluster.start() as cluster:

        async def settle(*, within: float | None = None) -> None:
            del within
            seen.append({one.name: one.data for one in cluster.list(ConfigMap, namespace="default")})

        cluster.settle = settle  # type: ignore[method-assign] # looks at each rest
        await scenario_of(tmp_path)(cluster)
    mine = [{name: data for name, data in one.items() if name in {"a", "b"}} for one in seen]
    assert mine == [
        {"a": {"x": "1", "z": "1"}, "b": None},
        {"a": {"x": "2", "z": "1"}, "b": None},
        {"a": {"x": "3"}, "b": None},
        {"b": None},
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there are no steps in"),
        ({"01-create.yaml": "# nothing\n"}, "there is no object in"),
        ({"01-create.yaml": "kind: ConfigMap\n"}, "01-create.yaml"),
        ({"01-create.yaml": "a: b: c\n"}, "01-create.yaml: line 1"),
    ],
)
def test_a_folder_that_is_not_a_scenario_is_rejected(tmp_path: Path, files: dict[str, str], message: str) -> None:
    """A typo is named with its file before anything starts."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_steps(tmp_path)
