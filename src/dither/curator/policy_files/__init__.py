"""Policy files: people, budgets, tables and caps declared in TOML or YAML, checked whole before anything is made."""

from __future__ import annotations

from dither.curator.policy_files.application import Applied, apply, check
from dither.curator.policy_files.draft import draft
from dither.curator.policy_files.reading import Plan, read_policy

__all__ = ["Applied", "Plan", "apply", "check", "draft", "read_policy"]
