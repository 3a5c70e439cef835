// Play, pause, step, reset, speed.

import { button, h, icon, setText } from "./dom";
import { SPEEDS } from "./messages";
import type { Studio } from "./studio";

const NAMES: Record<number, string> = { 1: "1×", 0.5: "½×", 0.25: "¼×", 0.125: "⅛×" };

export class Transport {
  readonly element: HTMLElement;

  constructor(private readonly studio: Studio) {
    const play = button("play", "Play (Space)", () => studio.togglePlay(), { class: "primary", id: "play" });
    const step = button("step", "One step of physics (.)", () => this.step(), { id: "step" });
    const reset = button("reset", "Back to the start, as a new take (R)", () => studio.send({ kind: "reset" }), { id: "reset" });
    const pressed = button("hand", "Run only while something is held (H)", () => this.togglePressed(), { id: "pressed" });
    const show = h("button", { type: "button", class: "quiet", hidden: true, "data-testid": "show", onclick: () => this.show() }, "");
    const speeds = SPEEDS.map((factor) =>
      h(
        "button",
        {
          type: "button",
          title: `Speed ${NAMES[factor]}`,
          "aria-pressed": "false",
          "data-testid": `speed-${factor}`,
          onclick: () => studio.send({ kind: "speed", factor }),
        },
        NAMES[factor] ?? String(factor),
      ),
    );
    this.element = h("div", { class: "transport" }, play, pressed, step, reset, show, h("div", { class: "segments", role: "group" }, ...speeds));
    studio.on("model", (model) => {
      // creatures are played freely, and can show what they do by themselves
      show.hidden = !model.direct;
      setText(show, model.scripted ? "Play freely" : "Show me");
      show.title = model.scripted ? "Without the script of the scene, as a new take" : "Watch the script of the scene, as a new take";
    });
    let playing: boolean | undefined;
    studio.on("status", (status) => {
      if (status.playing !== playing) {
        playing = status.playing;
        play.replaceChildren(icon(playing ? "pause" : "play"));
        play.title = playing ? "Pause (Space)" : "Play (Space)";
        play.setAttribute("aria-label", play.title);
      }
      pressed.setAttribute("aria-pressed", String(status.while_pressed));
      speeds.forEach((b, k) => b.setAttribute("aria-pressed", String(SPEEDS[k] === status.speed)));
    });
  }

  /** Watch what the scene's script does, or play without it. */
  show(): void {
    const model = this.studio.model;
    if (!model?.direct) return;
    this.studio.send({ kind: "open", scene: model.scene, script: !model.scripted });
    if (!model.scripted) this.studio.send({ kind: "play" });
  }

  togglePressed(): void {
    this.studio.send({ kind: "while_pressed", on: !this.studio.status?.while_pressed });
  }

  step(): void {
    if (this.studio.status?.playing) this.studio.send({ kind: "pause" });
    this.studio.send({ kind: "step", steps: 1 });
  }
}
