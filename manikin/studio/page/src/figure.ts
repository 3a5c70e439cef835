// Everything that moves: skins and props, from a GLB whose nodes are named like bodies, and deforming meshes.

import {
  Box3,
  BufferAttribute,
  Group,
  type Intersection,
  type Material,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  MeshStandardMaterial,
  type Object3D,
  Quaternion,
  type Raycaster,
  SkinnedMesh,
  Sphere,
  Vector3,
} from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";
import { clone } from "three/addons/utils/SkeletonUtils.js";
import { toView, toViewQuat } from "./axes";
import type { BodyInfo, ModelMessage } from "./messages";
import { deform, isSoft, numberOf, part, softBodyOf, type SoftMesh, softMesh } from "./soft";

const ONE = new Vector3(1, 1, 1);
const place = new Vector3();
const turn = new Quaternion();

export interface Hit {
  body: number;
  /** In view axes. */
  point: Vector3;
  distance: number;
}

export class Figure {
  readonly root: Group;
  private readonly nodes: (Object3D | undefined)[];
  private readonly numbers = new Map<Object3D, number>();
  private readonly soft = new Map<number, SoftMesh>();
  private poses: Float32Array = new Float32Array(0);

  /** root: bodies as direct children, so that a world pose is a node's own matrix. */
  private constructor(
    root: Group,
    readonly bodies: BodyInfo[],
  ) {
    this.root = root;
    const byName = new Map<string, Object3D>();
    root.traverse((node) => {
      if (isSoft(node)) this.soft.set(numberOf(node), node);
      else byName.set(nameOf(node), node);
    });
    this.nodes = bodies.map((body) => byName.get(body.name));
    this.nodes.forEach((node, k) => {
      if (!node) return;
      this.numbers.set(node, k);
      node.matrixAutoUpdate = false;
    });
  }

  static async load(address: string, { bodies, meshes }: ModelMessage): Promise<Figure> {
    const gltf = await new GLTFLoader().loadAsync(address);
    const root = new Group();
    root.add(gltf.scene);
    root.updateMatrixWorld(true);
    const wanted = new Set(bodies.map((body) => body.name));
    const found: Object3D[] = [];
    gltf.scene.traverse((node) => {
      if (wanted.has(nameOf(node))) found.push(node);
    });
    for (const node of found) root.attach(node);
    root.traverse((node) => {
      if (!(node instanceof Mesh)) return;
      // glass lets light through
      node.castShadow = node.receiveShadow = !isGlass(node);
      node.frustumCulled = false;
    });
    meshes.forEach((info, number) => root.add(softMesh(info, number)));
    return new Figure(root, bodies);
  }

  /** The same figure, translucent, without a shadow. */
  ghost(colour: string, opacity: number): Figure {
    const root = clone(this.root) as Group;
    // depth first, so that only the outside of a ghost shows; some centimetres behind, so that the figure is in front
    const behind = { transparent: true, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 900 };
    const veil = new MeshStandardMaterial({ color: colour, roughness: 0.7, opacity, depthWrite: false, ...behind });
    const depth = new MeshBasicMaterial({ colorWrite: false, ...behind });
    const meshes: Mesh[] = [];
    root.traverse((node) => node instanceof Mesh && meshes.push(node));
    for (const mesh of meshes) {
      if (isSoft(mesh)) part(mesh);
      mesh.castShadow = mesh.receiveShadow = false;
      mesh.material = veil;
      mesh.renderOrder = 2;
      const first = mesh.clone(false);
      first.material = depth;
      first.renderOrder = 1;
      first.name = "";
      first.userData = {};
      first.matrixAutoUpdate = false;
      first.matrix.identity();
      mesh.add(first);
    }
    const figure = new Figure(root, this.bodies);
    // fixed things need no ghost
    this.bodies.forEach((body, k) => {
      if (body.part_of === "world") figure.nodes[k]?.removeFromParent();
    });
    return figure;
  }

  /** Change the colour of a reused ghost. */
  tint(colour: string, opacity: number): void {
    this.root.traverse((node) => {
      if (!(node instanceof Mesh)) return;
      const material = node.material as Material;
      if (!(material instanceof MeshStandardMaterial)) return;
      material.color.set(colour);
      material.opacity = opacity;
    });
  }

