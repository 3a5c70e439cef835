// window.studio: the state of the page, for tests and for inspection.

import { toView, toWorld } from "./axes";
import type { Contacts } from "./contacts";
import type { Figure } from "./figure";
import type { Ghosts } from "./ghosts";
import type { Grab } from "./grab";
import type { Vec3 } from "./messages";
import type { Pinboard } from "./pinboard";
import type { Pins } from "./pins";
import type { Poser } from "./poser";
import type { Future, Previews } from "./preview";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

interface Parts {
  studio: Studio;
  viewport: Viewport;
  grab: Grab;
  pins: Pins;
  pinboard: Pinboard;
  poser: Poser;
  previews: Previews;
  ghosts: Ghosts;
  contacts: Contacts;
  /** The figure, once it is drawn. */
  figure: () => Figure | undefined;
}

class Exposed {
  readonly state: Studio;

  constructor(private readonly parts: Parts) {
    this.state = parts.studio;
  }

  /** Whether the figure of the present model is drawn, from the camera of its scene. */
  get ready(): boolean {
    const { studio, figure } = this.parts;
    return !!studio.frame && !!studio.model && figure()?.bodies === studio.model.bodies;
  }

  get drawn(): number {
    return this.parts.viewport.drawn;
  }

  get sent(): number {
    return this.parts.grab.sent;
  }

  get arrow() {
    return this.parts.grab.shown;
  }

  get previews(): number[] {
    return this.parts.previews.choices;
  }

  get ghosts(): number[] {
    return this.parts.ghosts.numbers;
  }

  get cones(): number {
    return this.parts.contacts.shown;
  }

  /** Marks that are drawn: goals, where goals were, centres of mass. */
  get marks(): string[] {
    return this.parts.pins.names;
  }

  /** Marks of pins that are drawn. */
  get pinMarks(): string[] {
    return this.parts.pinboard.names;
  }

  /** Whether a doll is drawn. */
  get doll(): boolean {
    return this.parts.poser.shown;
  }

  /** Where a mark is drawn [m], Z up. */
  mark(name: string): Vec3 | undefined {
    return this.parts.pins.at(name);
  }

  /** Where the camera is, and what it looks at [m], Z up. */
  get view() {
    const { camera, controls } = this.parts.viewport;
    return { from: toWorld(camera.position), at: toWorld(controls.target) };
  }

  /** Resources on the graphics card. */
  get memory() {
    return this.parts.viewport.memory;
  }

  /** Position of a body's origin [m], Z up. */
  body(name: string): Vec3 | undefined {
    const { model, frame } = this.state;
    const k = model?.bodies.findIndex((b) => b.name === name) ?? -1;
    return k >= 0 && frame ? [frame.poses[7 * k]!, frame.poses[7 * k + 1]!, frame.poses[7 * k + 2]!] : undefined;
  }

  /** Vertices of a deforming mesh as they are drawn [m], Z up: three numbers each. */
  vertices(name: string): number[] | undefined {
    const k = this.state.model?.meshes.findIndex((m) => m.name === name) ?? -1;
    const places = this.parts.figure()?.verticesOf(k);
    return places && Array.from(places);
  }

  /** A world point on the page [CSS px]. */
  project(point: Vec3) {
    return this.parts.viewport.project(toView(point));
  }

  /** The target of a press at a place of the page. */
  pick(x: number, y: number, push = false) {
    const pick = this.parts.grab.pick(x, y, false, push);
    return pick && { ...pick, place: toWorld(pick.place) };
  }

  /** The future that a press at a place of the page would choose. */
  future(x: number, y: number): Future | undefined {
    return this.parts.previews.futureAt(x, y);
  }
}

declare global {
  interface Window {
    studio: Exposed;
  }
}

export function expose(parts: Parts): void {
  window.studio = new Exposed(parts);
}
