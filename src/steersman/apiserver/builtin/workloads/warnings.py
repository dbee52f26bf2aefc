"""Warnings about kinds that create pods: their names, their pod templates, and a few fields of single kinds."""

from steersman.apiserver.builtin.pods.warnings import SURPRISING, template_warnings
from steersman.apiserver.builtin.storage.claim_validation import claim_spec_warnings
from steersman.json_types import JsonObject
from steersman.validation.names import label_faults

_TEMPLATE = ("spec", "template")
_JOB_TEMPLATE = ("spec", "jobTemplate", "spec", "template")


def workload_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about a Deployment, ReplicaSet, ReplicationController or Job."""
    return [*_name_warnings(obj, old), *template_warnings(obj, old, _TEMPLATE)]


def _name_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    faults = label_faults(obj["metadata"].get("name") or "") if old is None else []
    if not faults:
        return []
    return [f"metadata.name: this is used in Pod names and hostnames, {SURPRISING}: [{' '.join(faults)}]"]


def daemon_set_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about the template of a DaemonSet, unless an update left the template as it was."""
    if old is not None and (old["spec"].get("template") or {}) == (obj["spec"].get("template") or {}):
        return []
    return template_warnings(obj, old, _TEMPLATE)


def stateful_set_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about a StatefulSet, its pod template and its claim templates."""
    spec = obj["spec"]
    # Kubernetes prints the path of a claim differently for an update.
    inner = "" if old is None else ".Spec"
    warnings = template_warnings(obj, old, _TEMPLATE)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        warnings += claim_spec_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}]{inner}")
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        text = "a negative value retains all historical revisions; a value >= 0 is recommended"
        warnings.append(f"spec.revisionHistoryLimit: {text}")
    return warnings


def cron_job_warnings(obj: JsonObject, old: JsonObject | None) -> list[str]:
    """Return warnings about a CronJob; one for a time zone inside the schedule only when it is updated."""
    warnings = [*_name_warnings(obj, old), *template_warnings(obj, old, _JOB_TEMPLATE)]
    if old is not None and "TZ" in (obj["spec"].get("schedule") or ""):
        link = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
        text = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead"
        warnings.append(f"{text}, see {link} for more details")
    return warnings
