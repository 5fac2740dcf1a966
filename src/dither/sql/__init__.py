"""From SQL text to a bounded plan with a proven sensitivity. The text itself never reaches an engine.

The walk, in order: `limits` (before parsing), `parse` (allow-listed syntax), `bind` (names to declarations), `question`
(what was asked), `bound` (owner limits and clamps), `check` (the guard), `lower` (SQL for an engine). Callers use
`sql.read.read`, `sql.bound.plan`, `sql.check.check` and `sql.lower.lower`.
"""
