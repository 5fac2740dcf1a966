"""Questions over answers: their parts are asked as any question, and the rest is computed from the noisy rows."""
