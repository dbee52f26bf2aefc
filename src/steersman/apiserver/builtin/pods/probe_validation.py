"""Validation of probes and lifecycle hooks: each has exactly one handler."""

from collections.abc import Callable

from steersman.apiserver.builtin.common.names import header_name_errors
from steersman.apiserver.builtin.common.numbers import negative_errors, port_errors, port_or_name_errors
from steersman.json_types import JsonObject
from steersman.validation.field_errors import Errors, forbidden, invalid, not_supported, required

_TIMES = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def _exec_errors(action: JsonObject, path: str, _grace: int) -> Errors:
    return [] if action.get("command") else [required(f"{path}.command")]


def _http_errors(action: JsonObject, path: str, _grace: int) -> Errors:
    errors: Errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += port_or_name_errors(action.get("port"), f"{path}.port")
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        errors.append(not_supported(f"{path}.scheme", action.get("scheme", ""), ["HTTP", "HTTPS"]))
    for header in action.get("httpHeaders") or ():
        errors += header_name_errors(header.get("name", ""), f"{path}.httpHeaders")
    return errors


def _tcp_errors(action: JsonObject, path: str, _grace: int) -> Errors:
    return port_or_name_errors(action.get("port"), f"{path}.port")


def _grpc_errors(action: JsonObject, path: str, _grace: int) -> Errors:
    return port_errors(action.get("port") or 0, f"{path}.port")


def _sleep_errors(action: JsonObject, path: str, grace: int) -> Errors:
    seconds = action.get("seconds") or 0
    if 0 <= seconds <= grace:
        return []
    return [invalid(path, seconds, f"must be non-negative and less than terminationGracePeriodSeconds ({grace})")]


#: In the order in which Kubernetes validates them.
_HANDLERS: tuple[tuple[str, Callable[[JsonObject, str, int], Errors]], ...] = (
    ("exec", _exec_errors),
    ("httpGet", _http_errors),
    ("tcpSocket", _tcp_errors),
    ("grpc", _grpc_errors),
    ("sleep", _sleep_errors),
)


def _handler_errors(handler: JsonObject, path: str, grace: int) -> Errors:
    errors: Errors = []
    count = 0
    for name, check in _HANDLERS:
        action = handler.get(name)
        if action is None:
            continue
        count += 1
        if count > 1:
            errors.append(forbidden(f"{path}.{name}", "may not specify more than 1 handler type"))
        else:
            errors += check(action, f"{path}.{name}", grace)
    if not count:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _probe_errors(probe: JsonObject, name: str, path: str, grace: int) -> Errors:
    errors = _handler_errors(probe, path, grace)
    errors += negative_errors(probe, _TIMES, path)
    own = probe.get("terminationGracePeriodSeconds")
    if own is not None and own <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", own, "must be greater than 0"))
    if name == "readinessProbe":
        if own is not None:
            text = "must not be set for readinessProbes"
            errors.append(invalid(f"{path}.terminationGracePeriodSeconds", own, text))
    elif probe.get("successThreshold") != 1:
        errors.append(invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1"))
    return errors


def probe_errors(container: JsonObject, path: str, grace: int) -> Errors:
    """Validate the probes and lifecycle hooks of a container or sidecar."""
    errors: Errors = []
    for name, hook in (container.get("lifecycle") or {}).items():
        if hook.__class__ is dict:
            errors += _handler_errors(hook, f"{path}.lifecycle.{name}", grace)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            errors += _probe_errors(probe, name, f"{path}.{name}", grace)
    return errors


def no_probe_errors(container: JsonObject, path: str) -> Errors:
    """Reject probes and hooks of an init container that is not a sidecar."""
    text = "may not be set for init containers without restartPolicy=Always"
    names = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
    return [forbidden(f"{path}.{name}", text) for name in names if container.get(name) is not None]
