// The take along a line: drag to look back, try again from any moment. Ticks show where steps of the script began.

import { button, h, setText, throttled } from "./dom";
import type { Tick } from "./messages";
import type { Studio } from "./studio";

export class Timeline {
  readonly element: HTMLElement;
  private readonly track: HTMLElement;
  private readonly done = h("div", { class: "done" });
  private readonly head = h("div", { class: "head" });
  private readonly ticks = h("div", { class: "ticks" });
  private readonly clock = h("output", { class: "clock", "data-testid": "clock" }, "0.00 s");
  private readonly again: HTMLButtonElement;
  private span = 5;
  private length = 0;
  private time = 0;
  private drawn: Tick[] = [];
  private readonly seek: (time: number) => void;

  constructor(private readonly studio: Studio) {
    this.seek = throttled(40, (time) => studio.send({ kind: "seek", time }));
    this.track = h(
      "div",
      {
        class: "track",
        tabIndex: 0,
        role: "slider",
        "aria-label": "Time",
        "aria-valuemin": "0",
        "data-testid": "timeline",
        onpointerdown: (event: PointerEvent) => this.press(event),
        onpointermove: (event: PointerEvent) => this.track.hasPointerCapture(event.pointerId) && this.scrub(event.clientX),
        onkeydown: (event: KeyboardEvent) => this.key(event),
      },
      this.done,
      this.ticks,
      this.head,
    );
    this.again = button("branch", "Try again from here, as a new take (T)", () => this.branch(), {
      text: "Try again from here",
      class: "again",
      id: "branch",
    });
    this.again.disabled = true;
    this.element = h("div", { class: "timeline" }, this.clock, this.track, this.again);
    studio.on("status", (status) => {
      this.length = status.length;
      this.time = status.time;
      this.again.disabled = !status.seeking;
      this.element.classList.toggle("seeking", status.seeking);
      this.draw(status.ticks);
    });
  }

  /** Continue from the moment that is shown. */
  branch(): void {
    if (this.studio.status?.seeking) this.studio.send({ kind: "branch", time: this.studio.status.time });
  }

  /** Look so many seconds earlier or later. */
  nudge(seconds: number): void {
    this.seek(Math.min(this.length, Math.max(0, this.time + seconds)));
  }

  private draw(ticks: Tick[]): void {
    const before = this.span;
    this.span = Math.max(this.length, this.studio.model?.seconds ?? 0, 2);
    const percent = (time: number) => `${((100 * time) / this.span).toFixed(3)}%`;
    this.done.style.width = percent(this.length);
    this.head.style.left = percent(this.time);
    if (before !== this.span || !same(ticks, this.drawn)) {
      this.drawn = ticks;
      const mark = (tick: Tick) => h("i", { title: `${tick.name.replaceAll("_", " ")}, ${tick.time.toFixed(2)} s`, style: `left: ${percent(tick.time)}` });
      this.ticks.replaceChildren(...ticks.map(mark));
    }
    setText(this.clock, `${this.time.toFixed(2)} s`);
    this.track.setAttribute("aria-valuemax", this.length.toFixed(2));
    this.track.setAttribute("aria-valuenow", this.time.toFixed(2));
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.track.setPointerCapture(event.pointerId);
    this.scrub(event.clientX);
  }

  private scrub(x: number): void {
    const box = this.track.getBoundingClientRect();
    this.seek(Math.min(this.length, Math.max(0, ((x - box.left) / box.width) * this.span)));
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Home") this.seek(0);
    else if (event.key === "End") this.seek(this.length);
    else return;
    event.preventDefault();
  }
}

function same(a: Tick[], b: Tick[]): boolean {
  return a.length === b.length && a.every((tick, k) => tick.time === b[k]!.time && tick.name === b[k]!.name);
}
