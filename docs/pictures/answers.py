"""Draw answers.svg: one question at three prices, answered by dither about the demonstration's clinic.

    python docs/pictures/answers.py

The exact counts can be drawn because the clinic is made up. Every run draws fresh noise, so pictures differ.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb

import dither as dt
from dither.answer import Answer
from dither.demo import clinic

QUESTION = """\
SELECT region, COUNT(DISTINCT patient_id) AS patients
FROM visits WHERE diagnosis = 'HIV' GROUP BY region"""
PRICES = ("0.05", "0.2", "1")

WIDTH, LEFT, RIGHT, TOP, ROW, STEP = 760, 92, 24, 92, 76, 18


@dataclass(frozen=True)
class Point:
    value: int
    lower: int
    upper: int


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        exact, answers = ask(Path(folder))
    target = Path(__file__).with_name("answers.svg")
    target.write_text(draw(exact, answers), encoding="utf-8")
    print(f"wrote {target.name}")


def ask(folder: Path) -> tuple[dict[str, int], dict[str, dict[str, Point]]]:
    """Exact counts by region, and by price and region what dither answered."""
    raw = folder / "visits.parquet"
    clinic.write_visits(raw)
    exact = dict(duckdb.sql(QUESTION.replace("visits", f"read_parquet('{raw}')")).fetchall())
    with dt.Curator.open(folder / "clinic") as curator:
        curator.people("patients", budget=dt.ApproxDP(4, "1e-6"))
        curator.register(
            "visits",
            raw,
            people="patients",
            owner="patient_id",
            max_rows_per_owner=clinic.MOST_VISITS,
            columns=clinic.COLUMNS,
        )
        # From cheap to dear: a dearer answer would be given again, for free, to a cheaper repeat.
        return exact, {price: points(curator.sql(QUESTION, epsilon=price)) for price in PRICES}


def points(answer: Answer) -> dict[str, Point]:
    return {
        row["region"]: Point(row["patients"], row["patients_lower"], row["patients_upper"])
        for row in answer.to_dicts(intervals=True)
    }


def draw(exact: dict[str, int], answers: dict[str, dict[str, Point]]) -> str:
    every = [point for answer in answers.values() for point in answer.values()]
    low, high = min(0, *(point.lower for point in every)), max(point.upper for point in every)
    step = next(size for size in (50, 100, 200, 500, 1000) if (high - low) / size <= 9)
    height = TOP + ROW * len(clinic.REGIONS) + 34

    def x(number: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (number - low) / (high - low)

    bottom = height - 30
    parts = [
        f'<text x="{LEFT}" y="24" class="title">Patients with HIV in each region, at three prices</text>',
        f'<text x="{LEFT}" y="45">the answer, and the interval that holds with probability 95%</text>',
    ]
    for place, price in enumerate(PRICES):
        start = LEFT + 130 * place
        parts.append(f'<line x1="{start}" x2="{start + 22}" y1="67" y2="67" class="p{place} bar"/>')
        parts.append(f'<text x="{start + 29}" y="71">epsilon {price}</text>')
    parts.append(f'<line x1="{LEFT + 400}" x2="{LEFT + 400}" y1="59" y2="75" class="exact"/>')
    parts.append(f'<text x="{LEFT + 408}" y="71">the exact count</text>')
    for tick in range(-(-low // step) * step, int(high) + 1, step):
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{bottom}" class="grid"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 20}" text-anchor="middle">{tick:,}</text>')
    for row, region in enumerate(clinic.REGIONS):
        middle = TOP + ROW * row + ROW / 2
        parts.append(f'<text x="{LEFT - 14}" y="{middle + 4:.0f}" text-anchor="end" class="region">{region}</text>')
        at = x(exact[region])
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{middle - 30:.0f}" y2="{middle + 30:.0f}" class="exact"/>')
        for place, price in enumerate(PRICES):
            point, y = answers[price][region], middle + STEP * (place - 1)
            ends = f'x1="{x(point.lower):.1f}" x2="{x(point.upper):.1f}"'
            parts.append(f'<line {ends} y1="{y:.0f}" y2="{y:.0f}" class="p{place} bar"/>')
            parts.append(f'<circle cx="{x(point.value):.1f}" cy="{y:.0f}" r="4.5" class="p{place}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-label="Noisy counts with intervals at three prices, and the exact counts">\n'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


STYLE = """
text { font: 13px system-ui, sans-serif; fill: #555 }
.title { font-size: 16px; font-weight: 600; fill: #222 }
.region { font-size: 14px; fill: #222 }
.grid { stroke: #8884; stroke-width: 1 }
.exact { stroke: #222; stroke-width: 1.5; stroke-dasharray: 3 3 }
.bar { stroke-width: 3; stroke-linecap: round }
.p0 { stroke: #e0a030; fill: #e0a030 } .p1 { stroke: #4a9d8e; fill: #4a9d8e } .p2 { stroke: #4468c0; fill: #4468c0 }
@media (prefers-color-scheme: dark) {
  text { fill: #aaa } .title, .region { fill: #eee } .exact { stroke: #eee }
}
"""

if __name__ == "__main__":
    main()
