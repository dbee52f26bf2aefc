"""Registration of Pods and PodTemplates."""

from steersman.apiserver.builtin.common.strategies import ReturnsDeletedObject
from steersman.apiserver.builtin.kind import BuiltinKind
from steersman.apiserver.builtin.pods.defaults import default_pod, default_pod_template
from steersman.apiserver.builtin.pods.strategy import PodStrategy

KINDS = (
    BuiltinKind(
        "",
        "Pod",
        strategy=PodStrategy,
        defaults=default_pod,
        validation="pods.update_validation:pod_errors",
        warnings="pods.warnings:new_pod_warnings",
        columns="pods.columns:POD",
        counts_generations=True,
    ),
    BuiltinKind(
        "",
        "PodTemplate",
        strategy=ReturnsDeletedObject,
        defaults=default_pod_template,
        validation="pods.validation:pod_template_errors",
        warnings="pods.warnings:pod_template_warnings",
        columns="pods.columns:POD_TEMPLATE",
        counts_generations=True,
    ),
    BuiltinKind("", "Binding"),
)
