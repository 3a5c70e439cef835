// Why the character does what it does: tasks in the order of their priority, joints against their limits, balance.

import { h, s, setText } from "./dom";
import { plainName } from "./knobs";
import { pinWords } from "./pinboard";
import type { Balance, CreatureWhy, JointWhy, TaskWhy, WhyReportMessage } from "./messages";
import type { Studio } from "./studio";

// how many joints are listed, hardest working first
const JOINTS = 8;
// names of the tasks that the studio adds to a run
const OURS: Record<string, string> = { studio_drag: "your drag", studio_turn: "your rotation", studio_lean: "your lean", studio_keys: "your keys" };

export class Why {
  readonly element: HTMLElement;
  private readonly tasks = h("div", { class: "tasks", "data-testid": "why-tasks" });
  private readonly joints = h("div", { class: "joints", "data-testid": "why-joints" });
  private readonly balance = h("div", { class: "balance", "data-testid": "why-balance" });
  private readonly creatures = h("div", { class: "creatures", "data-testid": "why-creatures" });
  private readonly rows = new Map<string, TaskRow>();
  private readonly bars = new Map<string, Bar>();

  constructor(private readonly studio: Studio) {
    const contacts = h("p", { class: "faint" });
    const later = h("p", { class: "later", hidden: true, "data-testid": "why-later" });
    this.element = h(
      "div",
      { class: "panel-body why" },
      later,
      h("h3", {}, "Tasks, by priority"),
      this.tasks,
      h("h3", {}, "Balance"),
      this.balance,
      this.creatures,
      h("h3", {}, "Hardest working joints"),
      this.joints,
      h("h3", {}, "Contacts"),
      contacts,
    );
    studio.on("model", () => this.clear());
    studio.on("status", (status) => {
      later.hidden = !status.seeking;
      setText(later, `This is the end of the take (${status.length.toFixed(2)} s), not the moment you are looking at.`);
    });
    studio.on("why_report", (report) => {
      this.show(report);
      const force = report.contacts.reduce((sum, c) => sum + Math.hypot(...c.force), 0);
      setText(
        contacts,
        report.contacts.length
          ? `${report.contacts.length} contacts press with ${force.toFixed(0)} N in total. A yellow arrow that leaves its cone slips.`
          : "Nothing touches.",
      );
    });
  }

  private clear(): void {
    this.rows.clear();
    this.bars.clear();
    for (const part of [this.tasks, this.joints, this.balance, this.creatures]) part.replaceChildren();
  }

  private show(report: WhyReportMessage): void {
    // tasks that wait for a drag are left out until there is one
    const named = new Map(this.studio.pins?.pins.map((pin) => [pin.task, `${pinWords(pin)}, pinned`]));
    const words = (name: string) => named.get(name) ?? name;
    const tasks = report.tasks
      .filter((task) => task.active || !(task.name in OURS))
      .map((task) => ({ ...task, name: words(task.name), lost_to: task.lost_to && words(task.lost_to) }));
    keep(this.rows, tasks, this.tasks, () => new TaskRow());
    const hardest = [...report.joints].sort((a, b) => b.fraction - a.fraction).slice(0, JOINTS);
    keep(this.bars, hardest, this.joints, () => new Bar());
    this.balance.replaceChildren(...report.balance.map(balanceDrawing));
    this.creatures.replaceChildren(...report.creatures.map(creatureWords));
  }
}

/** One row per named thing, in the given order; rows are reused. */
function keep<T extends { name: string }, R extends { element: HTMLElement; show(thing: T): void }>(
  rows: Map<string, R>,
  things: T[],
  parent: HTMLElement,
  make: () => R,
): void {
  const names = new Set(things.map((t) => t.name));
  for (const [name, row] of rows) {
    if (names.has(name)) continue;
    row.element.remove();
    rows.delete(name);
  }
  things.forEach((thing, k) => {
    let row = rows.get(thing.name);
    if (!row) rows.set(thing.name, (row = make()));
    if (parent.children[k] !== row.element) parent.insertBefore(row.element, parent.children[k] ?? null);
    row.show(thing);
  });
}

class TaskRow {
  private readonly order = h("b", { class: "order" });
  private readonly name = h("span", { class: "name" });
  private readonly error = h("span", { class: "number" });
  private readonly bar = h("i");
  private readonly force = h("span", { class: "faint number" });
  private readonly verdict = h("div", { class: "verdict" });
  readonly element = h(
    "div",
    { class: "task" },
    h("div", { class: "line" }, this.order, this.name, this.error),
    h("div", { class: "line" }, h("div", { class: "bar" }, this.bar), this.force),
    this.verdict,
  );

