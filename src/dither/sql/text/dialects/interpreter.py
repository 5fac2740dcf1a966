"""Reads a text in another dialect: its tokens, a tree that holds every word, the same tree in PostgreSQL's words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from dither.policy.catalog import Catalog
from dither.sql.text import faithfulness, limits, parse
from dither.sql.text.dialects import names
from dither.sql.text.dialects.privacy_clause import privacy_clause
from dither.sql.text.dialects.syntax import NamesOnly
from dither.sql.text.dialects.translation import Translation
from dither.sql.text.dialects.vocabulary import Vocabulary
from dither.sql.text.parse import Parsed
from dither.sql.text.source import Source


@dataclass(frozen=True)
class Interpreted:
    """A text in PostgreSQL's words, every piece where it stands in the text; and as it was written."""

    tree: exp.Expr
    source: Source
    written: exp.Expr
    synonyms: dict[str, str]
    private: bool  # whether SELECT WITH DIFFERENTIAL_PRIVACY is written


def interpreted(text: str, vocabulary: Vocabulary, catalog: Catalog) -> Parsed:
    """The question that a text asks."""
    found = translated(text, vocabulary, catalog)
    parsed = parse.checked(found.tree, found.source, catalog)
    faithfulness.faithful_tree(found.written, found.source, found.synonyms)
    return parsed


def translated(text: str, vocabulary: Vocabulary, catalog: Catalog) -> Interpreted:
    """What the text says, in PostgreSQL's words."""
    lexicon = vocabulary.lexicon
    source = limits.tokens(text, lexicon.tokens)
    lexicon.check(source)
    there = vocabulary.name
    source = replace(lexicon.topped(source), dialect=there, collated_by=there if vocabulary.collated else "")
    tree = parse.tree(source, NamesOnly)
    parse.shallow(tree, source)
    written = tree.copy()
    clause = privacy_clause(text, lexicon) if lexicon.private else None
    if clause is not None:
        clause.check(tree, source, catalog)
    if isinstance(tree, (exp.Select, exp.Union)):  # anything else is refused below, whatever its words
        named = names.aliases([tree])
        tree = Translation(vocabulary, source, catalog, named, private=clause is not None).value(tree)
    synonyms = {"DOUBLE": "DOUBLE PRECISION"} | dict(lexicon.types) | dict.fromkeys(lexicon.operators, "DIV")
    return Interpreted(tree, source, written, synonyms, clause is not None)
