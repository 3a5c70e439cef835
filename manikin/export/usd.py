"""USD: the characters as UsdSkel (skeleton, skin, animation), the props as moving meshes. Needs the extra `usd` (usd-core).

Everything is read from the recording's own model, so any recording exports. Z up, metres; a time code is a frame. Below the
root everything has the recording's own coordinates; the root rotates forward from X to -Y, which is where GLB and BVH face.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdShade, UsdSkel, Vt

from manikin import palette
from manikin.errors import OutputError
from manikin.export.shapes import Colour, Surface, body_surfaces, material_name
from manikin.export.track import Track, body_track, frame_numbers
from manikin.recording import Recording
from manikin.spatial import quat_to_matrix

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def save_usd(recording: Recording, path: Path) -> None:
    """Write a recording as text (.usda) or binary (.usdc, .usd)."""
    stage = _Builder(recording).build()
    # the library chooses the format by the name, and writes only to names
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            exported = Path(folder) / f"take{path.suffix.lower()}"
            if not stage.GetRootLayer().Export(str(exported)):
                raise OutputError(f"{path}: cannot be written (the USD library gives no reason)")
            exported.chmod(0o644)
            exported.replace(path)
    except Tf.ErrorException as error:
        raise OutputError(f"{path}: cannot be written ({_reason(error)})") from error
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error


def _reason(error: Exception) -> str:
    """The library's first message, without the locations in its source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rpartition(" : ")[2].strip("'").rpartition(": ")[2] if lines else type(error).__name__


def _vectors(rows: Array) -> Any:
    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(rows, np.float32))


def _quats(rows: Array) -> Any:
    """wxyz to the library's own order, xyzw."""
    return Vt.QuatfArray.FromNumpy(np.ascontiguousarray(rows[:, [1, 2, 3, 0]], np.float32))


def _matrices(places: Array, quats: Array) -> Any:
    """Transforms (n, 4, 4); USD's vectors are rows."""
    out = np.tile(np.eye(4), (len(places), 1, 1))
    out[:, :3, :3] = quat_to_matrix(quats).transpose(0, 2, 1)
    out[:, 3, :3] = places
    return Vt.Matrix4dArray.FromNumpy(out)


def _moves(values: Array) -> bool:
    return bool(np.ptp(values, axis=0).max() > 1e-9)


