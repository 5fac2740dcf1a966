"""Questions over answers: what a text asks of people, and what it computes from the noisy answers, which is free."""
