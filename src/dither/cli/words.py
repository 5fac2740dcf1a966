"""Messages of the library in the words of the command line: a flag where Python would have an argument."""

from __future__ import annotations

# Whole phrases, so that nothing a user wrote is taken for one of them.
_WORDS = {
    "as strict=True asks": "as --strict asks",
    "without strict=True": "without --strict",
    "max_rows_per_owner must": "--max-rows-per-owner must",
    "the price epsilon=": "the price --epsilon ",
    "the price rho=": "the price --rho ",
    "delta= pays for": "--delta pays for",
    "make one with `dither init`.": "make one with `dither init`, or check the path.",
    "`dither init`, or restore the folder.": "`dither init`, check the path, or restore the folder.",
    "use refresh for new data, or drop it first": "use `dither refresh` for new data, or `dither drop` it first",
    "make one with profile()": "make one with `dither profile`",
    "state epsilon= or rho=.": "state --epsilon or --rho.",
    ": state delimiter='": ": state --delimiter '",
}


def in_its_words(message: str) -> str:
    """The message with flags instead of Python.

    >>> in_its_words("load it without strict=True")
    'load it without --strict'
    """
    for python, flag in _WORDS.items():
        message = message.replace(python, flag)
    return message
