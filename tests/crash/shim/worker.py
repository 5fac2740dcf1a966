"""Runs with the failing disk preloaded: asks a ledger, in a process of its own for each order, and tells what it did.

Orders and reports are lines of JSON. The checks are made elsewhere, on a disk that works.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dither.errors import LedgerError
from dither.ledger import Charge, Ledger
from dither.ledger.storage import store

disk = ctypes.CDLL(None)
disk.disk_counted.restype = ctypes.c_long
disk.disk_released.argtypes = [ctypes.c_char_p, ctypes.c_uint64]


class GoesOnRegardless(Ledger):
    """Planted bug: an error of the disk is passed over, and the answer released all the same."""

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        try:
            return super().settle(reservation_id, answer)
        except LedgerError:
            return answer


class StoresLater(Ledger):
    """Planted bug: the answer is out before it is in."""

    def settle(self, reservation_id: int, answer: bytes) -> bytes:
        releases[-1](answer)
        return super().settle(reservation_id, answer)


class NeverSyncs(Ledger):
    """Planted bug: commits are visible before they are durable."""

    @classmethod
    def open(cls, *given: Any, **named: Any) -> Ledger:
        store._SETTINGS["synchronous"] = 0
        return super().open(*given, **named)


class HalfAMark(Ledger):
    """Planted bug: nobody looks at how much of the anchor's mark was written."""

    @classmethod
    def open(cls, *given: Any, **named: Any) -> Ledger:
        write = os.pwrite

        def pwrite(descriptor: int, content: bytes, place: int) -> int:
            write(descriptor, content, place)
            return len(content)

        os.pwrite = pwrite
        return super().open(*given, **named)


class Restored(Ledger):
    """What an older copy lacks is counted as spent, unless that was done."""

    @classmethod
    def open(cls, *given: Any, **named: Any) -> Ledger:
        try:
            return super().open(*given, **named)
        except LedgerError:
            Ledger.restore(given[0])
        return super().open(*given, **named)


KINDS = {kind.__name__: kind for kind in (Ledger, GoesOnRegardless, StoresLater, NeverSyncs, HalfAMark, Restored)}
releases: list[Callable[[bytes], None]] = []


def work(order: Mapping[str, Any], pipe: int) -> None:
    """Ask every request of the order and release the answers; the disk does what the order says."""
    disk.disk_watch(order["folder"].encode())
    if order["record"]:
        disk.disk_record(os.open(order["record"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))

    def release(answer: bytes) -> None:
        disk.disk_released(answer, len(answer))
        os.write(pipe, answer)

    releases.append(release)
    disk.disk_fault(order["action"], order["classes"], order["at"], order["again"])
    with KINDS[order["kind"]].open(order["folder"], create=order["create"]) as ledger:
        if order["create"]:
            for analyst in (None, "alice"):
                ledger.open_account("patients", analyst, kind="pure", cap=Charge(Fraction(9000)), terms={})
        for request in order["requests"]:
            charge = Charge(Fraction(1, 10))
            paid = ledger.reserve("patients", "alice", charge, question="q", snapshot="1", plan="{}", request=request)
            if paid.answer is None:
                answer = ledger.settle(paid.id, os.urandom(order["bytes"]))
                if not isinstance(ledger, StoresLater):
                    release(answer)
            else:
                release(paid.answer)


def obey(order: Mapping[str, Any]) -> Mapping[str, Any]:
    read, write = os.pipe()
    read_count, write_count = os.pipe()
    process = os.fork()
    if not process:
        status = 3
        try:
            try:
                work(order, write)
                status = 0
            except LedgerError:
                status = 1
            except Exception as error:  # noqa: BLE001 - told as such
                status = 2
                print(repr(error), file=sys.stderr)
            os.write(write_count, str(disk.disk_counted()).encode())
        finally:
            os._exit(status)
    os.close(write)
    os.close(write_count)
    with open(read, "rb") as pipe, open(read_count, "rb") as counts:
        released, counted = pipe.read(), counts.read()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return {"released": released.hex(), "status": status, "counted": int(counted or 0)}


for line in sys.stdin:
    print(json.dumps(obey(json.loads(line))), flush=True)
