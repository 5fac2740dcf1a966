"""A column's declaration in a policy file: its kind, and what that kind needs."""

from __future__ import annotations

from dither.curator.policy_files.places import Place
from dither.policy.columns import KINDS, Category, Column


def read_column(place: Place) -> Column:
    """The declaration that stands here."""
    if "kind" not in place.entries():
        place.wrong(f"'kind' is missing; it is one of {', '.join(KINDS)}.")
    kind = place.entries()["kind"].choice(KINDS)
    family = KINDS[kind]
    optional = (*family.optional, "default", "source")
    labels = ("labels", "labels_file") if family is Category else ()
    found = place.fields(("kind", *family.stated), (*optional, *labels, "nullable"))
    taken = (*family.stated, *optional)
    stated = {name: inner.value for name, inner in found.items() if name in taken}
    if "nullable" in found or "default" in found:
        # A default is only ever used where there are no NULLs, so stating one says that.
        stated["nullable"] = found["nullable"].truth() if "nullable" in found else False
    if family is Category:
        stated["values"] = _labels(place, found)
    with place.naming():
        return family(**stated)


def _labels(place: Place, found: dict[str, Place]) -> tuple[str, ...]:
    if ("labels" in found) == ("labels_file" in found):
        place.wrong("a category needs either labels, a list of texts, or labels_file, a text file with one a line.")
    if "labels" in found:
        return found["labels"].texts()
    inner = found["labels_file"]
    path = inner.file.parent / inner.text()
    try:
        return Category.read(path).values
    except (OSError, UnicodeDecodeError):
        inner.wrong(f"{path} cannot be read as UTF-8 text.")
