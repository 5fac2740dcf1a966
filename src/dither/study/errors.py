"""What goes wrong in a study."""

from __future__ import annotations

from dither.errors import DitherError


class InvalidReport(DitherError):
    """A report of a study is malformed, or its proof does not hold; it counts for nothing."""

    code = "report_invalid"


class StudyClosed(DitherError):
    """The study has been closed: no report is taken any more, and its sums are released once."""

    code = "study_closed"

    def __init__(self) -> None:
        super().__init__("the study is closed; no report is taken any more, and its sums have been released.")


class StudyClosing(DitherError):
    """The study is being closed: this report was not taken. If closing fails, the study goes on; send it again."""

    code = "study_closing"

    def __init__(self) -> None:
        super().__init__("the study is being closed, so this report was not taken; if it goes on, send it again.")


class TooFewReports(DitherError):
    """Fewer reports are valid than the study needs. Nothing was released or charged."""

    code, fields = "too_few_reports", ("least",)

    def __init__(self, least: int) -> None:
        super().__init__(f"the study needs {least} valid reports; nothing was released.")
        self.least = least


class WordRefused(DitherError):
    """What was asked is for the collector, or for another aggregator, who know a word for it."""

    code = "word_refused"

    def __init__(self) -> None:
        super().__init__(
            "this is for the collector, with the word of collector.txt, or for the other aggregators alone."
        )
