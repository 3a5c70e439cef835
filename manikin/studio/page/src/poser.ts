// Key poses: while paused a doll is bent by hand, its poses are kept, and the character follows them through physics.

import { button, h } from "./dom";
import type { Figure } from "./figure";
import type { Grab, PoseDrag } from "./grab";
import { FRAME_POSE } from "./messages";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

const DOLL = "#c2352b";
// default time between keys [s]
const APART = 0.3;

export class Poser {
  readonly element: HTMLElement;
  /** Drags bend the doll, and move nothing else. */
  on = false;
  private figure: Figure | undefined;
  private doll: Figure | undefined;
  private readonly time = h("input", { type: "number", min: "0.01", max: "60", step: "0.05", value: String(APART), title: "Seconds after the start of the keys", "data-testid": "key-time" });
  private readonly list = h("div", { class: "pins", "data-testid": "keys" });
  private readonly toggle: HTMLButtonElement;
  private readonly stop: HTMLButtonElement;

  constructor(
    private readonly studio: Studio,
    private readonly viewport: Viewport,
    private readonly grab: Grab,
  ) {
    this.toggle = button("pen", "Pose a doll for a key (O)", () => this.set(!this.on), { text: "Pose", id: "posing" });
    this.stop = button("close", "Stop following the keys", () => studio.send({ kind: "follow", keys: [] }), { text: "Stop", id: "keys-stop" });
    this.element = h(
      "div",
      { class: "keyframes" },
      h("h3", {}, "Key poses"),
      h("p", { class: "faint" }, "Pose (O): drag parts of the red doll. K keeps its pose. Play follows the keys from now on, along a B-spline, by joint torques."),
      h("div", { class: "row" }, this.toggle, this.time, h("span", { class: "faint" }, "s"), button("save", "Keep this pose as a key (K)", () => this.keep(), { text: "Keep", id: "key-add" })),
      this.list,
      h("div", { class: "row" }, button("play", "Follow the keys from now", () => this.play(), { text: "Play keys", id: "keys-play" }), this.stop),
    );
    const send = (drag: PoseDrag) => void studio.send({ kind: "pose", ...drag });
    grab.posing = () => (this.on ? send : undefined);
    studio.on("pins", () => this.show());
    studio.on("model", () => {
      this.set(false);
      this.show();
    });
    studio.on("status", (status) => this.on && status.playing && this.set(false));
    studio.onFrame((frame) => {
      if (frame.kind !== FRAME_POSE || !this.figure || !studio.pins?.posing) return;
      if (!this.doll) viewport.add((this.doll = this.figure.ghost(DOLL, 0.45)).root);
      this.doll.pose(frame.poses, frame.meshes);
      grab.doll = this.on ? this.doll : undefined;
      viewport.invalidate();
    });
  }

  /** Use another figure for the doll. */
  use(figure: Figure): void {
    this.drop();
    this.figure = figure;
  }

  get shown(): boolean {
    return this.doll !== undefined;
  }

  /** Switch between bending a doll and moving the character. False where there are no dolls. */
  set(on: boolean): boolean {
    if (on && !this.studio.model?.direct) return false;
    if (on && this.studio.status?.playing) this.studio.send({ kind: "pause" });
    if (!on && this.on) this.studio.send({ kind: "pose_end" });
    this.on = on;
    this.toggle.setAttribute("aria-pressed", String(on));
    this.grab.doll = on ? this.doll : undefined;
    return true;
  }

  /** Keep the pose as a key; false while nothing is posed. */
  keep(): boolean {
    if (!this.on) return false;
    const time = Number(this.time.value);
    this.studio.send({ kind: "key_add", time });
    this.time.value = (time + APART).toFixed(2);
    return true;
  }

  private play(): void {
    const keys = this.studio.pins?.keys ?? [];
    if (!keys.length) return this.studio.say("There are no keys yet: pose (O), then keep the pose (K).");
    this.set(false);
    this.studio.send({ kind: "follow", keys });
    this.studio.send({ kind: "play" });
  }

  private show(): void {
    const keys = this.studio.pins?.keys ?? [];
    const rows = keys.map((key, number) =>
      h(
        "div",
        { class: "pin line", "data-testid": "key" },
        h("span", { class: "name number" }, `${key[0]!.toFixed(2)} s`),
        button("trash", "Delete this key", () => this.studio.send({ kind: "key_drop", number }), { class: "quiet", id: "key-drop" }),
      ),
    );
    this.list.replaceChildren(...rows);
    this.stop.disabled = !this.studio.pins?.follows;
    if (!this.studio.pins?.posing) this.drop();
  }

  private drop(): void {
    this.doll?.dispose();
    this.doll = this.grab.doll = undefined;
    this.viewport.invalidate();
  }
}
