"""The functions that Kubernetes offers to rules in CustomResourceDefinitions, one file for each library.

``cel.bind``, ``math``, ``base64`` and ``regex`` are not among them; the authorizer's functions are, but only
admission has a value to call them on.
"""

from steersman.cel.checking.overloads import Functions
from steersman.cel.library.authorizer import OVERLOADS as AUTHORIZER
from steersman.cel.library.conversions import OVERLOADS as CONVERSIONS
from steersman.cel.library.core import OVERLOADS as CORE
from steersman.cel.library.json_patches import OVERLOADS as JSON_PATCHES
from steersman.cel.library.lists import OVERLOADS as LISTS
from steersman.cel.library.named_formats import OVERLOADS as NAMED_FORMATS
from steersman.cel.library.network import OVERLOADS as NETWORK
from steersman.cel.library.optionals import OVERLOADS as OPTIONALS
from steersman.cel.library.quantity import OVERLOADS as QUANTITY
from steersman.cel.library.regex import OVERLOADS as REGEX
from steersman.cel.library.semver import OVERLOADS as SEMVER
from steersman.cel.library.sets import OVERLOADS as SETS
from steersman.cel.library.strings import OVERLOADS as STRINGS
from steersman.cel.library.time_parts import OVERLOADS as TIME_PARTS
from steersman.cel.library.urls import OVERLOADS as URLS

_USUAL = [
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
#: The functions of rules in CustomResourceDefinitions and of conditions and validations in admission.
FUNCTIONS = Functions(_USUAL)
#: Those, and the functions of expressions that change objects.
PATCH_FUNCTIONS = Functions([*_USUAL, *JSON_PATCHES])
