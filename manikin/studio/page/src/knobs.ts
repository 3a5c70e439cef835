// The knobs of the scene as sliders and choices, undo, and assist.

import { button, h, setText, throttled } from "./dom";
import type { KnobInfo } from "./messages";
import type { Studio } from "./studio";

class Slider {
  readonly element: HTMLElement;
  private readonly range: HTMLInputElement;
  private readonly number: HTMLInputElement;

  /** moved: while sliding; set: once a value is chosen. */
  constructor(
    label: string,
    hint: string,
    unit: string,
    low: number,
    high: number,
    id: string,
    moved: (value: number) => void,
    set: (value: number) => void,
  ) {
    const step = niceStep(low, high);
    const common = { min: String(low), max: String(high), step: String(step), "aria-label": label };
    this.range = h("input", {
      type: "range",
      ...common,
      "data-testid": `knob-${id}`,
      oninput: () => {
        this.show(this.range.valueAsNumber);
        moved(this.range.valueAsNumber);
      },
      onchange: () => set(this.range.valueAsNumber),
    });
    this.number = h("input", {
      type: "number",
      ...common,
      onchange: () => {
        const value = Math.min(high, Math.max(low, this.number.valueAsNumber));
        if (Number.isFinite(value)) set(value);
      },
    });
    this.element = h(
      "div",
      { class: "knob", title: hint },
      h("div", { class: "name" }, label),
      h("div", { class: "value" }, this.number, h("span", { class: "unit" }, unit)),
      this.range,
    );
    this.low = low;
    this.high = high;
  }

  private readonly low: number;
  private readonly high: number;

  show(value: number | null): void {
    // a slider that the user is moving is not changed
    if (document.activeElement !== this.number) this.number.value = value === null ? "" : String(Number(value.toPrecision(4)));
    if (value !== null && !this.range.matches(":active")) this.range.value = String(value);
    const share = value === null ? 0 : (value - this.low) / (this.high - this.low);
    this.range.style.setProperty("--share", `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`);
  }
}

/** A choice, by number. */
class Choice {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;

  constructor(label: string, hint: string, names: string[], id: string, set: (value: number) => void) {
    const options = names.map((name, k) => h("option", { value: String(k) }, name));
    this.select = h("select", { "aria-label": label, "data-testid": `knob-${id}`, onchange: () => set(Number(this.select.value)) }, ...options);
    this.element = h("div", { class: "knob choice", title: hint }, h("div", { class: "name" }, label), this.select);
  }

  show(value: number | null): void {
    // none of them: the scene has a value of its own
    this.select.selectedIndex = value ?? -1;
  }
}

export class Knobs {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "knobs" });
  private readonly undoButton: HTMLButtonElement;
  private sliders = new Map<string, Slider | Choice>();
  private readonly assist: Slider;
  private readonly assistBox: HTMLElement;
  private readonly impulse = h("div", { class: "faint" });

  constructor(private readonly studio: Studio) {
    this.undoButton = button("undo", "Undo the last knob change (Ctrl+Z)", () => studio.send({ kind: "undo" }), {
      text: "Undo",
      id: "undo",
    });
    const help = throttled(80, (newtons: number) => studio.send({ kind: "assist", newtons }));
    this.assist = new Slider("Assist", "An outside force that helps the character, of at most this size. 0: unassisted physics.", "N", 0, 1000, "assist", help, help);
    this.assistBox = h("section", { class: "assist" }, this.assist.element, this.impulse);
    this.element = h("div", { class: "panel-body" }, this.list, h("div", { class: "row" }, this.undoButton), this.assistBox);
    studio.on("model", (model) => this.build(model.knobs));
    studio.on("knobs", (message) => this.update(message.knobs));
    studio.on("status", (status) => {
      this.undoButton.disabled = status.undo === 0;
      this.assist.show(status.assist);
      this.assistBox.classList.toggle("on", status.assist > 0);
      setText(
        this.impulse,
        status.assist > 0 || status.assist_impulse > 0
          ? `Bends physics: ${status.assist_impulse.toFixed(1)} N s so far. It is in the recording.`
          : "Off. Only its joints, the ground and gravity move the character.",
      );
    });
  }

  private build(knobs: KnobInfo[]): void {
    this.sliders = new Map();
    this.list.replaceChildren();
    if (!knobs.length) this.list.append(h("p", { class: "faint" }, "This scene has no knobs."));
    for (const knob of knobs) {
      const send = (value: number) => void this.studio.send({ kind: "knob", path: knob.path, value });
      const hint = knob.live ? `${knob.path}: takes effect at once` : `${knob.path}: the scene starts again`;
      if (knob.choices.length) {
        const choice = new Choice(knob.title, hint, knob.choices, knob.path, send);
        this.sliders.set(knob.path, choice);
        if (!knob.live) choice.element.querySelector(".name")!.append(h("small", { title: hint }, " restarts"));
        this.list.append(choice.element);
        continue;
      }
      const moved = knob.live ? throttled(80, send) : () => undefined;
      const slider = new Slider(knob.title, hint, knob.unit, knob.low, knob.high, knob.path, moved, send);
      if (!knob.live) slider.element.querySelector(".name")!.append(h("small", { title: hint }, " restarts"));
      this.sliders.set(knob.path, slider);
      this.list.append(slider.element);
    }
    this.update(knobs);
  }

  private update(knobs: KnobInfo[]): void {
    for (const knob of knobs) this.sliders.get(knob.path)?.show(knob.value);
  }
}

/** "props.box.mass" becomes "box mass", "control.compliant" just "compliant". */
export function plainName(path: string): string {
  const parts = path.split(".");
  const words = (parts.length > 2 || parts[0] === "control" ? parts.slice(1) : parts).join(" ").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A step of 1, 2 or 5 times a power of ten, about two hundred of them in the range. */
function niceStep(low: number, high: number): number {
  const rough = (high - low) / 200;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough * 0.999)! * power;
  return Number(step.toPrecision(3));
}
