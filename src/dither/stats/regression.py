"""Linear regression from a noisy table of products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dither.accounting.guarantees.approx import ApproxDP
from dither.accounting.guarantees.gaussian_curve import analytic_sigma
from dither.accounting.guarantees.guarantee import Guarantee
from dither.accounting.guarantees.zcdp import ZCDP
from dither.errors import ParameterError
from dither.escape import markup
from dither.exact.digits import write
from dither.exact.intervals import Interval
from dither.exact.parameters import Number, interval, probability, sqrt_up
from dither.exact.short_forms import stated_price
from dither.mechanisms.additive.addition import AdditiveNoise
from dither.mechanisms.additive.gaussian import Gaussian
from dither.mechanisms.additive.laplace import Laplace
from dither.mechanisms.codes import Grid, column_codes
from dither.mechanisms.sealed_values import seal
from dither.neighbours import Relation
from dither.sensitivity.columns.tables import table_columns
from dither.stats.kinds import number_column
from dither.stats.price import Price

Matrix = npt.NDArray[np.float64]
# Every column becomes whole numbers in [-_UNIT, _UNIT].
_UNIT = 1 << 15
# Sums of this many products are below 2^53, so float64 adds them exactly.
_CHUNK = 1 << 21
_RIDGE = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """A published regression y = intercept + coefficients x. All of it follows from one noisy table."""

    coefficients: tuple[float, ...]
    intercept: float
    guarantee: Guarantee
    scale: Fraction  # of the noise in the table, per record and column of full width: sigma, or Laplace's scale
    residual: float  # estimated standard deviation of y around the line
    _covariance: Matrix
    _centres: Matrix
    _halves: Matrix

    @property
    def value(self) -> tuple[float, ...]:
        """The intercept and the coefficients."""
        return (self.intercept, *self.coefficients)

    def interval(self, confidence: Number = "0.95") -> Interval:
        """Around the intercept and each coefficient: sampling error and noise together, in the normal approximation.

        The ridge's pull towards 0, which matters when the noise is as large as the table, is not covered.
        """
        reach = _normal_quantile(probability(confidence, "confidence"))
        spread = [math.sqrt(max(0.0, self._variance_at(row))) for row in self._rows()]
        ends = [(v - reach * s, v + reach * s) for v, s in zip(self.value, spread, strict=True)]
        return Interval(tuple(low for low, _ in ends), tuple(high for _, high in ends))

    def predict(self, x: Sequence[float] | float) -> float:
        """The line at x, one number for each column."""
        return self.intercept + float(np.dot(self.coefficients, np.atleast_1d(np.asarray(x, float))))

    def prediction_error(self, x: Sequence[float] | float) -> float:
        """The standard deviation of a new y around `predict(x)`: of y itself, of sampling and of the noise."""
        row = np.concatenate([[1.0], np.atleast_1d(np.asarray(x, float))])
        return math.sqrt(self.residual**2 + max(0.0, self._variance_at(row)))

    def __repr__(self) -> str:
        """The line with the errors of its numbers, and the price."""
        widths = [(high - low) / 2 for low, high in zip(*self.interval(), strict=True)]
        terms = ["", *(" x" if len(widths) == 2 else f" x{place}" for place in range(1, len(widths)))]
        shown = (
            "({} ± {})".format(*write(Fraction(v), Fraction(w))) + term
            for v, w, term in zip(self.value, widths, terms, strict=True)
        )
        return f"linear_regression y = {' + '.join(shown)} (95%), {stated_price(self.guarantee)}"

    def _repr_html_(self) -> str:
        return f"<span>{markup(repr(self))}</span>"

    def _rows(self) -> list[Matrix]:
        return list(np.eye(len(self.value)))

    def _variance_at(self, row: Matrix) -> float:
        """Of row . (intercept, coefficients), from the covariance in scaled columns."""
        x_half, y_half = self._halves[:-1], float(self._halves[-1])
        scaled = np.concatenate([row[:1], row[1:] / x_half])
        # slope_j = y_half theta_j / half_j; intercept = y_centre + y_half (theta_0 - sum theta_j centre_j / half_j).
        scaled[1:] -= row[0] * self._centres[:-1] / x_half
        return float(y_half**2 * scaled @ self._covariance @ scaled)


def linear_regression(
    x: Any,
    y: Any,
    *,
    x_bounds: Sequence[tuple[Number, Number]] | tuple[Number, Number],
    y_bounds: tuple[Number, Number],
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    relation: Relation | str = Relation.ADD_REMOVE,
) -> Regression:
    """Least squares of y on the columns of x, at the stated price (epsilon, epsilon and delta, or rho).

    Each column is clamped to its bounds and scaled to [-1, 1]. With z = (1, x, y), one record adds z z^T to the table
    of products, of Frobenius norm at most 2 + (number of columns). So much Gaussian noise is added to it (symmetric,
    with half the variance off the diagonal), or Laplace noise for its L1 norm where the price is a pure epsilon.
    Everything else follows from the noisy table: a ridge as large as the noise demands (none when the table is far
    from singular), coefficients, intervals and prediction errors.

    x is a table with one row a record (a NumPy array, an Arrow, pandas or polars table), a list of columns, or a single
    column, whose x_bounds may be one pair. A missing number counts as the middle of its bounds. Sheffet 2019; Wang
    2018 for the adaptive ridge.
    """
    price = Price.read(epsilon, delta, rho, relation)
    pairs = cast(list[tuple[Number, Number]], [x_bounds] if _is_one_pair(x_bounds) else list(x_bounds))
    columns = _columns(x, len(pairs))
    ranges = [interval(*ends, "a column of x") for ends in pairs] + [interval(*y_bounds, "y")]
    scaled = [_scaled(column, *ends) for column, ends in zip([*columns, y], ranges, strict=True)]
    if len({column.size for column in scaled}) != 1:
        raise ParameterError("x and y are columns of the same records; their lengths differ.")
    noise = _noises(price, len(scaled) + 1)
    table = _noisy_table(scaled, noise)
    centres = np.array([float((low + high) / 2) for low, high in ranges])
    halves = np.array([float((high - low) / 2) for low, high in ranges])
    theta, covariance, residual = _solve(table, noise)
    slopes = halves[-1] * theta[1:] / halves[:-1]
    intercept = centres[-1] + halves[-1] * theta[0] - float(np.dot(slopes, centres[:-1]))
    return Regression(
        tuple(float(slope) for slope in slopes),
        float(intercept),
        noise.guarantee,
        noise.diagonal.scale / _UNIT**2,
        float(residual * halves[-1]),
        covariance,
        centres,
        halves,
    )


@dataclass(frozen=True)
class Noises:
    """What is added to the table: on its diagonal, and to each entry beside it, which stands there twice."""

    diagonal: AdditiveNoise
    beside: AdditiveNoise
    guarantee: Guarantee

    @property
    def variances(self) -> tuple[float, float]:
        """In units of full width."""
        unit = float(_UNIT) ** 4
        return self.diagonal.variance / unit, self.beside.variance / unit


def _noises(price: Price, count: int) -> Noises:
    """Gaussian noise in Frobenius norm; or Laplace noise in L1 for a pure epsilon. The entries are products of whole
    numbers up to _UNIT, of z = (1, x, y) of this many coordinates."""
    unit, relation, added = _UNIT**2, price.relation, price.relation is Relation.ADD_REMOVE
    if price.rho is None and price.delta is None:
        # Half of the table has count (count + 1)/2 entries of at most 1. With u and v half the sum and half the
        # difference of two records, their entries differ by 2 (u_i v_j + v_i u_j), so in L1 by at most
        # 2 sum|u| sum|v| + 2 sum|u_i v_i|; with |u_i| + |v_i| <= 1 and v_0 = 0 that is largest where all other |v_i|
        # are (count + 1)/(2 count).
        l1 = Fraction(count * (count + 1), 2) if added else Fraction((count + 1) ** 2 * (count - 1), 2 * count)
        noise = Laplace(epsilon=price.choosing_epsilon, sensitivity=l1 * unit, relation=relation)
        return Noises(noise, noise, noise.guarantee)
    rho, guarantee = _gaussian_price(price)
    # ||z z^T|| = ||z||^2 <= count. A replaced record takes one such table away and adds another; their product
    # (z . z')^2 is not negative, so ||z z^T - z' z'^T||^2 <= ||z||^4 + ||z'||^4 <= 2 count^2.
    moved = count if added else sqrt_up(Fraction(2 * count**2))
    # In Frobenius norm an entry off the diagonal counts twice, so half the variance is enough for it.
    on, off = (Gaussian(rho=paid, sensitivity=moved * unit, relation=relation) for paid in (rho, 2 * rho))
    return Noises(on, off, guarantee)


def _gaussian_price(price: Price) -> tuple[Fraction, Guarantee]:
    """The rho that Gaussian noise may cost, and what it guarantees."""
    if price.rho is not None or price.delta is None:
        rho = price.rho or Fraction(0)
        return rho, ZCDP(rho, relation=price.relation)
    sigma, epsilon = analytic_sigma(price.choosing_epsilon, price.delta), price.choosing_epsilon
    rho = 1 / (2 * sigma**2)
    return rho, ApproxDP(epsilon, price.delta, relation=price.relation, proven_mu_squared=2 * rho)


def _is_one_pair(bounds: Any) -> bool:
    """Whether these are the two bounds of one column, not a list of such pairs: known from their types alone."""
    return len(bounds) == 2 and not any(isinstance(end, (list, tuple, np.ndarray)) for end in bounds)


def _columns(x: Any, count: int) -> list[Any]:
    if isinstance(x, np.ndarray) and x.ndim == 1:
        x = x.reshape(-1, 1)
    if isinstance(x, np.ndarray) and x.ndim != 2:
        raise ParameterError(f"x is a table; got an array of {x.ndim} dimensions.")
    columns = table_columns(x)
    x = x if columns is None else columns
    if columns is None and not (isinstance(x, (list, tuple)) and x and all(map(_is_column, x))):
        x = [x]  # one column by itself
    if not isinstance(x, (list, tuple)) or len(x) != count or not count:
        raise ParameterError("x is a table (or a list of columns) with one pair of x_bounds for each column.")
    return list(x)


def _is_column(item: Any) -> bool:
    return hasattr(item, "__len__") and not isinstance(item, (str, bytes))


def _scaled(column: Any, low: Fraction, high: Fraction) -> npt.NDArray[np.int64]:
    """Whole numbers from -_UNIT to _UNIT; what is missing becomes 0, the middle."""
    read = number_column(column)
    step = (high - low) / (2 * _UNIT)
    Grid.within(low, high, step)  # refuses bounds too far from 0 for their distance
    middle = round((low + high) / 2 / step)
    codes, missing = column_codes(read, Grid(step, middle - _UNIT, middle + _UNIT))
    return codes - middle if missing is None else np.where(missing, 0, codes - middle)


def _noisy_table(columns: list[npt.NDArray[np.int64]], noise: Noises) -> Matrix:
    """The table of products in units of full width."""
    size, count = columns[0].size, len(columns) + 1
    exact = [[0] * count for _ in range(count)]
    for start in range(0, size, _CHUNK):
        part = np.stack([np.full(min(_CHUNK, size - start), _UNIT)] + [c[start : start + _CHUNK] for c in columns])
        block = part.astype(np.float64)
        products = block @ block.T
        for i in range(count):
            for j in range(count):
                exact[i][j] += int(products[i, j])
    pairs = [(i, j) for i in range(count) for j in range(i)]
    on = noise.diagonal.release(seal([exact[i][i] for i in range(count)])).value
    off = noise.beside.release(seal([exact[i][j] for i, j in pairs])).value
    table = np.diag([float(Fraction(int(value), _UNIT**2)) for value in on])
    for (i, j), value in zip(pairs, off, strict=True):
        table[i, j] = table[j, i] = float(Fraction(int(value), _UNIT**2))
    return table


def _solve(table: Matrix, noise: Noises) -> tuple[Matrix, Matrix, float]:
    """Coefficients in scaled columns, their covariance, and the residual's standard deviation."""
    normal, cross, own = table[:-1, :-1], table[:-1, -1], float(table[-1, -1])
    size = max(1.0, float(table[0, 0]))
    count = len(cross)
    smallest = float(np.linalg.eigvalsh(normal)[0])
    on, off = noise.variances
    # The noise moves eigenvalues by about 2 sqrt(d off): a table that is not clearly beyond that is lifted.
    ridge = max(0.0, _RIDGE * 4 * math.sqrt(count * off) - smallest)
    lifted = normal + ridge * np.eye(count)
    inverse = np.linalg.inv(lifted)
    theta = inverse @ cross
    residual = math.sqrt(max(0.0, (own - 2 * float(theta @ cross) + float(theta @ normal @ theta)) / size))
    # Noise in cross - normal theta: independent entries, those off the diagonal shared by two rows.
    moved = np.outer(theta, theta) * off
    np.fill_diagonal(moved, off + off * float(theta @ theta) + (on - off) * theta**2)
    return theta, inverse @ (residual**2 * lifted + moved) @ inverse, residual


def _normal_quantile(sure: Fraction) -> float:
    from scipy.special import ndtri

    return float(ndtri((1 + float(sure)) / 2))
