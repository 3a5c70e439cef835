// Binary pose frames, taken apart. The layout is described at the end of messages.ts.

import { FRAME_HEADER } from "./messages";

export interface PoseFrame {
  kind: number;
  sequence: number;
  time: number;
  /** Seven numbers per body: position, quaternion wxyz, world axes. */
  poses: Float32Array;
  /** Vertices of deforming meshes by number. */
  meshes: Map<number, Float32Array>;
}

export function parseFrame(buffer: ArrayBuffer): PoseFrame {
  const view = new DataView(buffer);
  const bodies = view.getUint32(16, true);
  const blocks = view.getUint32(20, true);
  const poses = new Float32Array(buffer, FRAME_HEADER, 7 * bodies);
  const meshes = new Map<number, Float32Array>();
  let at = FRAME_HEADER + poses.byteLength;
  for (let k = 0; k < blocks; k++) {
    const count = view.getUint32(at + 4, true);
    meshes.set(view.getUint32(at, true), new Float32Array(buffer, at + 8, 3 * count));
    at += 8 + 12 * count;
  }
  return { kind: view.getUint32(0, true), sequence: view.getUint32(4, true), time: view.getFloat64(8, true), poses, meshes };
}
