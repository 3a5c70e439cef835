// Things drawn over the scene. Forces are orange, goals blue, contacts yellow: the same everywhere.

import {
  BufferGeometry,
  ConeGeometry,
  CylinderGeometry,
  Float32BufferAttribute,
  Group,
  LineDashedMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  SphereGeometry,
  TorusGeometry,
  Vector3,
} from "three";
import { h, setText } from "./dom";
import type { Viewport } from "./viewport";

export const FORCE = "#ed7d21";
export const GOAL = "#3373d9";
export const CONTACT = "#f2cc33";
/** A force of so many newtons is drawn one metre long. */
export const NEWTONS_PER_METRE = 500;

const UP = new Vector3(0, 1, 0);

/** An arrow of a given width that can be redirected every frame. */
export class Arrow {
  readonly group = new Group();
  private readonly shaft: Mesh;
  private readonly head: Mesh;

  constructor(
    colour: string,
    private readonly width: number,
    onTop = true,
  ) {
    const material = new MeshBasicMaterial({ color: colour, depthTest: !onTop, transparent: true, opacity: 0.95, toneMapped: false });
    this.shaft = new Mesh(new CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0), material);
    this.head = new Mesh(new ConeGeometry(1, 1, 16).translate(0, 0.5, 0), material);
    this.group.add(this.shaft, this.head);
    if (onTop) this.addHalo();
    this.group.renderOrder = this.shaft.renderOrder = this.head.renderOrder = 5;
    this.group.visible = false;
  }

  /** A pale rim: orange on wood would be hard to see. */
  private addHalo(): void {
    const pale = new MeshBasicMaterial({ color: "#fffaf2", depthTest: false, transparent: true, opacity: 0.9, toneMapped: false });
    for (const part of [this.shaft, this.head]) {
      const rim = new Mesh(part.geometry, pale);
      rim.scale.set(part === this.shaft ? 1.7 : 1.22, 1.04, part === this.shaft ? 1.7 : 1.22);
      rim.position.y = -0.02;
      rim.renderOrder = 4;
      part.add(rim);
    }
  }

  set(from: Vector3, along: Vector3): void {
    const length = along.length();
    this.group.visible = length > 0.004;
    if (!this.group.visible) return;
    const head = Math.min(5.5 * this.width, 0.6 * length);
    this.group.position.copy(from);
    this.group.quaternion.copy(new Quaternion().setFromUnitVectors(UP, along.clone().divideScalar(length)));
    this.shaft.scale.set(this.width, length - head, this.width);
    this.head.scale.set(0.42 * head, head, 0.42 * head);
    this.head.position.y = length - head;
  }

  hide(): void {
    this.group.visible = false;
  }
}

/** A label that stays at a point of the scene. */
export class Label {
  private readonly element: HTMLElement;

  constructor(
    private readonly viewport: Viewport,
    kind: string,
    id?: string,
    click?: () => void,
  ) {
    const tag = click ? "button" : "div";
    this.element = h(tag, { class: `label ${kind}`, hidden: true, "data-testid": id, onclick: click });
    viewport.labels.append(this.element);
  }

  set colour(colour: string) {
    this.element.style.color = colour;
  }

  /** down: so many pixels lower than usual. */
  set(text: string, at: Vector3, down = 0): void {
    const place = this.viewport.project(at);
    this.element.hidden = !place || !text;
    if (!place) return;
    const box = this.viewport.canvas.getBoundingClientRect();
    setText(this.element, text);
    this.element.style.transform = `translate(${(place.x - box.left).toFixed(1)}px, ${(place.y - box.top + down).toFixed(1)}px)`;
  }

  hide(): void {
    this.element.hidden = true;
  }

  remove(): void {
    this.element.remove();
  }
}

/** A dashed line between two points. */
export class Thread {
  readonly line: LineSegments<BufferGeometry, LineDashedMaterial>;
  private readonly ends = new Float32BufferAttribute(new Float32Array(6), 3);

