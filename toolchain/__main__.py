import sys

from toolchain.cli.main import main

sys.exit(main())
