"""ServiceAccounts: which references to Secrets are kept, and the warning about a deprecated annotation."""

from steersman.apiserver.builtin.common.strategies import ReturnsDeletedObject
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject

_ENFORCED = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(ReturnsDeletedObject):
    """ServiceAccounts, whose references to Secrets consist of names."""

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Reduce references to Secrets to their names."""
        _clean_references(obj)
        super().prepare_create(obj, subresource, context)

    def prepare_update(self, obj: JsonObject, old: JsonObject, subresource: str, context: RequestContext) -> None:
        """Reduce references to Secrets to their names."""
        _clean_references(obj)
        super().prepare_update(obj, old, subresource, context)


def _clean_references(obj: JsonObject) -> None:
    if secrets := obj.get("secrets"):
        obj["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


def service_account_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return a warning if the annotation that limits the Secrets of an account is newly set."""
    annotated = [_ENFORCED in (one["metadata"].get("annotations") or {}) for one in (obj, old) if one is not None]
    if annotated not in ([True], [True, False]):
        return []
    why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    return [f"metadata.annotations[{_ENFORCED}]: {why}"]
