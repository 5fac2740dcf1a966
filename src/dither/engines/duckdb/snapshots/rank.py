"""Each row's rank within its owner: the order of a keyed hash of the row's own stored values, then of the values.

Adding or removing an owner changes nobody else's ranks, and neither file order, threads nor row positions matter: only
identical rows can change places. For every K, the rows with rank <= K are chosen by each owner's own rows alone.
"""

from __future__ import annotations

import base64
import contextlib
import os
import stat
from pathlib import Path

from dither.engines.duckdb.snapshots.sanitising import quoted
from dither.errors import PolicyError
from dither.policy.columns import Coded, Column, Text

_KEY_BYTES = 32
_USED_BYTES = 16  # 128 bits in 22 characters: with them a short row is one block of SHA-256, half the time


def rank_expression(owner_type: str, columns: dict[str, Column]) -> str:
    """SQL of the rank over "_owner" and the stored columns; `$key` is bound to the secret key."""
    return f'CAST(row_number() OVER (PARTITION BY "_owner" ORDER BY {_order(owner_type, columns)}) AS INTEGER)'


def first_of_its_key(owner_type: str, columns: dict[str, Column], key: tuple[str, ...]) -> str:
    """SQL that is true for one row of each owner and key, the first in the order of ranks: of no concern to others."""
    return f"{among_alike(owner_type, columns, key)} = 1"


def among_alike(owner_type: str, columns: dict[str, Column], names: tuple[str, ...]) -> str:
    """SQL of a row's place among the rows of its owner with the same values of these columns, in the order of ranks."""
    alike = ", ".join(['"_owner"', *map(quoted, names)])
    return f"row_number() OVER (PARTITION BY {alike} ORDER BY {_order(owner_type, columns)})"


def place_of_value(owner_type: str, name: str, column: Column) -> str:
    """SQL of the place of a row's value among the values that its owner has in a column, by a keyed hash of both."""
    order = f"{value_digest(owner_type, name, column)}, {quoted(name)} NULLS LAST"
    return f'dense_rank() OVER (PARTITION BY "_owner" ORDER BY {order})'


def value_digest(owner_type: str, name: str, column: Column) -> str:
    """SQL of 64 bits of the keyed hash of an owner and one of its values."""
    owner = _written('"_owner"', text=owner_type == "VARCHAR")
    return _bits(f"'{name}', {owner}, {_written(quoted(name), text=isinstance(column, Text))}")


def row_digest(owner_type: str, columns: dict[str, Column]) -> str:
    """SQL of 64 bits of the keyed hash of a row, which no two rows write alike."""
    parts = [_written('"_owner"', text=owner_type == "VARCHAR")]
    parts += [f"CAST({number} AS VARCHAR)" for number in _packed(columns)]
    parts += [_written(quoted(name), text=True) for name in _texts(columns)]
    return _bits(", ".join(parts))


def _bits(parts: str) -> str:
    return f"CAST('0x' || left(sha256(concat_ws('|', $key, {parts})), 16) AS UBIGINT)"


def _order(owner_type: str, columns: dict[str, Column]) -> str:
    ties = [*_packed(columns), *(f"{quoted(name)} NULLS LAST" for name in _texts(columns))]
    return ", ".join([row_digest(owner_type, columns), *ties])


def _texts(columns: dict[str, Column]) -> list[str]:
    return [name for name, column in columns.items() if isinstance(column, Text)]


def _packed(columns: dict[str, Column]) -> list[str]:
    """SQL of whole numbers that are the same for rows with the same numbers alone: as many columns in each as 63 bits
    hold, a digit for every column (0 for NULL), since writing and comparing fewer numbers is most of the work."""
    found: list[str] = []
    room = 0  # for how many times as many numbers the last one has bits
    for name, column in columns.items():
        if not isinstance(column, Coded):
            continue
        base = column.high - column.low + 2
        kind = "BIGINT" if base < 2**63 else "HUGEINT"
        digit = f"COALESCE(CAST({quoted(name)} AS {kind}) - ({column.low}) + 1, 0)"
        if base <= room:
            found[-1] = f"({found[-1]}) * {base} + {digit}"
        else:
            found.append(digit)
            room = 2**63 - 1
        room //= base
    return found


def secret_key(path: Path) -> str:
    """The key of this folder's snapshots, made once; readable by its owner alone."""
    try:
        if not path.exists():
            _make_key(path)
        mode, key = stat.S_IMODE(path.stat().st_mode), path.read_bytes()
    except OSError as error:
        raise PolicyError(f"the snapshot folder {path.parent} cannot be used: {error.strerror}.") from None
    if mode & 0o077 or len(key) != _KEY_BYTES:
        raise PolicyError(f"{path} must hold {_KEY_BYTES} bytes and be readable by its owner alone (mode 0600).")
    return base64.b64encode(key[:_USED_BYTES]).decode().rstrip("=")


def _make_key(path: Path) -> None:
    """Written whole before it has its name; if two processes make one at once, the first stays."""
    draft = path.with_suffix(f".{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _written(value: str, *, text: bool) -> str:
    """A value so that no two rows are written alike: text carries its length, NULL is no number."""
    shown = f"strlen({value}) || ':' || {value}" if text else f"CAST({value} AS VARCHAR)"
    return f"COALESCE({shown}, '~')"
