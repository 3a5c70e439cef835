// Pins of creatures under direct control: the list, when they are set and end, and priorities.

import { type Group, Vector3 } from "three";
import { toView } from "./axes";
import { button, h } from "./dom";
import type { Grab } from "./grab";
import { faceCamera, pinMark } from "./marks";
import type { PinInfo, TaskRank } from "./messages";
import type { Studio } from "./studio";
import type { Viewport } from "./viewport";

type Event = NonNullable<PinInfo["at"]>;
const AT: Record<Event, string> = { lift_off: "at lift-off", falling: "when it falls", touch_down: "at touch-down" };
const OURS: Record<string, string> = { studio_drag: "your drag", studio_turn: "your rotation", studio_lean: "your lean", studio_keys: "your keys" };

/** What a pin keeps, in words. */
export function pinWords(pin: PinInfo): string {
  return `${pin.target.replaceAll("_", " ")} ${pin.what === "turn" ? "orientation" : "angle"}`;
}

/** The events of a pin, in words. */
function armWords(pin: PinInfo): string {
  const first = pin.at ? `${AT[pin.at]}: pin ${pinWords(pin)}` : "";
  const last = pin.until ? `${first ? ", " : ""}${AT[pin.until]}: release` : "";
  return first + last;
}

function stateWords(pin: PinInfo): string {
  if (pin.off) return "switched off";
  const fired = pin.fired === null ? "" : `set at ${pin.fired.toFixed(2)} s`;
  if (pin.ended !== null) return `${fired}${fired ? ", " : ""}released at ${pin.ended.toFixed(2)} s`;
  if (pin.holds) return fired || "holds";
  return "waits";
}

