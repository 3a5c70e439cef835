// Grabbing: press on a body, a goal or the centre of mass, and drag it in the plane that faces the camera.

import { Plane, Quaternion, Vector3 } from "three";
import { toView, toWorld, toWorldQuat } from "./axes";
import type { Figure } from "./figure";
import { FORCE, GOAL, Arrow, faceCamera, goalMark, Label, NEWTONS_PER_METRE, Thread } from "./marks";
import type { Handle, InputMessage, Marker, Mode, StatusMessage, Vec3 } from "./messages";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

interface Drag {
  point: Vec3;
  /** Whether it is a doll that is dragged. */
  poses: ((drag: PoseDrag) => void) | undefined;
  pointer: number;
  target: string;
  mode: Mode;
  plane: Plane;
  /** From where the pointer meets the plane to what is dragged. */
  offset: Vector3;
  goal: Vector3;
  turn: Quaternion;
  turned: boolean;
  /** Held without a pointer down. */
  pinned: boolean;
  x: number;
  y: number;
}

/** Where a part of the doll is dragged to. */
export interface PoseDrag {
  target: string;
  point: Vec3;
  goal: Vec3;
}

interface Pick {
  target: string;
  mode: Mode;
  place: Vector3;
  point: [number, number, number];
}

// the largest distance from a mark at which a press grabs it [CSS px]
const REACH = { mouse: 11, touch: 24 };
// degrees per press of a rotation key, metres of depth per notch of the wheel
const TURN = (6 * Math.PI) / 180;
const DEPTH = 0.03;

export class Grab {
  /** Push with a plain drag, without a Shift key. */
  pushing = false;
  /** Presses that are not for the figure: previews get them first. */
  beforePick: ((x: number, y: number) => boolean) | undefined;
  /** Whether what is held stays held with no pointer down, while a future is chosen. */
  staysHeld: () => boolean = () => false;
  /** While a doll is posed: receives drags, which then move nothing else. */
  posing: () => ((drag: PoseDrag) => void) | undefined = () => undefined;
  /** The doll, once there is one: presses then hit it. */
  doll: Figure | undefined;
  enabled = true;
  figure: Figure | undefined;
  sent = 0;
  /** The force arrow as drawn, for tests and screen readers. */
  shown = { visible: false, newtons: 0, text: "" };
  private drag: Drag | undefined;
  private pointer = { x: -1, y: -1 };
  private second: { pointer: number; y: number } | undefined;
  private readonly arrow = new Arrow(FORCE, 0.009);
  private readonly thread = new Thread(GOAL);
  private readonly springThread = new Thread(FORCE);
  private readonly wanted = goalMark();
  private readonly label: Label;
  private readonly assistArrow = new Arrow(FORCE, 0.012);
  private readonly assistLabel: Label;
  private readonly viewport: Viewport;

  constructor(
    private readonly studio: Studio,
    makeViewport: (listen: (canvas: HTMLCanvasElement) => void) => Viewport,
  ) {
    this.viewport = makeViewport((canvas) => this.listen(canvas));
    this.label = new Label(this.viewport, "force", "force-label");
    this.assistLabel = new Label(this.viewport, "force", "assist-label");
    this.wanted.visible = false;
    this.viewport.scene.add(this.arrow.group, this.thread.line, this.springThread.line, this.wanted, this.assistArrow.group);
    this.viewport.beforeDraw.push(() => this.draw());
    studio.on("input", () => this.viewport.invalidate());
    studio.on("status", () => this.viewport.invalidate());
    studio.on("model", () => {
      // the figure of this model must be loaded before bodies are picked
      this.figure = undefined;
      this.drop();
    });
    studio.onLink((link) => link.state !== "open" && this.drop());
  }

  get view(): Viewport {
    return this.viewport;
  }

  get dragging(): boolean {
    return this.drag !== undefined;
  }

