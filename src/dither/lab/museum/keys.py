"""Group keys taken from the data: when a name in the answer is already the leak."""

from __future__ import annotations

import numpy as np

from dither.accounting import ApproxDP, PureDP
from dither.lab.museum.draws import steps, uniform
from dither.lab.museum.exhibit import Exhibit, Outputs

ABSENT = -1000
# With epsilon 2 and q = e^-2, P[noise >= 3] = q^3/(1 + q) = 0.0022 is the first tail below delta = 0.003.
_SHOWN_FROM = 1 + 3
_CLAIMED = ApproxDP(2, "0.003", relation="owner")


def one_below(owners: int, size: int) -> Outputs:
    noisy = owners + steps("0.5", size)
    return np.where((owners > 0) & (noisy >= _SHOWN_FROM - 1), noisy, ABSENT)


def at_the_threshold(owners: int, size: int) -> Outputs:
    noisy = owners + steps("0.5", size)
    return np.where((owners > 0) & (noisy >= _SHOWN_FROM), noisy, ABSENT)


def rows_counted(key: tuple[int, int], size: int) -> Outputs:
    _owners, rows = key
    return at_the_threshold(rows, size)


def owners_counted(key: tuple[int, int], size: int) -> Outputs:
    owners, _rows = key
    return at_the_threshold(owners, size)


def all_keys_of_an_owner(keys: int, size: int) -> Outputs:
    return (1 + steps("0.5", (size, 20))[:, :keys] >= _SHOWN_FROM).sum(axis=1)


def one_key_of_an_owner(keys: int, size: int) -> Outputs:
    return all_keys_of_an_owner(min(keys, 1), size)


def empty_cells_left_out(count: int, size: int) -> Outputs:
    return np.where(count > 0, count + steps(1, size), ABSENT)


def every_listed_cell(count: int, size: int) -> Outputs:
    return count + steps(1, size)


def hidden_by_the_true_count(count: int, size: int) -> Outputs:
    return np.where(count < 5, ABSENT, count + steps(1, size))


def hidden_by_the_noisy_count(count: int, size: int) -> Outputs:
    noisy = count + steps(1, size)
    return np.where(noisy < 5, ABSENT, noisy)


def _kept(owners: int, delta: float, size: int) -> Outputs:
    """The most private coin that shows a key: with one more owner e^epsilon p + delta, epsilon = 1."""
    probability = delta * np.expm1(owners) / np.expm1(1)
    return (uniform(size) < probability).astype(np.int64)


def delta_three_times(owners: int, size: int) -> Outputs:
    return _kept(owners, 0.001, size)


def delta_as_groups_need_it(owners: int, size: int) -> Outputs:
    return _kept(owners, 0.003 * np.expm1(1) / np.expm1(3), size)


EXHIBITS = (
    Exhibit(
        "a threshold off by one",
        "A key is shown from a noisy count that is one too small: the key of a single owner shows e^epsilon times too "
        "often.",
        "written for the museum; threat 17 of docs/evidence/threats.md",
        one_below,
        at_the_threshold,
        ((0, 1),),
        _CLAIMED,
    ),
    Exhibit(
        "rows decide about keys",
        "The threshold was meant for the number of owners and was applied to the number of rows. One owner with "
        "40 rows shows a key that nobody else has.",
        "written for the museum; threat 16 of docs/evidence/threats.md",
        rows_counted,
        owners_counted,
        (((0, 0), (1, 40)),),
        _CLAIMED,
    ),
    Exhibit(
        "an owner in too many keys",
        "Each key hides its only owner with probability 1 - delta. An owner of twenty such keys is hidden twenty times "
        "less well, unless keys per owner are limited first.",
        "written for the museum; threat 16 of docs/evidence/threats.md",
        all_keys_of_an_owner,
        one_key_of_an_owner,
        ((0, 20),),
        _CLAIMED,
    ),
    Exhibit(
        "a histogram without its empty cells",
        "Cells without records were left out, to save space. A cell that appears has a record.",
        "written for the museum; threats 16 and 32 of docs/evidence/threats.md",
        empty_cells_left_out,
        every_listed_cell,
        ((0, 1),),
        PureDP(1),
    ),
    Exhibit(
        "small groups hidden by the true count",
        "Groups below five people were suppressed, and then noise was added to the rest. Whether a group is there says "
        "on which side of five it is, exactly.",
        "written for the museum: a habit from disclosure control, put before the noise instead of after it",
        hidden_by_the_true_count,
        hidden_by_the_noisy_count,
        ((4, 5),),
        PureDP(1),
    ),
    Exhibit(
        "delta of a group taken three times",
        "For three people epsilon was tripled and delta was tripled. delta grows like (e^(3 epsilon) - "
        "1)/(e^epsilon - 1).",
        "group privacy of approximate differential privacy; the coin is that of Desfontaines, Voss, Gipson and "
        "Mandayam, Differentially private partition selection, PoPETs 2022",
        delta_three_times,
        delta_as_groups_need_it,
        ((0, 3),),
        ApproxDP(3, "0.003"),
    ),
)
