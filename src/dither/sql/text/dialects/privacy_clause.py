"""BigQuery's SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(...): what it states of the price and of the limits.

The clause is cut out of the tokens, so that what is left is read as any SELECT. What an option means there and here is
the same, or it is refused by name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dither.policy.catalog import Catalog
from dither.sql.text.source import Source

if TYPE_CHECKING:
    from dither.sql.text.dialects.lexicon import Lexicon

_CLAUSE = ("SELECT", "WITH", "DIFFERENTIAL_PRIVACY")
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?", re.ASCII | re.IGNORECASE)
_NONE = "NULL"
_OPTIONS = ("epsilon", "delta", "max_groups_contributed", "max_rows_contributed", "privacy_unit_column")


@dataclass(frozen=True)
class PrivacyClause:
    """What was written in the options: a price, limits, and the column of owners. `at` is where the clause stands."""

    at: int
    stated: dict[str, str | int] = field(default_factory=dict)  # by the names of what is stated with a question
    groups: int | None = 1  # of one owner; None for any number
    unit: str = ""

    def check(self, tree: exp.Expr, source: Source, catalog: Catalog) -> None:
        """Refuse limits that no plan here has, and another owner than the declared one."""
        if self.groups is not None and "rows_per_owner" not in self.stated and tree.args.get("group") is not None:
            most = _most_groups(tree, catalog)
            if most is None or most > self.groups:
                known = "an owner may be in any number" if most is None else f"an owner may be in {most}"
                what = f"a limit of {self.groups} groups of each owner (max_groups_contributed, 1 if nothing is said)"
                hint = "Write max_rows_contributed=3 to limit rows, or max_groups_contributed=NULL; or have the "
                hint += "curator declare max_values_per_owner of the key."
                raise source.refusal(self.at, f"{what} is not supported: by what is declared, {known}.", hint)
        named = {table.name.lower() for table in tree.find_all(exp.Table)}
        owners = {table.owner for name, table in catalog.tables.items() if name.lower() in named}
        if self.unit and any(owner.lower() != self.unit for owner in owners):
            what = f"rows belong to the owners that are declared, not to those in {self.unit[:40]!r}."
            raise source.refusal(self.at, what, f"Declared is {', '.join(sorted(owners))[:80]}.")


def _most_groups(tree: exp.Expr, catalog: Catalog) -> int | None:
    """In how many groups of one table the rows of an owner are at most, by what is declared and enforced at load.

    They are in no more groups than there are rows, or values of all keys; None where several tables are read.
    """
    named = [table.name.lower() for table in tree.find_all(exp.Table)]
    table = next((table for name, table in catalog.tables.items() if [name.lower()] == named), None)
    if table is None or table.row_level:
        return None
    values = {name.lower(): most for name, most in table.structure.values.items()}
    keys = [key.name.lower() if isinstance(key, exp.Column) else "" for key in tree.args["group"].expressions]
    renamed = len(list(tree.find_all(exp.Select))) > 1  # a derived table may have another column under a key's name
    if renamed or not keys or not values.keys() >= set(keys):
        return table.max_rows_per_owner
    return min(table.max_rows_per_owner, math.prod(values[key] for key in set(keys)))


def stripped(tokens: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The tokens without the clause of the outermost SELECT, and those of the clause."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and tuple(one.text.upper() for one in tokens[place : place + 3]) == _CLAUSE:
            end = _end(tokens, place + 3)
            return (*tokens[: place + 1], *_clamped(tokens[end:])), tuple(tokens[place + 1 : end])
    return tuple(tokens), ()


def _end(tokens: Sequence[Any], place: int) -> int:
    """Where the options end, if there are any."""
    if [one.text.upper() for one in tokens[place : place + 2]] != ["OPTIONS", "("]:
        return place
    closing = (at for at in range(place, len(tokens)) if tokens[at].text == ")")
    return next(closing, len(tokens) - 1) + 1


def _clamped(tokens: Sequence[Any]) -> tuple[Any, ...]:
    """SUM(x CLAMPED BETWEEN 0 AND 5) as SUM(x, contribution_bounds_per_group => (0, 5))."""
    text = " ".join(one.text.upper() for one in tokens)
    if "CLAMPED BETWEEN" not in text:
        return tuple(tokens)
    found: list[Any] = []
    between = closing = False
    for place, token in enumerate(tokens):
        word = token.text.upper()
        if word == "CLAMPED" and [one.text.upper() for one in tokens[place + 1 : place + 2]] == ["BETWEEN"]:
            found += _cut(", contribution_bounds_per_group => (", token)
            between = True
        elif between and word == "BETWEEN":
            continue
        elif between and word == "AND":
            found += _cut(",", token)
            between, closing = False, True
        elif closing and word == ")":
            found += [token, token]
            closing = False
        else:
            found.append(token)
    return tuple(found)


def _cut(text: str, at: Any) -> list[Any]:
    """Words that stand for another one, in its place."""
    from sqlglot.dialects.postgres import Postgres

    return [type(at)(one.token_type, one.text, at.line, at.col, at.start, at.end) for one in Postgres().tokenize(text)]


def privacy_clause(text: str, lexicon: Lexicon) -> PrivacyClause | None:
    """What the clause of a text says; None if it has none."""
    _, clause = stripped(lexicon.cut(text))
    if not clause:
        return None
    source, (first, *_) = Source(text, clause), clause
    stated: dict[str, str | int] = {}
    seen: dict[str, str] = {}
    for option in _options(clause[4:-1]):
        name = option[0].text.lower()
        written = text[option[2].start : option[-1].end + 1] if len(option) > 2 else ""
        if name not in _OPTIONS or name in seen or not written or option[1].text != "=":
            what = f"the option {option[0].text[:40]!r} is not read here, or not so."
            raise source.refusal(option[0].start, what, f"Options are {', '.join(_OPTIONS)}, each once.")
        seen[name] = written
        if name in ("epsilon", "delta"):
            stated[name] = _price(source, option[2].start, written)
        elif name.startswith("max_") and written.upper() != _NONE:
            seen[name] = str(_limit(source, option[2].start, written))
    if all(seen.get(name, _NONE).upper() != _NONE for name in ("max_groups_contributed", "max_rows_contributed")):
        what = "max_groups_contributed and max_rows_contributed exclude each other."
        raise source.refusal(first.start, what, "State one of them.")
    groups, rows = seen.get("max_groups_contributed", "1"), seen.get("max_rows_contributed", _NONE)
    if rows.upper() != _NONE:
        stated["rows_per_owner"] = int(rows)
    unit = seen.get("privacy_unit_column", "").rpartition(".")[2].strip("`").lower()
    return PrivacyClause(first.start, stated, None if groups.upper() == _NONE else int(groups), unit)


def _options(tokens: Sequence[Any]) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for token in tokens:
        if token.text == ",":
            found.append([])
        else:
            found[-1].append(token)
    return [option for option in found if option]


def _price(source: Source, at: int, written: str) -> str:
    if not _NUMBER.fullmatch(written) or not Decimal(written) > 0:
        raise source.refusal(at, "a number above zero is needed here.", "Write epsilon=1, delta=1e-7.")
    return format(Decimal(written), "f")


def _limit(source: Source, at: int, written: str) -> int:
    if not (written.isascii() and written.isdigit() and 0 < int(written[:20]) < 2**31):
        raise source.refusal(at, "a whole number above zero is needed here.", "Write max_rows_contributed=3.")
    return int(written)
