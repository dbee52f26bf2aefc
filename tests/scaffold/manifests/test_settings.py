"""`[tool.steersman]`: its deployment settings are in the manifests, the bundle and the values of the chart."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from steersman.errors import ConfigError
from steersman.objects.resource import Unstructured
from steersman.protocol.manifests import load, load_documents
from steersman.scaffold.manifests.bundle import bundle_files
from steersman.scaffold.manifests.chart import chart_files
from steersman.scaffold.manifests.plain import all_objects
from steersman.scaffold.manifests.settings import SETTINGS as KEYS
from steersman.scaffold.manifests.shape import Shape, shape_from
from steersman.testing.cluster import Cluster
from tests.support.example_operator import operator

SETTINGS: dict[str, Any] = {
    "name": "fleet",
    "operator": "fleet.main:operator",
    "replicas": 3,
    "args": ["--verbose", "--grace=90"],
    "env": {
        "REGION": "north",
        "DEBUG": True,
        "SHARDS": 4,
        "PASSWORD": {"secret": "database", "key": "password"},
        "ZONE": {"config_map": "cluster", "key": "zone", "optional": True},
        "POD_IP": {"field": "status.podIP"},
    },
    "env_from": [{"secret": "credentials"}, {"config_map": "more", "prefix": "MORE_", "optional": True}],
    "resources": {"requests": {"cpu": "200m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}},
    "node_selector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [
        {"key": "dedicated", "value": "operators", "effect": "NoSchedule"},
        {"operator": "Exists", "effect": "NoExecute", "toleration_seconds": 60},
    ],
    "image_pull_secrets": ["registry"],
    "volumes": {
        "/backups": "my-backups",
        "/etc/fleet": {"config_map": "fleet-settings"},
        "/etc/tls": {"secret": "tls"},
        "/scratch": {"empty_dir": "1Gi"},
        "/data": {"source": {"csi": {"driver": "x.example.com"}}, "read_only": True},
    },
}


def shape(**changes: Any) -> Shape:
    """Return the shape for the settings, with some changes."""
    return shape_from(SETTINGS | changes, "fleet", version="1.0")


def pod_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the pod template of the only Deployment among some objects."""
    [deployment] = [obj for obj in objects if obj["kind"] == "Deployment"]
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return pod


