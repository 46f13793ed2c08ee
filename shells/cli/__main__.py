"""``python -m turnfold.shells.cli``."""

import sys

from . import main

sys.exit(main())
