"""Recorded answers that the embedded server does not give yet, by file, sequence and step, each with its reason.

A step that is listed here and answered as recorded fails the test: the list can only get shorter.
"""

_RESIZE = "resizing of pods in place is not served"
_QUOTED = "the quoted object is in the order of Go's structures"
_MADE_UP = "the text quotes a name or uid that each server makes up"
_CONTENT = "what every kind refuses to change is not complete"
_LATER = "a real server establishes a definition some milliseconds later; here it is established at once"
_REMEMBERED = "a real server remembers for ten seconds that a token is good; here it is refused at once"
_PROTOBUF = "answers are JSON on purpose, whatever the client prefers"
_CHECKS = "the names of the checks are those of Kubernetes' own parts"
_HASHES = "hashes of documents are each server's own, and OpenAPI v2 is not served"
_NO_NODE = "no node serves logs, and their options are not checked"
_OPENID = "no tokens are issued, so there are no keys to publish"

NOT_COVERED: dict[str, dict[str, dict[str, str]]] = {
    "json_patch": {
        "jp-cm": {
            "12 replicas string": _QUOTED,
            "13 replicas float": _QUOTED,
        }
    },
    "apply_custom": {
        "ac-nulls": {"18 null anyv": "a null without a type stays"},
        "ac-request-errors": {"24 tab yaml": "the line that a YAML error is said to be in"},
    },
    "lifecycle": {
        "generation-customresourcedefinition": {
            "1 label": _LATER,
            "2 spec": _LATER,
            "3 no-op": _LATER,
            "4 generation set by user": _LATER,
            "5 status through main": _LATER,
        },
        "pod-subresources": {
            "4 GET /api/v1/namespaces/lf-pod-subresources/pods/n/log": _NO_NODE,
            "6 GET /api/v1/namespaces/lf-pod-subresources/pods/a/log": _NO_NODE,
            "7 GET /api/v1/namespaces/lf-pod-subresources/pods/a/log": _NO_NODE,
            "8 GET /api/v1/namespaces/lf-pod-subresources/pods/a/log": _NO_NODE,
            "9 GET /api/v1/namespaces/lf-pod-subresources/pods/a/log": _NO_NODE,
            "19 resize": _RESIZE,
            "20 resize with another change": _RESIZE,
        },
        "token-subresource": {"8 review after the pod is gone": _REMEMBERED},
        "eviction-v1beta1": {
            "2 wrong kind": _CONTENT,
        },
    },
    "defaults": {
        "defaults-tokenreview-admin": {"0 create admin": "the token of the recorded server is not known here"},
        "defaults-selfsubjectrulesreview-minimal": {"0 create minimal": "this one review is kept with its managers"},
    },
    "validation": {
        "create-pod-generatename-invalid": {"0 generateName invalid": _MADE_UP},
        "create-job-selector-given-without-manualselector": {"0 selector given without manualSelector": _MADE_UP},
        "update-configmap-metadata-changes-refused": {"6 metadata changes refused": _QUOTED},
        "update-deployment-various": {"1 various": _QUOTED},
    },
    "http": {
        "http-accept-part2": {
            "2 Accept: application/vnd.kubernetes.protobuf": _PROTOBUF,
        },
        "http-accept-part3": {
            "2 Accept: application/vnd.kubernetes.protobuf, application/json": _PROTOBUF,
        },
        "http-protobuf-body": {
            "1 exists, protobuf answer": _PROTOBUF,
        },
        "http-bad-json-part2": {
            "3 bom": "how an invisible character is shown",
            "4 duplicate keys": "Go merges objects that stand twice",
        },
        "http-bad-json-part4": {
            "5 float int": "another kind is refused before its content is read",
        },
        "http-methods-part4": {
            "4 POST /openapi/v3": _HASHES,
        },
        "http-health-part1": {
            "2 /readyz?verbose": _CHECKS,
            "5 GET /.well-known/openid-configuration": _OPENID,
        },
        "http-health-part2": {
            "1 /healthz?verbose": _CHECKS,
            "2 /readyz?exclude=etcd&verbose": _CHECKS,
            "5 GET /openid/v1/jwks": _OPENID,
        },
        "http-health-part3": {
            "1 /livez?verbose=1": _CHECKS,
        },
        "http-openapi-index": {
            "0 GET /openapi/v3": _HASHES,
            "1 with the right hash (HEAD)": _HASHES,
            "6 v2 HEAD": _HASHES,
            "7 not acceptable": _HASHES,
        },
    },
    "requests": {
        "requests": {
            "52 watch old rv": "the recorded server had forgotten its first versions",
            "79 root": "the paths of Kubernetes' own parts",
        },
    },
    "kubectl": {
        "kubectl": {
            "23 apply -f w1b.yaml": _HASHES,
            "41 get all": "the Service of the API has no owner of its fields, and autoscalers no columns",
            "46 get all": "the Service of the API has no owner of its fields, and autoscalers no columns",
            "134 get svc,deploy,cm": "the Service of the API has no owner of its fields, and autoscalers no columns",
            "137 run p1 --image=nginx": "pods are not given the token of a service account",
            "138 logs p1": "pods are not given the token of a service account",
            "140 exec p1 -- ls": "pods are not given the token of a service account",
            "143 get events": "the recording shows an event of an earlier story",
            "149 create token default": "without controllers there is no default account",
            "157 get --raw /readyz?verbose": _CHECKS,
            "161 delete pod p1 --force --grace-period=0": "pods are not given the token of a service account",
            "170 delete -f crd.yaml": "a definition and its objects go at once",
        },
    },
}
