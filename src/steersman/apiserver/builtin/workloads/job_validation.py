"""Validation of Jobs and CronJobs."""

import re
import zoneinfo
from collections.abc import Sequence

from steersman.apiserver.builtin.common.label_selectors import quoted_selector, selector_errors
from steersman.apiserver.builtin.common.names import domain_prefixed_errors
from steersman.apiserver.builtin.common.numbers import negative_errors
from steersman.apiserver.builtin.pods.validation import template_errors
from steersman.apiserver.builtin.workloads.job_update_validation import job_change_errors
from steersman.apiserver.builtin.workloads.success_policy_validation import success_policy_errors
from steersman.apiserver.builtin.workloads.template_validation import mismatch_errors
from steersman.apiserver.resources.label_selectors import selects
from steersman.golang.empty_values import same_content
from steersman.golang.text import GoStruct
from steersman.json_types import JsonObject
from steersman.objects.cron import CronSchedule, ScheduleError
from steersman.validation.field_errors import OMITTED, Errors, duplicate, invalid, not_supported, required, too_many
from steersman.validation.names import label_faults

_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_INDEXED_ONLY = "requires indexed completion mode"
_MAX_INDEXED = 100_000
_NAME_LIMIT = 52
_POLICIES = ("Allow", "Forbid", "Replace")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
#: How a rule compares exit codes, and how many it may list.
_OPERATORS = ("In", "NotIn")
_MOST_EXIT_CODES = 255
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_UID = "batch.kubernetes.io/controller-uid"
_NAME = "batch.kubernetes.io/job-name"


def _spec_errors(spec: JsonObject, path: str) -> Errors:
    errors = negative_errors(spec, _COUNTS, path)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += domain_prefixed_errors(spec["managedBy"], f"{path}.managedBy")
    errors += _mode_errors(spec, path)
    if (success := spec.get("successPolicy")) is not None:
        if spec.get("completionMode") == "Indexed":
            errors += success_policy_errors(success, spec.get("completions") or 0, f"{path}.successPolicy")
        else:
            errors.append(invalid(f"{path}.successPolicy", GoStruct({"Rules": success.get("rules")}), _INDEXED_ONLY))
    policy = spec.get("podFailurePolicy")
    if policy is not None:
        errors += _rule_errors(policy.get("rules") or (), spec, f"{path}.podFailurePolicy.rules")
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None and replacement not in _REPLACEMENTS:
        errors.append(not_supported(f"{path}.podReplacementPolicy", replacement, _REPLACEMENTS))
    elif replacement == "TerminatingOrFailed" and policy is not None:
        errors.append(not_supported(f"{path}.podReplacementPolicy", replacement, ["Failed"]))
    errors += template_errors(spec.get("template") or {}, f"{path}.template")
    return errors + _restart_errors(spec, f"{path}.template.spec.restartPolicy")


def _mode_errors(spec: JsonObject, path: str) -> Errors:
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        return [not_supported(f"{path}.completionMode", mode, ["NonIndexed", "Indexed"])]
    if mode == "Indexed":
        return _indexed_errors(spec, path)
    return [
        invalid(f"{path}.{name}", spec[name], _INDEXED_ONLY)
        for name in ("backoffLimitPerIndex", "maxFailedIndexes")
        if spec.get(name) is not None
    ]


def _indexed_errors(spec: JsonObject, path: str) -> Errors:
    errors: Errors = []
    completions, most = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if (spec.get("parallelism") or 0) > _MAX_INDEXED:
        text = f"must be less than or equal to {_MAX_INDEXED} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", spec["parallelism"], text))
    if most is not None and completions is not None and most > completions:
        errors.append(invalid(f"{path}.maxFailedIndexes", most, "must be less than or equal to completions"))
    return errors


def _rule_errors(rules: Sequence[JsonObject], spec: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for index, rule in enumerate(rules):
        here, action = f"{path}[{index}]", rule.get("action") or ""
        if not action:
            errors.append(required(f"{here}.action", f"valid values: {', '.join(map(repr, _ACTIONS))}"))
        elif action not in _ACTIONS:
            errors.append(not_supported(f"{here}.action", action, _ACTIONS))
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            text = "requires the backoffLimitPerIndex to be set"
            errors.append(invalid(f"{here}.action", action, text))
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None and patterns:
            text = "specifying both OnExitCodes and OnPodConditions is not supported"
            errors.append(invalid(here, OMITTED, text))
        elif codes is None and not patterns:
            text = "specifying one of OnExitCodes and OnPodConditions is required"
            errors.append(invalid(here, OMITTED, text))
        elif codes is not None:
            errors += _exit_code_errors(codes, f"{here}.onExitCodes")
    return errors


def _exit_code_errors(codes: JsonObject, path: str) -> Errors:
    """Validate the exit codes of a rule: sorted, each once, and zero only where it is excluded."""
    operator, values = codes.get("operator") or "", codes.get("values") or []
    errors: Errors = []
    if not operator:
        errors.append(required(f"{path}.operator", f"valid values: {', '.join(map(repr, _OPERATORS))}"))
    elif operator not in _OPERATORS:
        errors.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if not values:
        errors.append(invalid(f"{path}.values", [], "at least one value is required"))
    elif len(values) > _MOST_EXIT_CODES:
        errors.append(too_many(f"{path}.values", len(values), _MOST_EXIT_CODES))
    return errors + _exit_code_value_errors(operator, values, f"{path}.values")


def _exit_code_value_errors(operator: str, values: list[int], path: str) -> Errors:
    errors: Errors = []
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}[{index}]", value, "must not be 0 for the In operator"))
        elif value in values[:index]:
            errors.append(duplicate(f"{path}[{index}]", value))
    if values != sorted(values):
        errors.append(invalid(path, values, "must be ordered"))
    return errors