  show(task: TaskWhy): void {
    setText(this.order, String(task.priority));
    setText(this.name, taskName(task.name));
    setText(this.error, !task.active ? "off" : task.error === null ? "" : amount(task.error, task.unit));
    const share = task.limit ? task.force / task.limit : 0;
    this.bar.style.width = `${(100 * Math.min(1, share)).toFixed(1)}%`;
    setText(this.force, forceText(task));
    this.force.parentElement!.hidden = !task.active || (task.limit === null && task.force < 0.5);
    this.bar.parentElement!.classList.toggle("none", task.limit === null);
    this.element.classList.toggle("off", !task.active);
    this.element.classList.toggle("limit", task.at_limit);
    setText(this.verdict, verdict(task));
  }
}

function taskName(name: string): string {
  return OURS[name] ?? name.replaceAll("_", " ");
}

function verdict(task: TaskWhy): string {
  if (!task.active) return "";
  if (task.lost_to) return `lost to ${taskName(task.lost_to)} (${task.missed.toFixed(1)} ${task.unit === "m" ? "m" : "rad"}/s²)`;
  if (task.at_limit) return "at its force limit";
  return "";
}

function forceText(task: TaskWhy): string {
  return task.limit === null ? `${task.force.toFixed(0)} N` : `${task.force.toFixed(0)} of ${task.limit.toFixed(0)} N`;
}

function amount(value: number, unit: string): string {
  if (unit === "m") return `${(100 * value).toFixed(1)} cm off`;
  if (unit === "rad") return `${((180 / Math.PI) * value).toFixed(1)}° off`;
  return `${Number(value.toPrecision(3))} ${unit} off`;
}

class Bar {
  private readonly name = h("span", { class: "name" });
  private readonly bar = h("i");
  private readonly value = h("span", { class: "faint number" });
  readonly element = h("div", { class: "joint line" }, this.name, h("div", { class: "bar" }, this.bar), this.value);

  show(joint: JointWhy): void {
    setText(this.name, plainName(joint.name));
    this.bar.style.width = `${(100 * Math.min(1, joint.fraction)).toFixed(1)}%`;
    this.element.classList.toggle("limit", joint.fraction > 0.98);
    setText(this.value, `${joint.torque.toFixed(0)} N m`);
  }
}

/** The state of direct control for a character. */
function creatureWords(creature: CreatureWhy): HTMLElement {
  const standing = creature.standing
    ? `Control treats the ${plainName(creature.standing).toLowerCase()} as standing on the ground.`
    : "Control relies on no ground contact: in flight, or contact joints are off.";
  const limits = creature.contradicted ? " Its limits contradict each other." : "";
  const often = creature.contradictions ? ` This was so in ${creature.contradictions} updates up to now.` : "";
  return h("p", { class: creature.contradicted ? "limit" : "faint" }, standing + limits + often);
}

/** The ground from above: feet as a polygon, the centre of mass as a dot. */
function balanceDrawing(balance: Balance): HTMLElement {
  const points = [...balance.support, [balance.com[0], balance.com[1]] as [number, number]];
  const middle = [0, 1].map((k) => (Math.min(...points.map((p) => p[k]!)) + Math.max(...points.map((p) => p[k]!))) / 2);
  const half = Math.max(0.25, ...points.flatMap((p) => [0, 1].map((k) => Math.abs(p[k]! - middle[k]!) + 0.05)));
  // x (forward) points up in the drawing, y (left) to the left
  const at = (p: readonly number[]) => [50 - (50 * (p[1]! - middle[1]!)) / half, 50 - (50 * (p[0]! - middle[0]!)) / half];
  const outside = balance.margin < 0;
  const [cx, cy] = at(balance.com) as [number, number];
  const drawing = s(
    "svg",
    { viewBox: "0 0 100 100", class: outside ? "outside" : "inside", role: "img" },
    s("polygon", { points: balance.support.map((p) => at(p).join(",")).join(" "), class: "support" }),
    s("circle", { cx, cy, r: 5, class: "halo" }),
    s("circle", { cx, cy, r: 2.6, class: "com" }),
  );
  const words = !balance.support.length
    ? "No support: nothing of the character rests on the ground."
    : outside
      ? `Centre of mass ${(-100 * balance.margin).toFixed(1)} cm outside the feet: falling, unless something pulls it back.`
      : `Centre of mass over the feet, ${(100 * balance.margin).toFixed(1)} cm from the edge.`;
  return h("div", { class: "stance" }, drawing as unknown as Node, h("p", {}, words));
}
