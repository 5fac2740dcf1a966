"""Policy files: what they declare is made once, and what is wrong with them is said with its place."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import dither as dt
from dither.curator.policy_files import read_policy
from dither.errors import PolicyError
from dither.policy.catalog import Table
from dither.policy.structure import Structure

Write = Callable[..., Path]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[dt.Curator]:
    with dt.Curator.open(tmp_path / "shop") as curator:
        yield curator


def test_everything_is_made(shop: dt.Curator, policy: Write) -> None:
    applied = shop.apply(policy())
    assert applied.opened == (("buyers", None), ("buyers", "alice"))
    assert list(applied.loaded) == ["orders", "readings", "pieces", "items"]
    assert applied.loaded["items"].dropped_without_owner == 1
    assert applied.kept == ()
    tables = {table.name: table for table in shop.tables()}
    orders: Any = tables["orders"]
    assert (orders.owner, orders.max_rows_per_owner, orders.key) == ("buyer", 10, ("id",))
    assert orders.columns == {
        "id": dt.Int(1, 100),
        "price": dt.Fixed(0, "99.5", decimals=1),
        "day": dt.Date("2024-01-01", "2024-12-31", nullable=False, default="2024-01-01"),
    }
    assert tables["items"].columns["piece"] == dt.Category(["nut", "bolt"])
    assert tables["readings"].row_level  # type: ignore[union-attr]
    assert tables["pieces"].key == ("piece",)
    assert shop.budget("buyers").total.delta == dt.ApproxDP(4, "1e-6").delta
    assert shop.budget("buyers", "alice").total.epsilon == dt.PureDP("0.5").epsilon
    assert shop.budget("buyers", "alice").total.delta == dt.ApproxDP(4, "1e-6").delta / 8, "her share of epsilon"


def test_a_schema(shop: dt.Curator, policy: Write) -> None:
    """In TOML as in YAML; what the file does not say stays."""
    named = policy(text=f'schema = "sales"\n{policy().read_text()}', name="sales.toml")
    document = json.loads(json.dumps(tomllib.loads(named.read_text()), default=str))
    assert read_policy(policy(name="shop.yaml", text=yaml.safe_dump(document))).schema == "sales"
    shop.apply(named)
    assert shop.schema() == "sales"
    shop.apply(policy())
    assert shop.schema() == "sales"
    wrong = policy(text='schema = "a.b"', name="wrong.toml")
    with pytest.raises(PolicyError, match=r"wrong.toml: schema: a schema is a name of 1 to 63 letters"):
        read_policy(wrong)


def test_declared_structure(shop: dt.Curator, policy: Write) -> None:
    """In TOML as in YAML, and the same again when it is applied again."""
    lying = "max_rows_per_owner = 10\nmax_rows_per_owner_in = { day = 2 }\nmax_values_per_owner = { price = 3 }"
    file = policy(("max_rows_per_owner = 10", lying))
    document = json.loads(json.dumps(tomllib.loads(file.read_text()), default=str))
    for path in (file, policy(name="shop.yaml", text=yaml.safe_dump(document))):
        (orders,) = [planned.table for planned in read_policy(path).tables if planned.table.name == "orders"]
        assert isinstance(orders, Table)
        assert orders.structure == Structure({"day": 2}, {"price": 3})
    shop.apply(file)
    assert shop.apply(file).loaded == {}
    (there,) = [table for table in shop.tables() if table.name == "orders"]
    assert there.structure == orders.structure  # type: ignore[union-attr]


def test_caps_must_fit_together(shop: dt.Curator, policy: Write) -> None:
    greedy = ("epsilon = 0.5", "epsilon = 3\n[people.buyers.analysts.bob]\nepsilon = 3")
    with pytest.raises(PolicyError, match=r"people\.buyers: the caps of its analysts together exceed its budget"):
        shop.apply(policy(greedy))
    assert {entry.kind for entry in shop.ledger()} == {"create"}
    shop.apply(policy(greedy, ("delta = 1e-6", "delta = 1e-6\noversubscribe = true")))
    assert shop.budget("buyers").free == shop.budget("buyers").left
    shop.apply(policy(greedy, ("delta = 1e-6", "delta = 1e-6\noversubscribe = true")))
    with pytest.raises(PolicyError, match=r"oversubscribe: is true or false; got"):
        shop.apply(policy(("delta = 1e-6", "delta = 1e-6\noversubscribe = 1")))


def test_a_cap_into_which_no_epsilon_fits_is_refused_before_anything_is_made(shop: dt.Curator, policy: Write) -> None:
    useless = [("delta = 1e-6", "delta = 0.5"), ("epsilon = 0.5", "epsilon = 0.5\ndelta = 1e-6")]
    with pytest.raises(PolicyError, match=r"people\.buyers\.analysts\.alice: no price in epsilon fits into a cap"):
        shop.apply(policy(*useless))
    assert {entry.kind for entry in shop.ledger()} == {"create"}


def test_a_cap_without_a_delta_keeps_what_it_was_given(shop: dt.Curator, policy: Write) -> None:
    """However a cap came to its delta, a file that states none does not differ."""
    shop.people("buyers", budget=dt.ApproxDP(4, "1e-6"))
    shop.analyst("alice", budget=dt.ApproxDP("0.5", "1e-6"))
    assert shop.apply(policy()).opened == ()


def test_the_same_in_yaml(policy: Write, tmp_path: Path) -> None:
    """YAML and TOML that say the same are the same plan."""
    toml = policy()
    document = tomllib.loads(toml.read_text(), parse_float=str)
    dumped = yaml.safe_dump(json.loads(json.dumps(document, default=str)))
    plans = [read_policy(path) for path in (toml, policy(name="shop.yaml", text=dumped))]
    assert [account.budget for account in plans[0].accounts] == [account.budget for account in plans[1].accounts]
    first, second = ({planned.table.name: said(planned) for planned in plan.tables} for plan in plans)
    assert first == second
    assert first["orders"]["columns"]["day"]["default"] == "2024-01-01"


def said(planned: Any) -> dict[str, Any]:
    columns = {name: column.declaration() for name, column in planned.table.columns.items()}
    return vars(planned.table) | {"columns": columns, "stated": planned.owner, "source": planned.source}


def test_yaml_as_people_write_it(policy: Write) -> None:
    text = """
