"""One spelling for pieces of SQL that have several: casts, types, intervals, and functions of two names.

Both the text as written and the syntax tree written out again go through here, so that they can be compared word by
word. A word is a token in capitals and where it stands; texts and quoted names begin with their quotation mark.
"""

from __future__ import annotations

from collections.abc import Callable

Word = tuple[str, int]

_SYNONYMS = {
    "INTEGER": "INT",
    "INT4": "INT",
    "INT8": "BIGINT",
    "INT2": "SMALLINT",
    "NUMERIC": "DECIMAL",
    "BOOL": "BOOLEAN",
    "REAL": "FLOAT",
    "FLOAT4": "FLOAT",
    "FLOAT": "DOUBLE PRECISION",
    "FLOAT8": "DOUBLE PRECISION",
}
_FUNCTIONS = {
    "CEILING": "CEIL",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "SUBSTR": "SUBSTRING",
    "BTRIM": "TRIM",
    "POW": "POWER",
    "VARIANCE": "VAR_SAMP",
}
_OPERATORS = frozenset("+-*/%")
_BEFORE_TEXT = ("DATE", "TIMESTAMP", "TIMESTAMPTZ")  # types that may stand before a literal


def plain(words: list[Word]) -> list[Word]:
    """The words in their one spelling. A rule about words that are not there would change nothing, and is passed by."""
    words = _names(words)
    there = {word for word, _ in words}
    for about, rule in RULES:
        if not about.isdisjoint(there):
            words = rule(words)
    return words


def _names(words: list[Word]) -> list[Word]:
    """One name for types and functions that have several; TIMESTAMP WITH TIME ZONE is TIMESTAMPTZ."""
    found: list[Word] = []
    for place, (word, at) in enumerate(words):
        called = place + 1 < len(words) and words[place + 1][0] == "("
        found.append((_SYNONYMS.get(word) or (_FUNCTIONS.get(word, word) if called else word), at))
        last = [word for word, _ in found[-4:]] if word == "ZONE" else []
        if last in (["TIMESTAMP", "WITH", "TIME", "ZONE"], ["TIMESTAMP", "WITHOUT", "TIME", "ZONE"]):
            found[-4:] = [("TIMESTAMPTZ" if last[1] == "WITH" else "TIMESTAMP", found[-4][1])]
    return found


def _logarithms(words: list[Word]) -> list[Word]:
    """LOG10(x) as LOG(10, x)."""
    found: list[Word] = []
    for word, at in words:
        found.append((word, at))
        base = found[-2][0].removeprefix("LOG") if word == "(" and len(found) > 1 else ""
        if base in ("2", "10") and found[-2][0] != base:
            found[-2:] = [("LOG", found[-2][1]), (word, at), (base, at), (",", at)]
    return found


def _literals(words: list[Word]) -> list[Word]:
    """DATE '...' as '...' :: DATE; the words of INTERVAL '...' and the unit in DATE_TRUNC('...' in capitals."""
    found: list[Word] = []
    for word, at in words:
        if word[:1] != "'" or not found:
            found.append((word, at))
            continue
        last = [word for word, _ in found[-2:]]
        if last[-1] in _BEFORE_TEXT:
            found[-1:] = [(word, at), ("::", at), found[-1]]
        elif last[-1] == "INTERVAL":
            found += [(part, at) for part in word[1:].upper().split()]
        elif last == ["DATE_TRUNC", "("]:
            found.append((word.upper(), at))
        elif last in (["DATE_PART", "("], ["EXTRACT", "("]):
            found.append((word[1:].upper(), at))
        else:
            found.append((word, at))
    return found


def _remainders(words: list[Word]) -> list[Word]:
    """MOD(x, y) as x % y, with parentheses round sums and products; the last first, as it may be inside another."""
    places = [place for place, (word, _) in enumerate(words[:-1]) if word == "MOD"]
    for place in reversed(places):
        if words[place + 1][0] != "(":
            continue
        depth, comma, end = 0, None, None
        for at in range(place + 1, len(words)):
            word = words[at][0]
            depth += (word == "(") - (word == ")")
            comma = at if word == "," and depth == 1 and comma is None else comma
            if depth == 0:
                end = at
                break
        if comma is not None and end is not None:
            left, right = words[place + 2 : comma], words[comma + 1 : end]
            words = [*words[:place], *_wrapped(left), ("%", words[comma][1]), *_wrapped(right), *words[end + 1 :]]
    return words


