"""Prints the path of the IREE runtime inside the shortfin wheel of this Python's environment."""

import re
import sysconfig
from pathlib import Path

site = Path(sysconfig.get_paths()["platlib"])
(extension,) = (site / "_shortfin_default").glob("lib.*.so")
(name,) = set(re.findall(rb"libshortfin-\w+\.so[.\d]*", extension.read_bytes()))
print(site / "shortfin.libs" / name.decode())
