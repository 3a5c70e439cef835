// The camera follows the character.

import { Vector3 } from "three";
import { toView } from "./axes";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

export class Follower {
  on = false;
  private followed: Vector3 | undefined;

  constructor(
    private readonly studio: Studio,
    viewport: Viewport,
    dragging: () => boolean,
  ) {
    viewport.beforeDraw.push((seconds) => {
      const now = this.middle();
      if (now) viewport.lightAt(now);
      if (!this.on || !now || dragging()) {
        this.followed = undefined;
        return;
      }
      this.followed ??= now.clone();
      const step = now.clone().sub(this.followed).multiplyScalar(1 - Math.exp(-6 * seconds));
      this.followed.add(step);
      viewport.shift(step);
    });
  }

  /** The point to follow: a centre of mass, or the first thing that can be grabbed. */
  private middle(): Vector3 | undefined {
    const { status, model, frame } = this.studio;
    // handles belong to the present: at an earlier moment the root of the character is used instead
    if (status?.handles[0] && !status.seeking) return toView(status.handles[0].place);
    const root = status?.handles[0]?.name;
    const k = model?.bodies.findIndex((body) => (root ? body.name === root : body.modes.length > 0)) ?? -1;
    return k >= 0 && frame ? toView(frame.poses, new Vector3(), 7 * k) : undefined;
  }
}
