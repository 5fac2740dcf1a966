"""The draft's own reference code for the same reports: seconds of computing of a client and of an aggregator.

PYTHON bench/study_reference.py BUCKETS, run by bench/study.py with a Python 3.12 or newer that has `vdaf_poc`, from
the folder poc of the draft's repository (cfrg/draft-irtf-cfrg-vdaf). One bucket stands for a count.
"""

import secrets
import sys
import time
from math import isqrt

from vdaf_poc.vdaf_prio3 import Prio3Count, Prio3Histogram

CONTEXT, ROUNDS = b"bench", 50


def run(buckets: int) -> tuple[float, float]:
    function = Prio3Count(2) if buckets == 1 else Prio3Histogram(2, buckets, isqrt(buckets))
    nonce, key = secrets.token_bytes(function.NONCE_SIZE), secrets.token_bytes(function.VERIFY_KEY_SIZE)
    random = secrets.token_bytes(function.RAND_SIZE)
    clients, aggregators = [], []
    for _ in range(ROUNDS):
        begun = time.process_time()
        public, shares = function.shard(CONTEXT, 1 if buckets == 1 else 7, nonce, random)
        clients.append(time.process_time() - begun)
        begun = time.process_time()
        made = [function.verify_init(key, CONTEXT, one, None, nonce, public, share) for one, share in enumerate(shares)]
        message = function.verifier_shares_to_message(CONTEXT, None, [told for _, told in made])
        for state, _ in made:
            function.verify_next(CONTEXT, state, message)
        aggregators.append((time.process_time() - begun) / 2)
    return min(clients), min(aggregators)


if __name__ == "__main__":
    print("REFERENCE", *run(int(sys.argv[1])))
