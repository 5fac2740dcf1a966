"""Explanations to read: plain text, and a table for notebooks."""

from __future__ import annotations

from typing import Any

from dither.escape import markup
from dither.exact.digits import counted


def to_html(content: dict[str, Any]) -> str:
    """The explanation as HTML: the plan and its price, a row for each measure, and the notes."""
    price = ", ".join(f"{name} {value}" for name, value in content["price"].items())
    rows = "".join(_rows(column, content) for column in content["columns"])
    names = ("column", "measure", "sensitivity", "mechanism", "scale", "share", "noise", "at most left out")
    told = [f"Price: {price}. Nothing has been spent.", content["strategy"], content["trade"]]
    told += [*_keys(content), *_menu(content), *content["notes"]]
    return (
        f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead><tbody>{rows}</tbody></table>"
        + "".join(f"<p>{markup(line)}</p>" for line in told if line)
    )


def _rows(column: dict[str, Any], content: dict[str, Any]) -> str:
    error = " or ".join(_error(error) for error in column["expected_error"])
    found = ""
    for place, measure in enumerate(column["measures"]):
        scale = "" if measure["scale"] is None else f"{measure['scale']:.4g}"
        moved = f"<span title='{markup(measure['why'])}'>{measure['sensitivity']:.10g}</span>"
        own = (markup(column["name"]), error) if not place else ("", "")
        cells = (own[0], markup(measure["measure"]), moved, measure["mechanism"], scale, f"{measure['share']:.1%}")
        left = _left_out(measure["left_out"])
        found += f"<tr>{''.join(f'<td>{cell}</td>' for cell in (*cells, own[1], markup(left)))}</tr>"
    return found


def _keys(content: dict[str, Any]) -> list[str]:
    """How many owners a key from the data needs."""
    keys = content["selected_keys"]
    return (
        []
        if keys is None
        else [
            f"A group is shown if its noisy number of owners (scale {keys['scale']:.4g}) is at least "
            f"{keys['threshold']}: with {counted(keys['owners_needed'], 'owner')} it is, with probability "
            f"{content['confidence']}; an owner counts in at most {counted(keys['keys_per_owner'], 'group')}; "
            f"delta {keys['delta']:.3g}."
        ]
    )


def _share(measure: dict[str, Any]) -> str:
    return "" if measure["share"] == 1 else f", for {measure['share']:.3g} of the price"


def _left_out(ends: list[float | None]) -> str:
    """By how much a measure without noise may be too large or too small for what is left out."""
    words = ("too much", "too little")
    known = [f"{end:,.4g} {word}" for end, word in zip(ends, words, strict=True) if end]
    unknown = [f"any amount {word}" for end, word in zip(ends, words, strict=True) if end is None]
    return " or ".join([*known, *unknown])


def _menu(content: dict[str, Any]) -> list[str]:
    """What other limits on rows would mean, and what could be declared, a line each."""
    lines = []
    for item in content["menu"]:
        columns = [
            f"{column['name']} ± {column['noise']:.4g} by noise"
            + (f", {left} for rows left out" if (left := _left_out(column["left_out"])) else "")
            for column in item["columns"]
        ]
        if columns:
            chosen = " (this plan)" if item["chosen"] else ""
            needed = "" if item["owners_needed"] is None else f"; a key needs {counted(item['owners_needed'], 'owner')}"
            lines.append(f"With rows_per_owner={item['rows_per_owner']}{chosen}: {'; '.join(columns)}{needed}.")
    for item in content["structure"]:
        lines.append(
            f"If it is true, declare max_rows_per_owner_in={item['max_rows_per_owner_in']}: the noise of counts is "
            f"{1 / item['noise_times']:.3g} times smaller, and nothing left out."
        )
    return lines


def to_text(content: dict[str, Any]) -> str:
    price = ", ".join(f"{name} {value}" for name, value in content["price"].items())
    tables, rows, keys = content["tables"], content["rows_per_owner"], content["selected_keys"]
    groups = "groups selected from the data" if keys is not None else counted(content["groups"], "group")
    lines = [
        f"{'Table' if len(tables) == 1 else 'Tables'} {', '.join(tables)}, people {content['people']}, {groups}"
        + ("." if rows is None else f", at most {counted(rows, 'row')} of each owner."),
        f"Price: {price}. Nothing has been spent.",
        *([content["strategy"]] if content["strategy"] else []),
        content["trade"],
        "",
    ]
    lines += _keys(content)
    for column in content["columns"]:
        lines.append(f"{column['name']}")
        for measure in column["measures"]:
            noise = "" if measure["scale"] is None else f" noise of scale {measure['scale']:.4g}"
            lines.append(
                f"  {measure['measure']}{_share(measure)}: sensitivity {measure['sensitivity']:.10g} "
                f"({measure['why']}); {measure['mechanism']}{noise}"
            )
        at = " or ".join(_error(error) for error in column["expected_error"])
        lines.append(f"  expected error: {at}, with confidence {content['confidence']}")
        for measure in column["measures"]:
            if left := _left_out(measure["left_out"]):
                lines.append(f"  left out of the {measure['measure']}: at most {left}")
    menu = _menu(content)
    return "\n".join([*lines, "", *menu, *([""] if menu else []), *content["notes"]])


def _error(error: dict[str, Any]) -> str:
    if "ranks" in error:
        return f"{error['ranks']:.4g} ranks or occurrences from the best"
    width = "not known beforehand" if error["half_width"] is None else f"±{error['half_width']:.4g}"
    return width + ("" if error["rows"] is None else f" at {error['rows']:,} rows")
