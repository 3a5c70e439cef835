// Puts the page together.

import { given, option, remember, remembered } from "./addresses";
import { Contacts } from "./contacts";
import { button, h, icon, setText } from "./dom";
import { expose } from "./expose";
import { Figure } from "./figure";
import { Follower } from "./follower";
import { Gallery } from "./gallery";
import { Ghosts } from "./ghosts";
import { Grab } from "./grab";
import { Help, listenToKeys, type Shortcut } from "./help";
import { Knobs } from "./knobs";
import { FRAME_LIVE, type ModelMessage, PROTOCOL, type StatusMessage } from "./messages";
import { Pinboard } from "./pinboard";
import { Pins } from "./pins";
import { Poser } from "./poser";
import { Previews } from "./preview";
import { Studio } from "./studio";
import "./style.css";
import { Takes } from "./takes";
import { Theme } from "./theme";
import { Timeline } from "./timeline";
import { Transport } from "./transport";
import { Viewport } from "./viewport";
import { Why } from "./why";

const studio = new Studio();
const grab = new Grab(studio, (listen) => makeViewport(listen));
const viewport = grab.view;
grab.enabled = option("drag") !== "off";
const pins = new Pins(studio, viewport);
const poser = new Poser(studio, viewport, grab);
const pinboard = new Pinboard(studio, viewport, grab, poser.element);
const previews = new Previews(studio, viewport);
const ghosts = new Ghosts(studio, viewport);
const contacts = new Contacts(viewport);
const gallery = new Gallery(studio);
const transport = new Transport(studio);
const timeline = new Timeline(studio);
const why = new Why(studio);
const theme = new Theme((colours) => viewport.colours(colours));
grab.beforePick = (x, y) => previews.press(x, y);
grab.staysHeld = () => previews.fanned;

function makeViewport(listen: (canvas: HTMLCanvasElement) => void): Viewport {
  try {
    return new Viewport(listen, Number(option("fps") ?? 0));
  } catch (error) {
    const words = "This browser cannot draw in 3D (WebGL 2). Switch on its graphics acceleration, or try another browser.";
    document.getElementById("app")!.replaceWith(h("p", { class: "sorry", role: "alert" }, words));
    throw error;
  }
}

// --- the figure

let figure: Figure | undefined;
let loading = 0;
// how many frames had been drawn when the figure arrived
let before = 0;

async function loadFigure(model: ModelMessage): Promise<void> {
  const turn = ++loading;
  const fresh = model.scene !== shownScene;
  let next: Figure;
  try {
    next = await Figure.load(given(model.glb), model);
  } catch {
    studio.say("The figure could not be loaded. Open the scene again, or reload the page.", "error");
    return;
  }
  if (turn !== loading) return next.dispose(true);
  figure?.dispose(true);
  figure = grab.figure = next;
  previews.use(next);
  ghosts.use(next);
  poser.use(next);
  viewport.add(next.root);
  if (studio.frame) next.pose(studio.frame.poses, studio.frame.meshes);
  shownScene = model.scene;
  if (fresh) viewport.look(model.camera);
  before = viewport.drawn;
}
let shownScene = "";

studio.on("model", (model) => {
  if (model.protocol !== PROTOCOL) studio.say("The server has another version: reload the page.", "error");
  contacts.set([]);
  remember(model.take);
  document.title = `${model.title || model.scene} · Manikin studio`;
  void loadFigure(model);
});

studio.onFrame((frame) => {
  // a frame of the next model may arrive before its figure
  if (frame.kind !== FRAME_LIVE || !figure || figure.bodies !== studio.model?.bodies) return;
  figure.pose(frame.poses, frame.meshes);
  viewport.invalidate();
});

// --- following and framing

const follower = new Follower(studio, viewport, () => grab.dragging);

/** All of what was pressed last, or everything that moves. */
function frameSelection(): void {
  const bodies = studio.model?.bodies ?? [];
  const owner = bodies.find((body) => body.name === studio.selected)?.owner;
  const wanted = bodies.map((body, k) => ({ body, k })).filter(({ body }) => body.part_of !== "world" && (!owner || body.owner === owner));
  const sphere = figure?.around(wanted.map(({ k }) => k));
  if (sphere) viewport.frame(sphere);
}

