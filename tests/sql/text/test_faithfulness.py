"""Every word of a query counts: what the parser would pass over or take for something else is refused."""

from __future__ import annotations

import itertools

import pytest

from dither.errors import PolicyError, UnsupportedQuery
from dither.sql.binding.reading import read
from dither.sql.text.limits import tokens

FORGOTTEN = {
    "SELECT COUNT(*) FROM t *": (24, "'*' has no meaning"),
    "SELECT COUNT(*) FROM t * WHERE id * 2 = 4": (24, "'*' has no meaning"),
    "SELECT COUNT(*) FROM 't'": (22, "Only values stand in single quotes"),
    "SELECT COUNT(*) FROM t 'v'": (24, "Only values stand in single quotes"),
    "SELECT COUNT(*) AS 'n' FROM t": (20, "Only values stand in single quotes"),
    "SELECT few, COUNT(*) FROM t GROUP BY DISTINCT few": (38, "GROUP BY DISTINCT is not supported"),
    "SELECT COUNT(DISTINCT owner_id) FROM t GROUP BY DISTINCT few": (49, "GROUP BY DISTINCT is not supported"),
    "SELECT few, COUNT(*) FROM t GROUP BY ALL few": (38, "GROUP BY ALL is not supported"),
    "SELECT COUNT(*) FROM t WHERE small IS UNKNOWN": (39, "Write IS NULL"),
    "SELECT COUNT(*) FROM t WHERE small * 2 IS NOT UNKNOWN": (47, "Write IS NULL"),
    "SELECT COUNT(*), FROM t": (16, "',' has no meaning"),
    "SELECT COUNT(*) FROM t WHERE id IN (1, 2,)": (41, "',' has no meaning"),
    "SELECT few, COUNT(*) FROM t GROUP BY few,": (41, "',' has no meaning"),
    "SELECT AS COUNT(*) FROM t": (8, "'AS' has no meaning"),
    "SELECT few AS, COUNT(*) n FROM t WHERE day < DATE '2024-01-01' GROUP BY few": (12, "'AS' has no meaning"),
    "SELECT COUNT(*) n FROM t WHERE (id AS ) = 1": (36, "'AS' has no meaning"),
    "SELECT COUNT(*) FROM t WHERE at < CAST('2024-01-01' AS TIMESTAMPTZ()": (67, "'(' has no meaning"),
    "SELECT COUNT(*) FROM t WHERE day < DATE () '2024-01-01'": (36, "'DATE' has no meaning"),
    "SELECT ALL COUNT(*) FROM t": (8, "'ALL' has no meaning"),
    "SELECT COUNT(ALL small) FROM t": (14, "'ALL' has no meaning"),
    "SELECT COUNT(*) FROM t WHERE id > +5": (35, "'+' has no meaning"),
    "SELECT COUNT(*) FROM t WHERE id == 5": (33, "'==' has no meaning"),
    "SELECT COUNT(*) FROM t WHERE name !~~ 'a'": (35, "'!' has no meaning"),
    "SELECT COUNT(*) FROM t WHERE money > .5": (38, "Write 0.5"),
    "SELECT COUNT(*) FROM t WHERE id ISNULL": (33, "Write IS NULL"),
    "SELECT COUNT(*) FROM t WHERE IFNULL(id, 2) = 1": (30, "Write COALESCE"),
    'SELECT COUNT(*) AS "" FROM t': (20, "at least one letter"),
    'SELECT COUNT(*) AS " " FROM t': (20, "at least one letter"),
    'SELECT COUNT(*) FROM t AS ""': (27, "at least one letter"),
    "SELECT COUNT(*) AS a, COUNT(small) AS a FROM t": (23, "two columns are called 'a'"),
    "SELECT COUNT(*) AS a, COUNT(small) AS A FROM t": (23, "two columns are called 'A'"),
    "SELECT few, COUNT(*) AS FEW FROM t GROUP BY few": (13, "two columns are called 'FEW'"),
}


@pytest.mark.parametrize("text", FORGOTTEN)
def test_words_without_a_meaning_are_refused_where_they_stand(catalog, text):
    column, said = FORGOTTEN[text]
    with pytest.raises(UnsupportedQuery) as caught:
        read(text, catalog)
    assert said in str(caught.value)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert caught.value.hint


REWRITTEN = [
    "SELECT COUNT(*) n, few FROM t v WHERE v.id NOT IN (1, -2) AND NOT sick GROUP  BY\n2;",
    "SELECT COUNT(*) FROM t WHERE day > DATE '2024-01-01' AND NOT (id) NOT BETWEEN 1 AND 2",
    "SELECT COUNT(*) FROM t WHERE at < TIMESTAMP '2024-01-01'",
    "SELECT COUNT(*) FROM t WHERE at = CAST('2024-01-01' AS TIMESTAMPTZ) OR day < '2024-01-01'::date",
    'SELECT (COUNT(*)) AS "group" FROM t AS "Order" WHERE "Order"."ID" != 1 AND name NOT LIKE \'a!%\' ESCAPE \'!\'',
    "select sum(case id when 1 then 1.50e+3 else null end), avg(least(id, - -few)) from t where name = 'it''s \\' -- x",
    "SELECT SUM(MOD(id + 1, few * 2)), SUM(mod(mod(id, 7), - 3)), SUM(MOD((id + 1) * 2, (few))) FROM t",
    "SELECT SUM(CAST(money + 1 AS INTEGER)), SUM((money)::numeric(10, 1)), SUM(ceiling(2.5 + money)) FROM t",
    "SELECT SUM(date_part('year', day)), SUM(EXTRACT(EPOCH FROM (at - TIMESTAMP WITH TIME ZONE '2024-01-01'))) FROM t",
    "SELECT COUNT(*) FROM t WHERE day + INTERVAL '1' MONTH > date_trunc('Month', at AT TIME ZONE 'Europe/Berlin')",
    "SELECT COUNT(*) FROM t WHERE SUBSTRING(name FROM 1 FOR 2) || substr(name, 3) = TRIM(BOTH ' ' FROM name)",
    "SELECT SUM(ROUND(2.5 * id, 1)), SUM(CHAR_LENGTH(name)) FROM t WHERE name NOT ILIKE 'a%'",
    "SELECT COUNT(*) FROM t WHERE sick IS NOT TRUE AND name IS NOT NULL AND ((id % 2)) <> 007 /* NOT */ AND name = ''",
]


@pytest.mark.parametrize("text", REWRITTEN)
def test_other_spellings_of_the_same_are_read(catalog, text):
    assert read(text, catalog)


def test_names_without_an_alias_avoid_all_others(catalog):
    question = read("SELECT COUNT(*) AS COUNT, COUNT(*), COUNT(*), few FROM t GROUP BY few", catalog)
    assert [output.name for output in question.outputs] == ["COUNT", "count_2", "count_3"]


SIGNS = ["*", "'t'", ",", "+", '""', "(", ")", "()", "1", ".", "::", "::uuid", "NOT", "DISTINCT", "!", "=="]


@pytest.mark.parametrize("text", REWRITTEN)
def test_an_inserted_sign_changes_the_question_or_is_refused(catalog, text):
    """None of these can be a name, so none can be said for nothing, wherever it stands."""
    before = read(text, catalog).canonical()
    for token, sign in itertools.product(tokens(text).tokens, SIGNS):
        changed = f"{text[: token.start]} {sign} {text[token.start :]}"
        try:
            assert read(changed, catalog).canonical() != before, changed
        except (UnsupportedQuery, PolicyError):
            continue
