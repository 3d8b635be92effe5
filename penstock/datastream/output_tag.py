"""`OutputTag`, where PyFlink has it."""

from penstock.functions.output_tag import OutputTag

__all__ = ["OutputTag"]
