"""Why an account is not charged, or not raised."""

from __future__ import annotations

from dither.errors import DitherError, PolicyError


class AnalystFrozen(DitherError):
    """An analyst is charged nothing more about these people until the curator thaws the cap. Nothing was charged."""

    code, fields = "analyst_frozen", ("people", "analyst")

    def __init__(self, people: str, analyst: str) -> None:
        super().__init__(
            f"the cap of analyst {analyst!r} on people {people!r} is frozen. Nothing was charged; answers that were "
            "paid for can still be asked for again.",
            hint=f"To thaw it: thaw({people!r}, analyst={analyst!r}).",
        )
        self.people, self.analyst = people, analyst


class AccountClosed(DitherError):
    """An account is closed for good, or all its people are. Nothing was charged."""

    code, fields = "account_closed", ("people", "analyst")

    def __init__(self, people: str, analyst: str | None) -> None:
        whose = f"people {people!r}" if analyst is None else f"analyst {analyst!r} on people {people!r}"
        super().__init__(
            f"the account of {whose} is closed for good. Nothing was charged; answers that were paid for can still be "
            "asked for again."
        )
        self.people, self.analyst = people, analyst


class SignatureRefused(PolicyError):
    """Only an officer's signature, for this very ledger and change, raises a budget. Nothing was changed."""

    code = "signature_refused"
