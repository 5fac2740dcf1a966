"""Reads a text in another dialect: its tokens, a tree that holds every word, the same tree in PostgreSQL's words."""

from __future__ import annotations

from sqlglot import exp

from dither.policy.catalog import Catalog
from dither.sql.text import faithfulness, limits, parse
from dither.sql.text.dialects import names
from dither.sql.text.dialects.syntax import NamesOnly
from dither.sql.text.dialects.translation import Translation
from dither.sql.text.dialects.vocabulary import Vocabulary
from dither.sql.text.parse import Parsed


def interpreted(text: str, vocabulary: Vocabulary, catalog: Catalog) -> Parsed:
    """What the text says, in PostgreSQL's words; every piece stands where it stands in the text."""
    lexicon = vocabulary.lexicon
    source = limits.tokens(text, lexicon.tokens)
    lexicon.check(source)
    source = lexicon.topped(source)
    tree = parse.tree(source, NamesOnly)
    parse.shallow(tree, source)
    written = tree.copy()
    if isinstance(tree, (exp.Select, exp.Union)):  # anything else is refused below, whatever its words
        tree.meta["translated"] = True
        tree = Translation(vocabulary, source, catalog, names.aliases([tree])).value(tree)
    parsed = parse.checked(tree, source, catalog)
    faithfulness.faithful_tree(written, source, dict(lexicon.types) | dict.fromkeys(lexicon.operators, "DIV"))
    return parsed
