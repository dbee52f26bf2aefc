"""Jobs and CronJobs: defaults and strategy."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.apiserver.builtin.pods.defaults import default_template
from steersman.apiserver.builtin.strategy import BuiltinStrategy
from steersman.apiserver.resources.request_context import RequestContext
from steersman.json_types import JsonObject


def default_job_spec(spec: JsonObject) -> None:
    """Set the defaults of a Job's spec."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
        spec["parallelism"] = 1
    set_default(spec, parallelism=1, completionMode="NonIndexed", suspend=False, manualSelector=False)
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 2147483647 if spec.get("backoffLimitPerIndex") is not None else 6
    failure = spec.get("podFailurePolicy")
    set_default(spec, podReplacementPolicy="Failed" if failure is not None else "TerminatingOrFailed")
    for rule in (failure or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    default_template(spec.get("template"))


def default_job(obj: JsonObject) -> None:
    """Set the defaults of a Job."""
    spec = obj["spec"]
    default_job_spec(spec)
    labels = (((spec.get("template") or {}).get("metadata")) or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def default_cron_job(obj: JsonObject) -> None:
    """Set the defaults of a CronJob."""
    spec = obj["spec"]
    set_default(spec, concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    template = (spec.get("jobTemplate") or {}).get("spec")
    if template is not None:
        default_template(template.get("template"))


class JobStrategy(BuiltinStrategy):
    """Jobs, which select their pods by the uid of the Job."""

    orphans_by_default = True

    def prepare_create(self, obj: JsonObject, subresource: str, context: RequestContext) -> None:
        """Generate the selector, and the labels of the template that it matches."""
        super().prepare_create(obj, subresource, context)
        spec, metadata = obj["spec"], obj["metadata"]
        if spec.get("manualSelector"):
            return
        template = spec.setdefault("template", {}).setdefault("metadata", {})
        labels = dict(template.get("labels") or {})
        uid, name = metadata["uid"], metadata.get("name") or ""
        for prefix in ("", "batch.kubernetes.io/"):
            labels[f"{prefix}controller-uid"] = uid
            labels[f"{prefix}job-name"] = name
        template["labels"] = labels
        selector = spec.get("selector") or {}
        matched = {**(selector.get("matchLabels") or {}), "batch.kubernetes.io/controller-uid": uid}
        spec["selector"] = {**selector, "matchLabels": matched}

    def fill_in(self, obj: JsonObject, *, is_merged: bool) -> bool:
        """Copy the labels of the template to a stored Job without labels."""
        del is_merged
        labels = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels")
        if obj["metadata"].get("labels") or not labels:
            return False
        obj["metadata"]["labels"] = dict(labels)
        return True

    def fields(self, obj: JsonObject) -> dict[str, str]:
        """Return the number of succeeded pods."""
        return {"status.successful": str((obj.get("status") or {}).get("succeeded", 0))}

    def field_label_error(self, label: str) -> str:
        """Return an error unless the label is the name, the namespace or the number of succeeded pods."""
        known = ("metadata.name", "metadata.namespace", "status.successful")
        return "" if label in known else f'field label "{label}" not supported for Job'
