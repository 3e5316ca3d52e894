"""Entry point of ``python -m reconciler``, which is ``reconcile``."""

import sys

from reconciler.cli import main

sys.exit(main())
