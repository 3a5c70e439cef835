// What will happen: fading paths and translucent poses of the next second, for the held input or for a fan of five.

import { BufferGeometry, Float32BufferAttribute, Group, Line, LineBasicMaterial, type Raycaster, Vector3 } from "three";
import { toView } from "./axes";
import type { Figure } from "./figure";
import { GOAL, Label } from "./marks";
import type { PreviewPathsMessage } from "./messages";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

// the held input, then the five of a fan
const COLOURS: Record<number, string> = { [-1]: GOAL, 0: "#7a5cc4", 1: "#2f8f9d", 2: GOAL, 3: "#3c8d4f", 4: "#b0568f" };
// how near to a path a click must be [CSS px]
const REACH = 14;
// ghosts are drawn this far behind the figure [m], so that the figure is in front where they meet
const BEHIND = 0.03;

/** A future that a click would choose, by its path or by its ghost. */
export interface Future {
  choice: number;
  by: "path" | "ghost";
}

class Shown {
  readonly group = new Group();
  readonly label: Label;
  /** The path of what is held, in view axes: what a click can hit. */
  readonly points: Vector3[];
  readonly end: Vector3 | undefined;
  private readonly ghosts: Figure[] = [];

  constructor(
    readonly message: PreviewPathsMessage,
    viewport: Viewport,
    figure: Figure,
    pool: Figure[],
    held: string,
    choose: () => void,
  ) {
    const colour = COLOURS[message.choice] ?? GOAL;
    const fanned = message.choice >= 0;
    this.label = new Label(viewport, "choice", `future-${message.choice}`, fanned ? choose : undefined);
    if (fanned) this.label.colour = colour;
    const main = message.paths.find((path) => path.body === held) ?? message.paths[0];
    // of five futures, draw only the held part and the final pose: more would be a tangle
    for (const path of fanned && main ? [main] : message.paths) this.group.add(fadingLine(path.points.map((p) => toView(p)), colour));
    this.points = main?.points.map((p) => toView(p)) ?? [];
    this.end = this.points.at(-1);
    const ghosts = fanned ? message.ghosts.slice(-1) : message.ghosts;
    ghosts.forEach((ghost, k) => {
      const strength = 0.34 * (1 - (0.7 * k) / Math.max(1, ghosts.length));
      const copy = pool.pop() ?? figure.ghost(colour, strength);
      copy.tint(colour, strength);
      copy.pose(ghost.poses, ghost.meshes.entries());
      this.ghosts.push(copy);
      this.group.add(copy.root);
    });
    viewport.scene.add(this.group);
  }

  /** The distance at which a ray meets one of the ghosts. */
  meets(ray: Raycaster): number {
    return Math.min(Infinity, ...this.ghosts.map((ghost) => ghost.pick(ray)?.distance ?? Infinity));
  }

  remove(pool: Figure[]): void {
    for (const child of this.group.children) {
      if (!(child instanceof Line)) continue;
      child.geometry.dispose();
      (child.material as LineBasicMaterial).dispose();
    }
    for (const ghost of this.ghosts) ghost.root.removeFromParent();
    pool.push(...this.ghosts);
    this.group.removeFromParent();
    this.label.remove();
  }
}

export class Previews {
  private figure: Figure | undefined;
  private readonly shown = new Map<number, Shown>();
  /** A fan is open: until it closes, what is held stays held. */
  private choosing = false;
  private wasPlaying = false;
  private pool: Figure[] = [];

  constructor(
    private readonly studio: Studio,
    private readonly viewport: Viewport,
  ) {
    studio.on("preview_paths", (message) => this.show(message));
    studio.on("model", () => this.clear());
    studio.on("status", (status) => !status.preview && this.drop(-1));
    studio.on("input", (input) => !input.held && this.clear());
    studio.on("error", (error) => error.about === "fan" && this.endFan());
    viewport.beforeDraw.push(() => this.place());
  }

  get choices(): number[] {
    return [...this.shown.keys()];
  }

  get fanned(): boolean {
    return this.choosing;
  }

