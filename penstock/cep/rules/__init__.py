"""Rules that change while the job runs: a stream of pattern definitions, broadcast to the operator.

    expressions.py   conditions as text: `amount > 500 and amount > max(small.amount)`
    rule.py          a rule from JSON: steps, quantifiers, conditions, version
    operator.py      all rules on all keys, and what becomes of partial matches when a rule changes

Flink has this in vendors' forks only; the form of the rules is ours. docs/cep.md tells it.
"""
