// Light and dark. Follows the system until it is switched; the choice is kept.

export type Choice = "auto" | "light" | "dark";
export interface SceneColours {
  sky: string;
  floor: string;
  grid: string;
  light: number;
}

const COLOURS: Record<"light" | "dark", SceneColours> = {
  light: { sky: "#e4e0da", floor: "#c6c0b8", grid: "#a99c8b", light: 1 },
  dark: { sky: "#2a2724", floor: "#433f3b", grid: "#7d7367", light: 0.8 },
};

const KEY = "manikin-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export class Theme {
  choice: Choice;

  constructor(private readonly changed: (colours: SceneColours) => void) {
    const kept = localStorage.getItem(KEY);
    this.choice = kept === "light" || kept === "dark" ? kept : "auto";
    system.addEventListener("change", () => this.apply());
    this.apply();
  }

  get shown(): "light" | "dark" {
    return this.choice === "auto" ? (system.matches ? "dark" : "light") : this.choice;
  }

  /** Cycle through auto, light, dark. */
  next(): void {
    this.choice = this.choice === "auto" ? "light" : this.choice === "light" ? "dark" : "auto";
    localStorage.setItem(KEY, this.choice);
    this.apply();
  }

  private apply(): void {
    document.documentElement.dataset.theme = this.shown;
    this.changed(COLOURS[this.shown]);
  }
}