@dataclass
class _Builder:
    recording: Recording
    materials: dict[Colour, Any] = field(default_factory=dict)

    def build(self) -> Any:
        recording = self.recording
        self.track: Track = body_track(recording)
        self.codes = frame_numbers(recording).tolist()
        self.stage = stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(recording.meta["fps"])
        stage.SetFramesPerSecond(recording.meta["fps"])
        stage.SetStartTimeCode(self.codes[0])
        stage.SetEndTimeCode(self.codes[-1])
        self.root = self._path(Sdf.Path.absoluteRootPath, str(recording.meta.get("name", "manikin")))
        root = UsdGeom.Xform.Define(stage, self.root)
        root.AddRotateZOp().Set(-90.0)
        stage.SetDefaultPrim(root.GetPrim())
        self.scope = UsdGeom.Scope.Define(stage, self._path(self.root, "materials")).GetPath()
        for name, bodies in self.track.characters.items():
            self._add_character(name, bodies)
        self._add_props()
        self._add_soft()
        return stage

    def _path(self, above: Any, name: str) -> Any:
        """A free path under another: letters, digits and underscores only."""
        wanted = Tf.MakeValidIdentifier(name)
        path, number = above.AppendChild(wanted), 2
        while self.stage.GetPrimAtPath(path):
            path, number = above.AppendChild(f"{wanted}_{number}"), number + 1
        return path

    def _animate(self, attribute: Any, values: Iterable[Any], moves: bool = True) -> None:
        """One value per frame, or a single one for what does not move."""
        for code, value in zip(self.codes, values):
            if not moves:
                attribute.Set(value)
                return
            attribute.Set(value, code)

    # --- characters

    def _add_character(self, root: str, bodies: list[int]) -> None:
        figure = UsdSkel.Root.Define(self.stage, self._path(self.root, f"{root}_figure"))
        skeleton = UsdSkel.Skeleton.Define(self.stage, figure.GetPath().AppendChild("skeleton"))
        above = self.track.joints_above(bodies)
        joints = self._joint_names(bodies, above)
        rest, track = self.track.rest, self.track
        skeleton.CreateJointsAttr(joints)
        skeleton.CreateBindTransformsAttr(_matrices(rest.position[bodies], rest.quat[bodies]))
        places, rotations = (np.array(v) for v in zip(*[rest.local(b, a) for b, a in zip(bodies, above)]))
        skeleton.CreateRestTransformsAttr(_matrices(places, rotations))

        motion = UsdSkel.Animation.Define(self.stage, skeleton.GetPath().AppendChild("motion"))
        places, rotations = (np.stack(v, axis=1) for v in zip(*[track.local(b, a) for b, a in zip(bodies, above)]))
        motion.CreateJointsAttr(joints)
        self._animate(motion.CreateTranslationsAttr(), map(_vectors, places))
        self._animate(motion.CreateRotationsAttr(), map(_quats, rotations))
        motion.CreateScalesAttr(Vt.Vec3hArray(len(bodies), Gf.Vec3h(1.0)))
        UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets([motion.GetPath()])
        self._add_skin(figure, skeleton, bodies)

    def _joint_names(self, bodies: list[int], above: list[int]) -> list[str]:
        """The path of each joint from the root; parents come first, as in the model."""
        paths: dict[int, str] = {}
        for body, parent in zip(bodies, above):
            name = Tf.MakeValidIdentifier(self.track.name(body))
            paths[body] = f"{paths[parent]}/{name}" if parent else name
        return [paths[b] for b in bodies]

    def _add_skin(self, figure: Any, skeleton: Any, bodies: list[int]) -> None:
        """One skinned mesh per character: each vertex follows one body."""
        parts = self.track.skin(bodies)
        reach = np.zeros(len(bodies))
        if parts:
            path = figure.GetPath().AppendChild("skin")
            mesh = self._mesh(path, {colour: surface for colour, (surface, _) in parts.items()})
            follows = np.concatenate([joints for _, joints in parts.values()])
            binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
            binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
            binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1.0))
            binding.CreateJointIndicesPrimvar(False, 1).Set(Vt.IntArray.FromNumpy(follows.astype(np.int32)))
            binding.CreateJointWeightsPrimvar(False, 1).Set(Vt.FloatArray(len(follows), 1.0))
            points = np.concatenate([surface.vertices for surface, _ in parts.values()])
            np.maximum.at(reach, follows, np.linalg.norm(points - self.track.rest.position[bodies][follows], axis=1))
        # a box that is sure to contain the moving skin: each joint, and as far around it as its skin reaches
        places, around = self.track.poses.position[:, bodies], reach[:, None]
        boxes = np.stack([(places - around).min(axis=1), (places + around).max(axis=1)], axis=1)
        self._animate(figure.CreateExtentAttr(), map(_vectors, boxes))

    # --- props

    def _add_props(self) -> None:
        paths: dict[int, Any] = {}
        nodes = self.track.free_nodes()
        for body in self.track.props():
            if body in nodes:
                continue
            pieces: dict[Colour, list[Surface]] = {}
            for colour, surface in body_surfaces(self.track.model, body):
                pieces.setdefault(colour, []).append(surface)
            if body == 0 and not pieces:
                continue
            # a prop that is attached to a character's body is placed in the world
            parent = self.track.parent(body) if self.track.parent(body) in paths else 0
            prop = UsdGeom.Xform.Define(self.stage, self._path(paths[parent] if parent else self.root, self.track.name(body)))
            if body:
                paths[body] = prop.GetPath()
                place, rotation = self.track.local(body, parent)
                self._animate(prop.AddTranslateOp().GetAttr(), (Gf.Vec3d(*p) for p in place.tolist()), _moves(place))
                # doubles: the library takes the angle from the real part, which loses small rotations in floats
                orient = prop.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).GetAttr()
                self._animate(orient, (Gf.Quatd(*q) for q in rotation.tolist()), _moves(rotation))
            if pieces:
                path = self._path(prop.GetPath(), self.track.name(body))
                self._mesh(path, {colour: Surface.merged(parts) for colour, parts in pieces.items()})

    def _add_soft(self) -> None:
        """Surfaces of flesh: their points over time."""
        for soft in self.track.soft:
            path = self._path(self.root, soft.name)
            mesh = self._mesh(path, {soft.colour: soft.rest})
            moments = [soft.at(places) for places in self.track.points.places]
            # digits that nobody sees fill half of a text file: these are 0.01 mm and 0.06 degrees
            self._animate(mesh.GetPointsAttr(), (_vectors(now.vertices.round(5)) for now in moments))
            self._animate(mesh.GetNormalsAttr(), (_vectors(now.normals.round(3)) for now in moments))
            boxes = [np.stack([now.vertices.min(axis=0), now.vertices.max(axis=0)]) for now in moments]
            self._animate(mesh.GetExtentAttr(), map(_vectors, boxes))

    # --- surfaces

    def _mesh(self, path: Any, parts: dict[Colour, Surface]) -> Any:
        """One mesh of triangles; where it has several colours, a subset of its faces for each."""
        mesh = UsdGeom.Mesh.Define(self.stage, path)
        whole = Surface.merged(list(parts.values()))
        points = _vectors(whole.vertices)
        mesh.CreatePointsAttr(points)
        mesh.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(points))
        mesh.CreateNormalsAttr(_vectors(whole.normals))
        mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(whole.faces.ravel().astype(np.int32)))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray(len(whole.faces), 3))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        if len(parts) == 1:
            self._paint(mesh, next(iter(parts)))
            return mesh
        start = 0
        for colour, surface in parts.items():
            faces = np.arange(start, start + len(surface.faces), dtype=np.int32)
            name = self._material(colour).GetPath().name
            binding = UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim())
            self._paint(binding.CreateMaterialBindSubset(name, Vt.IntArray.FromNumpy(faces)), colour)
            start += len(faces)
        binding.SetMaterialBindSubsetsFamilyType(UsdGeom.Tokens.partition)
        return mesh

    def _paint(self, what: Any, colour: Colour) -> None:
        UsdShade.MaterialBindingAPI.Apply(what.GetPrim()).Bind(self._material(colour))

    def _material(self, colour: Colour) -> Any:
        if colour not in self.materials:
            path = self._path(self.scope, material_name(colour, len(self.materials)))
            material = UsdShade.Material.Define(self.stage, path)
            shader = UsdShade.Shader.Define(self.stage, path.AppendChild("surface"))
            shader.CreateIdAttr("UsdPreviewSurface")
            kinds = Sdf.ValueTypeNames
            shader.CreateInput("diffuseColor", kinds.Color3f).Set(Gf.Vec3f(*palette.linear(colour[:3])))
            shader.CreateInput("roughness", kinds.Float).Set(0.42)
            shader.CreateInput("opacity", kinds.Float).Set(colour[3])
            material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
            self.materials[colour] = material
        return self.materials[colour]