  constructor(colour: string) {
    const material = new LineDashedMaterial({ color: colour, dashSize: 0.03, gapSize: 0.02, depthTest: false, transparent: true, toneMapped: false });
    this.line = new LineSegments(new BufferGeometry().setAttribute("position", this.ends), material);
    this.line.renderOrder = 4;
    this.line.visible = false;
    this.line.frustumCulled = false;
  }

  set(from: Vector3, to: Vector3): void {
    this.ends.setXYZ(0, from.x, from.y, from.z);
    this.ends.setXYZ(1, to.x, to.y, to.z);
    this.ends.needsUpdate = true;
    this.line.computeLineDistances();
    this.line.visible = true;
  }

  hide(): void {
    this.line.visible = false;
  }
}

// marks share geometry and materials: they are created and removed with every step of a script
const paint = (color: string, opacity: number) => new MeshBasicMaterial({ color, transparent: true, opacity, depthTest: false, toneMapped: false });
const BALL = new SphereGeometry(4.5, 16, 12);
const RING = new TorusGeometry(9, 1.1, 8, 32);
const NOW = { ball: paint(GOAL, 0.9), ring: paint(GOAL, 0.75), halo: paint("#fffaf2", 0.75) };
const THEN = { ball: paint(GOAL, 0.25), ring: paint(GOAL, 0.4), halo: paint("#fffaf2", 0.3) };
// a pale rim: blue on a blue prop would be hard to see
const HALO = [new SphereGeometry(5.8, 16, 12), new TorusGeometry(9, 2.3, 8, 32)];

/** A goal: a blue ball with a ring, of constant size on the screen; a pale one where it was. */
export function goalMark(past = false): Group {
  const paints = past ? THEN : NOW;
  const [ball, ring] = [new Mesh(BALL, paints.ball), new Mesh(RING, paints.ring)];
  const halo = HALO.map((shape) => new Mesh(shape, paints.halo));
  for (const rim of halo) rim.renderOrder = 5.5;
  ball.renderOrder = ring.renderOrder = 6;
  return new Group().add(...halo, ball, ring);
}

const QUARTERS = [0, 1, 2, 3].map((k) => new CylinderGeometry(8, 8, 0.1, 12, 1, false, (k * Math.PI) / 2, Math.PI / 2).rotateX(Math.PI / 2));
const RIM = new TorusGeometry(8, 0.9, 8, 32);
const [DARK, PALE] = [paint("#2c2622", 0.9), paint("#fffaf2", 0.9)];

/** The centre of mass: a quartered disc, as on a crash-test body. */
export function comMark(): Group {
  const group = new Group();
  for (const [k, shape] of [...QUARTERS, RIM].entries()) {
    const part = new Mesh(shape, k === 4 || k % 2 ? DARK : PALE);
    part.renderOrder = k === 4 ? 7 : 6;
    group.add(part);
  }
  return group;
}

const PIN = "#c2352b";
const PINS = {
  turn: [new TorusGeometry(11, 1.5, 8, 32)],
  angle: [new CylinderGeometry(6, 6, 0.1, 4, 1).rotateX(Math.PI / 2)],
};
const PIN_RIM = { turn: new TorusGeometry(11, 2.7, 8, 32), angle: new CylinderGeometry(8, 8, 0.1, 4, 1).rotateX(Math.PI / 2) };
const [HOLDS, WAITS, PIN_HALO] = [paint(PIN, 0.95), paint(PIN, 0.35), paint("#fffaf2", 0.7)];

/** A pin: a red ring for an orientation, a red diamond for joint angles; pale while it waits for its event. */
export function pinMark(what: "turn" | "angle", holds: boolean): Group {
  const rim = new Mesh(PIN_RIM[what], PIN_HALO);
  rim.renderOrder = 7.5;
  const parts = PINS[what].map((shape) => new Mesh(shape, holds ? HOLDS : WAITS));
  for (const part of parts) part.renderOrder = 8;
  return new Group().add(rim, ...parts);
}

/** Rotate a mark to the camera and keep its size on the screen. */
export function faceCamera(mark: Group, viewport: Viewport): void {
  mark.scale.setScalar(viewport.metresPerPixel(mark.position));
  mark.quaternion.copy(viewport.camera.quaternion);
}
