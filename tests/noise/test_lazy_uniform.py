"""Uniform numbers are known to lie exactly where they can."""

from __future__ import annotations

from fractions import Fraction

from dither.exact.balls import ball, whole_part, working_bits
from dither.noise.lazy_uniform import LazyUniform, fresh_uniform, resolve


def test_bits_halve_the_interval_from_the_left(script):
    uniform = LazyUniform(learn=script(bits=[1, 0, 1]).learn)
    assert uniform.ends() == (0, 1)
    for ends in [(Fraction(1, 2), 1), (Fraction(1, 2), Fraction(3, 4)), (Fraction(5, 8), Fraction(3, 4))]:
        uniform.refine()
        assert uniform.ends() == ends
        found = uniform.ball()
        assert found.contains(ball(ends[0]))
        assert found.contains(ball(ends[1]))
        assert not found.overlaps(ball(ends[0] - Fraction(1, 100)))
        assert not found.overlaps(ball(ends[1] + Fraction(1, 100)))


def test_a_fresh_number_is_known_to_so_many_bits():
    drawn = [fresh_uniform(8) for _ in range(400)]
    assert {uniform.bits for uniform in drawn} == {8}
    assert len({uniform.prefix for uniform in drawn}) > 100
    assert all(0 <= uniform.prefix < 256 for uniform in drawn)


def test_bits_are_learned_until_the_value_is_certain(script):
    source = script(bits=[1, 0, 1, 1, 0])
    seen = []

    def floor_of_eighths(number):
        seen.append(working_bits())
        return whole_part(number * 8 + ball(Fraction(1, 100)))

    # U in [0.1011, 0.1011...1) times 8 lies between 5.5 and 6, and a hundredth more could pass 6 until the next 0.
    assert resolve(LazyUniform(learn=source.learn), floor_of_eighths) == 5
    assert len(seen) == 6
    assert all(bits >= 64 + known for known, bits in enumerate(seen))
    assert source.bits == []
