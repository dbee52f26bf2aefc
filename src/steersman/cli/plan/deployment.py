"""How a project deploys its operator, as far as a plan depends on it: the watched namespaces and the environment."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from steersman.json_types import JsonObject


class Deployment(NamedTuple):
    """What a project's ``[tool.steersman]`` says about the process of its operator."""

    #: The namespaces that the operator watches; empty means all.
    watch: tuple[str, ...] = ()
    #: Environment variables with their values.
    environment: tuple[tuple[str, str], ...] = ()
    #: Environment variables whose values only the cluster has.
    unknown: tuple[str, ...] = ()

    @contextmanager
    def variables_set(self) -> Iterator[None]:
        """Set the variables inside the block, except those that the user has set."""
        added = [(name, value) for name, value in self.environment if name not in os.environ]
        os.environ.update(added)
        try:
            yield
        finally:
            for name, _ in added:
                os.environ.pop(name, None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Variables that the plan does not have, as a note."""
        missing = [name for name in self.unknown if name not in os.environ]
        if not missing:
            return ()
        return (f"not set: {', '.join(missing)}, whose value the deployed operator gets from the cluster",)


def deployment_of(root: Path) -> Deployment:
    """Return how the project in a folder deploys its operator; the defaults where there is no project."""
    from steersman.scaffold.manifests.settings import parsed
    from steersman.scaffold.project import settings_of

    found = parsed(settings_of(root))
    variables: tuple[JsonObject, ...] = found.get("env", ())
    known = tuple((one["name"], str(one.get("value", ""))) for one in variables if "valueFrom" not in one)
    unknown = [one["name"] for one in variables if "valueFrom" in one]
    unknown += [_source(one) for one in found.get("env_from", ())]
    return Deployment(tuple(found.get("watch", ())), known, tuple(unknown))


def _source(source: JsonObject) -> str:
    for key, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
        if key in source:
            return f"the variables of {kind} {source[key].get('name', '')}"
    return "further variables"
