"""The Q criterion, (W_ij W_ij - S_ij S_ij) / 2: positive where rotation W outweighs strain S. Stored as a field."""

import tailrace as tr


def analyse(step):
    """The field q, its smallest and its largest value."""
    q = tr.q_criterion(step.vector("u"))
    return {"q": q, "q_min": tr.min(q), "q_max": tr.max(q)}
