"""From text to questions and what is computed from their answers."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from dither.errors import UnsupportedQuery
from dither.policy.catalog import Catalog
from dither.sql.over import outer_grammar
from dither.sql.over.border import Border
from dither.sql.over.known_queries import Known
from dither.sql.over.outer_dialects import check_dialect
from dither.sql.over.over_question import OverQuestion
from dither.sql.over.public_places import public_tables
from dither.sql.text import faithfulness, limits, parse
from dither.sql.text.dialects.interpreter import Interpreted, translated
from dither.sql.text.dialects.vocabulary import Vocabulary
from dither.sql.text.source import Source
from dither.sql.text.subtree import subtree

_MOST_QUERIES, _MOST_INSIDE = 8, 3


def read_over(
    text: str,
    catalog: Catalog,
    kind: Callable[[str], str],
    *,
    levels: bool = True,
    vocabulary: Vocabulary | None = None,
) -> OverQuestion | None:
    """What the text asks of people and computes from their answers; None if there is nothing of that kind in it.

    Text and declarations are all it looks at. It is read so only if it is no question by itself.
    """
    found = _interpreted(text) if vocabulary is None else translated(text, vocabulary, catalog)
    tree, source = found.tree, found.source
    parse.few_series(subtree(tree), source)
    if not isinstance(tree, (exp.Select, exp.Union, exp.Subquery)) or found.private:
        return None
    prefix, names = "answer", {name.name.lower() for name in tree.find_all(exp.Identifier)}
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    try:
        border = Border(source, catalog, prefix, kind, levels)
        outer = border.outer(tree.copy(), Known())
        pruned(outer)
        outer_grammar.check(outer, source)
        _few_inside(outer, source)
        public = public_tables(outer, {part.table for part in border.parts}, catalog, source)
        if vocabulary is not None:
            check_dialect(outer, border.parts, public.values(), vocabulary, source)
        faithfulness.faithful_tree(found.written, source, found.synonyms)
    except UnsupportedQuery:
        if _rows_inside(tree, catalog):
            return None  # what was said of it as a question says more
        raise
    except RecursionError:
        raise UnsupportedQuery("the query is nested too deeply.", line=1, column=1, hint="Split it.") from None
    used = {table.name for table in outer.find_all(exp.Table)}
    parts = tuple(part for part in border.parts if part.table in used)
    return OverQuestion(text, parts, outer, source, prefix, public) if parts else None


def _interpreted(text: str) -> Interpreted:
    """A text in PostgreSQL's own words."""
    source = limits.tokens(text)
    tree = parse.tree(source)
    parse.shallow(tree, source)
    return Interpreted(tree, source, tree.copy(), {}, private=False)


def _rows_inside(tree: exp.Expr, catalog: Catalog) -> bool:
    """Whether every query inside gives rows or totals of people: then there is no answer to compute with."""
    inside = [query for query in tree.find_all(exp.Select) if query is not tree]
    owners = {table.owner.lower() for table in catalog.tables.values()}

    def answers(query: exp.Select) -> bool:
        totals = query.args.get("group") is not None and owners & {item.name.lower() for item in query.expressions}
        return not totals and query.find(exp.AggFunc, exp.Group, exp.Distinct) is not None

    return bool(inside) and tree.find(exp.Window) is None and not any(map(answers, inside))


def pruned(outer: exp.Query) -> None:
    """Leave out queries of WITH that nothing uses: they would be paid for."""
    while True:
        used = [table.name.lower() for table in outer.find_all(exp.Table)]
        idle = [query for query in outer.find_all(exp.CTE) if query.alias.lower() not in used]
        if not idle:
            return
        for query in idle:
            clause = query.parent
            query.pop()
            if clause is not None and not clause.expressions:
                clause.pop()


def _few_inside(outer: exp.Query, source: Source) -> None:
    """Refuse many queries inside expressions: what is known of each is found again for every one around it."""
    deepest, count = 0, 0
    for query in outer.find_all(exp.Select):
        depth, around = 0, query.parent
        while around is not None:
            inside = isinstance(around, (exp.Subquery, exp.Exists, exp.In))
            depth += inside and not isinstance(around.parent, (exp.From, exp.Join, exp.Union, exp.CTE, exp.With))
            around = around.parent
        deepest, count = max(deepest, depth), count + (depth > 0)
    if deepest > _MOST_INSIDE or count > _MOST_QUERIES:
        what = f"over answers at most {_MOST_QUERIES} queries stand in expressions, {_MOST_INSIDE} inside each other."
        raise source.refusal(0, what, "Name them by WITH and join them.")
