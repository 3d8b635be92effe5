"""Retry predicates of `AsyncDataStream`, where PyFlink has them."""

from penstock.functions.async_retry import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = ["empty_result_predicate", "exception_type_predicate", "has_exception_predicate"]
