// Goals and centres of mass as marks in the scene; at an earlier moment, where the goals were.

import type { Group, Vector3 } from "three";
import { toView, toWorld } from "./axes";
import { Goals } from "./goals";
import { comMark, faceCamera, goalMark } from "./marks";
import type { Marker, Vec3 } from "./messages";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

export class Pins {
  private readonly goals = new Goals();
  private readonly marks = new Map<string, Group>();

  constructor(
    private readonly studio: Studio,
    private readonly viewport: Viewport,
  ) {
    let scene = "";
    studio.on("model", (model) => {
      if (model.scene !== scene) this.goals.forget();
      scene = model.scene;
    });
    studio.on("status", (status) => this.goals.note(status));
    viewport.beforeDraw.push(() => this.draw());
  }

  /** The goals at the moment that is shown; undefined where they are not known. */
  get goalsThen(): Marker[] | undefined {
    return this.studio.status && this.goals.then(this.studio.status);
  }

  get names(): string[] {
    return [...this.marks.keys()];
  }

  /** Where a mark is drawn, world axes. */
  at(name: string): Vec3 | undefined {
    const mark = this.marks.get(name);
    return mark && toWorld(mark.position);
  }

  private draw(): void {
    const wanted = this.wanted();
    for (const [name, mark] of this.marks) {
      if (wanted.has(name)) continue;
      mark.removeFromParent();
      this.marks.delete(name);
    }
    for (const [name, place] of wanted) {
      let mark = this.marks.get(name);
      if (!mark) {
        mark = name.startsWith("com") ? comMark() : goalMark(name.startsWith("past"));
        this.marks.set(name, mark);
        this.viewport.scene.add(mark);
      }
      mark.position.copy(place);
      faceCamera(mark, this.viewport);
    }
  }

  private wanted(): Map<string, Vector3> {
    const { status } = this.studio;
    if (!status) return new Map();
    if (status.seeking) return new Map((this.goalsThen ?? []).map((m) => [`past ${m.name}`, toView(m.place)]));
    const goals = status.markers.filter((m) => m.active);
    return new Map([
      ...goals.map((m): [string, Vector3] => [`goal ${m.name}`, toView(m.place)]),
      ...status.handles.map((c): [string, Vector3] => [`com ${c.name}`, toView(c.place)]),
    ]);
  }
}
