// Shortcuts: one table makes both the keys and the help sheet.

import { button, h } from "./dom";

export interface Shortcut {
  keys: string[];
  what: string;
  run?: () => void;
  /** Repeats while the key is held down. */
  repeats?: boolean;
}

const MOUSE: [string, string][] = [
  ["Drag a body part", "It follows, by its own joint torques"],
  ["Shift + drag", "Push; the arrow shows newtons"],
  ["Drag a prop", "Pulls it by a spring"],
  ["Drag the chequered disc", "Moves the centre of mass"],
  ["Drag a blue mark", "Moves a goal"],
  ["Wheel while dragging", "Nearer or farther"],
  ["Drag the ground", "Rotates the view"],
  ["Right drag", "Moves the view"],
  ["Second finger on the screen", "Nearer or farther, by touch"],
];

export class Help {
  readonly element: HTMLDialogElement;

  constructor(shortcuts: Shortcut[]) {
    const keys = shortcuts.map((s) => h("tr", {}, h("th", {}, ...s.keys.map((k) => h("kbd", {}, k))), h("td", {}, s.what)));
    const half = Math.ceil(keys.length / 2);
    const mouse = MOUSE.map(([how, what]) => h("tr", {}, h("th", {}, how), h("td", {}, what)));
    this.element = h(
      "dialog",
      { class: "help", "data-testid": "help", onclick: (event: Event) => event.target === this.element && this.element.close() },
      h("header", {}, h("h1", {}, "Help"), button("close", "Close (Esc)", () => this.element.close(), { class: "quiet" })),
      h("div", { class: "columns" }, h("table", {}, ...mouse), h("table", {}, ...keys.slice(0, half)), h("table", {}, ...keys.slice(half))),
    );
  }

  toggle(): void {
    if (this.element.open) this.element.close();
    else this.element.showModal();
  }
}

const NAMES: Record<string, string> = { " ": "Space", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

/** The name of a key press as the table writes it. */
function nameOf(event: KeyboardEvent): string {
  const key = NAMES[event.key] ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  return event.ctrlKey || event.metaKey ? `Ctrl+${key}` : key;
}

export function listenToKeys(shortcuts: Shortcut[]): void {
  window.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const writing = target.matches("input:not([type=range]), textarea");
    if (event.altKey || (writing && event.key !== "Escape")) return;
    const name = nameOf(event);
    // while the help sheet is open only Esc works, and closes it
    if (document.querySelector("dialog[open]") && name !== "?") return;
    // a focused button or slider handles its own keys
    if (target.matches("button, summary, a") && (name === "Space" || name === "Enter") && target.matches(":focus-visible")) return;
    if (target.matches("input[type=range]") && name.match(/^[←→]$/)) return;
    const shortcut = shortcuts.find((s) => s.keys.includes(name));
    if (!shortcut?.run || (event.repeat && !shortcut.repeats)) return;
    event.preventDefault();
    shortcut.run();
  });
}
