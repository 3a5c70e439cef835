// All scenes as cards with pictures, in groups; typing filters them.

import { fetchScenes, given, type SceneCard } from "./addresses";
import { button, h } from "./dom";
import type { Studio } from "./studio";

export class Gallery {
  readonly element: HTMLElement;
  private readonly list = h("div", { class: "groups" });
  private readonly search: HTMLInputElement;
  private scenes: SceneCard[] = [];

  constructor(private readonly studio: Studio) {
    this.search = h("input", {
      type: "search",
      placeholder: "Search scenes",
      "aria-label": "Search scenes",
      "data-testid": "search",
      oninput: () => this.draw(),
      onkeydown: (event: KeyboardEvent) => {
        if (event.key === "Enter") this.list.querySelector<HTMLButtonElement>(".card")?.click();
      },
    });
    this.element = h(
      "div",
      { class: "gallery", hidden: true, "data-testid": "gallery", role: "dialog", "aria-label": "Scenes" },
      h(
        "header",
        {},
        h("div", {}, h("h1", {}, "Choose a scene"), h("p", {}, "Every motion here is simulated while you watch. Grab the character and see.")),
        this.search,
        button("close", "Close (Esc)", () => this.hide(), { class: "quiet close" }),
      ),
      this.list,
    );
    studio.on("model", () => this.hide());
  }

  get shown(): boolean {
    return !this.element.hidden;
  }

  async show(): Promise<void> {
    this.element.hidden = false;
    this.element.classList.toggle("first", !this.studio.model);
    if (matchMedia("(hover: hover)").matches) this.search.focus();
    try {
      this.scenes = await fetchScenes();
      this.draw();
    } catch (error) {
      this.studio.say(`The scenes could not be fetched: ${error instanceof Error ? error.message : error}. Reload the page.`, "error");
    }
  }

  /** Close the gallery, if a scene is open. */
  hide(): void {
    if (this.studio.model) this.element.hidden = true;
  }

  toggle(): void {
    if (this.shown) this.hide();
    else void this.show();
  }

  private draw(): void {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (scene: SceneCard) => {
      const text = [scene.name, scene.title, scene.group, scene.document, scene.description].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const groups = new Map<string, SceneCard[]>();
    for (const scene of this.scenes.filter(fits)) {
      const group = scene.group || "Other";
      groups.set(group, [...(groups.get(group) ?? []), scene]);
    }
    this.list.replaceChildren(
      ...[...groups].map(([group, scenes]) =>
        h("section", {}, h("h2", {}, group), h("div", { class: "cards" }, ...scenes.map((scene) => this.card(scene)))),
      ),
    );
    if (!groups.size) this.list.append(h("p", { class: "faint" }, "No scene matches. Try fewer words."));
  }

  private card(scene: SceneCard): HTMLElement {
    const picture = h("div", { class: "picture" });
    if (scene.picture) {
      picture.append(h("img", { src: given(scene.picture), alt: "", loading: "lazy", onerror: (event: Event) => (event.target as Element).remove() }));
    }
    return h(
      "button",
      {
        type: "button",
        class: "card",
        "data-testid": `scene-${scene.name}`,
        onclick: () => {
          if (!this.studio.send({ kind: "open", scene: scene.name, script: null })) this.studio.say("Not connected yet; try again in a moment.", "error");
          else if (this.studio.model?.scene === scene.name) this.hide();
        },
      },
      picture,
      h("div", { class: "words" }, h("strong", {}, scene.title || scene.name), h("p", {}, scene.description), h("small", {}, scene.document)),
    );
  }
}