export class Pinboard {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "pins", "data-testid": "pins" });
  private readonly tasks = h("div", { class: "pins ranks", "data-testid": "ranks" });
  private readonly marks = new Map<string, Group>();

  constructor(
    private readonly studio: Studio,
    private readonly viewport: Viewport,
    private readonly grab: Grab,
    more: HTMLElement,
  ) {
    const how = "Point at a body part: P pins its orientation, J the angles of its joints; the same key again releases it. Pins come before your drag.";
    this.element = h(
      "div",
      { class: "panel-body" },
      h("p", { class: "faint" }, how),
      h(
        "div",
        { class: "row" },
        button("pin", "Pin or release the orientation of the part you pressed last", () => this.toggleSelected("turn"), { text: "Turn", id: "pin-turn" }),
        button("pin", "Pin or release the joints of the part you pressed last", () => this.toggleSelected("angle"), { text: "Joint", id: "pin-angle" }),
      ),
      this.list,
      more,
      h("h3", {}, "Other tasks, by priority"),
      this.tasks,
    );
    studio.on("pins", () => this.show());
    studio.on("model", () => this.show());
    viewport.beforeDraw.push(() => this.draw());
  }

  /** Names of the marks that are drawn. */
  get names(): string[] {
    return [...this.marks.keys()];
  }

  /** Pin what is under the pointer, or release it. False where there are no pins. */
  toggle(what: PinInfo["what"]): boolean {
    if (!this.studio.model?.direct) return false;
    return this.pin(this.grab.partUnder(), what);
  }

  /** Without a keyboard: the part that was pressed last. */
  private toggleSelected(what: PinInfo["what"]): void {
    const selected = this.studio.model?.bodies.find((body) => body.name === this.studio.selected);
    this.pin(selected?.part_of === "character" ? selected.name : undefined, what);
  }

  private pin(target: string | undefined, what: PinInfo["what"]): boolean {
    if (!target) {
      this.studio.say("Point at a part of the character, or press it first, to pin it.");
      return true;
    }
    const pin = this.studio.pins?.pins.find((p) => p.target === target && p.what === what);
    if (pin) this.studio.send({ kind: "unpin", pin: pin.task });
    else this.studio.send({ kind: "pin", target, what });
    return true;
  }

  private show(): void {
    const pins = this.studio.pins?.pins ?? [];
    this.list.replaceChildren(...pins.map((pin) => this.row(pin)));
    if (!pins.length) this.list.append(h("p", { class: "faint" }, "Nothing is pinned."));
    this.tasks.replaceChildren(...(this.studio.pins?.tasks ?? []).map((task) => this.taskRow(task)));
    this.viewport.invalidate();
  }

  private row(pin: PinInfo): HTMLElement {
    const { studio } = this;
    const arm = (change: Partial<Pick<PinInfo, "at" | "then" | "until">>) => {
      const { at, then, until } = { ...pin, ...change };
      studio.send({ kind: "arm", pin: pin.task, at, then, until });
    };
    const set = choice("When it is set", "pin-at", pin.at, "now", (at) => arm({ at, then: at !== null && pin.what === "turn" }));
    const end = choice("When it is released", "pin-until", pin.until, "until released", (until) => arm({ until }), "until ");
    const then = h(
      "select",
      { title: "What it keeps", "data-testid": "pin-then", hidden: !pin.at, onchange: () => arm({ then: then.value === "then" }) },
      h("option", { value: "now" }, "as it is now"),
      h("option", { value: "then" }, "as it is then"),
    );
    then.value = pin.then ? "then" : "now";
    const row = h(
      "div",
      { class: "pin", "data-testid": "pin", "data-pin": pin.task, "data-holds": String(pin.holds) },
      h(
        "div",
        { class: "line" },
        this.rank(pin.task, pin.priority),
        h("span", { class: "name" }, pinWords(pin)),
        this.power(pin.task, !pin.off),
        button("trash", "Remove", () => studio.send({ kind: "unpin", pin: pin.task }), { class: "quiet", id: "pin-remove" }),
      ),
      h("div", { class: "line" }, set, then, end),
      h("small", { class: pin.holds ? "state holds" : "state" }, [armWords(pin), stateWords(pin)].filter(Boolean).join(" · ")),
    );
    row.classList.toggle("off", pin.off || pin.ended !== null);
    return row;
  }

  private taskRow(task: TaskRank): HTMLElement {
    const name = OURS[task.name] ?? task.name.replaceAll("_", " ");
    const row = h(
      "div",
      { class: "pin line", "data-testid": "rank", "data-task": task.name },
      this.rank(task.name, task.priority),
      h("span", { class: "name" }, name),
      task.own ? this.power(task.name, task.active) : null,
    );
    row.classList.toggle("off", !task.active && task.own);
    return row;
  }

  /** A priority with the buttons that change it. */
  private rank(task: string, priority: number): HTMLElement {
    const send = (to: number) => this.studio.send({ kind: "rank", task, priority: to });
    const up = button("up", "More important", () => send(priority - 1), { class: "quiet", id: "rank-up" });
    up.disabled = priority === 0;
    const down = button("lower", "Less important", () => send(priority + 1), { class: "quiet", id: "rank-down" });
    return h("span", { class: "rank" }, up, h("b", { class: "order", title: "Priority; 0 comes first" }, String(priority)), down);
  }

  private power(task: string, on: boolean): HTMLButtonElement {
    const out = button("power", on ? "Switch off" : "Switch on", () => this.studio.send({ kind: "switch", task, on: !on }), { class: "quiet", id: "pin-power" });
    out.setAttribute("aria-pressed", String(on));
    return out;
  }

  private draw(): void {
    const { status, frame, model } = this.studio;
    const pins = status?.seeking || !frame || !model ? [] : (this.studio.pins?.pins ?? []);
    const wanted = new Map(pins.filter((p) => p.ended === null && !p.off).map((p) => [`${p.what} ${p.target} ${p.holds ? "holds" : "waits"}`, p]));
    for (const [name, mark] of this.marks) {
      if (wanted.has(name)) continue;
      mark.removeFromParent();
      this.marks.delete(name);
    }
    for (const [name, pin] of wanted) {
      const k = model!.bodies.findIndex((body) => body.name === pin.target);
      if (k < 0) continue;
      let mark = this.marks.get(name);
      if (!mark) {
        mark = pinMark(pin.what, pin.holds);
        this.marks.set(name, mark);
        this.viewport.scene.add(mark);
      }
      toView(frame!.poses, mark.position as Vector3, 7 * k);
      faceCamera(mark, this.viewport);
    }
  }
}

/** One of the events, or none. */
function choice(title: string, id: string, value: Event | null, none: string, changed: (event: Event | null) => void, before = ""): HTMLSelectElement {
  const words = Object.entries(AT).map(([event, text]) => h("option", { value: event }, before ? before + text.replace(/^(at|when) /, "") : text));
  const out = h("select", { title, "data-testid": id, onchange: () => changed((out.value || null) as Event | null) }, h("option", { value: "" }, none), ...words);
  out.value = value ?? "";
  return out;
}
