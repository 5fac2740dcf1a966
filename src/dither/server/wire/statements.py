"""The text of a client, cut into statements and their tokens: enough to know what each is, and where parameters stand.

What a question means is decided by the service alone; here it is a text between two semicolons.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from dither.server.wire.sqlstates import WireError

MOST_STATEMENTS = 100  # in one text
MOST_PIECES = 32_768  # tokens, comments and spaces of one text: far more than any question has that is read
MOST_PARAMETERS = 65_535  # of one statement
_LONGEST_PARAMETER = len(f"${MOST_PARAMETERS}")
MOST_BOUND = 2**20  # characters of a statement with its parameters in place, however often each of them stands there
_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*)
  | (?P<comment>/\*)
  | (?P<escaped>[eE]'(?:[^'\\]|''|\\.)*+')
  | (?P<quoted>'(?:[^']|'')*+')
  | (?P<name>"(?:[^"]|"")*+")
  | (?P<parameter>\$[0-9]+)
  | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\d[\d.eE]*)
  | (?P<end>;)
  | (?P<unfinished>['"])
  | (?P<sign>::|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def word(self) -> str:
        """In upper case if it is a plain word, else as it stands."""
        return self.text.upper() if self.kind == "word" else self.text

    @property
    def value(self) -> str:
        """What a name, a quoted text, a number or a word stands for."""
        if self.kind == "quoted":
            return self.text[1:-1].replace("''", "'")
        if self.kind == "name":
            return self.text[1:-1].replace('""', '"')
        return self.text.lower() if self.kind == "word" else self.text


class ListLiteral(str):
    """A list as SQL writes it; `values` are what IN takes of it."""

    values: str

    @classmethod
    def of(cls, values: Sequence[str]) -> ListLiteral:
        made = cls(f"ARRAY[{', '.join(values)}]")
        made.values = ", ".join(values)
        return made


@dataclass(frozen=True)
class Written:
    """A text that was made of another one, and where each of its pieces comes from."""

    text: str
    pieces: tuple[tuple[int, int], ...] = ((0, 0),)  # place here, place there

    def origin(self, place: int) -> int:
        """Where a character was before."""
        here, there = max(piece for piece in self.pieces if piece[0] <= place)
        following = [piece[1] for piece in self.pieces if piece[0] > here]
        return min([there + place - here, *following])


@dataclass(frozen=True)
class Statement:
    """One statement: its text, which has its place in what was sent, and its tokens without comments."""

    text: str
    start: int
    tokens: tuple[Token, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(token.word for token in self.tokens)

    @property
    def first(self) -> str:
        return self.words[0] if self.tokens else ""

    @cached_property
    def parameters(self) -> int:
        """How many parameters there are: the largest number that one has."""
        return max((int(token.text[1:]) for token in self.tokens if token.kind == "parameter"), default=0)

    @cached_property
    def casts(self) -> Mapping[int, str]:
        """The types to which parameters are cast right where they stand, as $1::int and CAST($1 AS int)."""
        found = {}
        for place, token in enumerate(self.tokens):
            sign, cast = (*self.words[place + 1 : place + 3], "", "")[:2]
            called = place > 1 and self.words[place - 2 : place] == ("CAST", "(")
            if token.kind == "parameter" and (sign == "::" or (sign == "AS" and called)):
                array = "[]" if self.words[place + 3 : place + 5] == ("[", "]") else ""
                found[int(token.text[1:])] = cast.strip('"').lower() + array
        return found

    @cached_property
    def lists(self) -> Mapping[int, tuple[int, int, str]]:
        """Where parameters stand for lists, as in = ANY ($1) and <> ALL ($1::int[]), by the places of their tokens:
        the first and the last token of that, and the word that says the same of values."""
        found = {}
        for place, token in enumerate(self.tokens):
            before = ("", "", "", "", *self.words[max(0, place - 4) : place])[-4:]
            cast = self.words[place + 1 : place + 5]
            last = place + (5 if cast[:1] + cast[2:] == ("::", "[", "]") else 1)
            if token.kind != "parameter" or self.words[last : last + 1] != (")",):
                continue
            if before[1:] in (("=", "ANY", "("), ("=", "SOME", "(")) and before[0] not in ("<", ">", "!", "~"):
                found[place] = (place - 3, last, "IN")
            elif before in (("<", ">", "ALL", "("), ("!", "=", "ALL", "(")):
                found[place] = (place - 4, last, "NOT IN")
        return found

    def place_of_table(self, name: str) -> int | None:
        """Where a table of that name is asked about."""
        for before, token in pairwise(self.tokens):
            named = token.kind in ("word", "name") and token.value.lower() == name.lower()
            if named and before.word in ("FROM", "JOIN", ",", "."):
                return token.start
        return None

    @property
    def listed(self) -> set[int]:
        """The numbers of these parameters."""
        return {int(self.tokens[place].text[1:]) for place in self.lists}

    def bound(self, literals: Mapping[int, str]) -> Written:
        """The text with literals in place of parameters."""
        made, pieces, place, length = [], [(0, 0)], 0, 0
        for number, token in enumerate(self.tokens):
            if token.kind != "parameter":
                continue
            literal, start, end = literals[int(token.text[1:])], token.start, token.end
            if number in self.lists and isinstance(literal, ListLiteral):
                first, last, word = self.lists[number]
                start, end = self.tokens[first].start, self.tokens[last].end
                literal = f"{word} ({literal.values})"
            before = self.text[place:start]
            pieces.append((length + len(before), start))
            if length + len(before) + len(literal) > MOST_BOUND:
                raise WireError("54001", f"with its parameters a statement has at most {MOST_BOUND:,} characters.")
            made += [before, literal]
            length, place = length + len(before) + len(literal), end
            pieces.append((length, place))
        return Written("".join([*made, self.text[place:]]), tuple(pieces))

    def after(self, token: int) -> Statement:
        """What follows so many tokens, as a statement of its own."""
        rest = self.tokens[token:]
        begin = rest[0].start if rest else len(self.text)
        moved = tuple(Token(one.kind, one.text, one.start - begin) for one in rest)
        return Statement(self.text[begin:], self.start + begin, moved)


def statements(text: str) -> list[Statement]:
    """All statements that hold something."""
    found: list[Statement] = []
    tokens: list[Token] = []
    start = place = pieces = 0
    while place < len(text):
        token, pieces = _next(text, place), pieces + 1
        if pieces > MOST_PIECES:
            raise WireError("54001", "the text is too long.")
        place = token.end
        if token.kind == "end":
            _add(found, text[start : token.start], start, tokens)
            tokens, start = [], place
        elif token.kind not in ("space", "comment"):
            tokens.append(Token(token.kind, token.text, token.start - start))
    _add(found, text[start:], start, tokens)
    return found


def _add(found: list[Statement], text: str, start: int, tokens: list[Token]) -> None:
    if tokens:
        found.append(Statement(text, start, tuple(tokens)))
    if len(found) > MOST_STATEMENTS:
        raise WireError("54001", f"one text has at most {MOST_STATEMENTS} statements.")


def _next(text: str, place: int) -> Token:
    match = _TOKEN.match(text, place)
    kind = str(match.lastgroup) if match is not None else "unfinished"
    written = match[0] if match is not None else ""
    if kind == "comment":
        written = text[place : _comment_end(text, place)]
    elif kind == "dollar":
        end = text.find(written, place + len(written))
        if end < 0:
            kind = "unfinished"
        else:
            kind, written = "dollars", text[place : end + len(written)]
    if kind == "parameter" and (len(written) > _LONGEST_PARAMETER or not 1 <= int(written[1:]) <= MOST_PARAMETERS):
        raise WireError("42P02", f"parameters are $1 to ${MOST_PARAMETERS}.", at=place)
    if kind == "unfinished":
        raise WireError("42601", "a quote is not closed.", at=place)
    return Token(kind, written, place)


def _comment_end(text: str, place: int) -> int:
    depth = 0
    for mark in _COMMENT.finditer(text, place):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise WireError("42601", "a comment is not closed.", at=place)
