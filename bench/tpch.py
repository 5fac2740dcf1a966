"""Ten TPC-H queries, private against plain in one run: time, and error at epsilon = 1.

    python bench/tpch.py [--scale 1] [--rounds 7] [--folder FOLDER] [--only Q1 Q6]

Data are made by tpchgen-cli. The owner of everything is the customer: a customer's own row, the orders, and the lines
of orders, which find their customer by a foreign key. Parts, suppliers, their offers, nations and regions are public.
Plain queries are the standard ones with their validation parameters, on the raw tables in DuckDB's own storage; private
ones are the whole walk, from text to an Arrow table, at a price never paid before. Times are the least of interleaved
rounds. A private answer has every group that declarations allow; errors are taken over the groups of the plain answer.
Exits 1 if a query is not answered or a limit is missed.
"""

from __future__ import annotations

import argparse
import math
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TABLES = ("customer", "orders", "lineitem", "part", "supplier", "partsupp", "nation", "region")
SLOWEST, SLOWEST_CLAMPED = 1.3, 15.0  # geometric mean of private / plain; with owners' totals clamped
PROFILE_EPSILON = "0.1"  # spent once on each of orders and lineitem


@dataclass(frozen=True)
class Query:
    """The standard text, how many leading columns are keys, and what a private question changes of it and why."""

    plain: str
    keys: int
    why: str
    changes: tuple[tuple[str, str], ...] = field(default=())

    @property
    def private(self) -> str:
        text = self.plain
        for old, new in self.changes:
            if old not in text:
                raise ValueError(f"not in the text: {old}")
            text = text.replace(old, new)
        return text


_REVENUE = "SUM(l_extendedprice * (1 - l_discount))"
_JOINED = "p_partkey = l_partkey AND "

