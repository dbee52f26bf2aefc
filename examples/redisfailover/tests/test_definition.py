"""The CRD that is derived from the classes, compared with the expected one and with spotahome's."""

from pathlib import Path

import yaml
from steersman.schema import crd_of
from steersman.testing import without_descriptions

from redisfailover.api.redis_failover_v1 import RedisFailover

HERE = Path(__file__).parent
WANTED = yaml.safe_load((HERE / "crd.yaml").read_text(encoding="utf-8"))
THEIRS = yaml.safe_load((HERE / "spotahome.yaml").read_text(encoding="utf-8"))
README = (HERE.parent / "README.md").read_text(encoding="utf-8")

#: Fields that spotahome's CRD does not have.
OURS = {"spec.backup", "auth.users"}
#: A string in their CRD and a number in their example: both are accepted.
OTHERWISE = {"bootstrapNode.port"}


def fields() -> dict[str, str | None]:
    """Return the types of the fields of our CRD, keyed by path, such as ``redis.port``."""
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


def test_the_crd_is_the_expected_one() -> None:
    """Stored objects depend on it, so it must change only on purpose."""
    assert without_descriptions(crd_of(RedisFailover)) == WANTED


def test_fields_have_the_same_types_as_spotahomes() -> None:
    """Manifests for that operator must keep working."""
    theirs = {f"{part}.{name}": type_ for part, names in THEIRS.items() for name, type_ in names.items()}
    ours = {name: type_ for name, type_ in fields().items() if name not in OURS | OTHERWISE}
    assert ours == {name: theirs[name] for name in ours}


def test_the_readme_names_every_missing_field() -> None:
    """Users should not find out by trial."""
    missing = {name for part, names in THEIRS.items() for name in names if f"{part}.{name}" not in fields()}
    _, _, section = README.partition("## Compared with spotahome's operator")
    assert [name for name in sorted(missing) if f"`{name}`" not in section.partition("\n## ")[0]] == []
    assert missing
