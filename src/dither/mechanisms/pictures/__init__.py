"""What each kind of mechanism brings to its picture: exact distributions on two neighbours. For explaining, never for
data.

Drawing itself, and altair with it, is imported when a picture is asked for.
"""
