"""Broken, spliced and odd SELECTs: mutations of questions by their words, their syntax trees and their characters."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

WORDS = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|.", re.DOTALL)
DIALECTS = ("postgres", "duckdb", "mysql", "bigquery", "snowflake", "tsql", "oracle", "spark", "clickhouse", "sqlite")

VOCABULARY = tuple(Path(__file__).with_name("vocabulary.txt").read_text(encoding="utf-8").split())
ODD = (
    "\x00",
    "\ufeff",
    "\u200b",
    "\u202e",
    "é",
    "😀",
    "\x7f",
    "\t",
    "\n",
    "\r",
    "\u2028",
    "'",
    '"',
    "\\",
    "\ud800",
    "ſ",
    "Ⅷ",
)


class Mutator:
    """Draws texts from seeds; the same seed gives the same texts."""

    def __init__(self, seed: int, seeds: Sequence[str]) -> None:
        self.draw = random.Random(seed)
        self.seeds = [text for text in seeds if 0 < len(text) < 2000]
        self.trees = [tree for text in self.seeds if (tree := _tree(text)) is not None]

    def text(self) -> str:
        way = self.draw.choice([self.words, self.words, self.words, self.tree, self.tree, self.odd, self.deep])
        return way()

    def words(self) -> str:
        """Words deleted, doubled, exchanged, replaced or put in, or the head of one text and the tail of another."""
        words = WORDS.findall(self.draw.choice(self.seeds))
        for _ in range(self.draw.randint(1, 4)):
            place = self.draw.randrange(len(words)) if words else 0
            way = self.draw.randrange(6)
            if way == 0:
                del words[place : place + self.draw.randint(1, 3)]
            elif way == 1:
                words[place:place] = words[place : place + self.draw.randint(1, 6)]
            elif way == 2 and words:
                other = self.draw.randrange(len(words))
                words[place], words[other] = words[other], words[place]
            elif way == 3:
                words[place : place + 1] = [self.draw.choice(VOCABULARY)]
            elif way == 4:
                words[place:place] = [" ", self.draw.choice(VOCABULARY), " "]
            else:
                tail = WORDS.findall(self.draw.choice(self.seeds))
                words = words[:place] + tail[self.draw.randrange(len(tail)) :]
        return "".join(words)

    def tree(self) -> str:
        """A part of one syntax tree in the place of a part of another, written in any dialect."""
        tree, other = self.draw.choice(self.trees).copy(), self.draw.choice(self.trees)
        for _ in range(self.draw.randint(1, 2)):
            nodes = [node for node in tree.walk() if node.parent is not None]
            if not nodes:
                return self.words()
            gifts = [node for node in other.walk() if self.draw.random() < 0.3] or [other]
            self.draw.choice(nodes).replace(self._dressed(self.draw.choice(gifts).copy()))
        try:
            return str(tree.sql(dialect=self.draw.choice(DIALECTS)))
        except Exception:  # noqa: BLE001 - no dialect writes such a tree
            return self.words()

    def _dressed(self, node: exp.Expr) -> exp.Expr:
        name = self.draw.choice(VOCABULARY)
        way = self.draw.randrange(6)
        if way == 0 and name.isidentifier():
            return exp.Anonymous(this=name, expressions=[node])
        if way == 1 and isinstance(node, exp.Query):
            return exp.Subquery(this=node)
        return node

    def odd(self) -> str:
        """Characters that should not be there."""
        text = list(self.draw.choice(self.seeds))
        for _ in range(self.draw.randint(1, 3)):
            text.insert(self.draw.randint(0, len(text)), self.draw.choice(ODD))
        return "".join(text)

    def deep(self) -> str:
        """Something nested in itself, or repeated, many times."""
        depth = self.draw.choice([3, 10, 24, 25, 60, 400])
        opening, closing = self.draw.choice(
            [("(", ")"), ("NOT ", ""), ("-", ""), ("ABS(", ")"), ("CASE WHEN x > 0 THEN ", " END"),
             ("COALESCE(x, ", ")"), ("(SELECT ", " FROM t)"), ("x + ", ""), ("x = 1 OR x > ", ""),
             ("NULLIF(x, ", ")"), ("x IN (", ")")]
        )  # fmt: skip
        nested = opening * depth + "x" + closing * depth
        return self.draw.choice(
            [
                f"SELECT COUNT(*) FROM t WHERE {nested} > 0",
                f"SELECT SUM({nested}) FROM t",
                f"SELECT COUNT(*) FROM t GROUP BY {nested}",
                "SELECT COUNT(*) FROM " + "(SELECT * FROM " * depth + "t" + ") q" * depth,
                "SELECT COUNT(*) FROM t" + f" UNION ALL SELECT {nested} FROM t" * min(depth, 12),
                "SELECT COUNT(*) FROM t a" + " JOIN t b ON a.uid = b.uid" * min(depth, 100),
            ]
        )


def _tree(text: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(text, dialect="postgres")
    except SqlglotError:
        return None
