"""Columns of role bindings; roles have the default ones."""

from collections.abc import Callable
from datetime import datetime

from steersman.apiserver.builtin.common.cells import AGE, column
from steersman.apiserver.resources.columns import NAME
from steersman.json_types import JsonObject


def _role(obj: JsonObject, _now: datetime) -> str:
    reference = obj.get("roleRef") or {}
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Callable[[JsonObject, datetime], str]:
    def cell(obj: JsonObject, _now: datetime) -> str:
        found = [item for item in obj.get("subjects") or () if item.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{item.get('namespace', '')}/{item['name']}" for item in found)
        return ", ".join(item["name"] for item in found)

    return cell


BINDING = (
    NAME,
    column("Role", _role),
    AGE,
    column("Users", _subjects("User"), wide=True),
    column("Groups", _subjects("Group"), wide=True),
    column("ServiceAccounts", _subjects("ServiceAccount"), wide=True),
)