function setFollow(on: boolean): void {
  follower.on = on;
  followButton.setAttribute("aria-pressed", String(on));
  viewport.invalidate();
}

// --- the bars and panels

function setPushing(on: boolean): void {
  grab.pushing = on;
  pushButton.setAttribute("aria-pressed", String(on));
}

const pushButton = button("push", "Push instead of grab (hold Shift)", () => setPushing(!grab.pushing), { id: "push" });
const followButton = button("follow", "Follow the character (C)", () => setFollow(!follower.on));
const previewButton = button("ghost", "Show the next second (G)", () => togglePreview(), { id: "preview" });
const tools = h(
  "div",
  { class: "tools-column" },
  pushButton,
  followButton,
  button("frame", "Fit into view (F)", frameSelection),
  previewButton,
  button("fan", "Five futures to choose from (V)", () => previews.fan(), { id: "fan" }),
);

function togglePreview(): void {
  studio.send({ kind: "preview", on: !studio.status?.preview });
}

const takes = new Takes(studio);
const knobs = new Knobs(studio);
const panels = {
  knobs: { title: "Knobs", element: knobs.element },
  why: { title: "Why", element: why.element },
  pins: { title: "Pins", element: pinboard.element },
  takes: { title: "Takes", element: takes.element },
};
type PanelName = keyof typeof panels;
// a narrow page has its panels below the picture, and they can be closed
const wide = matchMedia("(min-width: 900px)");
let panel: PanelName | undefined = wide.matches ? "knobs" : undefined;
wide.addEventListener("change", () => wide.matches && !panel && showPanel("knobs"));
const tabs = new Map<PanelName, HTMLButtonElement>();
for (const [name, { title }] of Object.entries(panels) as [PanelName, { title: string }][]) {
  tabs.set(name, h("button", { type: "button", role: "tab", "data-testid": `tab-${name}`, onclick: () => showPanel(panel === name && !wide.matches ? undefined : name) }, title));
}
const dockBody = h("div", { class: "dock-body" });
const dock = h("aside", { class: "dock", "aria-label": "Panels" }, h("div", { class: "tabs", role: "tablist" }, ...tabs.values()), dockBody);

function showPanel(name: PanelName | undefined): void {
  panel = name;
  for (const [n, tab] of tabs) tab.setAttribute("aria-selected", String(n === name));
  dockBody.replaceChildren(...(name ? [panels[name].element] : []));
  dock.classList.toggle("shut", !name);
  askWhy();
  viewport.invalidate();
}

function askWhy(): void {
  if (studio.model) studio.send({ kind: "why", on: panel === "why" });
}

// they belong to the present
const showsContacts = () => panel === "why" && !studio.status?.seeking;
studio.on("why_report", (report) => showsContacts() && contacts.set(report.contacts));
studio.on("status", () => contacts.shown && !showsContacts() && contacts.set([]));

const title = h("strong", { class: "title" });
const stepChip = h("span", { class: "chip", hidden: true, "data-testid": "step" });
const outcome = h("span", { class: "outcome", "data-testid": "outcome" });
const pace = h("span", { class: "faint number pace", title: "Simulated over real time" });
const dot = h("span", { class: "link", "data-testid": "link" });
const themeButton = button("auto", "Light or dark", () => {
  theme.next();
  drawTheme();
}, { class: "quiet", id: "theme" });

function drawTheme(): void {
  const name = { auto: "auto", light: "sun", dark: "moon" }[theme.choice];
  themeButton.replaceChildren(icon(name));
  themeButton.title = { auto: "Light or dark: automatic", light: "Light", dark: "Dark" }[theme.choice];
}

const line = h("div", { class: "message", role: "status", hidden: true, "data-testid": "message" });
const banner = h("div", { class: "banner", role: "alert", hidden: true, "data-testid": "banner" });
const hint = h("div", { class: "hint" });

