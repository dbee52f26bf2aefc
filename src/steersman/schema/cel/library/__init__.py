"""The functions that Kubernetes offers to rules in CustomResourceDefinitions, one file for each library.

``cel.bind``, ``math``, ``base64`` and ``regex`` are not among them; the authorizer exists only in admission policies.
"""

from steersman.schema.cel.library import (
    conversions,
    core,
    lists,
    named_formats,
    network,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    strings,
    time_parts,
    urls,
)
from steersman.schema.cel.overloads import Functions

FUNCTIONS = Functions(
    overload
    for library in (
        core,
        conversions,
        time_parts,
        optionals,
        strings,
        lists,
        sets,
        regex,
        urls,
        network,
        quantity,
        semver,
        named_formats,
    )
    for overload in library.OVERLOADS
)
