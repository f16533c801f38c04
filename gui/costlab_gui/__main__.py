"""``python -m costlab_gui``."""

import sys

from costlab_gui.app import main

sys.exit(main())
