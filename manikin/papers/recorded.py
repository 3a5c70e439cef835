"""Where real motion capture is found: the folder that MANIKIN_DATA names, else `../shared/data` next to the checkout.

None of it is part of the project; what needs it reports that it was not available. The layout is that of the CMU Graphics Lab
database as BVH: `mocap_cmu_bvh/<kind>/<trial>.bvh.gz`.
"""

import os
from pathlib import Path

from manikin.errors import InputError

VARIABLE = "MANIKIN_DATA"


def data_folder() -> Path | None:
    """The folder of recorded motion, or None where there is none."""
    named = os.environ.get(VARIABLE)
    if named:
        if not (Path(named) / "mocap_cmu_bvh").is_dir():
            raise InputError(f"{VARIABLE}={named}: holds no folder 'mocap_cmu_bvh'")
        return Path(named)
    sibling = Path(__file__).resolve().parents[3] / "shared" / "data"
    return sibling if (sibling / "mocap_cmu_bvh").is_dir() else None


def capture(name: str) -> Path | None:
    """A file of recorded motion, such as "reach/15_06.bvh.gz", or None where it is not available."""
    folder = data_folder()
    path = None if folder is None else folder / "mocap_cmu_bvh" / name
    return path if path is not None and path.is_file() else None
