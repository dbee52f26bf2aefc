"""Registration of Services, endpoints, Ingresses, NetworkPolicies and ServiceCIDRs."""

from steersman.apiserver.builtin.common.strategies import CreatesOnUpdate, StatusKeepsMetadata
from steersman.apiserver.builtin.kind import BuiltinKind
from steersman.apiserver.builtin.networking.endpoints import (
    EndpointSliceStrategy,
    default_endpoint_slice,
    default_endpoints,
)
from steersman.apiserver.builtin.networking.ingresses import default_ingress, default_ingress_class
from steersman.apiserver.builtin.networking.ip_addresses import IPAddressStrategy
from steersman.apiserver.builtin.networking.network_policies import NetworkPolicyStrategy, default_network_policy
from steersman.apiserver.builtin.networking.services import ServiceStrategy, default_service

_NETWORKING = "networking.k8s.io"
KINDS = (
    BuiltinKind(
        "",
        "Service",
        strategy=ServiceStrategy,
        defaults=default_service,
        validation="networking.service_validation:service_errors",
        warnings="networking.service_validation:service_warnings",
        columns="networking.columns:SERVICE",
    ),
    BuiltinKind(
        "",
        "Endpoints",
        strategy=CreatesOnUpdate,
        defaults=default_endpoints,
        validation="networking.endpoint_validation:endpoints_errors",
        columns="networking.columns:ENDPOINTS",
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    BuiltinKind(
        "discovery.k8s.io",
        "EndpointSlice",
        strategy=EndpointSliceStrategy,
        defaults=default_endpoint_slice,
        validation="networking.endpoint_validation:endpoint_slice_errors",
        columns="networking.columns:ENDPOINT_SLICE",
        counts_generations=True,
    ),
    BuiltinKind(
        _NETWORKING,
        "Ingress",
        defaults=default_ingress,
        validation="networking.ingress_validation:ingress_errors",
        warnings="networking.ingress_validation:ingress_warnings",
        columns="networking.columns:INGRESS",
        counts_generations=True,
    ),
    BuiltinKind(
        _NETWORKING,
        "IngressClass",
        defaults=default_ingress_class,
        validation="networking.ingress_validation:ingress_class_errors",
        columns="networking.columns:INGRESS_CLASS",
        counts_generations=True,
    ),
    BuiltinKind(
        _NETWORKING,
        "NetworkPolicy",
        strategy=NetworkPolicyStrategy,
        defaults=default_network_policy,
        validation="networking.network_policy_validation:network_policy_errors",
        columns="networking.columns:NETWORK_POLICY",
        counts_generations=True,
    ),
    BuiltinKind(
        _NETWORKING,
        "ServiceCIDR",
        strategy=StatusKeepsMetadata,
        validation="networking.service_cidr_validation:service_cidr_errors",
        columns="networking.columns:SERVICE_CIDR",
    ),
    BuiltinKind(
        _NETWORKING,
        "IPAddress",
        strategy=IPAddressStrategy,
        validation="networking.ip_addresses:ip_address_errors",
    ),
)