const top = h(
  "header",
  { class: "top" },
  button("scenes", "All scenes (S)", () => gallery.toggle(), { text: "Scenes", id: "scenes" }),
  title,
  stepChip,
  outcome,
  h("span", { class: "gap" }),
  pace,
  dot,
  themeButton,
  button("help", "Help (?)", () => help.toggle(), { class: "quiet round" }),
);

function escape(): void {
  if (takes.closeMenus()) return;
  if (previews.fanned) previews.endFan();
  else if (grab.dragging) grab.letGo();
  else gallery.hide();
}

const shortcuts: Shortcut[] = [
  { keys: ["Space"], what: "Play, pause", run: () => studio.togglePlay() },
  { keys: ["."], what: "One step", run: () => transport.step(), repeats: true },
  { keys: ["H"], what: "Run only while held", run: () => transport.togglePressed() },
  { keys: ["R"], what: "Back to the start", run: () => void studio.send({ kind: "reset" }) },
  { keys: ["1", "2", "3", "4"], what: "Speed 1, ½, ¼, ⅛" },
  { keys: ["←"], what: "Look back 0.1 s", run: () => timeline.nudge(-0.1), repeats: true },
  { keys: ["→"], what: "Forward again", run: () => timeline.nudge(0.1), repeats: true },
  { keys: ["T"], what: "Try again from here", run: () => timeline.branch() },
  { keys: ["P"], what: "Creatures: pin orientation; else: push", run: () => void (pinboard.toggle("turn") || setPushing(!grab.pushing)) },
  { keys: ["J"], what: "Creatures: pin a joint", run: () => void pinboard.toggle("angle") },
  { keys: ["Q"], what: "Rotate what is held", run: () => grab.turn(1), repeats: true },
  { keys: ["E"], what: "Rotate it back", run: () => grab.turn(-1), repeats: true },
  { keys: ["G"], what: "Show the next second", run: togglePreview },
  { keys: ["V"], what: "Five futures; click one", run: () => previews.fan() },
  { keys: ["F"], what: "Fit into view", run: frameSelection },
  { keys: ["C"], what: "Follow the character", run: () => setFollow(!follower.on) },
  { keys: ["O"], what: "Creatures: pose a key", run: () => void (poser.set(!poser.on) && showPanel("pins")) },
  { keys: ["K"], what: "Knobs; posing: keep the key", run: () => void (poser.keep() || showPanel("knobs")) },
  { keys: ["W"], what: "Why", run: () => showPanel("why") },
  { keys: ["I"], what: "Creatures: pins, priorities", run: () => void (studio.model?.direct && showPanel("pins")) },
  { keys: ["L"], what: "Takes", run: () => showPanel("takes") },
  { keys: ["S"], what: "All scenes", run: () => gallery.toggle() },
  { keys: ["Ctrl+Z"], what: "Undo the last knob change", run: () => void studio.send({ kind: "undo" }) },
  { keys: ["?"], what: "This help", run: () => help.toggle() },
];
const hidden: Shortcut[] = [
  ...[1, 0.5, 0.25, 0.125].map((factor, k) => ({ keys: [String(k + 1)], what: "", run: () => void studio.send({ kind: "speed", factor }) })),
  { keys: ["Esc"], what: "", run: escape },
];
const help = new Help(shortcuts);
// hidden shortcuts first: visible rows without an action only describe them
listenToKeys([...hidden, ...shortcuts.filter((s) => s.run)]);

viewport.element.append(tools, hint, banner, line);
document.getElementById("app")!.append(
  top,
  viewport.element,
  dock,
  h("footer", { class: "bottom" }, transport.element, timeline.element),
  gallery.element,
  help.element,
);
drawTheme();
showPanel(panel);

// --- messages from the server

studio.on("model", (model) => {
  setText(title, model.title || model.scene);
  title.title = [model.description, model.document].filter(Boolean).join("\n");
  tabs.get("pins")!.hidden = !model.direct;
  if (!model.direct && panel === "pins") showPanel("knobs");
  askWhy();
});

