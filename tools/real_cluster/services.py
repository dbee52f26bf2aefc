"""The programs of a cluster: their configuration, and the commands that start them.

All addresses are private to the network namespace of the cluster, so they are always the same.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from steersman.json_types import JsonObject
from tools.real_cluster.certificates import Authority, write_key

NODE: Final = "node"
NODE_ADDRESS: Final = "10.200.0.1"
REGISTRY: Final = "localhost:5000"
SERVER: Final = "https://127.0.0.1:6443"
SOCKET: Final = "/run/containerd/containerd.sock"
PAUSE: Final = f"{REGISTRY}/pause:1"
_ETCD: Final = "http://127.0.0.1:2379"
_PODS: Final = "10.244.0.0/16"
_SERVICES: Final = "10.96.0.0/16"
_USERS: Final = ("admin", "kubelet", "controller-manager", "scheduler", "proxy")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a running cluster keeps its files, and where its programs are."""

    root: Path
    #: The unpacked Debian packages.
    packages: Path
    #: The driver of container file systems: `overlayfs`, or `native` where that cannot be used.
    snapshotter: str = "overlayfs"

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.root / "pki"

    def kubeconfig(self, user: str) -> Path:
        """Return where the kubeconfig of a user is."""
        return self.root / f"{user}.kubeconfig"


def write_certificates(place: Place) -> None:
    """Create all certificates, and a kubeconfig for each program and for the administrator."""
    authority = Authority(place.pki)
    service = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"]
    authority.issue("apiserver", "kube-apiserver", hosts=[*service, "10.96.0.1", "127.0.0.1", NODE_ADDRESS])
    authority.issue("kubelet", f"system:node:{NODE}", "system:nodes", hosts=[NODE, NODE_ADDRESS])
    authority.issue("apiserver-kubelet-client", "kube-apiserver-kubelet-client", "system:masters")
    authority.issue("front-proxy", "front-proxy-client")
    authority.issue("admin", "admin", "system:masters")
    authority.issue("controller-manager", "system:kube-controller-manager")
    authority.issue("scheduler", "system:kube-scheduler")
    authority.issue("proxy", "system:kube-proxy")
    write_key(place.pki / "service-accounts.key")
    for user in _USERS:
        path = place.kubeconfig(user)
        path.touch(mode=0o600)
        path.write_text(json.dumps(_kubeconfig(place.pki, user), indent=1))


def _kubeconfig(pki: Path, user: str) -> JsonObject:
    def encoded(name: str) -> str:
        return base64.b64encode((pki / name).read_bytes()).decode()

    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "real-cluster",
        "clusters": [
            {"name": "real-cluster", "cluster": {"server": SERVER, "certificate-authority-data": encoded("ca.crt")}}
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": encoded(f"{user}.crt"),
                    "client-key-data": encoded(f"{user}.key"),
                },
            }
        ],
        "contexts": [
            {"name": "real-cluster", "context": {"cluster": "real-cluster", "user": user, "namespace": "default"}}
        ],
    }


