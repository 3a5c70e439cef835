// The server's world has Z up; glTF and three.js have Y up: (x, y, z) becomes (y, z, x).

import { Quaternion, Vector3 } from "three";
import type { Quat, Vec3 } from "./messages";

export function toView(p: ArrayLike<number>, target = new Vector3(), at = 0): Vector3 {
  return target.set(p[at + 1]!, p[at + 2]!, p[at]!);
}

export function toWorld(v: Vector3): Vec3 {
  return [v.z, v.x, v.y];
}

/** wxyz in the world to three's quaternion. */
export function toViewQuat(q: ArrayLike<number>, target = new Quaternion(), at = 0): Quaternion {
  return target.set(q[at + 2]!, q[at + 3]!, q[at + 1]!, q[at]!);
}

export function toWorldQuat(q: Quaternion): Quat {
  return [q.w, q.z, q.x, q.y];
}
