"""From a question to aggregations that one owner moves by a known amount: owner limits and clamps."""
