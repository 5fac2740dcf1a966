"""Texts in dialects where a collation compares them: only such as it tells apart, and puts in order, as we do.

Looked at after binding, where every text that is compared, grouped, counted or ordered has its list of labels, however
it was computed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from sqlglot import exp

from dither.sql.text.source import Source

_HINT = "Write it in PostgreSQL's dialect, where = minds the case of letters."


def folded(label: str) -> str:
    """A label as a collation may see it: without case, accents and blanks at the end."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", label) if not unicodedata.combining(one))
    return bare.casefold().rstrip()


def check_apart(source: Source, at: exp.Expr, labels: Sequence[str] | None) -> None:
    """Refuse texts of which a collation may take two for one; None: texts of which no list is known."""
    if source.collated_by and (labels is None or not _apart(tuple(labels))):
        what = f"a use of texts that are alike but for case, accents or blanks, which {source.collated_by} may compare"
        raise source.refusal(at, f"{what} as one, is not translated.", _HINT)


def check_order(source: Source, at: exp.Expr, labels: Sequence[str]) -> None:
    """Refuse an order of texts that a collation may put in another."""
    if source.collated_by and sorted(labels) != sorted(labels, key=folded):
        what = "an order by these labels, which depends on a collation there, is not translated from"
        raise source.refusal(at, f"{what} {source.collated_by}'s dialect.", "Write it in PostgreSQL's dialect.")


@lru_cache(maxsize=128)
def _apart(labels: tuple[str, ...]) -> bool:
    different = set(labels)
    return len({folded(label) for label in different}) == len(different)
