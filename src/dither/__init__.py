"""dither: a differential-privacy curator, and the exact toolbox under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.lazy import homes, listing, loader

if TYPE_CHECKING:
    from dither import accounting as accounting
    from dither import divergence as divergence
    from dither import graph as graph
    from dither import sensitivity as sensitivity
    from dither import stats as stats
    from dither.accounting import GDP as GDP
    from dither.accounting import PLD as PLD
    from dither.accounting import RDP as RDP
    from dither.accounting import ZCDP as ZCDP
    from dither.accounting import ApproxDP as ApproxDP
    from dither.accounting import Filter as Filter
    from dither.accounting import Odometer as Odometer
    from dither.accounting import PureDP as PureDP
    from dither.accounting import calibrate as calibrate
    from dither.accounting import compose as compose
    from dither.accounting import parallel as parallel
    from dither.answer import Answer as Answer
    from dither.client import connect as connect
    from dither.curator.analyst import Analyst as Analyst
    from dither.curator.budgets import BudgetView as BudgetView
    from dither.curator.curator import Curator as Curator
    from dither.curator.folders import FolderMade as FolderMade
    from dither.engines.postgres.settings import LivePostgreSQL as LivePostgreSQL
    from dither.engines.postgres.settings import PostgreSQL as PostgreSQL
    from dither.engines.postgres.source import PostgresTable as PostgresTable
    from dither.engines.spark.settings import Spark as Spark
    from dither.errors import BudgetExceeded as BudgetExceeded
    from dither.errors import Busy as Busy
    from dither.errors import DitherError as DitherError
    from dither.errors import LedgerCorrupt as LedgerCorrupt
    from dither.errors import LedgerError as LedgerError
    from dither.errors import LoadWarning as LoadWarning
    from dither.errors import NotComputed as NotComputed
    from dither.errors import NotPublic as NotPublic
    from dither.errors import ParameterError as ParameterError
    from dither.errors import PeopleFrozen as PeopleFrozen
    from dither.errors import PolicyError as PolicyError
    from dither.errors import QueryFailed as QueryFailed
    from dither.errors import RelationMismatch as RelationMismatch
    from dither.errors import Stranger as Stranger
    from dither.errors import UnsupportedQuery as UnsupportedQuery
    from dither.lab import audit as audit
    from dither.ledger.officer.refusals import AccountClosed as AccountClosed
    from dither.ledger.officer.refusals import AnalystFrozen as AnalystFrozen
    from dither.ledger.officer.refusals import SignatureRefused as SignatureRefused
    from dither.mechanisms import REFUSED as REFUSED
    from dither.mechanisms import BoundedLocalSensitivity as BoundedLocalSensitivity
    from dither.mechanisms import Exponential as Exponential
    from dither.mechanisms import Gaussian as Gaussian
    from dither.mechanisms import KeySelection as KeySelection
    from dither.mechanisms import Laplace as Laplace
    from dither.mechanisms import ListedQuantile as ListedQuantile
    from dither.mechanisms import ListedQuantiles as ListedQuantiles
    from dither.mechanisms import LocalHashing as LocalHashing
    from dither.mechanisms import NoisyMax as NoisyMax
    from dither.mechanisms import PermuteAndFlip as PermuteAndFlip
    from dither.mechanisms import ProposeTestRelease as ProposeTestRelease
    from dither.mechanisms import Quantile as Quantile
    from dither.mechanisms import Quantiles as Quantiles
    from dither.mechanisms import RandomizedResponse as RandomizedResponse
    from dither.mechanisms import SmoothCauchy as SmoothCauchy
    from dither.mechanisms import SmoothGaussian as SmoothGaussian
    from dither.mechanisms import SmoothLaplace as SmoothLaplace
    from dither.mechanisms import SmoothLaplaceLogNormal as SmoothLaplaceLogNormal
    from dither.mechanisms import SmoothLomax as SmoothLomax
    from dither.mechanisms import SmoothStudentT as SmoothStudentT
    from dither.mechanisms import SparseVector as SparseVector
    from dither.mechanisms import StableRelease as StableRelease
    from dither.neighbours import Relation as Relation
    from dither.policy.catalog import EACH_ROW as EACH_ROW
    from dither.policy.catalog import ForeignKey as ForeignKey
    from dither.policy.columns import Bool as Bool
    from dither.policy.columns import Category as Category
    from dither.policy.columns import Date as Date
    from dither.policy.columns import Fixed as Fixed
    from dither.policy.columns import Int as Int
    from dither.policy.columns import Text as Text
    from dither.policy.columns import Timestamp as Timestamp
    from dither.policy.limits import Limits as Limits

__version__ = "0.1.0"

HOMES = homes(
    {
        "dither.accounting": "accounting ApproxDP calibrate compose Filter GDP Odometer parallel PLD PureDP RDP ZCDP",
        "dither.client": "connect",
        "dither.curator.analyst": "Analyst",
        "dither.answer": "Answer",
        "dither.lab.audit": "audit",
        "dither.curator.budgets": "BudgetView",
        "dither.policy.columns": "Bool Category Date Fixed Int Text Timestamp",
        "dither.curator.curator": "Curator",
        "dither.curator.folders": "FolderMade",
        "dither.divergence": "divergence",
        "dither.engines.postgres.settings": "LivePostgreSQL PostgreSQL",
        "dither.engines.postgres.source": "PostgresTable",
        "dither.engines.spark.settings": "Spark",
        "dither.errors": (
            "BudgetExceeded Busy DitherError LedgerCorrupt LedgerError LoadWarning NotComputed NotPublic "
            "ParameterError PeopleFrozen PolicyError QueryFailed RelationMismatch Stranger UnsupportedQuery"
        ),
        "dither.graph": "graph",
        "dither.ledger.officer.refusals": "AccountClosed AnalystFrozen SignatureRefused",
        "dither.policy.limits": "Limits",
        "dither.mechanisms": (
            "BoundedLocalSensitivity Exponential Gaussian KeySelection Laplace ListedQuantile "
            "ListedQuantiles LocalHashing NoisyMax PermuteAndFlip ProposeTestRelease Quantile Quantiles "
            "RandomizedResponse REFUSED SmoothCauchy SmoothGaussian SmoothLaplace SmoothLaplaceLogNormal "
            "SmoothLomax SmoothStudentT SparseVector StableRelease"
        ),
        "dither.neighbours": "Relation",
        "dither.sensitivity": "sensitivity",
        "dither.policy.catalog": "EACH_ROW ForeignKey",
        "dither.stats": "stats",
    }
)
__all__ = [*HOMES]
__getattr__ = loader(__name__, HOMES)
__dir__ = listing(__all__)
