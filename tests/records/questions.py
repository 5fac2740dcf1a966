"""The tables and the questions whose records are kept as they were first written."""

from __future__ import annotations

from typing import Any

from dither.accounting import ApproxDP, PureDP
from dither.accounting.currency.currency import Currency
from dither.policy.catalog import Catalog, PublicTable, Table
from dither.policy.columns import Bool, Category, Date, Fixed, Int, Text, Timestamp
from dither.sql.binding.reading import read
from dither.sql.bounding.aggregations import measures
from dither.sql.planner.strategy import Strategy
from dither.sql.pricing.price import PricedQuestion, price

VISITS = {
    "id": Int(0, 1000, nullable=False, default=0),
    "age": Int(0, 120),
    "few": Int(0, 3, nullable=False, default=0),
    "paid": Fixed(-100, 100, decimals=2),
    "region": Category(["north", "south", "été"]),
    "name": Text(max_length=20),
    "sick": Bool(),
    "day": Date("2020-01-01", "2024-12-31"),
    "at": Timestamp("2020-01-01", "2024-12-31"),
    "code": Int(0, 9),
}
PEOPLE = {"born": Date("1950-01-01", "2010-12-31"), "score": Int(0, 10), "code": Int(0, 9)}
CATALOG = Catalog(
    {
        "visits": Table("visits", "patients", "patient", 4, VISITS, snapshot=3, key=("id",)),
        "people": Table("people", "patients", "patient", 1, PEOPLE, snapshot=2),
    },
    {"codes": PublicTable("codes", {"code": Int(0, 9), "grp": Category(["x", "y"])}, ("code",), snapshot=1)},
)
CURRENCIES = {
    "pure": Currency.of(PureDP(4)),
    "zcdp": Currency.of(ApproxDP(4, "1e-6")),
    "basic": Currency.of(ApproxDP(4, "1e-6", composition="basic")),
}


def asked(question: dict[str, Any]) -> PricedQuestion:
    """A question at its price, answered as its strategy says, if it has one."""
    found = read(question["text"], CATALOG)
    strategy = Strategy.read(question["strategy"], measures(found)) if "strategy" in question else None
    return price(found, CURRENCIES[question["currency"]], strategy=strategy, **question["stated"])


def records(priced: PricedQuestion) -> dict[str, Any]:
    """What is stored of a question, and what its release would call its measures."""
    return {
        "key": priced.known_as,
        "by_error": priced.known_by_error,
        "measures": [item.measure.text for item in priced.measures],
        "mechanisms": [item.parameters() for item in priced.measures],
        "plan": priced.recipe(),
    }
