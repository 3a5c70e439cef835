// The list of takes, those of earlier runs included.

import { download, exportAddress, type ExportFormat, upload } from "./addresses";
import { button, h, icon } from "./dom";
import { GHOST_COLOURS } from "./ghosts";
import type { TakeInfo } from "./messages";
import type { Studio } from "./studio";

const FORMATS: [ExportFormat, string][] = [
  ["glb", "GLB: figure and motion, for Blender and game engines"],
  ["bvh", "BVH: the skeleton's motion"],
  ["mp4", "MP4: a film"],
  ["npz", "NPZ: everything, to replay exactly"],
];

export class Takes {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "takes", "data-testid": "takes" });
  private drawn = "";
  /** The take that is being renamed: the list is not rebuilt until that is done. */
  private naming = "";

  constructor(private readonly studio: Studio) {
    const file = h("input", { type: "file", accept: ".npz", hidden: true, onchange: () => void this.load(file) });
    const load = button("open", "Load a recording (.npz) from this computer", () => file.click(), { text: "Load a recording" });
    this.element = h("div", { class: "panel-body" }, this.list, h("div", { class: "row" }, load, file));
    // a press elsewhere closes an open menu
    document.addEventListener("pointerdown", (event) => this.closeMenus(event.target as Node));
    studio.on("takes", () => this.draw());
    studio.on("model", () => this.draw());
    let take = "";
    studio.on("status", (status) => {
      if (status.take !== take) {
        take = status.take;
        this.draw();
      }
      this.grow(status.take, status.length);
    });
  }

  /** Close open menus except the one around `inside`; whether there were any. */
  closeMenus(inside?: Node): boolean {
    const open = [...this.list.querySelectorAll("details[open]")].filter((menu) => !inside || !menu.contains(inside));
    for (const menu of open) menu.removeAttribute("open");
    return open.length > 0;
  }

  /** The take that is shown now. */
  private get present(): string {
    return this.studio.status?.take ?? this.studio.model?.take ?? "";
  }

  private grow(take: string, seconds: number): void {
    const row = this.list.querySelector(`[data-take="${CSS.escape(take)}"] .seconds`);
    const text = `${seconds.toFixed(1)} s`;
    if (row && row.textContent !== text) row.textContent = text;
  }

  private draw(): void {
    const scene = this.studio.model?.scene ?? "";
    // the length of the growing take is updated without a new list
    const takes = this.studio.takes.map((take) => (take.live ? { ...take, seconds: 0 } : take));
    const key = JSON.stringify([takes, scene, this.present]);
    if (this.naming || key === this.drawn) return;
    this.drawn = key;
    const here = this.studio.takes.filter((take) => take.scene === scene);
    const others = this.studio.takes.filter((take) => take.scene !== scene);
    this.list.replaceChildren();
    if (!this.studio.takes.length) this.list.append(h("p", { class: "faint" }, "No takes yet. Press play: everything is recorded."));
    if (here.length) this.list.append(h("h3", {}, "This scene"), ...here.map((take) => this.row(take)));
    if (others.length) this.list.append(h("h3", {}, "Other scenes"), ...others.map((take) => this.row(take)));
  }

  private row(take: TakeInfo): HTMLElement {
    const { studio } = this;
    const present = take.id === this.present;
    const name = h("button", { type: "button", class: "take-name quiet", title: present ? "This take is shown" : "Open this take", onclick: () => studio.send({ kind: "take_load", take: take.id }) }, nameOf(take));
    const ghostly = take.ghost !== null;
    const ghost = button("ghost", ghostly ? "Hide the ghost" : "Show as a ghost next to the present take", () => studio.send({ kind: "take_ghost", take: take.id, shown: !ghostly }), { class: "quiet", id: "take-ghost" });
    ghost.setAttribute("aria-pressed", String(ghostly));
    if (ghostly) ghost.style.color = GHOST_COLOURS[take.ghost! % GHOST_COLOURS.length]!;
    ghost.disabled = present || take.scene !== studio.model?.scene;
    const remove = button("trash", "Delete", () => this.remove(remove, take), { class: "quiet" });
    remove.disabled = take.live;
    const save = button("save", take.saved ? "Saved as a recording" : "Save as a recording (.npz)", () => studio.send({ kind: "take_save", take: take.id }), { class: "quiet", id: "take-save" });
    save.classList.toggle("saved", take.saved);
    const script = button("script", "Save as a scene (.toml) that repeats this take", () => void this.saveScene(take), { class: "quiet", id: "take-scene" });
    script.hidden = !studio.model?.direct || take.scene !== studio.model.scene;
    return h(
      "div",
      { class: present ? "take present" : "take", "data-take": take.id, "data-testid": "take" },
      h("div", { class: "line" }, take.live ? h("span", { class: "dot", title: "Being recorded" }) : null, name, h("span", { class: "seconds number faint" }, `${take.seconds.toFixed(1)} s`)),
      h(
        "div",
        { class: "line tools" },
        h("small", { class: "faint" }, take.scene === studio.model?.scene ? moment(take.created) : `${take.scene}, ${moment(take.created)}`),
        button("pen", "Rename", () => this.rename(name, take), { class: "quiet", id: "take-rename" }),
        ghost,
        save,
        script,
        this.exports(take),
        remove,
      ),
    );
  }

  private async load(field: HTMLInputElement): Promise<void> {
    const file = field.files?.[0];
    field.value = "";
    if (!file) return;
    try {
      await upload(file);
      this.studio.say(`Loaded ${file.name}`);
    } catch (error) {
      this.studio.say(error instanceof Error ? error.message : String(error), "error");
    }
  }

  /** The take's drags and pins as a script. The server repeats the take for this, which takes a while. */
  private async saveScene(take: TakeInfo): Promise<void> {
    this.studio.say("The take is being repeated and written as a scene.");
    try {
      const name = await download(take.id, "toml");
      this.studio.say(`Saved ${name}: manikin run ${name}`);
    } catch (error) {
      this.studio.say(error instanceof Error ? error.message : String(error), "error");
    }
  }

  private exports(take: TakeInfo): HTMLElement {
    const links = FORMATS.map(([format, what]) =>
      h("a", { href: exportAddress(take.id, format), download: `${nameOf(take)}.${format}`, title: what, "data-testid": `export-${format}`, onclick: () => this.announce(format) }, format.toUpperCase()),
    );
    return h(
      "details",
      { class: "menu" },
      h("summary", { title: "Export", "aria-label": "Export", "data-testid": "take-export" }, icon("down")),
      h("div", { class: "sheet", onclick: (event: Event) => (event.currentTarget as Element).closest("details")?.removeAttribute("open") }, ...links),
    );
  }

  /** A film takes a while, and a browser shows nothing until it starts to arrive. */
  private announce(format: ExportFormat): void {
    if (format === "mp4") this.studio.say("The film is being made; the download starts when it is ready.");
  }

  private rename(name: HTMLElement, take: TakeInfo): void {
    this.naming = take.id;
    const done = (keep: boolean) => {
      if (!this.naming) return;
      this.naming = "";
      const text = field.value.trim();
      if (keep && text && text !== take.name) this.studio.send({ kind: "take_name", take: take.id, name: text });
      this.drawn = "";
      this.draw();
    };
    const field = h("input", {
      type: "text",
      class: "take-name",
      value: take.name,
      maxLength: 80,
      onblur: () => done(true),
      onkeydown: (event: KeyboardEvent) => {
        event.stopPropagation();
        if (event.key === "Enter") done(true);
        if (event.key === "Escape") done(false);
      },
    });
    name.replaceWith(field);
    field.select();
  }

  /** Deleting is final, so it takes two presses. */
  private remove(knob: HTMLButtonElement, take: TakeInfo): void {
    if (knob.classList.contains("sure")) {
      this.studio.send({ kind: "take_delete", take: take.id });
      return;
    }
    knob.classList.add("sure");
    knob.append(h("span", {}, "Delete?"));
    window.setTimeout(() => {
      knob.classList.remove("sure");
      knob.querySelector("span")?.remove();
    }, 3000);
  }
}

/** Its name, or when it was made. */
function nameOf(take: TakeInfo): string {
  const date = new Date(take.created);
  if (take.name || Number.isNaN(date.getTime())) return take.name || take.id;
  return `${take.scene} ${date.toLocaleTimeString("en-GB")}`;
}

/** A date for people. */
function moment(created: string): string {
  const date = new Date(created);
  if (Number.isNaN(date.getTime())) return created;
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString("en-GB", today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}
