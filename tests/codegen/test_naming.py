import keyword

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.codegen.naming import (
    class_name,
    field_name,
    field_names,
    module_name,
    needs_wire_name,
    plural,
    singular,
)


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ("clusterIP", "cluster_ip"),
        ("clusterIPs", "cluster_ips"),
        ("externalIPs", "external_ips"),
        ("podCIDR", "pod_cidr"),
        ("podCIDRs", "pod_cidrs"),
        ("apiVersion", "api_version"),
        ("fieldsV1", "fields_v1"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("nonResourceURLs", "non_resource_urls"),
        ("insecureSkipTLSVerify", "insecure_skip_tls_verify"),
        ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
        ("targetWWNs", "target_wwns"),
        ("enableIPv6", "enable_ipv6"),
        ("seLinuxOptions", "se_linux_options"),
        ("sha256Sum", "sha256_sum"),
        ("x509Certs", "x509_certs"),
        ("dns", "dns"),
        ("DNSNames", "dns_names"),
        ("x-kubernetes-int-or-string", "x_kubernetes_int_or_string"),
        ("$ref", "ref"),
        ("snake_case", "snake_case"),
        ("from", "from_"),
        ("not", "not_"),
        ("None", "none"),
        ("list", "list_"),
        ("field", "field_"),
        ("5xx", "field_5xx"),
        ("日本", "unnamed"),
        ("", "unnamed"),
        ("a.b/c", "a_b_c"),
    ],
)
def test_field_gets_a_readable_name(wire: str, name: str) -> None:
    """Authors type these names."""
    assert field_name(wire) == name


def test_field_of_a_kind_does_not_hide_attributes_of_all_kinds() -> None:
    """``obj.name`` is the name of the object, whatever a custom resource calls its fields."""
    assert field_name("name", of_kind=True) == "name_"
    assert field_name("isDeleting", of_kind=True) == "is_deleting_"
    assert field_name("name") == "name"


def test_wire_name_is_written_only_if_it_cannot_be_derived() -> None:
    """Generated code stays short."""
    assert not needs_wire_name("api_version", "apiVersion")
    assert not needs_wire_name("from_", "from")
    assert needs_wire_name("cluster_ip", "clusterIP")
    assert needs_wire_name("snake_case", "snake_case")


@settings(max_examples=150)
@given(st.lists(st.text(max_size=8) | st.from_regex(r"[a-zA-Z_$-]{1,6}", fullmatch=True), unique=True, max_size=6))
def test_any_names_become_different_plain_identifiers(wires: list[str]) -> None:
    """Schemas come from strangers: only ASCII words may reach the code."""
    names = field_names(wires)
    assert list(names) == wires
    assert len(set(names.values())) == len(wires)
    for name in names.values():
        assert name.isascii()
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert not name.startswith("_")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Pod", "Pod"),
        ("IPBlock", "IPBlock"),
        ("clusterIP", "ClusterIP"),
        ("my-kind", "MyKind"),
        ("9p", "Part9p"),
        ("", "Part"),
    ],
)
def test_class_gets_a_proper_name(text: str, name: str) -> None:
    """Kubernetes' own spelling stays; the rest becomes CamelCase."""
    assert class_name(text) == name


@pytest.mark.parametrize(
    ("several", "one"),
    [("ports", "port"), ("policies", "policy"), ("addresses", "address"), ("boxes", "box"), ("status", "status"),
     ("class", "class"), ("matches", "match"), ("ties", "tie"), ("data", "data"), ("analysis", "analysis")],
)  # fmt: skip
def test_item_of_a_list_is_named_in_the_singular(several: str, one: str) -> None:
    """A list of ports contains objects of class Port."""
    assert singular(several) == one


@pytest.mark.parametrize(("kind", "name"), [("Scale", "scales"), ("Policy", "policies"), ("Ingress", "ingresses")])
def test_plural_of_a_kind_is_guessed(kind: str, name: str) -> None:
    """Kinds that are only a subresource have no plural."""
    assert plural(kind) == name


@pytest.mark.parametrize(
    ("group", "version", "name"),
    [
        ("", "v1", "core_v1"),
        ("apps", "v1", "apps_v1"),
        ("rbac.authorization.k8s.io", "v1", "rbac_v1"),
        ("autoscaling", "v2", "autoscaling_v2"),
        ("cert-manager.io", "v1alpha2", "cert_manager_v1alpha2"),
        ("../../etc", "v1", "core_v1"),
        ("9.x", "v1", "group_9_v1"),
    ],
)
def test_module_is_named_after_the_first_label_of_its_group(group: str, version: str, name: str) -> None:
    """The name is also the name of a file, so it contains only words."""
    assert module_name(group, version) == name
