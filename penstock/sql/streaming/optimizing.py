"""Rewrites before streaming plans: what batch does too, minus what only Spark's SQL text needs."""

from __future__ import annotations

from penstock.sql.algebra import Plan


def optimize_streaming(plan: Plan) -> Plan:
    return plan
