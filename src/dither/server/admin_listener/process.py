"""The process of the admin listener, started with its order by the one that serves."""

from __future__ import annotations

import json
import sys

from dither.server.admin_listener.listener import serve
from dither.server.serve import admin_application

if __name__ == "__main__":
    serve(json.loads(sys.argv[1]), admin_application)
