"""A soft box that is dropped next to the figure of a shipped scene."""

import numpy as np
import pytest

from manikin.scenes import build_world

SIDE = 0.2
JELLY = f"""
<flexcomp name="jelly" type="grid" count="3 3 3" spacing="{SIDE / 2} {SIDE / 2} {SIDE / 2}" pos="0.55 0.35 0.35" dim="3"
  mass="2" radius="0.01" rgba="0.3 0.6 0.4 1">
  <contact selfcollide="none" contype="2" conaffinity="5"/>
  <elasticity young="2e4" poisson="0.3" damping="0.1"/>
</flexcomp>"""
# soft things need this integrator
DISCRETE = 'integrator="discrete"'


def alone() -> str:
    """The box and a floor, and nothing else."""
    floor = '<geom type="plane" size="5 5 0.1" contype="1" conaffinity="2"/>'
    return f'<mujoco><option timestep="0.002" {DISCRETE}/><worldbody>{floor}{JELLY}</worldbody></mujoco>'


def drop_jelly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scene that is built from now on has the box in it."""
    make = build_world.stage

    def with_jelly(*args: object, **kwargs: object) -> str:
        text = make(*args, **kwargs)  # type: ignore[arg-type]
        text = text.replace('integrator="implicitfast"', DISCRETE)
        assert DISCRETE in text
        return text.replace("</worldbody>", f"{JELLY}</worldbody>", 1)

    monkeypatch.setattr(build_world, "stage", with_jelly)


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """What a closed surface encloses [m^3]; positive where its triangles run counter-clockwise from outside."""
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)
