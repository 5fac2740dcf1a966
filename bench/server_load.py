"""The load that `bench/server.py` puts on a server, by locust: one kind of request again and again.

    python bench/server_load.py KIND ADDRESS CLIENTS SECONDS TOKEN...

Prints what was answered within so many seconds, counted from when all clients are there and one was answered.
"""

from __future__ import annotations

import itertools
import json
import secrets
import sys

import gevent
from locust import FastHttpUser, task
from locust.env import Environment

COUNT = "SELECT COUNT(*) FROM visits"
_numbers, _run = itertools.count(1), secrets.randbits(40)


class Analyst(FastHttpUser):
    """Asks as fast as it is answered, with a token of its own or shared with a few others."""

    kind, tokens = "", list[str]()

    def on_start(self) -> None:
        self.sent = {"Authorization": f"Bearer {self.tokens[next(_numbers) % len(self.tokens)]}"}

    @task
    def ask(self) -> None:
        if self.kind == "no-op":
            self.client.get("/health", name=self.kind)
        elif self.kind == "explain":
            self._post("/v1/explain", {"sql": COUNT, "epsilon": "0.1"})
        elif self.kind == "repeat":
            self._post("/v1/query", {"sql": COUNT, "epsilon": "0.000001", "request": "a repeat"})
        else:
            number = _run * 2**20 + next(_numbers)
            self._post("/v1/query", {"sql": f"{COUNT} WHERE visit_key <> {number}", "epsilon": "0.000001"})

    def _post(self, path: str, body: dict[str, str]) -> None:
        self.client.post(path, data=json.dumps(body), headers=self.sent, name=self.kind)


def main() -> None:
    Analyst.kind, Analyst.host, clients, seconds, *Analyst.tokens = sys.argv[1:]
    environment = Environment(user_classes=[Analyst])
    runner = environment.create_local_runner()
    runner.start(int(clients), spawn_rate=int(clients))
    while runner.user_count < int(clients) or not environment.stats.total.num_requests:
        gevent.sleep(0.05)
    before = environment.stats.total.num_requests
    environment.stats.reset_all()
    gevent.sleep(float(seconds))
    total = environment.stats.total
    found = {"rate": total.num_requests / float(seconds), "requests": total.num_requests, "failed": total.num_failures}
    found |= {f"p{share}": total.get_response_time_percentile(share / 100) for share in (50, 99)}
    found["answered"] = before + total.num_requests  # since the first client was there
    print(json.dumps(found), flush=True)
    runner.quit()


if __name__ == "__main__":
    main()
