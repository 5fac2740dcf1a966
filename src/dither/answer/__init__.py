"""Answers: noisy tables with their intervals, price and guarantee; everything here is post-processing."""

from dither.answer.answer import Answer
from dither.answer.columns import Chosen, Key, NoiseScale, Value
from dither.answer.keys import dense_keys
from dither.exact.intervals import Interval

__all__ = ["Answer", "Chosen", "Interval", "Key", "NoiseScale", "Value", "dense_keys"]
