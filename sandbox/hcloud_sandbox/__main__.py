"""Entry point of ``python -m hcloud_sandbox``, which is ``hcloud-sandbox``."""

import sys

from hcloud_sandbox.command import main

sys.exit(main())
