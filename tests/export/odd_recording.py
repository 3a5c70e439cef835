"""A recording made by hand, to be hard on exporters: two characters with turned bodies, a tool in a hand, a door, a rack."""

import mujoco
import numpy as np

import manikin as mk

FRAMES = 40

_PERSON = """
<body name="{name}/base" pos="{x} 0 1" quat="0.8 0.6 0 0"><freejoint/>
  <geom type="box" size=".1 .2 .05" rgba=".2 .4 .6 1"/><geom type="sphere" pos=".1 0 0" size=".05" rgba=".9 .1 .1 .5"/>
  <body name="{name}/arm" pos=".1 .2 .3" quat="0.5 0.5 -0.5 0.5"><joint type="ball"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" rgba=".2 .4 .6 1"/>
    <body name="{name}/cuff" pos=".2 0 0"><body name="{name}/hand" pos=".1 0 0"><joint axis="0 1 0"/><joint axis="1 0 0"/>
      <geom type="sphere" size=".04" pos=".02 0 0" rgba=".87 .66 .44 1"/>{tool}
    </body></body>
  </body>
  <body name="{name}/leg" pos="0 0 -.4"><joint axis="0 0 1"/><geom type="cylinder" size=".04 .2"/></body>
</body>"""
_TOOL = '<body name="hammer-1" pos=".05 0 0"><joint axis="0 1 1"/><geom type="box" size=".01 .01 .2"/></body>'
_REST = """
<geom type="plane" size="1 1 .1"/><geom name="rack" type="box" pos="2 2 1" size=".1 .1 1"/>
<body name="door" pos="1 0 0"><joint axis="0 0 1"/><geom type="box" pos=".4 0 1" size=".4 .02 1"/>
  <body name="knob" pos=".7 0 1"><joint axis="0 1 0"/><geom type="sphere" size=".04"/><geom type="box" size=".02 .06 .02"
   rgba=".1 .1 .1 1"/></body></body>
<body name="materials" pos="0 0 3"><geom type="sphere" size=".1"/></body>"""


def odd_recording(people: str | None = None) -> mk.Recording:
    """Random poses at 30 frames a second; the last one comes a third of a frame early. A cuff is no part of its character."""
    cast = ("anna", "ben") if people is None else ()
    bodies = people or "".join(_PERSON.format(name=n, x=k, tool=_TOOL if k == 0 else "") for k, n in enumerate(cast))
    mjcf = f"<mujoco><worldbody>{_REST}{bodies}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(mjcf)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(7)
    qpos = np.empty((FRAMES, model.nq))
    for t in range(FRAMES):
        mujoco.mj_integratePos(model, data.qpos, rng.normal(0, 3.0, model.nv), 0.1)
        qpos[t] = data.qpos
    time = np.rint(np.arange(FRAMES) / 30 / 0.004) * 0.004
    time[-1] -= 1 / 90
    mine = {f"{n}/base": [f"{n}/base", f"{n}/arm", f"{n}/hand", f"{n}/leg"] for n in cast}
    meta = {"name": "odd one", "fps": 30.0, "timestep": 0.004, "characters": mine, "props": ["door"]}
    none = np.zeros(0)
    return mk.Recording(
        mjcf, meta, none, np.zeros(0, np.int64), none, time, np.arange(FRAMES), qpos,
        np.zeros((FRAMES, model.nv)), np.zeros((FRAMES, model.nbody, 3)), none, none, none,
    )  # fmt: skip


def world_poses(recording: mk.Recording) -> tuple[mujoco.MjModel, list[mujoco.MjData]]:
    """MuJoCo's own kinematics in every frame."""
    model = mujoco.MjModel.from_xml_string(recording.mjcf)
    out = []
    for qpos in recording.qpos:
        data = mujoco.MjData(model)
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        out.append(data)
    return model, out
