"""The terms and formulas of the usual lecture notes, each with the call that does it: a page, a tour, a notebook."""
