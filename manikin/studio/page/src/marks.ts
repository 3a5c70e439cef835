// Things drawn over the scene. Forces are orange, goals blue, contacts yellow: the same everywhere.

import {
  BufferGeometry,
  ConeGeometry,
  CylinderGeometry,
  Group,
  Line,
  LineBasicMaterial,
  LineDashedMaterial,
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

/** An arrow of a given width that can be pointed anew every frame. */
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

/** Words that stay at a point of the scene. */
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
  readonly line: Line<BufferGeometry, LineDashedMaterial>;

  constructor(colour: string) {
    const material = new LineDashedMaterial({ color: colour, dashSize: 0.03, gapSize: 0.02, depthTest: false, transparent: true, toneMapped: false });
    this.line = new Line(new BufferGeometry(), material);
    this.line.renderOrder = 4;
    this.line.visible = false;
    this.line.frustumCulled = false;
  }

  set(from: Vector3, to: Vector3): void {
    this.line.geometry.dispose();
    this.line.geometry = new BufferGeometry().setFromPoints([from, to]);
    this.line.computeLineDistances();
    this.line.visible = true;
  }

  hide(): void {
    this.line.visible = false;
  }
}

/** A goal: a blue ball with a ring, of constant size on the screen. */
export function goalMark(): Group {
  const group = new Group();
  const solid = new MeshBasicMaterial({ color: GOAL, transparent: true, opacity: 0.9, depthTest: false, toneMapped: false });
  const rim = new MeshBasicMaterial({ color: GOAL, transparent: true, opacity: 0.55, depthTest: false, toneMapped: false });
  const ball = new Mesh(new SphereGeometry(4.5, 16, 12), solid);
  const ring = new Mesh(new TorusGeometry(9, 1.1, 8, 32), rim);
  ball.renderOrder = ring.renderOrder = 6;
  group.add(ball, ring);
  return group;
}

/** The centre of mass: a quartered disc, as on a crash-test body. */
export function comMark(): Group {
  const group = new Group();
  const paint = (colour: string) => new MeshBasicMaterial({ color: colour, transparent: true, opacity: 0.9, depthTest: false, toneMapped: false });
  const [dark, pale] = [paint("#2c2622"), paint("#fffaf2")];
  for (let k = 0; k < 4; k++) {
    const quarter = new Mesh(new CylinderGeometry(8, 8, 0.1, 12, 1, false, (k * Math.PI) / 2, Math.PI / 2), k % 2 ? dark : pale);
    quarter.rotation.x = Math.PI / 2;
    quarter.renderOrder = 6;
    group.add(quarter);
  }
  const rim = new Mesh(new TorusGeometry(8, 0.9, 8, 32), dark);
  rim.renderOrder = 7;
  group.add(rim);
  return group;
}

/** Turn a mark to the camera and keep its size on the screen. */
export function faceCamera(mark: Group, viewport: Viewport): void {
  mark.scale.setScalar(viewport.metresPerPixel(mark.position));
  mark.quaternion.copy(viewport.camera.quaternion);
}

/** A plain thin line through points. */
export function thinLine(points: Vector3[], colour: string, opacity = 1): Line<BufferGeometry, LineBasicMaterial> {
  const material = new LineBasicMaterial({ color: colour, transparent: true, opacity, toneMapped: false });
  const line = new Line(new BufferGeometry().setFromPoints(points), material);
  line.frustumCulled = false;
  return line;
}
