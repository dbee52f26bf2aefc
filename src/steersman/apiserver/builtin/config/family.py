"""Registration of ConfigMaps, Secrets, ServiceAccounts, LimitRanges and ResourceQuotas."""

from steersman.apiserver.builtin.common.strategies import CreatesOnUpdate, ReturnsDeletedObject
from steersman.apiserver.builtin.config.limit_ranges import default_limit_range
from steersman.apiserver.builtin.config.secrets import SecretStrategy, default_secret
from steersman.apiserver.builtin.config.service_accounts import ServiceAccountStrategy
from steersman.apiserver.builtin.kind import BuiltinKind

KINDS = (
    BuiltinKind(
        "",
        "ConfigMap",
        validation="config.config_map_validation:config_map_errors",
        columns="config.columns:CONFIG_MAP",
    ),
    BuiltinKind(
        "",
        "Secret",
        strategy=SecretStrategy,
        defaults=default_secret,
        validation="config.secret_validation:secret_errors",
        warnings="config.secret_validation:secret_warnings",
        columns="config.columns:SECRET",
    ),
    BuiltinKind(
        "",
        "ServiceAccount",
        strategy=ServiceAccountStrategy,
        warnings="config.service_accounts:service_account_warnings",
        columns="config.columns:SERVICE_ACCOUNT",
    ),
    BuiltinKind(
        "",
        "LimitRange",
        strategy=CreatesOnUpdate,
        defaults=default_limit_range,
        validation="config.limit_range_validation:limit_range_errors",
    ),
    BuiltinKind(
        "",
        "ResourceQuota",
        strategy=ReturnsDeletedObject,
        validation="config.quota_validation:quota_errors",
        columns="config.columns:RESOURCE_QUOTA",
    ),
)
