"""Canonical names of people and analysts: two spellings are one principal, or one of them is refused.

>>> canonical_name("Alice", "analyst")
'alice'
"""

from __future__ import annotations

import re
import unicodedata

from dither.errors import PolicyError

_LONGEST = 128
_PATTERN = re.compile(r"[a-z0-9][a-z0-9_.@-]*")


def canonical_name(name: str, role: str) -> str:
    """The one spelling under which a name is kept; zero-width, look-alike and other unusual characters are refused.

    Only ASCII is allowed after NFKC and lower-casing: an "a" of another alphabet would look the same and be another
    principal with a budget of its own.
    """
    if not isinstance(name, str):
        raise PolicyError(f"the name of the {role} must be text; got {type(name).__name__}.")
    if len(name) <= _LONGEST:
        canonical = unicodedata.normalize("NFKC", name).lower()
        if _PATTERN.fullmatch(canonical) and len(canonical) <= _LONGEST:
            return canonical
    raise PolicyError(
        f"{name[:60]!a} cannot name the {role}; use 1 to {_LONGEST} ASCII letters, digits, '_', '-', '.' or '@', "
        "beginning with a letter or digit (upper and lower case are the same)."
    )
