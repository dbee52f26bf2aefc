"""Ingresses and IngressClasses: defaults."""

from steersman.apiserver.builtin.common.defaults import set_default
from steersman.json_types import JsonObject


def default_ingress(obj: JsonObject) -> None:
    """Set the defaults of an Ingress."""
    for rule in obj["spec"].get("rules") or ():
        for path in (rule.get("http") or {}).get("paths") or ():
            set_default(path, pathType="ImplementationSpecific")


def default_ingress_class(obj: JsonObject) -> None:
    """Set the defaults of an IngressClass."""
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None:
        set_default(parameters, scope="Cluster")
