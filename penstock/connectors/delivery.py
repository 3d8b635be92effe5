"""What a sink promises."""

from __future__ import annotations

from enum import Enum

__all__ = ["DeliveryGuarantee"]


class DeliveryGuarantee(Enum):
    """What a sink promises when a job fails and goes on."""

    EXACTLY_ONCE = (0,)
    AT_LEAST_ONCE = (1,)
    NONE = 2
