"""From SQL text to a bounded plan with a proven sensitivity. The text itself never reaches an engine.

The walk, in order: `text` (limits before parsing, allow-listed syntax), `binding` with `scalars` (from names to
declarations: the question), `bounding` (owner limits and clamps), `guard` (sensitivity, proven anew), `planner` and
`pricing`, `admission`, `lowering` (SQL for an engine); `postprocess` finishes noisy numbers.
"""
