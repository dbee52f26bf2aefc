"""Tests of the helpers for a project's samples, README and CRDs."""

from pathlib import Path

import pytest

from steersman.errors import BadRequest
from steersman.testing import Cluster, apply_samples, replay_readme, without_descriptions

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {size: '3'}\n"
README = """# apples

```console
$ export KIND=apple
```

then

```console
$ echo $KIND > list
$ cat list
apple
```
"""


async def test_every_object_of_every_file_is_applied_in_order(cluster: Cluster, tmp_path: Path) -> None:
    """A file can contain several documents, and a later sample may need an earlier one."""
    (tmp_path / "b.yaml").write_text(CONFIG_MAP.replace("NAME", "third"))
    two = [CONFIG_MAP.replace("NAME", name) for name in ("first", "second")]
    (tmp_path / "a.yaml").write_text("---\n".join(two))
    created = await apply_samples(cluster, tmp_path)
    assert [obj.name for obj in created] == ["first", "second", "third"]
    assert all(obj.uid for obj in created)


async def test_a_second_sample_of_the_same_object_is_applied_to_it(cluster: Cluster, tmp_path: Path) -> None:
    """Samples of several versions of a kind share one name."""
    (tmp_path / "a.yaml").write_text(CONFIG_MAP.replace("NAME", "a"))
    (tmp_path / "b.yaml").write_text(CONFIG_MAP.replace("NAME", "a").replace("size", "colour"))
    first, second = await apply_samples(cluster, tmp_path)
    assert first.uid == second.uid
    assert second.content["data"] == {"size": "3", "colour": "3"}
    (tmp_path / "b.yaml").write_text(CONFIG_MAP.replace("NAME", "a").replace("\ndata", "\ndada"))
    with pytest.raises(BadRequest, match='unknown field "dada"'):
        await apply_samples(cluster, tmp_path)


async def test_a_sample_with_an_unknown_field_is_rejected_and_named(cluster: Cluster, tmp_path: Path) -> None:
    """Without strict validation the server drops the field, and the first user with kubectl finds the mistake."""
    (tmp_path / "broken.yaml").write_text(CONFIG_MAP.replace("NAME", "a").replace("\ndata", "\ndada"))
    with pytest.raises(BadRequest, match='unknown field "dada"') as caught:
        await apply_samples(cluster, tmp_path)
    assert caught.value.__notes__ == [f"in {tmp_path / 'broken.yaml'}: ConfigMap a"]


async def test_a_project_without_samples_has_nothing_to_apply(cluster: Cluster, tmp_path: Path) -> None:
    """A new project has the test before it has a kind."""
    assert await apply_samples(cluster, tmp_path / "samples") == []


def _project(folder: Path) -> Path:
    project = folder / "apples"
    (project / "__pycache__").mkdir(parents=True)
    (project / "README.md").write_text(README)
    return project


async def test_the_blocks_of_a_readme_are_one_transcript_in_a_copy(tmp_path: Path) -> None:
    """A reader types them in one terminal; the project itself must stay as it is."""
    project = _project(tmp_path)
    await replay_readme(project, folder=tmp_path / "copies")
    assert not (project / "list").exists()
    copy = tmp_path / "copies" / "apples"
    assert sorted(path.name for path in copy.iterdir()) == ["README.md", "list"]


async def test_an_edited_transcript_is_replayed_instead(tmp_path: Path) -> None:
    """The same README can be tried with another server or another operator."""
    project = _project(tmp_path)
    await replay_readme(project, folder=tmp_path / "copies", edit=lambda commands: commands.replace("apple", "pear"))
    assert (tmp_path / "copies" / "apples" / "list").read_text() == "pear\n"


async def test_a_readme_without_commands_is_an_error(tmp_path: Path) -> None:
    """A test that replays nothing would pass forever."""
    project = _project(tmp_path)
    (project / "README.md").write_text("# apples\n")
    with pytest.raises(ValueError, match="no console block"):
        await replay_readme(project, folder=tmp_path / "copies")


def test_descriptions_are_left_out_but_not_fields_of_that_name() -> None:
    """A kind may have a field called description, whose schema must still be compared."""
    schema = {
        "description": "words",
        "properties": {"description": {"type": "string", "description": "words"}},
        "allOf": [{"description": "words", "type": "object"}],
    }
    assert without_descriptions(schema) == {
        "properties": {"description": {"type": "string"}},
        "allOf": [{"type": "object"}],
    }
