"""Reading what a chart shows, and what it saves."""

from __future__ import annotations

import struct
from xml.etree import ElementTree

import pytest


@pytest.fixture
def drawn():
    """All data points of a chart that have the given fields, in the order drawn."""

    def tables(part):
        if isinstance(part, dict):
            if "data" in part and "values" in part["data"]:
                yield part["data"]["values"]
            part = list(part.values())
        if isinstance(part, list):
            for inner in part:
                yield from tables(inner)

    def points(chart, *fields):
        shown = chart.to_dict()  # which also checks the chart against Vega-Lite's schema
        return [point for table in tables(shown) for point in table if set(fields) <= set(point)]

    return points


@pytest.fixture
def saved(tmp_path):
    """Save a chart in all three formats and check that each is what it claims to be; returns the texts in the SVG."""

    def save(chart):
        for kind in ("svg", "png", "html"):
            chart.save(tmp_path / f"picture.{kind}")
        png = (tmp_path / "picture.png").read_bytes()
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert png[-8:-4] == b"IEND"
        width, height = struct.unpack(">II", png[16:24])
        assert width > 300
        assert height > 60
        page = (tmp_path / "picture.html").read_text(encoding="utf-8")
        assert page.lstrip().startswith("<!DOCTYPE html>")
        assert "vegaEmbed" in page
        tree = ElementTree.parse(tmp_path / "picture.svg")
        texts = [element.text for element in tree.iter() if element.tag.endswith("}text") and element.text]
        assert len(texts) > 3
        assert any(element.tag.endswith("}path") for element in tree.iter())
        return texts

    return save
