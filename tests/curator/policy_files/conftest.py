from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

POLICY = """
[people.buyers]
epsilon = 4
delta = 1e-6

[people.buyers.analysts.alice]
epsilon = 0.5

[tables.items]  # before the table that it refers to
source = "data/items.parquet"
people = "buyers"
owner = "order_id -> orders.id"
max_rows_per_owner = 20
columns.order_id = { kind = "int", lower = 1, upper = 100 }
columns.piece = { kind = "category", labels_file = "pieces.txt" }

[tables.orders]
source = "data/orders.parquet"
people = "buyers"
owner = "buyer"
max_rows_per_owner = 10
key = "id"
columns.id = { kind = "int", lower = 1, upper = 100 }
columns.price = { kind = "fixed", lower = 0, upper = 99.5, decimals = 1 }
columns.day = { kind = "date", lower = 2024-01-01, upper = "2024-12-31", default = 2024-01-01 }

[tables.readings]
source = "data/orders.parquet"
people = "buyers"
each_row = true
columns.price = { kind = "int", lower = 0, upper = 99 }

[public.pieces]
source = "data/pieces.csv"
key = ["piece"]
columns.piece = { kind = "category", labels = ["nut", "bolt"], nullable = true }
columns.weight = { kind = "int", lower = 0, upper = 9 }
"""


@pytest.fixture
def policy(tmp_path: Path) -> Callable[..., Path]:
    """Write a policy file, with replacements, beside the data that it names."""
    data = tmp_path / "data"
    data.mkdir()
    orders = {"id": [1, 2, 3], "buyer": [7, 7, 8], "price": [1.5, 2.0, 3.0], "day": ["2024-02-03"] * 3}
    pq.write_table(pa.table(orders), data / "orders.parquet")
    pq.write_table(pa.table({"order_id": [1, 3, 9], "piece": ["nut", "bolt", "nut"]}), data / "items.parquet")
    (data / "pieces.csv").write_text("piece,weight\nnut,1\nbolt,2\n")
    (tmp_path / "pieces.txt").write_text("nut\nbolt\n")

    def write(*replaced: tuple[str, str], name: str = "shop.toml", text: str = POLICY) -> Path:
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