  /** vertices: of deforming meshes, by number. */
  pose(poses: ArrayLike<number>, vertices: Iterable<[number, ArrayLike<number>]>): void {
    this.poses = poses instanceof Float32Array ? poses : Float32Array.from(poses);
    this.nodes.forEach((node, k) => {
      if (!node || 7 * k + 7 > this.poses.length) return;
      toView(this.poses, place, 7 * k);
      toViewQuat(this.poses, turn, 7 * k + 3);
      node.matrix.compose(place, turn, ONE);
    });
    for (const [number, places] of vertices) {
      const mesh = this.soft.get(number);
      if (mesh) deform(mesh, places);
    }
    this.root.updateMatrixWorld(true);
  }

  /** Pose of a body in view axes. */
  matrix(body: number): Matrix4 {
    const out = new Matrix4();
    if (7 * body + 7 > this.poses.length) return out;
    return out.compose(toView(this.poses, place, 7 * body), toViewQuat(this.poses, turn, 7 * body + 3), ONE);
  }

  /** What a ray meets first in the present pose, and the body that it belongs to. Whoever points through glass means what is
   * behind it, if anything is. */
  pick(ray: Raycaster): Hit | undefined {
    this.root.traverse((node) => {
      // the skin has moved since its bounds were last computed
      if (node instanceof SkinnedMesh) node.computeBoundingSphere();
    });
    let glass: Hit | undefined;
    for (const hit of ray.intersectObject(this.root, true)) {
      const body = this.bodyOf(hit);
      if (body === undefined) continue;
      const found = { body, point: hit.point.clone(), distance: hit.distance };
      if (isGlass(hit.object)) glass ??= found;
      else return glass && this.bodies[body]?.part_of === "world" ? glass : found;
    }
    return glass;
  }

  private bodyOf(hit: Intersection): number | undefined {
    if (hit.object instanceof SkinnedMesh && hit.face) {
      const bone = dominantBone(hit.object, [hit.face.a, hit.face.b, hit.face.c]);
      const joint = hit.object.skeleton.bones[bone];
      return joint && this.numbers.get(joint);
    }
    if (isSoft(hit.object)) return softBodyOf(hit as Intersection<SoftMesh>);
    for (let node: Object3D | null = hit.object; node; node = node.parent) {
      const number = this.numbers.get(node);
      if (number !== undefined) return number;
    }
    return undefined;
  }

  /** A sphere around some bodies, by their origins and a bit of flesh. */
  around(bodies: number[]): Sphere | undefined {
    const box = new Box3();
    for (const k of bodies) if (7 * k + 7 <= this.poses.length) box.expandByPoint(toView(this.poses, new Vector3(), 7 * k));
    if (box.isEmpty()) return undefined;
    const sphere = box.getBoundingSphere(new Sphere());
    sphere.radius += 0.18;
    return sphere;
  }

  /** Where the vertices of a deforming mesh are, world axes: three numbers each. */
  verticesOf(number: number): ArrayLike<number> | undefined {
    return this.soft.get(number)?.geometry.getAttribute("position").array;
  }

  /** Free this figure's resources; shapes shared with its ghosts only if `shapes`. */
  dispose(shapes = false): void {
    this.root.removeFromParent();
    this.root.traverse((node) => {
      if (!(node instanceof Mesh)) return;
      for (const m of [node.material].flat() as Material[]) m.dispose();
      if (node instanceof SkinnedMesh) node.skeleton.dispose();
      if (shapes || isSoft(node)) node.geometry.dispose();
    });
  }
}

/** three.js changes names to suit its animations; the original is kept aside. */
function nameOf(node: Object3D): string {
  return typeof node.userData.name === "string" ? node.userData.name : node.name;
}

/** The bone with the most weight on the corners of a triangle. */
function dominantBone(mesh: SkinnedMesh, corners: number[]): number {
  const joints = mesh.geometry.getAttribute("skinIndex") as BufferAttribute;
  const weights = mesh.geometry.getAttribute("skinWeight") as BufferAttribute;
  const sums = new Map<number, number>();
  for (const corner of corners) {
    for (let k = 0; k < 4; k++) {
      const joint = joints.getComponent(corner, k);
      sums.set(joint, (sums.get(joint) ?? 0) + weights.getComponent(corner, k));
    }
  }
  let best = 0;
  for (const [joint, sum] of sums) if (sum > (sums.get(best) ?? 0)) best = joint;
  return best;
}

/** Whether a thing is transparent. */
function isGlass(node: Object3D): boolean {
  const material = (node as Mesh).material;
  return !!material && ![material].flat().some((m) => !m.transparent);
}
