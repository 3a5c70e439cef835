// Deforming meshes: the server sends their vertices with every frame, in world axes.

import { BufferAttribute, BufferGeometry, Color, type Intersection, Matrix4, Mesh, MeshStandardMaterial, SRGBColorSpace, Vector3 } from "three";
import type { MeshInfo } from "./messages";

// world axes to view axes, as in axes.ts: vertices are used as they arrive
const TURN = new Matrix4().set(0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1);

/** A deforming mesh among the parts of a figure. */
export type SoftMesh = Mesh<BufferGeometry, MeshStandardMaterial>;

/** number: its index in the model's list, used in frames. */
export function softMesh(info: MeshInfo, number: number): SoftMesh {
  const geometry = shape(info.count);
  geometry.setIndex(info.triangles);
  const colour = new Color().setRGB(...info.colour, SRGBColorSpace);
  // as shiny as the materials in the GLB
  const mesh = new Mesh(geometry, new MeshStandardMaterial({ color: colour, roughness: 0.42 }));
  mesh.userData = { soft: number, bodies: info.bodies };
  mesh.matrixAutoUpdate = false;
  mesh.matrix.copy(TURN);
  mesh.castShadow = mesh.receiveShadow = true;
  mesh.frustumCulled = false;
  deform(mesh, info.vertices);
  return mesh;
}

export function isSoft(thing: unknown): thing is SoftMesh {
  return thing instanceof Mesh && typeof thing.userData.soft === "number";
}

export function numberOf(mesh: SoftMesh): number {
  return mesh.userData.soft as number;
}

/** Give a clone its own vertices: clones share them. */
export function part(mesh: SoftMesh): void {
  const shared = mesh.geometry;
  mesh.geometry = shape(shared.getAttribute("position").count);
  // a shared index would be freed with the first of them
  mesh.geometry.setIndex(shared.index!.clone());
  deform(mesh, shared.getAttribute("position").array);
}

/** Three numbers for each vertex; extra ones are ignored. */
export function deform(mesh: SoftMesh, vertices: ArrayLike<number>): void {
  const places = mesh.geometry.getAttribute("position") as BufferAttribute;
  if (vertices.length !== places.array.length) return;
  (places.array as Float32Array).set(vertices);
  places.needsUpdate = true;
  mesh.geometry.computeVertexNormals();
  // recomputed on demand
  mesh.geometry.boundingSphere = mesh.geometry.boundingBox = null;
}

/** The body of the vertex that is nearest to where a ray met the mesh. */
export function softBodyOf(hit: Intersection<SoftMesh>): number | undefined {
  if (!hit.face) return undefined;
  const { geometry, userData, matrixWorld } = hit.object;
  const places = geometry.getAttribute("position") as BufferAttribute;
  const far = (vertex: number) => new Vector3().fromBufferAttribute(places, vertex).applyMatrix4(matrixWorld).distanceToSquared(hit.point);
  const nearest = [hit.face.a, hit.face.b, hit.face.c].sort((a, b) => far(a) - far(b))[0]!;
  return (userData.bodies as number[])[nearest];
}

function shape(count: number): BufferGeometry {
  return new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(3 * count), 3));
}
