"""Request ids of questions over answers: each part is charged under one of its own, made of that of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dither.curator.recall import is_other
from dither.errors import PolicyError

if TYPE_CHECKING:
    from dither.curator.walk import Walk
    from dither.sql.pricing.price import PricedQuestion


def own_request(request: str | None, number: int) -> str | None:
    """Under what id a part is charged: the first under that of the whole."""
    return request if request is None or not number else f"{request} #{number + 1}"


def check_requests(walk: Walk, analyst: str | None, priced: Sequence[PricedQuestion], request: str | None) -> None:
    """Refuse before the first part is paid for, if the id of any part stands for something else already."""
    for number, one in enumerate(priced):
        own = own_request(request, number)
        if own is None:
            return
        known = walk._ledger.requested(one.question.people, analyst, own)
        if known is not None and is_other(one, known):
            raise PolicyError(f"request {own!r} was used before with another question or price.")
        if known is None and walk.repeats is not None:
            walk.repeats.find(analyst, own, one)
