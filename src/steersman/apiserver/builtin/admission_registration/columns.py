"""Columns of webhook configurations and admission policies."""

from datetime import datetime

from steersman.apiserver.builtin.common.cells import AGE, UNSET, at, column, field, length
from steersman.apiserver.resources.columns import NAME
from steersman.json_types import JsonObject


def _param_kind(obj: JsonObject, _now: datetime) -> str:
    kind = at(obj, "spec", "paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _param_ref(obj: JsonObject, _now: datetime) -> str:
    reference = at(obj, "spec", "paramRef")
    if reference is None:
        return UNSET
    namespace = reference.get("namespace")
    return f"{namespace}/{reference.get('name', '')}" if namespace else str(reference.get("name") or "*")


WEBHOOK_CONFIGURATION = (NAME, column("Webhooks", length("webhooks"), type_="integer"), AGE)
POLICY_BINDING = (NAME, column("PolicyName", field("spec", "policyName")), column("ParamRef", _param_ref), AGE)
VALIDATING_ADMISSION_POLICY = (
    NAME,
    column("Validations", length("spec", "validations"), type_="integer"),
    column("ParamKind", _param_kind),
    AGE,
)
