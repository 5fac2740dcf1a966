"""Functions of texts, each in PostgreSQL's words."""

from __future__ import annotations

from sqlglot import exp

from dither.sql.text.dialects.call import Call, Rule, of_one, whole


def part(call: Call) -> exp.Expr:
    """SUBSTR(x, start, length) from the first character on: before it, or from the end, dialects differ."""
    call.takes(2, 3)
    start = call.whole(1, least=1)
    length = call.whole(2, least=0) if len(call.arguments) == 3 else 0
    if start is None or length is None:
        what = f"{call.name} is not translated without a written start of 1 or more, or with a length below 0,"
        raise call.refusal(what, f"Write {call.name}(x, 1, 3).")
    limits = {"length": whole(length)} if len(call.arguments) == 3 else {}
    return exp.Substring(this=call.value(0), start=whole(start), **limits)


def left(call: Call) -> exp.Expr:
    call.takes(2)
    length = call.whole(1, least=0)
    if length is None:
        raise call.refusal("LEFT without a written length of 0 or more is not translated", "Write LEFT(x, 3).")
    return exp.Left(this=call.value(0), expression=whole(length))


def _trimmed(position: str | None) -> Rule:
    def rule(call: Call) -> exp.Expr:
        call.takes(1)
        return exp.Trim(this=call.value(0), **({"position": position} if position else {}))

    return rule


def joined(call: Call) -> exp.Expr:
    """CONCAT that is NULL as soon as one of the texts is."""
    call.takes(*range(2, 100))
    found, *rest = call.values()
    for value in rest:
        found = exp.DPipe(this=found, expression=value, safe=True)
    return exp.Paren(this=found)


def _letters(kind: type[exp.Expr]) -> Rule:
    def rule(call: Call) -> exp.Expr:
        call.takes(1)
        same = call.translation.vocabulary.simple_letters
        if not same and not call.translation.plain_letters(call.arguments[0]):
            what = f"{call.name} of other texts than categories with common letters is not translated"
            raise call.refusal(what, "Write it in PostgreSQL's dialect.")
        return kind(this=call.value(0))

    return rule


LETTERS: dict[str, Rule] = {"UPPER": _letters(exp.Upper), "LOWER": _letters(exp.Lower)}
CHARACTERS: dict[str, Rule] = {
    "CHAR_LENGTH": of_one(exp.Length),
    "CHARACTER_LENGTH": of_one(exp.Length),
}
LENGTH: dict[str, Rule] = {"LENGTH": of_one(exp.Length)}
LEN: dict[str, Rule] = {"LEN": of_one(exp.Length)}
SUBSTR: dict[str, Rule] = {"SUBSTR": part}
LEFT: dict[str, Rule] = {"LEFT": left}
TRIM: dict[str, Rule] = {"TRIM": _trimmed(None), "LTRIM": _trimmed("LEADING"), "RTRIM": _trimmed("TRAILING")}
CONCAT: dict[str, Rule] = {"CONCAT": joined}