def _wrapped(words: list[Word]) -> list[Word]:
    depth = 0
    for place, (word, at) in enumerate(words):
        if depth == 0 and place and word in _OPERATORS:
            return [("(", at), *words, (")", at)]
        depth += (word == "(") - (word == ")")
    return words


def _calls(words: list[Word]) -> list[Word]:
    """CAST(x AS t) as x :: t, DATE_PART(p, x) as EXTRACT(p FROM x), SUBSTRING with commas."""
    found: list[Word] = []
    open_calls: list[str] = []  # the function before each open parenthesis, or nothing
    skip = False
    for place, (word, at) in enumerate(words):
        if skip:
            skip = False
            continue
        following = words[place + 1][0] if place + 1 < len(words) else ""
        inside = open_calls[-1] if open_calls else ""
        if following == "(" and word == "CAST":
            open_calls.append(word)
            skip = True
        elif following == "(" and word in _RENAMED:
            found += [(_RENAMED[word], at), ("(", at)]
            open_calls.append(word)
            skip = True
        elif word == "(":
            open_calls.append("")
            found.append((word, at))
        elif word == ")":
            if open_calls:
                open_calls.pop()
            if inside != "CAST":
                found.append((word, at))
        else:
            found.append((_INSIDE.get(inside, _unchanged)(word), at))
            if inside == "DATE_PART" and word == ",":
                open_calls[-1] = "EXTRACT"
    return found


def _ordering(words: list[Word]) -> list[Word]:
    """NULLS where they are anyway left out; ROWS after FETCH, nothing after OFFSET, which stands after LIMIT."""
    found: list[Word] = []
    for word, at in words:
        last = [word for word, _ in found[-3:]]
        if word in ("ROW", "ROWS") and last[-2:-1] == ["OFFSET"]:
            continue
        found.append(("ROWS" if word == "ROW" and "FETCH" in last else word, at))
        if last[-1:] == ["NULLS"] and word == ("FIRST" if last[-2:-1] == ["DESC"] else "LAST"):
            del found[-2:]
    if [word for word, _ in found[-4::2]] == ["OFFSET", "LIMIT"]:
        found[-4:] = [*found[-2:], *found[-4:-2]]
    return found


def _frames(words: list[Word]) -> list[Word]:
    """ROWS 2 PRECEDING as ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."""
    found: list[Word] = []
    for word, at in words:
        found.append((word, at))
        if word == "PRECEDING" and len(found) > 2 and found[-3][0] in ("ROWS", "RANGE"):
            found.insert(len(found) - 2, ("BETWEEN", at))
            found += [("AND", at), ("CURRENT", at), ("ROW", at)]
    return found


def _unchanged(word: str) -> str:
    return word


_RENAMED = {"DATE_PART": "EXTRACT", "SUBSTRING": "SUBSTRING"}
_INSIDE: dict[str, Callable[[str], str]] = {
    "CAST": lambda word: "::" if word == "AS" else word,
    "DATE_PART": lambda word: "FROM" if word == "," else word,
    "SUBSTRING": lambda word: "," if word in ("FROM", "FOR") else word,
}

# Each rule, with the words without which it changes nothing, as `_names` leaves them. None brings in those of another.
RULES: tuple[tuple[frozenset[str], Callable[[list[Word]], list[Word]]], ...] = (
    (frozenset({"LOG2", "LOG10"}), _logarithms),
    (frozenset({*_BEFORE_TEXT, "INTERVAL", "DATE_TRUNC", "DATE_PART", "EXTRACT"}), _literals),
    (frozenset({"MOD"}), _remainders),
    (frozenset({"CAST", *_RENAMED}), _calls),
    (frozenset({"NULLS", "OFFSET", "ROW", "ROWS"}), _ordering),
    (frozenset({"PRECEDING"}), _frames),
)
