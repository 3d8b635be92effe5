"""Makes a Python process of a tormented job listen to orders, when it starts; on the path of no other process."""

import os

if os.environ.get("PENSTOCK_CHAOS_ORDERS"):
    from chaos.orders import obey

    obey(os.environ["PENSTOCK_CHAOS_ORDERS"])
