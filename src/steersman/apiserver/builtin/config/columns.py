"""Columns of ConfigMaps, Secrets, ServiceAccounts and ResourceQuotas."""

from collections.abc import Callable
from datetime import datetime

from steersman.apiserver.builtin.common.cells import AGE, at, column, field
from steersman.apiserver.resources.columns import NAME
from steersman.json_types import JsonObject


def _data_count(obj: JsonObject, _now: datetime) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


CONFIG_MAP = (NAME, column("Data", _data_count), AGE)
SECRET = (NAME, column("Type", field("type")), column("Data", _data_count), AGE)
SERVICE_ACCOUNT = (NAME, AGE)


def _quota(*, limits: bool) -> Callable[[JsonObject, datetime], str]:
    def cell(obj: JsonObject, _now: datetime) -> str:
        hard, used = at(obj, "status", "hard", default={}), at(obj, "status", "used", default={})
        names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


RESOURCE_QUOTA = (
    NAME,
    column("Request", _quota(limits=False)),
    column("Limit", _quota(limits=True)),
    AGE,
)
