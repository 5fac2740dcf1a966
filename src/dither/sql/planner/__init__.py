"""How a question is best answered for its price: a function of declared metadata and of released profiles alone."""

from __future__ import annotations
