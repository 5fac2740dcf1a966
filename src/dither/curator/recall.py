"""What the ledger knows already: answers and plans recorded for a question, and profiles of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from dither.accounting.currency.currency import Currency, Price
from dither.answer.noisy_measures import Released
from dither.curator.present import keeps
from dither.curator.profiling import Part, profile_from
from dither.errors import ParameterError, PolicyError
from dither.exact.digits import counted
from dither.mechanisms import KeySelection
from dither.policy.catalog import PublicTable, Table
from dither.sql.bounding.losses import certifiable
from dither.sql.bounding.owner_limits import Limits
from dither.sql.expressions import Stored
from dither.sql.pricing.price import PricedQuestion, again
from dither.sql.pricing.recipe import Recipe

if TYPE_CHECKING:
    from dither.curator.accounts import Accounts
    from dither.ledger import Ledger, Reservation
    from dither.sql.plan.question import Question
    from dither.sql.planner.profile import Profile

_HARDLY = Fraction(1, 20)  # probability


def as_recorded(priced: PricedQuestion, currency: Currency, known: Reservation) -> PricedQuestion:
    """With the noise that was decided for this request: a profile that was made since may decide for another."""
    with suppress(ParameterError):  # the delta that it took is not stated now: refused as another price
        return again(priced, currency, known.plan)
    return priced


def as_planned(priced: PricedQuestion, currency: Currency, reservation: Reservation) -> PricedQuestion | None:
    """The question as its reservation was to be run; None if there is no such run any more.

    A profile may have been made since, or the code changed: what was recorded decides, unless the guard says now that
    one owner moves a measure by something else, the price has risen, or the data are others. Statements are not
    compared.
    """
    if reservation.plan != priced.recipe():
        priced = again(priced, currency, reservation.plan)
        if not Recipe.read(reservation.plan).allows(Recipe.of(priced)):
            return None
    paid = priced.price.cost <= reservation.charge.cost and priced.price.delta <= reservation.charge.delta
    same = (reservation.state, reservation.snapshot) == ("reserved", priced.snapshot)
    return priced if paid and same else None


def repriced(priced: PricedQuestion, known: Reservation) -> bool:
    """Whether the price that a request stated, and states again, now costs something else than what was reserved."""
    return known.charge.cost != priced.price.cost and Recipe.read(known.plan).asked == priced.asked


def is_other(priced: PricedQuestion, known: Reservation) -> bool:
    """Whether a request id was used for another question than this one, or with another price stated."""
    same = known.question in (priced.known_as, priced.known_by_error)
    return not same or Recipe.read(known.plan).asked != priced.asked


def at_charge(priced: PricedQuestion, known: Reservation) -> PricedQuestion:
    """At what was reserved: an answer that is there is given, and one that is not is bought for that."""
    return replace(priced, price=Price(known.charge.cost, priced.price.delta))


def keeps_to(priced: PricedQuestion, stored: bytes) -> bool:
    """Whether a stored release errs by no more than was asked for; a price is kept by any that cost as much."""
    target = priced.target
    return target is None or keeps(priced.question, stored, target.error, target.confidence)


def check_labels(ledger: Ledger, reservation: Reservation, priced: PricedQuestion) -> None:
    """Numbers that do not say under which labels they belong are not shown once these may have changed."""
    if reservation.snapshot == priced.snapshot or reservation.answer is None:
        return
    tables = {table.name for table in priced.question.tables}
    listing = {table.name for table in priced.question.tables if isinstance(table, PublicTable) and table.labels}
    told = Released.from_bytes(reservation.answer).labels is not None
    for entry in ledger.events(["register"] if told else ["register", "refresh"], after=reservation.id):
        table = entry.body.get("table")
        if table in (tables if entry.kind == "register" else listing):
            raise PolicyError(
                f"request {reservation.request!r} was answered before table {table!r} was loaded again, perhaps "
                "declared differently or with other labels; ask anew under another request id."
            )


def relabelled(priced: PricedQuestion, known: Reservation) -> bytes | None:
    """A stored release, under the labels that this text gives to the same codes of the same data."""
    if known.answer is None or known.snapshot != priced.snapshot:
        return known.answer
    released = Released.from_bytes(known.answer)
    if released.labels in (None, priced.question.labels):
        return known.answer
    return replace(released, labels=priced.question.labels).to_bytes()


def profile_for(ledger: Ledger, question: Question) -> Profile | None:
    """The profile of the table that each row of a question is made of, with what it tells of the columns in use."""
    limit = certifiable(Limits(None).limited(question.source))
    if limit is None:
        return None
    outputs = (leaf for output in question.outputs for leaf in output.aggregate.leaves())
    values = (value for leaf in outputs if isinstance(value := getattr(leaf, "value", None), Stored))
    called = {name: own for own, name in limit.child.names}
    return profile_of(ledger, limit.child.table, [called.get(value.name, "") for value in values])


def profile_of(ledger: Ledger, table: Table, columns: Iterable[str] | None = None) -> Profile | None:
    """What has been released about a table (and these columns, or all): from settled answers alone."""
    return profile_from(table, partial(settled, ledger), columns)


def few_owners(ledger: Ledger, priced: PricedQuestion) -> list[str]:
    """What is said before a question is paid for of which hardly any key could be shown: of too few people it asks."""
    selection, most = priced.measures[0].mechanism, 0
    if not isinstance(selection, KeySelection):
        return []
    for table in priced.question.tables:
        if isinstance(table, Table):
            known = _most_owners(ledger, table)
            if known is None:
                return []
            most += known
    if selection.keep_probability(most)[1] > _HARDLY:
        return []
    return [
        f"Hardly any key can be shown: a noisy count of {counted(selection.threshold, 'owner')} is needed for one, and "
        f"there are at most {most:,}, as is declared or was profiled. It takes a larger price or delta, or fewer rows "
        "of each owner."
    ]


def _most_owners(ledger: Ledger, table: Table) -> int | None:
    """How many owners a table has at most: by its rows as declared, and by what a profile certifies."""
    profile = profile_of(ledger, table, ())
    histograms = () if profile is None or profile.rows is None else profile.rows.histograms
    limits = (limit for one in histograms for limit in one.limits(_HARDLY))
    every = [most for start, end, most in limits if start <= 1 and end is None]
    return min([*every, *([] if table.max_rows is None else [table.max_rows])], default=None)


def settled(ledger: Ledger, part: Part) -> bytes | None:
    """The best answer to a part of a profile that has been paid for."""
    from dither.ledger import Charge

    return ledger.find(part.table.people, None, part.label, part.snapshot, Charge(Fraction(0)))


def check_fits(accounts: Accounts, asked: Mapping[str, str], several: Sequence[tuple[PricedQuestion, str]]) -> None:
    """Refuse questions that the curator asks one after the other if what is still to pay exceeds what is left."""
    from dither.ledger import Charge

    ledger, people, cost, delta = accounts.ledger, several[0][0].question.people, Fraction(0), Fraction(0)
    for priced, request in several:
        charge = Charge(priced.price.cost, priced.price.delta)
        stored = ledger.find(people, None, priced.known_as, priced.snapshot, charge)
        if stored is None and ledger.requested(people, None, request) is None:
            cost, delta = cost + charge.cost, delta + charge.delta
    if not ledger.fits(people, None, Charge(cost, delta)):
        raise accounts.refusal(people, None, asked, Charge(cost, delta))
