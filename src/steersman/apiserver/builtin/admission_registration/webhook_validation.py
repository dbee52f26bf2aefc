"""Validation of webhook configurations."""

from steersman.apiserver.builtin.admission_registration.match_validation import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    choice_errors,
    condition_errors,
    rule_errors,
)
from steersman.apiserver.builtin.common.label_selectors import selector_errors
from steersman.apiserver.builtin.common.names import subdomain_errors
from steersman.apiserver.builtin.common.numbers import PORT_RULE, port_errors
from steersman.golang.equality import json_equal
from steersman.json_types import JsonObject
from steersman.structural.crd.conversion import url_errors
from steersman.validation.field_errors import Errors, duplicate, invalid, not_supported, required
from steersman.validation.names import dns1035_faults, subdomain_faults

_NO_EFFECTS = ("None", "NoneOnDryRun")
_REVIEWS = ("v1", "v1beta1")
_REINVOCATIONS = ("IfNeeded", "Never")
_SECONDS = (1, 30)
_FEWEST_PARTS = 3


def webhook_configuration_errors(obj: JsonObject, old: JsonObject | None, subresource: str) -> Errors:
    """Validate a configuration of validating or mutating webhooks."""
    del subresource
    errors: Errors = []
    names: set[str] = set()
    hooks = obj.get("webhooks") or ()
    known = [hook.get("matchConditions") for hook in (old or {}).get("webhooks") or ()]
    fresh = not (old is not None and json_equal(known, [hook.get("matchConditions") for hook in hooks]))
    for index, hook in enumerate(hooks):
        path, name = f"webhooks[{index}]", hook.get("name") or ""
        errors += _name_errors(name, f"{path}.name")
        errors += _hook_errors(hook, path)
        if fresh:
            errors += condition_errors(hook.get("matchConditions") or (), f"{path}.matchConditions")
        errors += _review_errors(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
        if name and name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    return errors


def _name_errors(name: str, field: str) -> Errors:
    if not name:
        return [required(field)]
    errors = subdomain_errors(name, field)
    if not errors and len(name.split(".")) < _FEWEST_PARTS:
        text = "should be a domain with at least three segments separated by dots"
        errors.append(invalid(field, name, text))
    return errors


def _hook_errors(hook: JsonObject, path: str) -> Errors:
    errors: Errors = []
    for index, rule in enumerate(hook.get("rules") or ()):
        errors += rule_errors(rule, f"{path}.rules[{index}]")
    errors += choice_errors(hook, "failurePolicy", FAILURE_POLICIES, path)
    errors += choice_errors(hook, "matchPolicy", MATCH_POLICIES, path)
    effects, seconds = hook.get("sideEffects"), hook.get("timeoutSeconds")
    if not effects:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(_NO_EFFECTS)}"))
    elif effects not in _NO_EFFECTS:
        errors.append(not_supported(f"{path}.sideEffects", effects, _NO_EFFECTS))
    if seconds is not None and not _SECONDS[0] <= seconds <= _SECONDS[1]:
        text = f"the timeout value must be between {_SECONDS[0]} and {_SECONDS[1]} seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", seconds, text))
    for name in ("namespaceSelector", "objectSelector"):
        errors += selector_errors(hook.get(name), f"{path}.{name}")
    errors += choice_errors(hook, "reinvocationPolicy", _REINVOCATIONS, path)
    return errors + client_errors(hook.get("clientConfig") or {}, f"{path}.clientConfig")


def client_errors(config: JsonObject, path: str) -> Errors:
    """Validate the address of a webhook: a URL or a service."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return url_errors(url, f"{path}.url")
    return _service_errors(service or {}, f"{path}.service")


def _service_errors(service: JsonObject, path: str) -> Errors:
    errors: Errors = [required(f"{path}.{name}") for name in ("name", "namespace") if not service.get(name)]
    port = service.get("port") or 0
    if port_errors(port, path):
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {PORT_RULE}"))
    return errors + _path_errors(service.get("path") or "", f"{path}.path")


def _path_errors(text: str, field: str) -> Errors:
    if text in ("", "/"):
        return []
    if text == "//":
        return [invalid(field, text, "segment[0] may not be empty")]
    errors: Errors = [] if text.startswith("/") else [invalid(field, text, "must start with a '/'")]
    for index, part in enumerate(text[1:].removesuffix("/").split("/")):
        if not part:
            errors.append(invalid(field, text, f"segment[{index}] may not be empty"))
        else:
            errors += [invalid(field, text, f"segment[{index}]: {fault}") for fault in subdomain_faults(part)]
    return errors


def _review_errors(versions: list[str], path: str) -> Errors:
    if not versions:
        return [required(path, f"must specify one of {', '.join(_REVIEWS)}")]
    errors: Errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        errors += [invalid(f"{path}[{index}]", version, fault) for fault in dns1035_faults(version)]
    if not any(version in _REVIEWS for version in versions):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}"))
    return errors
