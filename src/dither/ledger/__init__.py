"""TRUSTED. The durable record of every charge: a budget that no crash, race, retry or edited file can overrun."""

from dither.ledger.ledger import Ledger
from dither.ledger.storage.protocol import LedgerAway
from dither.ledger.values import Balance, Charge, Entry, Reservation

__all__ = ["Balance", "Charge", "Entry", "Ledger", "LedgerAway", "Reservation"]
