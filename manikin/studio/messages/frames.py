"""Pose frames: binary messages, little-endian.

u32 kind        LIVE, GHOST, or POSE for the doll that is posed
u32 sequence    of live frames; of a ghost frame, the ghost's number
f64 time [s]
u32 bodies      how many poses follow
u32 meshes      how many blocks of vertices follow after the poses
bodies x 7 f32  position, quaternion wxyz, world axes
then for each deforming mesh: u32 mesh, u32 count, count x 3 f32 vertices
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manikin.studio.messages.text import MessageError

LIVE, GHOST, POSE = 1, 2, 3
HEADER = struct.Struct("<IIdII")
_BLOCK = struct.Struct("<II")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """A pose frame, taken apart: poses (n, 7), vertices of deforming meshes (k, 3) by number."""

    kind: int
    sequence: int
    time: float
    poses: NDArray[np.float32]
    meshes: dict[int, NDArray[np.float32]]


def pack_frame(
    kind: int, sequence: int, time: float, position: Array, quat: Array, meshes: Sequence[NDArray[np.floating]] = ()
) -> bytes:  # fmt: skip
    """position (n, 3), quat (n, 4), and vertices (k, 3) of each deforming mesh, as one binary message."""
    poses = np.empty((len(position), 7), "<f4")
    poses[:, :3], poses[:, 3:] = position, quat
    parts = [HEADER.pack(kind, sequence & 0xFFFFFFFF, time, len(poses), len(meshes)), poses.tobytes()]
    for mesh, vertices in enumerate(meshes):
        parts += [_BLOCK.pack(mesh, len(vertices)), np.asarray(vertices, "<f4").tobytes()]
    return b"".join(parts)


def unpack_frame(content: bytes) -> Frame:
    """What `pack_frame` made."""
    try:
        kind, sequence, time, bodies, blocks = HEADER.unpack_from(content)
        place = HEADER.size
        poses = np.frombuffer(content, "<f4", 7 * bodies, place).reshape(bodies, 7)
        place += poses.nbytes
        meshes = {}
        for _ in range(blocks):
            mesh, count = _BLOCK.unpack_from(content, place)
            place += _BLOCK.size
            meshes[mesh] = np.frombuffer(content, "<f4", 3 * count, place).reshape(count, 3)
            place += meshes[mesh].nbytes
    except (struct.error, ValueError) as error:
        raise MessageError(f"not a pose frame: {error}") from None
    if place != len(content):
        raise MessageError(f"not a pose frame: {len(content) - place} bytes too many")
    return Frame(kind, sequence, time, poses, meshes)
