"""Options of requests that open a connection (exec, attach, port-forward, proxy): what admission reviews of them."""

from steersman.apiserver.messages.api_request import ApiRequest
from steersman.apiserver.messages.info import Query
from steersman.apiserver.status import bad_request
from steersman.golang.text import quoted
from steersman.json_types import JsonObject

_STREAMS = ("stdin", "stdout", "stderr", "tty")
#: Kind → its flags; in the order of Kubernetes' own types, as are the texts and lists below.
_FLAGS = {"PodExecOptions": _STREAMS, "PodAttachOptions": _STREAMS}
_WITH_CONTAINER = frozenset({"PodExecOptions", "PodAttachOptions"})


def connect_options(request: ApiRequest) -> JsonObject:
    """Return the options of a request as an object; fields that are not set are left out."""
    query, kind = request.query, request.served.subresources[request.info.subresource].kind
    if "dryRun" in query:
        raise bad_request("dryRun is not supported")
    options: JsonObject = {"kind": kind.kind, "apiVersion": kind.api_version}
    for name in _FLAGS.get(kind.kind, ()):
        if query.flag(name):
            options[name] = True
    if kind.kind in _WITH_CONTAINER and query.text("container"):
        options["container"] = query.text("container")
    if kind.kind == "PodExecOptions" and "command" in query:
        options["command"] = list(query.values["command"])
    if kind.kind == "PodPortForwardOptions" and "ports" in query:
        options["ports"] = [_port(text) for text in query.values["ports"]]
    if kind.kind.endswith("ProxyOptions") and (path := _path(request)):
        options["path"] = path
    return options


def _port(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_request(f"strconv.ParseInt: parsing {quoted(text)}: invalid syntax") from None


def _path(request: ApiRequest) -> str:
    path = "".join(f"/{part}" for part in request.info.rest)
    is_folder = request.http.target.partition("?")[0].endswith("/")
    return f"{path}/" if is_folder and not path.endswith("/") else path


def query_of(options: JsonObject) -> Query:
    """Return the parameters of a request that asks for these options, which a webhook may have changed."""
    values: dict[str, list[str]] = {}
    for name, value in options.items():
        if name in ("kind", "apiVersion"):
            continue
        if value is True or value is False:
            values[name] = ["true" if value else "false"]
        else:
            values[name] = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    return Query(values)