def test_settings_are_in_the_deployment() -> None:
    """Otherwise users would have to patch the manifests."""
    pod = pod_of(all_objects(operator, shape()))
    [container] = pod["containers"]
    assert container["args"][-2:] == ["--verbose", "--grace=90"]
    assert container["env"] == [
        {"name": "REGION", "value": "north"},
        {"name": "DEBUG", "value": "true"},
        {"name": "SHARDS", "value": "4"},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "database", "key": "password"}}},
        {"name": "ZONE", "valueFrom": {"configMapKeyRef": {"name": "cluster", "key": "zone", "optional": True}}},
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    assert container["envFrom"] == [
        {"secretRef": {"name": "credentials"}},
        {"prefix": "MORE_", "configMapRef": {"name": "more", "optional": True}},
    ]
    assert container["resources"] == {
        "requests": {"cpu": "200m", "memory": "128Mi"},
        "limits": {"memory": "1Gi"},
    }
    assert pod["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
    assert pod["tolerations"] == [
        {"key": "dedicated", "value": "operators", "effect": "NoSchedule"},
        {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
    ]
    assert pod["imagePullSecrets"] == [{"name": "registry"}]


def test_volumes_of_every_kind_are_mounted() -> None:
    """Secrets and ConfigMaps are mounted read-only; a claim is writable."""
    pod = pod_of(all_objects(operator, shape()))
    sources = {volume["name"]: {k: v for k, v in volume.items() if k != "name"} for volume in pod["volumes"]}
    mounts = {
        mount["mountPath"]: (sources[mount["name"]], mount.get("readOnly", False))
        for mount in pod["containers"][0]["volumeMounts"]
    }
    del mounts["/tmp"]  # noqa: S108 - a path of the pod
    assert mounts == {
        "/backups": ({"persistentVolumeClaim": {"claimName": "my-backups"}}, False),
        "/etc/fleet": ({"configMap": {"name": "fleet-settings"}}, True),
        "/etc/tls": ({"secret": {"secretName": "tls"}}, True),
        "/scratch": ({"emptyDir": {"sizeLimit": "1Gi"}}, False),
        "/data": ({"csi": {"driver": "x.example.com"}}, True),
    }


def test_a_pod_gets_more_time_than_its_grace_period() -> None:
    """Otherwise the kubelet would kill running reconciles."""
    assert pod_of(all_objects(operator, shape()))["terminationGracePeriodSeconds"] == 100
    assert shape(args=["--grace", "5"]).termination_seconds == 15
    assert shape(args=[]).termination_seconds == 40


async def test_a_server_accepts_the_settings(cluster: Cluster) -> None:
    """Names and forms are those of Kubernetes."""
    for obj in all_objects(operator, shape()):
        await cluster.client.apply(Unstructured(obj))


def test_settings_are_the_values_of_the_chart() -> None:
    """The project sets the defaults; a cluster can override them."""
    files = chart_files(operator, shape(), version="1.0.0")
    [values] = load_documents(files["values.yaml"])
    pod = pod_of(all_objects(operator, shape()))
    [container] = pod["containers"]
    for field in ("env", "envFrom", "resources"):
        assert values[field] == container[field]
    for field in ("nodeSelector", "tolerations", "imagePullSecrets", "terminationGracePeriodSeconds"):
        assert values[field] == pod[field]
    assert values["args"] == ["--verbose", "--grace=90"]
    assert values["replicas"] == 3
    assert values["volumes"] == pod["volumes"][1:]
    assert values["volumeMounts"] == container["volumeMounts"][1:]
    assert "north" not in files["templates/deployment.yaml"]


def test_settings_are_in_the_bundle() -> None:
    """The Operator Lifecycle Manager creates the Deployment from them."""
    files = bundle_files(operator, shape(watch=["red"]), version="1.0.0")
    [version] = load(files["manifests/fleet.clusterserviceversion.yaml"])
    [deployment] = version["spec"]["install"]["spec"]["deployments"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["env"][0] == {"name": "REGION", "value": "north"}
    assert "--namespace=red" not in container["args"]


def test_the_settings_of_the_guide_can_be_used() -> None:
    """People copy them."""
    guide = (Path(__file__).parents[3] / "docs/projects.md").read_text()
    found = [tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)]
    [settings] = [one["tool"]["steersman"] for one in found if "resources" in one["tool"]["steersman"]]
    made = shape_from(settings, "custompod", version="1")
    assert set(settings) == set(KEYS), "the guide shows every setting"
    assert made.monitoring
    assert made.volumes["/data"].source == {"csi": {"driver": "csi.example.com"}}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nodeSelector": {}}, "nodeSelector is not a setting: write node_selector"),
        ({"replica": 2}, "replica is not a setting: write replicas"),
        ({"colour": "red"}, "colour is not a setting: there are image, namespace"),
        ({"replicas": "2"}, "replicas must be a whole number, not '2'"),
        ({"replicas": True}, "replicas must be a whole number, not True"),
        ({"args": "--verbose"}, "args must be an array, not '--verbose'"),
        ({"args": ["--metrics-port=1"]}, r"args\[0\] is '--metrics-port=1', which cannot be set"),
        ({"args": ["-v", "--namespace", "a"]}, r"args\[1\] is '--namespace', which cannot be set: set watch"),
        ({"args": ["--grace=soon"]}, "'--grace=soon' is not followed by a number"),
        ({"env": {"A=B": "c"}}, "env.A=B is 'A=B', which is not the name of a variable"),
        ({"env": {"A": ["b"]}}, "env.A must be a table"),
        ({"env": {"A": {"secret": "b"}}}, "env.A names a secret without the key in it"),
        (
            {"env": {"A": {"secret": "b", "config_map": "c"}}},
            "env.A must have one of .*, and has secret and config_map",
        ),
        ({"env": {"A": {"configMap": "b"}}}, "env.A.configMap is not known: write config_map"),
        ({"env": {"A": {"secret": "B c", "key": "d"}}}, "env.A.secret is 'B c', which is not the name of an object"),
        ({"env_from": [{}]}, r"env_from\[0\] must have one of secret, config_map, and has none"),
        ({"resources": {"limit": {}}}, "resources.limit is not known: write limits"),
        ({"resources": {"limits": {"memory": "1 GB"}}}, "resources.limits.memory is '1 GB', which is not a quantity"),
        ({"resources": {"limits": {"memory": "-1"}}}, "resources.limits.memory is '-1': it cannot be negative"),
        ({"resources": {"limits": {"memory": "1Mi"}}}, "64Mi of memory is requested, more than its limit 1Mi"),
        ({"node_selector": {"a b": "c"}}, "node_selector.a b = 'c' is not a label"),
        ({"tolerations": [{"operator": "Is"}]}, r"tolerations\[0\].operator is 'Is': write Equal or Exists"),
        ({"tolerations": [{"value": "a"}]}, r"tolerations\[0\] has no key"),
        ({"tolerations": [{"key": "a", "effect": "No"}]}, r"tolerations\[0\].effect is 'No'"),
        ({"volumes": {"backups": "a"}}, "volumes.backups is 'backups', which is not a folder"),
        ({"volumes": {"/a": {"hostPath": "/"}}}, "volumes./a.hostPath is not known"),
        ({"volumes": {"/a": {"source": {"hostPath": {}}}}}, "volumes./a.source has hostPath: the restricted"),
        ({"monitoring": "yes"}, "monitoring must be true or false, not 'yes'"),
        ({"image_pull_secrets": ["A"]}, r"image_pull_secrets\[0\] is 'A'"),
        ({"webhook_secret": "A B"}, "webhook_secret is 'A B'"),
    ],
)
def test_an_invalid_setting_is_named_by_its_key(settings: dict[str, Any], message: str) -> None:
    """A typo must not deploy something else, and must be found without reading the code."""
    with pytest.raises(ConfigError, match=message):
        shape_from(settings, "fleet", version="1")
