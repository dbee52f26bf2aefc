"""The functions that Kubernetes offers to rules in CustomResourceDefinitions, one file for each library.

``cel.bind``, ``math``, ``base64`` and ``regex`` are not among them; the authorizer's functions are, but only
admission has a value to call them on.
"""

from steersman.schema.cel.library.authorizer import OVERLOADS as AUTHORIZER
from steersman.schema.cel.library.conversions import OVERLOADS as CONVERSIONS
from steersman.schema.cel.library.core import OVERLOADS as CORE
from steersman.schema.cel.library.lists import OVERLOADS as LISTS
from steersman.schema.cel.library.named_formats import OVERLOADS as NAMED_FORMATS
from steersman.schema.cel.library.network import OVERLOADS as NETWORK
from steersman.schema.cel.library.optionals import OVERLOADS as OPTIONALS
from steersman.schema.cel.library.quantity import OVERLOADS as QUANTITY
from steersman.schema.cel.library.regex import OVERLOADS as REGEX
from steersman.schema.cel.library.semver import OVERLOADS as SEMVER
from steersman.schema.cel.library.sets import OVERLOADS as SETS
from steersman.schema.cel.library.strings import OVERLOADS as STRINGS
from steersman.schema.cel.library.time_parts import OVERLOADS as TIME_PARTS
from steersman.schema.cel.library.urls import OVERLOADS as URLS
from steersman.schema.cel.overloads import Functions

FUNCTIONS = Functions(
    [
        *CORE,
        *CONVERSIONS,
        *TIME_PARTS,
        *OPTIONALS,
        *STRINGS,
        *LISTS,
        *SETS,
        *REGEX,
        *URLS,
        *NETWORK,
        *QUANTITY,
        *SEMVER,
        *NAMED_FORMATS,
        *AUTHORIZER,
    ]
)