def _restart_errors(spec: JsonObject, field: str) -> Errors:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    if policy in ("Always", ""):
        return [required(field, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(field, policy, ["OnFailure", "Never"])]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def _generated_errors(obj: JsonObject, *, prefixed: bool) -> Errors:
    """Validate the labels and the selector that the server generates."""
    spec, metadata = obj["spec"], obj["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    wanted = {"controller-uid": uid, "job-name": name}
    if prefixed:
        wanted |= {_UID: uid, _NAME: name}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    errors = [error for key, value in wanted.items() for error in _label_errors(labels, key, value)]
    if not selector_errors(selector, "") and not selects(selector, wanted):
        errors.append(invalid("spec.selector", quoted_selector(selector), "`selector` not auto-generated"))
    return errors


def _label_errors(labels: JsonObject | None, key: str, wanted: str) -> Errors:
    field, text = f"spec.template.metadata.labels[{key}]", f"must be '{wanted}'"
    if key not in (labels or {}):
        return [required(field, text)]
    return [] if (labels or {})[key] == wanted else [invalid(field, labels, text)]


def _selected_spec_errors(spec: JsonObject) -> Errors:
    """Validate a Job's spec and its selector."""
    errors = _spec_errors(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        return [*errors, required("spec.selector"), *mismatch_errors(spec)]
    return errors + (selector_errors(selector, "spec.selector") or mismatch_errors(spec))


def job_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a Job."""
    if subresource == "status":
        counts = ("active", "succeeded", "failed", "ready", "terminating")
        return negative_errors(obj.get("status") or {}, counts, "status")
    spec = obj["spec"]
    if old is not None and same_content(spec, old.get("spec")):
        return []
    known = {} if old is None else ((old["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    errors = _generated_errors(obj, prefixed=old is None or (_UID in known and _NAME in known))
    errors += [*_selected_spec_errors(spec), *_host_errors(obj)]
    return errors if old is None else [*errors, *job_change_errors(obj, old)]


def _host_errors(obj: JsonObject) -> Errors:
    """Reject a name that is not a valid host name with the index of a pod."""
    spec, name = obj["spec"], obj["metadata"].get("name") or ""
    if spec.get("completionMode") != "Indexed" or (spec.get("completions") or 0) <= 0:
        return []
    longest = f"{name}-{spec['completions'] - 1}"
    if not label_faults(longest):
        return []
    return [invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {longest}")]


def cron_job_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a CronJob."""
    if subresource == "status" or (old is not None and same_content(obj.get("spec"), old.get("spec"))):
        return []
    spec = obj["spec"]
    before = (old or {}).get("spec") or {}
    errors = _schedule_errors(spec, before, is_new=old is None)
    errors += negative_errors(spec, ("startingDeadlineSeconds",), "spec")
    if old is None or spec.get("timeZone") != before.get("timeZone"):
        errors += _zone_errors(spec.get("timeZone"))
    policy = spec.get("concurrencyPolicy") or ""
    if policy not in _POLICIES:
        errors.append(not_supported("spec.concurrencyPolicy", policy, _POLICIES))
    errors += _job_template_errors((spec.get("jobTemplate") or {}).get("spec") or {})
    errors += negative_errors(spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), "spec")
    name = obj["metadata"].get("name") or ""
    if old is None and len(name) > _NAME_LIMIT:
        errors.append(invalid("metadata.name", name, f"must be no more than {_NAME_LIMIT} characters"))
    return errors


def _schedule_errors(spec: JsonObject, before: JsonObject, *, is_new: bool) -> Errors:
    schedule = spec.get("schedule") or ""
    if not schedule:
        return [required("spec.schedule")]
    errors: Errors = []
    try:
        CronSchedule.parse(schedule)
    except ScheduleError as error:
        errors.append(invalid("spec.schedule", schedule, str(error)))
    if "TZ" in schedule:
        had_zone = not is_new and "TZ" in (before.get("schedule") or "")
        if not had_zone:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid("spec.schedule", schedule, text))
        elif spec.get("timeZone") is not None:
            text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            errors.append(invalid("spec.schedule", schedule, text))
    return errors


def _zone_errors(zone: str | None) -> Errors:
    field = "spec.timeZone"
    if zone is None:
        return []
    if not zone:
        return [invalid(field, zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        return [invalid(field, zone, text)]
    return [] if _is_zone(zone) else [invalid(field, zone, f"unknown time zone {zone}")]


def _is_zone(zone: str) -> bool:
    if zone == "UTC":
        return True
    if not re.fullmatch(r"[A-Za-z0-9+_][A-Za-z0-9+_-]*(/[A-Za-z0-9+_][A-Za-z0-9+_-]*)*", zone):
        return False
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        # On a machine without a time zone database, a well-formed name is accepted.
        return not zoneinfo.available_timezones()
    return True


def _job_template_errors(spec: JsonObject) -> Errors:
    path = "spec.jobTemplate.spec"
    errors = _spec_errors(spec, path)
    if spec.get("selector") is not None:
        text = "`selector` will be auto-generated"
        errors.append(invalid(f"{path}.selector", quoted_selector(spec["selector"]), text))
    if spec.get("manualSelector"):
        errors.append(not_supported(f"{path}.manualSelector", spec["manualSelector"], ["nil", "false"]))
    return errors
