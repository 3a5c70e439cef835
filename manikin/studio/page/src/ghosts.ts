// Other takes next to the present one, as translucent figures that move in step.

import type { Figure } from "./figure";
import type { PoseFrame } from "./frames";
import { FRAME_GHOST } from "./messages";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

export const GHOST_COLOURS = ["#7c93b8", "#b58ac0", "#7fae8d", "#c09a6b", "#9aa0a6"];

export class Ghosts {
  private figure: Figure | undefined;
  private readonly shown = new Map<number, Figure>();

  constructor(
    studio: Studio,
    private readonly viewport: Viewport,
  ) {
    studio.onFrame((frame) => frame.kind === FRAME_GHOST && this.pose(frame));
    studio.on("takes", (message) => {
      const wanted = new Set(message.takes.map((take) => take.ghost));
      for (const number of this.numbers) if (!wanted.has(number)) this.drop(number);
    });
  }

  get numbers(): number[] {
    return [...this.shown.keys()];
  }

  /** Use another figure for the ghosts. */
  use(figure: Figure): void {
    this.numbers.forEach((number) => this.drop(number));
    this.figure = figure;
  }

  private pose(frame: PoseFrame): void {
    if (!this.figure) return;
    let ghost = this.shown.get(frame.sequence);
    if (!ghost) {
      ghost = this.figure.ghost(GHOST_COLOURS[frame.sequence % GHOST_COLOURS.length]!, 0.34);
      this.shown.set(frame.sequence, ghost);
      this.viewport.add(ghost.root);
    }
    ghost.pose(frame.poses, frame.meshes);
    this.viewport.invalidate();
  }

  private drop(number: number): void {
    this.shown.get(number)?.dispose();
    this.shown.delete(number);
    this.viewport.invalidate();
  }
}
