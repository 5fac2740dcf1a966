"""Policy files: people, budgets, tables and caps declared in TOML or YAML, checked whole before anything is made."""

from __future__ import annotations

from dither.curator.policy_files.application import Applied, Changing, Planned, apply, check, planned
from dither.curator.policy_files.draft import draft
from dither.curator.policy_files.reading import Plan, read_policy

__all__ = ["Applied", "Changing", "Plan", "Planned", "apply", "check", "draft", "planned", "read_policy"]