studio.on("status", (status) => {
  const step = stepThen(status);
  const finished = status.finished && !status.seeking;
  stepChip.hidden = !step && !finished;
  setText(stepChip, finished ? (status.ok ? "done" : "gave up") : step.replaceAll("_", " "));
  stepChip.classList.toggle("good", finished && status.ok);
  stepChip.classList.toggle("bad", finished && !status.ok);
  outcome.classList.toggle("bad", status.diverged);
  // an unfinished job is no news
  const words = status.ok || finished ? status.reason : "";
  setText(outcome, status.diverged ? "The simulation broke again and again: press R, or look back and try again." : words);
  stepChip.title = outcome.title = status.reason;
  previewButton.setAttribute("aria-pressed", String(status.preview));
  const slow = status.playing && status.realtime > 0 && status.realtime < 0.9 * status.speed;
  setText(pace, status.playing ? `${status.realtime.toFixed(2)}× real time` : "paused");
  pace.classList.toggle("bad", slow);
  const advice = hintFor(status);
  setText(hint, advice);
  hint.hidden = !advice;
});

/** The step of the script at the moment that is shown. */
function stepThen(status: StatusMessage): string {
  if (!status.seeking) return status.step;
  return status.ticks.filter((tick) => tick.time <= status.time).at(-1)?.name ?? "";
}

/** A hint about what can be done now. */
function hintFor(status: StatusMessage): string {
  if (previews.fanned) return "Five futures: click one to choose it, Esc for none.";
  if (status.seeking) {
    const over = studio.takes.some((take) => take.id === status.take && !take.live);
    const on = over ? "This take is over. T tries again from here." : "Looking back. T tries again from here; Space continues from the end.";
    const then = pins.goalsThen;
    if (then?.length === 0) return on;
    return `${on} ${then ? "Pale rings: where the goals were." : "Goals are not recorded."}`;
  }
  if (poser.on) return "Posing: drag the doll, K keeps its pose, O stops.";
  if (studio.input?.held && !grab.dragging) return `Another page holds ${studio.input.target.replaceAll("_", " ")}.`;
  if (status.while_pressed && !grab.dragging) return "Runs while you hold something (H: run freely).";
  if (!status.playing && !grab.dragging) return "Paused. Press play (Space) and drag the character.";
  return "";
}

studio.onLine(({ text, level }) => {
  setText(line, text);
  line.hidden = false;
  line.classList.toggle("error", level === "error");
  window.clearTimeout(lineTimer);
  // one kernel may take half a minute: until then nothing else is heard
  preparing = text.startsWith("Preparing");
  lineTimer = window.setTimeout(() => (line.hidden = true), preparing ? 60_000 : level === "error" ? 9000 : 4500);
});
let lineTimer = 0;
let preparing = false;
studio.on("status", () => {
  if (!preparing) return;
  preparing = false;
  window.clearTimeout(lineTimer);
  lineTimer = window.setTimeout(() => (line.hidden = true), 1500);
});

studio.onLink((link) => {
  dot.dataset.state = link.state;
  dot.title = { open: "Connected", waiting: "Not connected", refused: "Refused" }[link.state];
  banner.hidden = link.state === "open";
  setText(
    banner,
    link.state === "refused"
      ? "The studio does not know this page. Open the address that `manikin studio` printed, with its token."
      : "Connection lost. Trying again; if that fails, start `manikin studio` again.",
  );
  if (link.state !== "open") return;
  askWhy();
  const wanted = option("scene");
  // a tab that is reloaded finds what it showed
  if (wanted && !studio.model && !remembered()) studio.send({ kind: "open", scene: wanted, script: null });
  window.setTimeout(() => {
    if (studio.model) return;
    if (wanted && remembered()) studio.send({ kind: "open", scene: wanted, script: null });
    else if (!gallery.shown) void gallery.show();
  }, 600);
});

// --- for tests and the curious

expose({ studio, viewport, grab, pins, pinboard, poser, previews, ghosts, contacts, figure: () => (viewport.drawn > before ? figure : undefined) });
