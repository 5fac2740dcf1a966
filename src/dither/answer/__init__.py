"""Answers: noisy tables with their intervals, price and guarantee; everything here is post-processing."""

from dither.answer.answer import Answer
from dither.answer.columns import Chosen, Key, NoiseScale, Value
from dither.answer.intervals import Interval
from dither.answer.keys import dense_keys

__all__ = ["Answer", "Chosen", "Interval", "Key", "NoiseScale", "Value", "dense_keys"]