  /** The target under the pointer; undefined leaves the press to the camera. */
  pick(x: number, y: number, touch = false, push = false): Pick | undefined {
    const status = this.studio.status;
    if (!push && !this.posing() && status && !status.seeking) {
      const reach = touch ? REACH.touch : REACH.mouse;
      const near = (place: Vector3) => {
        const at = this.viewport.project(place);
        return at ? Math.hypot(at.x - x, at.y - y) : Infinity;
      };
      const things: { thing: Marker | Handle; mode: Mode; far: number }[] = [
        ...status.markers.filter((m) => m.active).map((thing) => ({ thing, mode: "goal" as Mode, far: near(toView(thing.place)) })),
        ...status.handles.map((thing) => ({ thing, mode: "com" as Mode, far: near(toView(thing.place)) })),
      ];
      const nearest = things.sort((a, b) => a.far - b.far)[0];
      if (nearest && nearest.far <= reach) {
        return { target: nearest.thing.name, mode: nearest.mode, place: toView(nearest.thing.place), point: [0, 0, 0] };
      }
    }
    const figure = this.doll ?? this.figure;
    const hit = figure?.pick(this.viewport.rayAt(x, y));
    const body = hit && figure!.bodies[hit.body];
    if (!hit || !body || body.modes.length === 0) return undefined;
    const mode = push && body.modes.includes("push") ? "push" : body.modes[0]!;
    const point = toWorld(hit.point.clone().applyMatrix4(figure!.matrix(hit.body).invert()));
    return { target: body.name, mode, place: hit.point, point };
  }

  /** The part of a character that is held, or under the pointer. */
  partUnder(): string | undefined {
    if (this.drag) return this.drag.mode === "task" ? this.drag.target : undefined;
    const hit = this.figure?.pick(this.viewport.rayAt(this.pointer.x, this.pointer.y));
    const body = hit && this.figure!.bodies[hit.body];
    return body?.part_of === "character" ? body.name : undefined;
  }

  /** Rotate what is held about the line of sight. */
  turn(sign: number): void {
    if (!this.drag) return;
    const axis = this.viewport.camera.getWorldDirection(new Vector3());
    this.drag.turn.premultiply(new Quaternion().setFromAxisAngle(axis, sign * TURN));
    this.drag.turned = true;
    this.tell();
  }

  private listen(canvas: HTMLCanvasElement): void {
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    // raw updates arrive without waiting for the next animation frame
    const raw = "onpointerrawupdate" in window;
    if (raw) canvas.addEventListener("pointerrawupdate", (event) => this.move(event as PointerEvent));
    canvas.addEventListener("pointermove", (event) => this.move(event, raw));
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
      canvas.addEventListener(name, (event) => this.release(event));
    }
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  private press(event: PointerEvent): void {
    if (this.drag?.pinned) {
      if (event.button !== 0 || this.beforePick?.(event.clientX, event.clientY)) return;
      this.letGo();
    }
    if (this.drag && event.pointerId !== this.drag.pointer) {
      // a second finger moves what is held in depth
      this.second = { pointer: event.pointerId, y: event.clientY };
      return;
    }
    if (event.button !== 0 || !this.enabled) return;
    if (this.beforePick?.(event.clientX, event.clientY)) return;
    const pick = this.pick(event.clientX, event.clientY, event.pointerType === "touch", event.shiftKey || this.pushing);
    if (!pick) return;
    if (this.studio.status?.seeking) {
      this.studio.say("This is an earlier moment: T tries again from here, Space continues from the end.");
      return;
    }
    this.viewport.controls.enabled = false;
    this.viewport.canvas.setPointerCapture(event.pointerId);
    const facing = this.viewport.camera.getWorldDirection(new Vector3()).negate();
    const plane = new Plane().setFromNormalAndCoplanarPoint(facing, pick.place);
    this.drag = {
      point: pick.point,
      poses: this.posing(),
      pointer: event.pointerId,
      target: pick.target,
      mode: pick.mode,
      plane,
      offset: new Vector3(),
      goal: pick.place.clone(),
      turn: new Quaternion(),
      turned: false,
      pinned: false,
      x: event.clientX,
      y: event.clientY,
    };
    const under = this.under(this.drag);
    if (under) this.drag.offset.copy(pick.place).sub(under);
    if (!this.drag.poses) this.studio.send({ kind: "grab", target: pick.target, mode: pick.mode, point: pick.point });
    this.studio.selected = pick.target;
    this.viewport.canvas.classList.add("holding");
    this.viewport.invalidate();
  }

  private move(event: PointerEvent, afterRaw = false): void {
    this.pointer = { x: event.clientX, y: event.clientY };
    if (this.second && event.pointerId === this.second.pointer) {
      this.deepen(0.004 * (this.second.y - event.clientY));
      this.second.y = event.clientY;
      return;
    }
    if (!this.drag || this.drag.pinned || event.pointerId !== this.drag.pointer) return this.hover(event);
    if (afterRaw && event.clientX === this.drag.x && event.clientY === this.drag.y) return;
    this.drag.x = event.clientX;
    this.drag.y = event.clientY;
    this.follow();
  }

