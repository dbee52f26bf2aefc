"""Registration of Namespaces, Nodes, the classes that pods name, and what configures the API server."""

from steersman.apiserver.builtin.cluster.api_services import default_api_service
from steersman.apiserver.builtin.cluster.flow_control import default_flow_schema, default_priority_level
from steersman.apiserver.builtin.cluster.namespaces import NamespaceStrategy
from steersman.apiserver.builtin.cluster.nodes import NodeStrategy
from steersman.apiserver.builtin.cluster.priority_classes import PriorityClassStrategy, default_priority_class
from steersman.apiserver.builtin.common.strategies import StatusKeepsMetadata
from steersman.apiserver.builtin.kind import BuiltinKind

_FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"
KINDS = (
    BuiltinKind(
        "",
        "Namespace",
        strategy=NamespaceStrategy,
        validation="cluster.namespace_validation:namespace_errors",
        columns="cluster.columns:NAMESPACE",
    ),
    BuiltinKind(
        "",
        "Node",
        strategy=NodeStrategy,
        validation="cluster.node_validation:node_errors",
        columns="cluster.columns:NODE",
    ),
    BuiltinKind(
        "",
        "ComponentStatus",
        columns="cluster.columns:COMPONENT_STATUS",
        deprecation="v1 ComponentStatus is deprecated in v1.19+",
    ),
    BuiltinKind(
        "scheduling.k8s.io",
        "PriorityClass",
        strategy=PriorityClassStrategy,
        defaults=default_priority_class,
        validation="cluster.priority_class_validation:priority_class_errors",
        columns="cluster.columns:PRIORITY_CLASS",
        counts_generations=True,
    ),
    BuiltinKind(
        "node.k8s.io",
        "RuntimeClass",
        validation="cluster.runtime_class_validation:runtime_class_errors",
        columns="cluster.columns:RUNTIME_CLASS",
    ),
    BuiltinKind(
        "apiregistration.k8s.io",
        "APIService",
        strategy=StatusKeepsMetadata,
        defaults=default_api_service,
    ),
    BuiltinKind(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        counts_generations=True,
    ),
    BuiltinKind(
        _FLOW_CONTROL,
        "FlowSchema",
        strategy=StatusKeepsMetadata,
        defaults=default_flow_schema,
        counts_generations=True,
    ),
    BuiltinKind(
        _FLOW_CONTROL,
        "PriorityLevelConfiguration",
        strategy=StatusKeepsMetadata,
        defaults=default_priority_level,
        validation="cluster.flow_control_validation:priority_level_errors",
        counts_generations=True,
    ),
)