  /** Time is paused while there are five futures to choose from. */
  fan(): void {
    if (this.choosing) return this.endFan();
    this.choosing = true;
    this.wasPlaying = this.studio.status?.playing ?? false;
    if (this.wasPlaying) this.studio.send({ kind: "pause" });
    if (!this.studio.send({ kind: "fan" })) this.endFan();
  }

  take(choice: number): void {
    this.studio.send({ kind: "fan_take", choice });
    this.endFan();
  }

  /** A press near a path of the fan, or on one of its ghosts, chooses it. */
  press(x: number, y: number): boolean {
    const future = this.futureAt(x, y);
    if (!future) return false;
    this.take(future.choice);
    return true;
  }

  /** The future under the pointer. */
  futureAt(x: number, y: number): Future | undefined {
    if (!this.choosing) return undefined;
    const choice = this.pathAt(x, y);
    if (choice >= 0) return { choice, by: "path" };
    const ray = this.viewport.rayAt(x, y);
    let best = { choice: -1, far: (this.figure?.pick(ray)?.distance ?? Infinity) - BEHIND };
    for (const [choice, shown] of this.shown) {
      if (choice < 0) continue;
      const far = shown.meets(ray);
      if (far < best.far) best = { choice, far };
    }
    return best.choice >= 0 ? { choice: best.choice, by: "ghost" } : undefined;
  }

  private pathAt(x: number, y: number): number {
    let best = { choice: -1, far: REACH };
    for (const [choice, shown] of this.shown) {
      if (choice < 0) continue;
      for (const point of shown.points) {
        const at = this.viewport.project(point);
        const far = at ? Math.hypot(at.x - x, at.y - y) : Infinity;
        if (far < best.far) best = { choice, far };
      }
    }
    return best.choice;
  }

  endFan(): void {
    for (const choice of this.choices) if (choice >= 0) this.drop(choice);
    if (this.choosing && this.wasPlaying) this.studio.send({ kind: "play" });
    this.choosing = this.wasPlaying = false;
  }

  /** Use another figure for the ghosts. */
  use(figure: Figure): void {
    this.clear();
    for (const ghost of this.pool) ghost.dispose();
    this.pool = [];
    this.figure = figure;
  }

  /** What was drawn is out of date. */
  clear(): void {
    for (const choice of this.choices) this.drop(choice);
    this.choosing = this.wasPlaying = false;
  }

  private show(message: PreviewPathsMessage): void {
    this.drop(message.choice);
    if (message.choice < 0 ? !this.studio.input?.held : !this.choosing) return;
    if (!this.figure || message.paths.length + message.ghosts.length === 0) return;
    this.shown.set(message.choice, new Shown(message, this.viewport, this.figure, this.pool, this.studio.selected, () => this.take(message.choice)));
    this.viewport.invalidate();
  }

  private drop(choice: number): void {
    const shown = this.shown.get(choice);
    if (!shown) return;
    shown.remove(this.pool);
    this.shown.delete(choice);
    this.viewport.invalidate();
  }

  private place(): void {
    const rows = [...this.shown]
      .filter(([choice]) => choice >= 0)
      .flatMap(([choice, shown]) => {
        const at = shown.end && this.viewport.project(shown.end);
        return at ? [{ choice, shown, end: shown.end!, y: at.y }] : [];
      })
      .sort((a, b) => a.y - b.y);
    // keep labels below each other, however near the ends are
    let free = -Infinity;
    for (const { choice, shown, end, y } of rows) {
      const row = Math.max(y, free);
      free = row + 27;
      shown.label.set(`${choice + 1}  ${shown.message.label}`, end, row - y);
    }
  }
}

/** A line that fades towards its end. */
function fadingLine(points: Vector3[], colour: string): Line {
  const geometry = new BufferGeometry().setFromPoints(points);
  const material = new LineBasicMaterial({ color: colour, transparent: true, vertexColors: true, depthTest: false, toneMapped: false });
  const fade = points.flatMap((_, k) => [1, 1, 1, 1 - (0.85 * k) / Math.max(1, points.length - 1)]);
  geometry.setAttribute("color", new Float32BufferAttribute(fade, 4));
  const line = new Line(geometry, material);
  line.renderOrder = 4;
  line.frustumCulled = false;
  return line;
}