  private hover(event: PointerEvent): void {
    if (event.type !== "pointermove" || event.pointerType === "touch" || event.buttons || !this.enabled) return;
    const push = event.shiftKey || this.pushing;
    this.viewport.canvas.style.cursor = push ? "crosshair" : "";
  }

  private wheel(event: WheelEvent): void {
    // while a future is chosen the wheel moves the camera
    if (!this.drag || this.drag.pinned) return;
    event.preventDefault();
    this.deepen(-Math.sign(event.deltaY) * DEPTH);
  }

  /** Move what is held away from the camera. */
  private deepen(metres: number): void {
    if (!this.drag) return;
    const along = this.drag.plane.normal.clone().multiplyScalar(-metres);
    this.drag.plane.translate(along);
    this.follow();
  }

  private under(drag: Drag): Vector3 | null {
    return this.viewport.rayAt(drag.x, drag.y).ray.intersectPlane(drag.plane, new Vector3());
  }

  private follow(): void {
    const drag = this.drag!;
    const under = this.under(drag);
    if (!under) return;
    drag.goal.copy(under).add(drag.offset);
    this.tell();
  }

  private tell(): void {
    const drag = this.drag!;
    if (drag.poses) return drag.poses({ target: drag.target, point: drag.point, goal: toWorld(drag.goal) });
    // with no pointer down it is where the server has it
    if (drag.pinned && this.studio.input) toView(this.studio.input.goal, drag.goal);
    const turn = drag.turned ? toWorldQuat(drag.turn) : null;
    if (this.studio.send({ kind: "drag", goal: toWorld(drag.goal), turn, stamp: performance.now() })) this.sent++;
    this.viewport.invalidate();
  }

  private release(event: PointerEvent): void {
    if (this.second?.pointer === event.pointerId) this.second = undefined;
    if (!this.drag || this.drag.pinned || event.pointerId !== this.drag.pointer) return;
    if (this.staysHeld()) {
      this.drag.pinned = true;
      this.viewport.controls.enabled = true;
    } else this.letGo();
  }

  letGo(): void {
    if (!this.drag) return;
    if (!this.drag.poses) this.studio.send({ kind: "release" });
    this.drop();
  }

  private drop(): void {
    this.drag = this.second = undefined;
    this.viewport.controls.enabled = true;
    this.viewport.canvas.classList.remove("holding");
    this.viewport.invalidate();
  }

  // --- what is drawn

  private draw(): void {
    // forces belong to the present
    const past = this.studio.status?.seeking;
    this.drawInput(past ? undefined : this.studio.input);
    this.drawAssist(past ? undefined : this.studio.status);
  }

  private drawInput(input: InputMessage | undefined): void {
    const held = input?.held ? input : undefined;
    this.wanted.visible = !!held && held.mode === "task";
    const outside = !!held && (held.mode === "push" || held.mode === "spring");
    this.shown = { visible: outside && held!.newtons > 0, newtons: held?.newtons ?? 0, text: "" };
    if (!held) {
      for (const thing of [this.arrow, this.thread, this.springThread, this.label]) thing.hide();
      return;
    }
    const [point, goal] = [toView(held.point), toView(held.goal)];
    // the pointer is ahead of what the server has received
    if (this.drag && !this.drag.pinned) goal.copy(this.drag.goal);
    this.wanted.position.copy(goal);
    faceCamera(this.wanted, this.viewport);
    const force = toView(held.force).divideScalar(NEWTONS_PER_METRE);
    if (outside) this.thread.hide();
    else this.thread.set(point, goal);
    if (held.mode === "spring") this.springThread.set(point, goal);
    else this.springThread.hide();
    if (outside) this.arrow.set(point, force);
    else this.arrow.hide();
    const full = held.limit !== null && held.newtons >= 0.98 * held.limit;
    const text = held.newtons < 0.5 ? "" : `${held.newtons.toFixed(0)} N${full ? " (most)" : ""}`;
    this.shown.text = text;
    const tip = outside ? point.clone().add(force) : goal;
    // while a future is chosen another label is shown here
    this.label.set(this.staysHeld() ? "" : text, tip);
  }

  private drawAssist(status: StatusMessage | undefined): void {
    const force = status ? toView(status.assist_force) : new Vector3();
    const root = status?.handles[0];
    if (!root || force.length() < 1) {
      this.assistArrow.hide();
      this.assistLabel.hide();
      return;
    }
    const from = toView(root.place);
    const along = force.clone().divideScalar(NEWTONS_PER_METRE);
    this.assistArrow.set(from, along);
    this.assistLabel.set(`assist ${force.length().toFixed(0)} N`, from.add(along));
  }
}
