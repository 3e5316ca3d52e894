"""Entry point of ``python -m hcloud_reconciler``, which is ``reconcile``."""

import sys

from hcloud_reconciler import main

sys.exit(main())
