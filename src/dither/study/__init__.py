"""Studies without a trusted curator: secret-shared sums, checked and noised by aggregators of which one is honest."""

from dither.study.keys import make_key
from dither.study.organiser import init_study, read_study
from dither.study.price_of_trust import price_of_trust
from dither.study.promises import epsilon_with, promise
from dither.study.remote import Participant, collect
from dither.study.reports import make_report
from dither.study.result import Result
from dither.study.study import Study

__all__ = [
    "Participant",
    "Result",
    "Study",
    "collect",
    "epsilon_with",
    "init_study",
    "make_key",
    "make_report",
    "price_of_trust",
    "promise",
    "read_study",
]