people:
  buyers: {epsilon: 0.1, pure: true}
public:
  pieces:
    source: data/pieces.csv
    key: piece
    columns:
      piece: {kind: category, labels: [nut, bolt]}
"""
    plan = read_policy(policy(name="p.yml", text=text))
    assert plan.accounts[0].budget == dt.PureDP("0.1"), "0.1 is a tenth, not the nearest double"


def test_applying_twice_changes_nothing(shop: dt.Curator, policy: Write) -> None:
    shop.apply(policy())
    before, entries = shop.tables(), len(list(shop.ledger()))
    applied = shop.apply(policy(("default = 2024-01-01", 'default = "2024-01-01"')))
    assert (applied.opened, applied.loaded) == ((), {})
    assert applied.kept == ("orders", "readings", "pieces", "items")
    assert shop.tables() == before
    assert len(list(shop.ledger())) == entries


def test_going_on_after_a_load_that_failed(shop: dt.Curator, policy: Write) -> None:
    with pytest.raises(PolicyError, match=r"tables\.items: .* 1 record without an owner"):
        shop.apply(policy(), strict=True)
    assert [table.name for table in shop.tables()] == ["orders", "readings", "pieces"]
    assert list(shop.apply(policy()).loaded) == ["items"]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            'owner = "buyer"',
            'owner = "byer"',
            r"tables\.orders: the source has no column 'byer'; .* Did you mean buyer\?",
        ),
        (
            'columns.piece = { kind = "category", labels_f',
            'columns.piec = { kind = "category", labels_f',
            "Did you mean",
        ),
        ('people = "buyers"', 'people = "byers"', r"no people 'byers'; .* Did you mean buyers\?"),
    ],
)
def test_headers_and_names_are_checked_before_anything_is_made(
    shop: dt.Curator, policy: Write, right: str, wrong: str, message: str
) -> None:
    with pytest.raises(PolicyError, match=message):
        shop.apply(policy((right, wrong)))
    assert not shop.tables()
    assert {entry.kind for entry in shop.ledger()} == {"create"}


DIFFERENT = [
    (
        "upper = 99.5",
        "upper = 99",
        r"tables\.orders: differs.*columns\.price\.upper is 99.0 in the file and 99.5 as reg",
    ),
    ("max_rows_per_owner = 10", "max_rows_per_owner = 11", "max_rows_per_owner is 11 in the file and 10 as registered"),
    (
        "max_rows_per_owner = 10",
        "max_rows_per_owner = 10\nmax_rows_per_owner_in = { day = 2 }",
        r"max_rows_per_owner_in\.day is declared in the file only",
    ),
    ("each_row = true", "each_row = true\nmax_rows = 9", "max_rows is 9 in the file and none as registered"),
    ('key = "id"', 'key = ["id", "day"]', "key is id, day in the file and id as registered|to be the key of"),
    (
        'labels = ["nut", "bolt"]',
        'labels = ["bolt", "nut"]',
        r"columns\.piece\.labels is \['bolt', 'nut'\] in the file",
    ),
    ('owner = "buyer"', 'owner = "id"', "owner is id in the file and buyer as registered"),
    ("columns.weight = ", "columns.wait = ", r"columns\.wait\.kind is declared in the file only.*columns\.weight"),
    ("epsilon = 4", "epsilon = 5", r"people\.buyers: has another budget already, epsilon 4, delta 1/1000000"),
    ("epsilon = 0.5", "epsilon = 0.25", r"people\.buyers\.analysts\.alice: has another budget already, epsilon 1/2"),
    (
        "epsilon = 0.5",
        'epsilon = 0.5\ndelta = "1e-8"',
        r"another budget already, epsilon 1/2, delta 1/8000000",
    ),
    ("delta = 1e-6", "delta = 1e-6\noversubscribe = true", r"people\.buyers: has another budget already, epsilon 4"),
]


def test_differences_are_refused(shop: dt.Curator, policy: Write) -> None:
    shop.apply(policy())
    before, entries = shop.tables(), len(list(shop.ledger()))
    for old, new, message in DIFFERENT:
        with pytest.raises(PolicyError, match=message):
            shop.apply(policy((old, new)))
    text = '[tables.pieces]\nsource="x"\npeople="buyers"\neach_row=true\ncolumns.weight={kind="bool"}\n'
    with pytest.raises(PolicyError, match="public is False in the file and True as registered"):
        shop.apply(policy(text=text))
    assert shop.tables() == before
    assert len(list(shop.ledger())) == entries


WRONG = [
    ("[people.buyers]", "[poeple.buyers]", r"shop\.toml: unknown name 'poeple'.*Did you mean people"),
    ("epsilon = 4", "epsilno = 4", r"people\.buyers: unknown name 'epsilno'; allowed are epsilon, .*mean epsilon"),
    ("epsilon = 4", "", r"people\.buyers: 'epsilon' is missing"),
    ("epsilon = 4", "epsilon = -4", r"people\.buyers: epsilon must"),
    ("epsilon = 4", "epsilon = nan", r"people\.buyers: "),
    ("delta = 1e-6", "", r"people\.buyers: a budget needs delta"),
    ("delta = 1e-6", "pure = true\ndelta = 0.1", r"people\.buyers: a pure budget has epsilon alone"),
    ("delta = 1e-6", 'delta = 1e-6\ncomposition = "zcpd"', r"composition: 'zcpd' is not one of zcdp, basic.*mean zcdp"),
    ("epsilon = 0.5", "epsilon = 0.5\npure = true", r"analysts\.alice: unknown name 'pure'"),
    ("people.buyers.analysts.alice]\nepsilon = 0.5", "x]\n", r"unknown name 'x'"),
    (
        'kind = "fixed"',
        'kind = "fixde"',
        r"tables\.orders\.columns\.price\.kind: 'fixde' is not one of int, .*mean fixed",
    ),
    ('kind = "fixed", ', "", r"tables\.orders\.columns\.price: 'kind' is missing"),
    ("upper = 99.5", "uper = 99.5", r"tables\.orders\.columns\.price: unknown name 'uper'.*Did you mean upper"),
    ("upper = 99.5", 'upper = "many"', r"tables\.orders\.columns\.price: "),
    (
        "upper = 99.5",
        "upper = -1",
        r"tables\.orders\.columns\.price: .*lower bound 0\.0 is above the upper bound -1\.0",
    ),
    (", decimals = 1", "", r"tables\.orders\.columns\.price: 'decimals' is missing"),
    ('labels = ["nut", "bolt"]', "labels = [true]", r"pieces\.columns\.piece\.labels: .*write true in quotation marks"),
    ('labels = ["nut", "bolt"], ', "", r"pieces\.columns\.piece: a category needs either labels"),
    ("nullable = true", 'nullable = "yes"', r"pieces\.columns\.piece\.nullable: is true or false; got the text 'yes'"),
    ("pieces.txt", "nosuch.txt", r"items\.columns\.piece\.labels_file: .*nosuch\.txt cannot be read"),
    ('owner = "buyer"', "", r"tables\.orders: needs either owner"),
    ("each_row = true", 'each_row = true\nowner = "id"', r"tables\.readings: needs either owner"),
    ("max_rows_per_owner = 10", "", r"tables\.orders: 'max_rows_per_owner' is missing"),
    ("max_rows_per_owner = 10", "max_rows_per_owner = 0", r"tables\.orders: max_rows_per_owner must"),
    (
        "max_rows_per_owner = 10",
        "max_rows_per_owner = 10\nmax_rows_per_owner_in = { daye = 2 }",
        r"tables\.orders: table 'orders' names 'daye' as a column of max_rows_per_owner_in.*Did you mean day",
    ),
    (
        "max_rows_per_owner = 10",
        "max_rows_per_owner = 10\nmax_values_per_owner = 2",
        r"tables\.orders\.max_values_per_owner: needs names with values; got 2",
    ),
    ("max_rows_per_owner = 10", 'max_rows_per_owner = "FILL IN"', r"still to be filled in: tables\.orders\.max_rows"),
    (
        'key = "id"',
        'key = "di"',
        r"tables\.orders: .*'di' as its key, which must be a declared column; declared are: id, price",
    ),
    ('key = "id"', "key = 3", r"tables\.orders\.key: needs text or a list of texts"),
    ('key = "id"', "", r"tables\.items: order_id -> orders\.id needs 'id' to be the key"),
    ("-> orders.id", "-> order.id", r"tables\.items: there is no table 'order'.*Did you mean orders"),
    ('owner = "buyer"', 'owner = "id -> items.order_id"', r"foreign keys go in a circle"),
    ('people = "buyers"\neach', 'people = "sellers"\neach', r"tables\.readings: there are no people 'sellers'"),
    ("data/pieces.csv", "data/nosuch.csv", r"public\.pieces: there is no file .*nosuch\.csv; the path is relative"),
    ("[public.pieces]", "[public.Orders]", "two tables have the same name"),
    ("[tables.readings]", '[tables."two words"]', r"tables\.two words: a table name starts with a letter"),
    ("[people.buyers]", "[people.buyers", r"shop\.toml is not TOML: .*line 2"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_mistakes_are_named(old: str, new: str, message: str, policy: Write, empty: dt.Curator) -> None:
    with pytest.raises(PolicyError, match=message):
        empty.apply(policy((old, new)))
    assert empty.tables() == []
    assert [entry.kind for entry in empty.ledger() if entry.kind == "account"] == []


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dt.Curator]:
    """For what is refused, and so changes nothing."""
    with dt.Curator.open(tmp_path_factory.mktemp("empty") / "shop") as curator:
        yield curator


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "people:\n  a: {epsilon: 1}\n  a: {epsilon: 2}\n", r"'a' comes twice \(line 3, column 3\)"),
        ("a.yaml", "people: [", r"a\.yaml is not YAML: .*line 1"),
        ("a.yaml", "people: !!python/object:os.system {}", "not YAML: the tag .* is not read"),
        ("a.yaml", "just words", "holds no declarations"),
        ("a.yaml", "people:\n  1: {epsilon: 1}\n", "names are text"),
        ("a.yaml", "people: [a]\n", r"people: needs names with values; got \['a'\]"),
        ("a.toml", "", "declares nothing"),
        ("a.json", "{}", "neither .toml nor .yaml"),
    ],
)
def test_files_that_are_none(policy: Write, name: str, text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        read_policy(policy(name=name, text=text))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="No such file"):
        read_policy(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_bytes(b"\xff")
    with pytest.raises(PolicyError, match="not UTF-8"):
        read_policy(tmp_path / "a.toml")
