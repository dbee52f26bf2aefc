"""The definition that the classes give, beside the one that it should be, and beside spotahome's."""

from pathlib import Path

import yaml
from steersman.schema import crd_of
from steersman.testing import without_descriptions

from redisfailover.api.redis_failover_v1 import RedisFailover

HERE = Path(__file__).parent
WANTED = yaml.safe_load((HERE / "crd.yaml").read_text(encoding="utf-8"))
THEIRS = yaml.safe_load((HERE / "spotahome.yaml").read_text(encoding="utf-8"))
README = (HERE.parent / "README.md").read_text(encoding="utf-8")

#: What is ours alone.
OURS = {"spec.backup"}
#: Theirs is a string, and their own example writes a number: both are taken.
OTHERWISE = {"bootstrapNode.port"}


def fields() -> dict[str, str | None]:
    """Give the fields of our definition with their types, as ``redis.port``."""
    spec = WANTED["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    parts = {
        "spec": spec,
        **{name: spec["properties"][name] for name in ("auth", "bootstrapNode", "redis", "sentinel")},
    }
    parts |= {name: parts["redis"]["properties"][name] for name in ("exporter", "storage")}
    return {
        f"{part}.{name}": field.get("type")
        for part, schema in parts.items()
        for name, field in schema["properties"].items()
    }


def test_the_definition_is_the_one_that_users_know() -> None:
    """Objects of users are stored by it: what changes in it changes on purpose."""
    assert without_descriptions(crd_of(RedisFailover)) == WANTED


def test_what_is_here_has_the_types_of_spotahomes() -> None:
    """Whoever has manifests for that operator can go on using them."""
    theirs = {f"{part}.{name}": type_ for part, names in THEIRS.items() for name, type_ in names.items()}
    ours = {name: type_ for name, type_ in fields().items() if name not in OURS | OTHERWISE}
    assert ours == {name: theirs[name] for name in ours}


def test_the_readme_names_every_field_that_is_not_here() -> None:
    """Nobody should find out by trying."""
    missing = {name for part, names in THEIRS.items() for name in names if f"{part}.{name}" not in fields()}
    _, _, told = README.partition("## Beside spotahome's")
    assert [name for name in sorted(missing) if f"`{name}`" not in told.partition("\n## ")[0]] == []
    assert missing
