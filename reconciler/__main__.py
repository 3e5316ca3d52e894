"""``python -m reconciler`` is ``reconcile``."""

import sys

from reconciler.cli import main

sys.exit(main())
