"""The one package that is installed: ``_app`` beside this module has the product, under the names of the source tree.

Other projects on the package index own names such as ``reconciler``, so that these must not be installed at top level.
"""

import sys

# First, so that ours is found wherever another one of the name is installed. No name but our own is in it. Where the
# source tree is installed as it is, there is no such folder, and the tree is on the path.
sys.path.insert(0, f"{__path__[0]}/_app")

from reconciler.cli import complete_for_kubectl, main

__all__ = ["complete_for_kubectl", "main"]
