"""The conversion between versions that a CustomResourceDefinition asks for: a strategy, and a webhook to call."""

from typing import Final
from urllib.parse import urlsplit

from steersman.json_types import JsonObject
from steersman.structural.crd.parts import enum_errors
from steersman.validation.field_errors import FieldError, forbidden, invalid, required
from steersman.validation.names import dns1035_faults, subdomain_faults

_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_PORTS: Final = range(1, 65536)


def conversion_errors(conversion: JsonObject | None, path: str) -> list[FieldError]:
    """Check a conversion."""
    if conversion is None:
        return []
    strategy = conversion["strategy"]
    errors = enum_errors(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook")
    if strategy == "Webhook":
        return errors + _webhook_errors(webhook or {}, path)
    if webhook is not None and strategy:
        text = "should not be set when strategy is not set to Webhook"
        set_ = {
            "webhookClientConfig": webhook.get("clientConfig"),
            "conversionReviewVersions": webhook.get("conversionReviewVersions"),
        }
        errors += [forbidden(f"{path}.{key}", text) for key, value in set_.items() if value]
    return errors


def _webhook_errors(webhook: JsonObject, path: str) -> list[FieldError]:
    client = webhook.get("clientConfig")
    where = f"{path}.webhookClientConfig"
    if client is None:
        errors = [required(where, "required when strategy is set to Webhook")]
    elif (client.get("url") is None) == (client.get("service") is None):
        errors = [required(where, "exactly one of url or service is required")]
    elif client.get("url") is not None:
        errors = url_errors(client["url"], f"{where}.url")
    else:
        errors = service_errors(client["service"], f"{where}.service")
    return errors + _review_version_errors(webhook.get("conversionReviewVersions") or [], path)


def _review_version_errors(versions: list[str], path: str) -> list[FieldError]:
    where = f"{path}.conversionReviewVersions"
    if not versions:
        return [required(where)]
    errors = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            errors.append(invalid(f"{where}[{index}]", version, "duplicate version"))
        elif faults := dns1035_faults(version):
            errors.append(invalid(f"{where}[{index}]", version, ",".join(faults)))
    if not set(versions) & set(_REVIEW_VERSIONS):
        errors.append(invalid(where, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return errors


def url_errors(url: str, path: str) -> list[FieldError]:
    """Check the URL of a webhook: https, a host, nothing else but a path."""
    form = "; desired format: https://host[/path]"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{form}")]
    errors = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{form}"))
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        errors.append(invalid(path, host, f"host must be specified{form}"))
    if at:
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def service_errors(service: JsonObject, path: str) -> list[FieldError]:
    """Check the reference to the Service of a webhook."""
    errors = [required(f"{path}.{key}") for key in ("name", "namespace") if not service[key]]
    if service.get("port") is not None and service["port"] not in _PORTS:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(invalid(f"{path}.port", service["port"], text))
    if service.get("path") is not None:
        errors += _path_errors(service["path"], f"{path}.path")
    return errors


def _path_errors(url_path: str, path: str) -> list[FieldError]:
    errors = [] if url_path.startswith("/") else [invalid(path, url_path, "must start with a '/'")]
    if url_path in ("/", ""):
        return errors
    segments = url_path[1:].removesuffix("/").split("/")
    for index, segment in enumerate(segments):
        if not segment:
            errors.append(invalid(path, url_path, f"segment[{index}] may not be empty"))
        else:
            errors += [invalid(path, url_path, f"segment[{index}]: {fault}") for fault in subdomain_faults(segment)]
    return errors
