"""The same sums by MPyC: three parties, inputs checked to be bits (and one of each vector), sums opened.

python bench/study_mpyc.py -M3 reports buckets
"""

from __future__ import annotations

import sys
import time

from mpyc.runtime import mpc

MODULUS = 2**64 - 2**32 + 1  # as Prio3Count's field


async def main(reports: int, buckets: int) -> None:
    field = mpc.SecFld(modulus=MODULUS)
    await mpc.start()
    begun = time.process_time()
    plain = [field(int(place == number % buckets)) for number in range(reports) for place in range(buckets)]
    given = mpc.input(plain, senders=0)
    coins = await mpc.output(mpc.random_bits(field, 32))
    weight, weights = field.field(sum(int(coin) << place for place, coin in enumerate(coins))), [field.field(1)]
    for _ in given[1:]:
        weights.append(weights[-1] * weight)
    weighed = [one * weight for one, weight in zip(given, weights, strict=True)]
    bits = mpc.in_prod(weighed, [one - 1 for one in given])  # 0 if all are bits
    rows = [mpc.sum(given[start : start + buckets]) for start in range(0, len(given), buckets)]
    sums = [mpc.sum(given[place::buckets]) for place in range(buckets)]
    found = await mpc.output([bits, *(rows if buckets > 1 else []), *sums])
    took = time.process_time() - begun
    assert int(found[0]) == 0
    if mpc.pid == 0:
        print(f"MPYC {took}")
    await mpc.shutdown()


mpc.run(main(*map(int, sys.argv[-2:])))
