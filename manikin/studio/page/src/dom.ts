// Making elements without a framework.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** An element: props starting with "on" are listeners, "class" and data-/aria- attributes as usual, the rest properties. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name in element && !name.includes("-")) (element as unknown as Props)[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
export function s(tag: string, props: Record<string, string | number> = {}, ...children: SVGElement[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// Outlines on a 24 x 24 grid, drawn with the text colour.
const ICONS: Record<string, string> = {
  play: "M7 4.5v15l12.5-7.5z",
  pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z",
  step: "M5 5v14l9-7zM16 5h3v14h-3z",
  reset: "M12 5a7 7 0 1 1-6.6 4.7M5 4v6h6",
  scenes: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  moon: "M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z",
  auto: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  help: "M9 9.2a3 3 0 1 1 4.3 2.7c-.9.5-1.3 1-1.3 2.1M12 17.2v.6",
  push: "M3 12h14M12 6l6 6-6 6M21 5v14",
  follow: "M12 3v4M12 17v4M3 12h4M17 12h4M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z",
  frame: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  ghost: "M5 20V11a7 7 0 0 1 14 0v9l-2.5-2-2.300 2-2.200-2-2.200 2-2.300-2zM9.5 11v.5M14.5 11v.5",
  save: "M5 4h11l3 3v13H5zM8 4v5h7V4M8 20v-6h8v6",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  down: "M12 4v11M7 11l5 5 5-5M5 20h14",
  undo: "M9 6L4 11l5 5M4 11h9a6 6 0 0 1 6 6v1",
  branch: "M7 4v16M7 14c0-5 10-3 10-9M14 8l3-3 3 3",
  fan: "M4 20C5 12 8 7 12 4M4 20c4-6 8-9 13-10M4 20c5-3 10-4 16-3",
  pen: "M4 20l1-4L16 5l3 3L8 19z",
  close: "M6 6l12 12M18 6L6 18",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6",
  power: "M12 4v8M7.500 6.500a7 7 0 1 0 9 0",
  up: "M6 14l6-6 6 6",
  lower: "M6 10l6 6 6-6",
  hand: "M8 12V6.500a1.500 1.500 0 0 1 3 0V11M11 11V5a1.500 1.500 0 0 1 3 0v6M14 11V6.500a1.500 1.500 0 0 1 3 0V14a6 6 0 0 1-6 6c-3 0-4.500-1.500-7-6a1.600 1.600 0 0 1 2.600-1.800L8 14",
  script: "M6 4h9l4 4v12H6zM9 11h7M9 15h5",
  open: "M4 7h6l2 2h8v10H4z",
};

/** An icon by name. */
export function icon(name: string): SVGElement {
  const filled = name === "play" || name === "pause" || name === "step";
  return s(
    "svg",
    { viewBox: "0 0 24 24", class: filled ? "icon filled" : "icon", "aria-hidden": "true" },
    s("path", { d: ICONS[name] ?? "" }),
  );
}

/** A button with an icon, an accessible name that is also its tooltip, and optional text. */
export function button(
  iconName: string,
  label: string,
  onclick: (event: MouseEvent) => void,
  options: { text?: string; class?: string; id?: string } = {},
): HTMLButtonElement {
  return h(
    "button",
    { type: "button", class: options.class ?? "", title: label, "aria-label": label, "data-testid": options.id, onclick },
    icon(iconName),
    options.text ? h("span", {}, options.text) : null,
  );
}

/** Set text only where it changed, to avoid needless layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Call at most once per `ms`; the last call is never dropped. */
export function throttled<A extends unknown[]>(ms: number, call: (...args: A) => void): (...args: A) => void {
  let last = -Infinity;
  let timer: number | undefined;
  return (...args: A) => {
    window.clearTimeout(timer);
    const wait = last + ms - performance.now();
    const go = () => {
      last = performance.now();
      call(...args);
    };
    if (wait <= 0) go();
    else timer = window.setTimeout(go, wait);
  };
}