def write_configuration(place: Place) -> None:
    """Write the configuration files of all programs."""
    root = place.root
    (root / "cni").mkdir()
    mirrors = root / "registries" / "docker.io"
    mirrors.mkdir(parents=True)
    # Images without the name of a registry come from ours: there is no other.
    (mirrors / "hosts.toml").write_text(
        f'server = "http://{REGISTRY}"\n[host."http://{REGISTRY}"]\n  capabilities = ["pull", "resolve"]\n'
    )
    (root / "containerd.toml").write_text(_containerd(place))
    documents = {
        "cni/10-node.conflist": _network(),
        "kubelet.json": _kubelet(place),
        "proxy.json": _proxy(place),
        "registry.json": {
            "version": "0.1",
            "log": {"level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(root / "registry")}},
            "http": {"addr": f"127.0.0.1:{REGISTRY.partition(':')[2]}", "secret": "none"},
        },
    }
    for name, document in documents.items():
        (root / name).write_text(json.dumps(document, indent=1))
    (root / "Corefile").write_text(
        "cluster.local:53 {\n  errors\n  ready 127.0.0.1:8181\n  kubernetes cluster.local {\n"
        f"    kubeconfig {place.kubeconfig('admin')} real-cluster\n    pods insecure\n  }}\n  cache 5\n}}\n"
    )


def _containerd(place: Place) -> str:
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""version = 2
root = "{place.root}/containerd"
state = "/run/containerd"
[grpc]
  address = "{SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{place.root}/opt"
[{cri}]
  sandbox_image = "{PAUSE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
[{cri}.registry]
  config_path = "{place.root}/registries"
[{cri}.containerd]
  snapshotter = "{place.snapshotter}"
  default_runtime_name = "runc"
[{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[{cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
  BinaryName = "{place.packages}/usr/sbin/runc"
[{cri}.cni]
  bin_dir = "{place.packages}/usr/lib/cni"
  conf_dir = "{place.root}/cni"
"""


def _network() -> JsonObject:
    addresses = {
        "type": "host-local",
        "dataDir": "/run/cni-addresses",
        "ranges": [[{"subnet": "10.244.0.0/24"}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    return {"cniVersion": "1.0.0", "name": "node", "plugins": [{"type": "ptp", "ipMasq": False, "ipam": addresses}]}


def _kubelet(place: Place) -> JsonObject:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "address": NODE_ADDRESS,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(place.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(place.pki / "kubelet.crt"),
        "tlsPrivateKeyFile": str(place.pki / "kubelet.key"),
        "resolvConf": str(place.root / "no-nameservers"),
        "clusterDNS": [NODE_ADDRESS],
        "clusterDomain": "cluster.local",
        "enforceNodeAllocatable": ["pods"],
        # The disk is the developer's: nothing is evicted or collected because it is nearly full.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
        "volumePluginDir": str(place.root / "volume-plugins"),
    }


def _proxy(place: Place) -> JsonObject:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(place.kubeconfig("proxy"))},
        "clusterCIDR": _PODS,
        "hostnameOverride": NODE,
        # Zero: limits of connection tracking are the machine's, and stay as they are.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def commands(place: Place) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the command of each program, in the order in which they start."""
    root, pki = place.root, place.pki
    yield "containerd", ["containerd", "--config", str(root / "containerd.toml")]
    yield "registry", ["docker-registry", "serve", str(root / "registry.json")]
    yield (
        "etcd",
        [
            "etcd",
            f"--data-dir={root}/etcd",
            f"--listen-client-urls={_ETCD}",
            f"--advertise-client-urls={_ETCD}",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--unsafe-no-fsync",
        ],
    )
    yield "kube-apiserver", ["kube-apiserver", *_apiserver(pki)]
    yield (
        "kube-controller-manager",
        [
            "kube-controller-manager",
            *_as_user(place, "controller-manager"),
            f"--service-account-private-key-file={pki}/service-accounts.key",
            f"--root-ca-file={pki}/ca.crt",
            "--use-service-account-credentials=true",
            f"--flex-volume-plugin-dir={root}/volume-plugins",
        ],
    )
    yield "kube-scheduler", ["kube-scheduler", *_as_user(place, "scheduler")]
    yield (
        "kubelet",
        [
            "kubelet",
            f"--config={root}/kubelet.json",
            f"--kubeconfig={place.kubeconfig('kubelet')}",
            f"--root-dir={root}/kubelet",
            f"--cert-dir={root}/kubelet-certificates",
            f"--hostname-override={NODE}",
            f"--node-ip={NODE_ADDRESS}",
        ],
    )
    yield "kube-proxy", ["kube-proxy", f"--config={root}/proxy.json"]
    yield "coredns", ["coredns", "-conf", str(root / "Corefile")]


def _as_user(place: Place, user: str) -> list[str]:
    kubeconfig = place.kubeconfig(user)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        f"--cert-dir={place.root}/{user}-certificates",
    ]


def _apiserver(pki: Path) -> list[str]:
    return [
        f"--etcd-servers={_ETCD}",
        "--secure-port=6443",
        "--bind-address=0.0.0.0",
        f"--advertise-address={NODE_ADDRESS}",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--client-ca-file={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
        f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={pki}/service-accounts.key",
        f"--service-account-signing-key-file={pki}/service-accounts.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={_SERVICES}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--requestheader-client-ca-file={pki}/ca.crt",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki}/front-proxy.crt",
        f"--proxy-client-key-file={pki}/front-proxy.key",
    ]