QUERIES = {
    "Q1": Query(
        """SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
             SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
             SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty,
             AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order
           FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
           GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
        keys=2,
        why="as it stands; the answer has six groups where four have rows, since which of them have is private",
    ),
    "Q4": Query(
        """SELECT o_orderpriority, COUNT(*) AS order_count FROM orders
           WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
           AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
           GROUP BY o_orderpriority ORDER BY o_orderpriority""",
        keys=1,
        why="as it stands; EXISTS stays with one customer because its equality is the foreign key",
    ),
    "Q5": Query(
        f"""SELECT n_name, {_REVENUE} AS revenue FROM customer, orders, lineitem, supplier, nation, region
           WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey
           AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey
           AND r_name = 'ASIA' AND o_orderdate >= DATE '1994-01-01'
           AND o_orderdate < DATE '1994-01-01' + INTERVAL '1' YEAR GROUP BY n_name ORDER BY revenue DESC""",
        keys=1,
        why="as it stands; all 25 nations are in the answer, and their order is that of noisy numbers",
    ),
    "Q6": Query(
        """SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
           WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
           AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24""",
        keys=0,
        why="as it stands",
    ),
    "Q7": Query(
        """SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue FROM (
             SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, EXTRACT(YEAR FROM l_shipdate) AS l_year,
               l_extendedprice * (1 - l_discount) AS volume
             FROM supplier, lineitem, orders, customer, nation n1, nation n2
             WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
             AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
             AND ((n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY') OR (n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE'))
             AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') AS shipping
           GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year""",
        keys=3,
        why="as it stands",
    ),
    "Q8": Query(
        """SELECT o_year, SUM(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share FROM (
             SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume,
               n2.n_name AS nation
             FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
             WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
             AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA'
             AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
             AND p_type = 'ECONOMY ANODIZED STEEL') AS all_nations GROUP BY o_year ORDER BY o_year""",
        keys=1,
        why="as it stands; the share is one noisy sum over another",
    ),
    "Q12": Query(
        """SELECT l_shipmode,
             SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_count,
             SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_count
           FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP')
           AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01'
           AND l_receiptdate < DATE '1994-01-01' + INTERVAL '1' YEAR GROUP BY l_shipmode ORDER BY l_shipmode""",
        keys=1,
        why="as it stands",
    ),
    "Q13": Query(
        """SELECT c_count, COUNT(*) AS custdist FROM (
             SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM customer LEFT OUTER JOIN orders
             ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders
           GROUP BY c_count ORDER BY custdist DESC, c_count DESC""",
        keys=1,
        why="as it stands; totals of one customer are exact inside, and customers are counted with noise",
    ),
    "Q14": Query(
        f"""SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
             / {_REVENUE} AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey
           AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-09-01' + INTERVAL '1' MONTH""",
        keys=0,
        why="as it stands; the share is one noisy sum over another",
    ),
    "Q19": Query(
        f"""SELECT {_REVENUE} AS revenue FROM lineitem, part WHERE (
             ({_JOINED}p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
               AND l_quantity >= 1 AND l_quantity <= 1 + 10 AND p_size BETWEEN 1 AND 5
               AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
             OR ({_JOINED}p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
               AND l_quantity >= 10 AND l_quantity <= 10 + 10 AND p_size BETWEEN 1 AND 10
               AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON')
             OR ({_JOINED}p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
               AND l_quantity >= 20 AND l_quantity <= 20 + 10 AND p_size BETWEEN 1 AND 15
               AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'))""",
        keys=0,
        why="the equality of part keys, which all three cases share, is written once beside them: a public table is "
        "joined on its key, not on one in each case of an OR. And 'AIR REG', which no row has, is left out: it is no "
        "declared label",
        changes=((_JOINED, ""), ("WHERE (", f"WHERE {_JOINED}("), ("('AIR', 'AIR REG')", "('AIR')")),
    ),
}


def make_data(folder: Path, scale: float) -> None:
    command = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or shutil.which("tpchgen-cli")
    if command is None:
        raise SystemExit("tpchgen-cli is needed: it is in the bench group of dependencies (make bench installs it).")
    options = ["parquet", "--scale-factor", f"{scale:g}", "--output-dir", str(folder), "--quiet"]
    subprocess.run([command, *options], check=True)


def register(folder: Path, scale: float) -> None:
    """What is declared follows from the specification of TPC-H, not from the data."""
    import dither as dt

    def key(most: int) -> Any:
        return dt.Int(1, max(1, math.ceil(most * scale)), nullable=False, default=1)

    def money(most: str, least: str = "0") -> Any:
        return dt.Fixed(least, most, decimals=2, nullable=False, default=least)

    def one_of(labels: Sequence[str]) -> Any:
        return dt.Category(labels, nullable=False, default=labels[0])

    day = dt.Date("1992-01-01", "1998-12-31", nullable=False, default="1992-01-01")
    nation, region = (dt.Int(0, most, nullable=False, default=0) for most in (24, 4))
    materials = ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
    kinds = ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    finishes = ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    boxes = ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
    orders = {
        "o_orderkey": key(6_000_000),
        "o_custkey": key(150_000),
        "o_orderdate": day,
        "o_orderpriority": one_of(["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]),
        "o_comment": dt.Text(max_length=79, nullable=False, default=""),
    }
    lines = {
        "l_orderkey": key(6_000_000),
        "l_partkey": key(200_000),
        "l_suppkey": key(10_000),
        "l_quantity": money("50"),
        "l_extendedprice": money("105000"),
        "l_discount": money("0.1"),
        "l_tax": money("0.08"),
        "l_returnflag": one_of(["A", "N", "R"]),
        "l_linestatus": one_of(["F", "O"]),
        **dict.fromkeys(("l_shipdate", "l_commitdate", "l_receiptdate"), day),
        "l_shipinstruct": one_of(["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]),
        "l_shipmode": one_of(["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]),
    }
    part = {
        "p_partkey": key(200_000),
        "p_brand": one_of([f"Brand#{m}{n}" for m in range(1, 6) for n in range(1, 6)]),
        "p_type": one_of([f"{k} {f} {m}" for k in kinds for f in finishes for m in materials]),
        "p_size": dt.Int(1, 50, nullable=False, default=1),
        "p_container": one_of([f"{size} {box}" for size in ("SM", "LG", "MED", "JUMBO", "WRAP") for box in boxes]),
    }
    offers = {"ps_partkey": key(200_000), "ps_suppkey": key(10_000), "ps_supplycost": money("1000")}
    names = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
    nations = """ALGERIA ARGENTINA BRAZIL CANADA EGYPT ETHIOPIA FRANCE GERMANY INDIA INDONESIA IRAN IRAQ JAPAN JORDAN
        KENYA MOROCCO MOZAMBIQUE PERU CHINA ROMANIA SAUDI_ARABIA VIETNAM RUSSIA UNITED_KINGDOM UNITED_STATES"""
    labels = [name.replace("_", " ") for name in nations.split()]
    private: tuple[tuple[str, str, int, tuple[str, ...], dict[str, Any]], ...] = (
        ("customer", "c_custkey", 1, ("c_custkey",), {"c_custkey": key(150_000), "c_nationkey": nation}),
        ("orders", "o_custkey", 50, ("o_orderkey",), orders),
        ("lineitem", "l_orderkey -> orders.o_orderkey", 250, (), lines),
    )
    public: tuple[tuple[str, tuple[str, ...], dict[str, Any]], ...] = (
        ("part", ("p_partkey",), part),
        ("supplier", ("s_suppkey",), {"s_suppkey": key(10_000), "s_nationkey": nation}),
        ("partsupp", ("ps_partkey", "ps_suppkey"), offers),
        ("nation", ("n_nationkey",), {"n_nationkey": nation, "n_name": one_of(labels), "n_regionkey": region}),
        ("region", ("r_regionkey",), {"r_regionkey": region, "r_name": one_of(names)}),
    )
    with dt.Curator.open(folder / "shop") as curator:
        curator.people("customers", budget=dt.ApproxDP(1000, "1e-6"), oversubscribe=True)
        started = time.perf_counter()
        for name, owner, most, own_key, columns in private:
            told: dict[str, Any] = {"people": "customers", "owner": owner, "max_rows_per_owner": most, "key": own_key}
            curator.register(name, folder / f"{name}.parquet", columns=columns, **told)
        for name, own_key, columns in public:
            curator.register_public(name, folder / f"{name}.parquet", key=own_key, columns=columns)
        print(f"registered in {time.perf_counter() - started:.1f} s")
        total = curator.budget("customers").total.rho
        for name, wanted in (("orders", ()), ("lineitem", ("l_quantity", "l_extendedprice", "l_discount"))):
            price = curator.explain(f"SELECT COUNT(*) FROM {name}", epsilon=PROFILE_EPSILON).to_dict()["price"]["rho"]
            curator.profile(name, share=f"{float(price) / float(total):.12f}", columns=wanted)


def plain_connection(folder: Path) -> Any:
    import duckdb

    path = folder / "raw.duckdb"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            for name in TABLES:
                connection.execute(f"CREATE TABLE {name} AS FROM '{folder / name}.parquet'")
    return duckdb.connect(str(path), read_only=True)


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return 1000 * (time.perf_counter() - started), result


def errors(query: Query, exact: Any, noisy: Any) -> Iterator[float]:
    """Relative errors of all numbers in groups that the plain answer has."""
    found = {tuple(map(str, row[: query.keys])): row[query.keys :] for row in rows(noisy)}
    for row in rows(exact):
        numbers = found.get(tuple(map(str, row[: query.keys])))
        for place, number in enumerate(row[query.keys :]):
            if number:
                missing = numbers is None or numbers[place] is None
                yield 1.0 if missing else abs(float(numbers[place]) / float(number) - 1)


def rows(table: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


@dataclass(frozen=True)
class Outcome:
    ratio: float
    clamped: bool


def measure(name: str, plain: Any, curator: Any, analyst: Any, rounds: int) -> Outcome | None:
    """One query; None if it was not answered."""
    import dither as dt

    query = QUERIES[name]
    try:
        told = curator.explain(query.private, epsilon=1).to_dict()
        bare, private, off = [], [], []
        for round_ in range(-1, rounds):  # the first warms both sides up
            asked, exact = milliseconds(lambda: plain.sql(query.plain).to_arrow_table())
            # A little dearer than any time before: no stored answer will do, and no ready table of noise.
            price = f"1.000{round_ + 2:03d}"
            answered, noisy = milliseconds(lambda price=price: analyst.sql(query.private, epsilon=price).to_arrow())
            off += errors(query, exact, noisy)
            if round_ >= 0:
                bare.append(asked)
                private.append(answered)
    except dt.DitherError as error:
        print(f"{name:4} NOT ANSWERED: {error}")
        return None
    clamped = "slower plan" in told["strategy"]
    ratio = min(private) / min(bare)
    print(
        f"{name:4} plain {min(bare):7.1f} ms   private {min(private):7.1f} ms   {ratio:5.2f}x   "
        f"median relative error {statistics.median(off):9.2%}   rows of an owner {told['rows_per_owner'] or 'all':>3}"
        f"{'   owners clamped' if clamped else ''}"
    )
    return Outcome(ratio, clamped)


def verdict(what: str, value: float, limit: float) -> bool:
    held = value <= limit
    print(f"{'PASS' if held else 'FAIL'}  {what}: {value:.2f}x, limit {limit:g}")
    return held


def mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def compare(folder: Path, names: Sequence[str], rounds: int) -> bool:
    import dither as dt

    plain = plain_connection(folder)
    with dt.Curator.open(folder / "shop") as curator:
        # Somebody new, who has no answers yet.
        analyst = curator.analyst(f"bench{secrets.token_hex(8)}", budget=dt.ApproxDP(1000, "1e-6"))
        outcomes = [measure(name, plain, curator, analyst, rounds) for name in names]
    plain.close()
    answered = [outcome for outcome in outcomes if outcome is not None]
    held = [len(answered) == len(outcomes)]
    print(f"{'PASS' if held[0] else 'FAIL'}  answered: {len(answered)} of {len(outcomes)}")
    for clamped, what, limit in ((False, "private / plain", SLOWEST), (True, "owners clamped", SLOWEST_CLAMPED)):
        ratios = [outcome.ratio for outcome in answered if outcome.clamped == clamped]
        if ratios:
            held.append(verdict(f"{what} ({len(ratios)} queries, geometric mean)", mean(ratios), limit))
    return all(held)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where data are made; kept and used again if it is there")
    parser.add_argument("--only", nargs="+", choices=list(QUERIES), default=list(QUERIES))
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dither-tpch-") as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "lineitem.parquet").exists():
            make_data(folder, options.scale)
        if not (folder / "shop").exists():
            register(folder, options.scale)
        return 0 if compare(folder, options.only, options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
