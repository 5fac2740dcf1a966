"""Raw aggregates cannot leave their seal by accident (rule 9 of the threat list)."""

from __future__ import annotations

import copy
import json
import logging
import math
import operator
import pickle
import traceback
from pathlib import Path

import numpy as np
import pytest

import dither
from dither.errors import ParameterError
from dither.mechanisms import Exact, Laplace, seal
from dither.mechanisms.sealed_values import SealedTable, _unseal

CANARY = 421_742_174_217
SEALED = [seal(CANARY), seal([CANARY, 1]), seal(np.array([CANARY, 2])), seal([CANARY, 2**70]), SealedTable([CANARY, 3])]

LEAKS = [
    repr, str, format, "{}".format, "{!r}".format, "%s".__mod__, "%d".__mod__, ascii, bytes, print,
    iter, list, tuple, set, len, reversed, sorted, sum, max, dir, vars, hash, bool, int, float, complex, round, abs,
    hex,    math.floor, math.ceil, math.trunc, operator.index, operator.neg, operator.pos, operator.invert,
    copy.copy, copy.deepcopy, pickle.dumps, json.dumps, memoryview,
    np.asarray, np.array, np.sum, np.add.reduce, np.negative, np.array2string,
    lambda x: x[0], lambda x: 1 in x, lambda x: x == 1, lambda x: x != 1, lambda x: x < 1, lambda x: x >= 1,
    lambda x: x + 1, lambda x: 1 + x, lambda x: x - x, lambda x: 2 * x, lambda x: x / 2, lambda x: 7 // x,
    lambda x: x % 2, lambda x: x**2, lambda x: divmod(x, 2), lambda x: x & 1, lambda x: x << 1, lambda x: x @ x,
    lambda x: np.ones(2) + x, lambda x: f"{x}", lambda x: f"{x:d}",
    lambda x: setattr(x, "size", 3), lambda x: delattr(x, "size"),
    lambda x: x.values, lambda x: x.__dict__, lambda x: x.__values,
]  # fmt: skip


@pytest.mark.parametrize("sealed", SEALED, ids=["number", "list", "array", "large", "table"])
@pytest.mark.parametrize("leak", LEAKS, ids=range(len(LEAKS)))
def test_nothing_reads_a_sealed_aggregate(leak, sealed, capsys):
    with pytest.raises((TypeError, AttributeError)) as caught:
        leak(sealed)
    said = str(caught.value) + "".join(capsys.readouterr())
    assert str(CANARY) not in said
    assert str(CANARY) not in "".join(traceback.format_exception(caught.value))


def test_logging_says_nothing(caplog, capsys):
    with pytest.raises(TypeError):
        logging.getLogger("test").warning("got %s", SEALED[0])
    assert str(CANARY) not in caplog.text + "".join(capsys.readouterr())


def test_only_the_size_is_public():
    assert [sealed.size for sealed in SEALED] == [None, 2, 2, 2, None]
    assert [name for name in Exact.__slots__ if not name.startswith("_")] == ["size"]


def test_only_whole_numbers_are_sealed():
    for value in (1.5, "1", [1.5], np.ones(2), np.array(["a"]), np.array([1.5], object), None, True):
        with pytest.raises(ParameterError) as caught:
            seal(value)
        assert "1.5" not in str(caught.value)


def test_a_mechanism_opens_the_seal():
    noisy = Laplace(epsilon=1, sensitivity=1).release(SEALED[0]).value
    assert abs(noisy - CANARY) < 100


def test_a_sealed_table_keeps_its_content():
    assert _unseal(SEALED[-1]) == [CANARY, 3]


def test_nothing_but_a_release_opens_it():
    source = Path(dither.__file__).parent
    users = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "_unseal" in path.read_text() or "_Exact__values" in path.read_text()
    }
    readers = {
        "mechanisms/additive/addition.py",
        "mechanisms/keys/groups.py",
        "mechanisms/keys/key_selection.py",
        "mechanisms/quantiles/rank_window.py",
        "mechanisms/scores.py",
        "mechanisms/sparse/sparse_vector.py",
    }
    # The auditor's gaps are what neighbours differ by: it opens aggregates of synthetic data, and never releases them.
    assert users == {"mechanisms/sealed_values.py", "lab/audit/neighbours/gaps.py"} | readers
    callers = [
        line for line in (source / "mechanisms/additive/addition.py").read_text().splitlines() if "_unseal(" in line
    ]
    assert [line.strip() for line in callers] == ["return self._released(add(_unseal(value), noise))"]
