"""What an entry of each version may be: its kinds, and the fields that the body of each must and may have.

A version is permanent once it was written: a later one is added beside it. The reader refuses whatever is not here: an
entry of a newer version as such, and of a version that is here any other kind or field as damage.
"""

from __future__ import annotations

from collections.abc import Mapping

from dither.errors import LedgerCorrupt, LedgerError

VERSION = 5

BREAKER = ("incident", "freeze", "thaw")
# Their form is fixed, their meaning is not: a ledger that has one is read and proven, and nothing is added to it.
# Of versions 3 and 4, "grant" and "close" are among them.
WITHOUT_MEANING = ("token", "principal")

Fields = tuple[frozenset[str], frozenset[str]]  # that must be there, and all that may be there


def _fields(required: str, optional: str = "") -> Fields:
    return frozenset(required.split()), frozenset(f"{required} {optional}".split())


_FIRST: dict[str, Fields] = {
    "create": _fields("anchor"),
    "account": _fields("people analyst kind cost delta terms"),
    "reserve": _fields("people analyst question snapshot plan request cost delta units"),
    "settle": _fields("reservation sha256 file"),
    "fail": _fields("reservation"),
    "event": _fields("event body"),
}
_SECOND: dict[str, Fields] = {
    **_FIRST,
    "incident": _fields("people reservation reason"),
    "freeze": _fields("people incidents"),
    "thaw": _fields("people"),
}
_THIRD: dict[str, Fields] = {
    **_SECOND,
    # Who asked for the analyst, when (whole seconds since 1970, UTC), the text as asked, the caller's name for it; and
    # random bytes, so that two copies of a ledger never go on alike.
    "reserve": _fields(
        "people analyst question snapshot plan request cost delta units", "principal time sql alias nonce"
    ),
    # The mark of an anchor that was ahead, what it had seen spent beyond, and of accounts that are gone.
    "restore": _fields("sequence mac units lost"),
    "grant": _fields("people analyst cost delta", "terms principal time"),
    "close": _fields("people analyst", "principal time"),
    "token": _fields("principal sha256", "name time until revoked"),
    "principal": _fields("principal", "analyst roles time revoked"),
}
_FOURTH: dict[str, Fields] = {
    **_THIRD,
    # The chain goes on elsewhere, and from there; random bytes, so that it never goes on alike in two places.
    "moved": _fields("to nonce"),
    "arrived": _fields("nonce"),
}
_FIFTH: dict[str, Fields] = {
    **_FOURTH,
    # The public key that grants are held to; of any but the first, the signature of the one before.
    "officer": _fields("key reason number", "signature time"),
    # What an account has in all from now on: more only under a signature, for this ledger and with this number.
    # `was` is the cap that it raises: an order that was signed for another one is void.
    "grant": _fields("people analyst terms cost delta reason number signature", "was time"),
    "lower": _fields("people analyst terms cost delta reason", "time"),
    "close": _fields("people analyst reason", "time"),
    "freeze": _fields("people incidents", "analyst reason time"),
    "thaw": _fields("people", "analyst reason time"),
    # Unknown: an anchor of an older dither has no totals, so that all was counted as spent.
    "restore": _fields("sequence mac units lost", "unknown"),
}
KINDS: Mapping[int, Mapping[str, Fields]] = {1: _FIRST, 2: _SECOND, 3: _THIRD, 4: _FOURTH, VERSION: _FIFTH}


def check_kind(sequence: int, version: int, kind: str) -> None:
    """Refuse an entry of a newer version, and one of a kind that its version has not."""
    if version > max(KINDS):
        raise LedgerError(
            f"entry {sequence} (kind {kind!r}, version {version}) was written by a newer dither; upgrade dither."
        )
    if kind not in KINDS.get(version, ()):
        raise LedgerCorrupt(f"entry {sequence} of the ledger has a kind, {kind!a}, that version {version} has not.")


def check_body(sequence: int, version: int, kind: str, body: object) -> None:
    """Refuse a body whose fields are not those of its kind."""
    required, possible = KINDS[version][kind]
    if not (isinstance(body, dict) and required <= body.keys() <= possible):
        raise LedgerCorrupt(f"entry {sequence} of the ledger has not the fields of its kind, {kind!r}.")
