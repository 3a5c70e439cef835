// Every address of the server that the page uses. Each carries the token that opened the page.

const query = new URLSearchParams(location.search);

/** A switch in the page's own address, such as ?fps=10. */
export function option(name: string): string | null {
  return query.get(name);
}

const token = query.get("token") ?? sessionStorage.getItem("manikin-token") ?? "";
if (token) sessionStorage.setItem("manikin-token", token);

function withToken(path: string): string {
  const address = new URL(path, location.href);
  if (token) address.searchParams.set("token", token);
  return address.toString();
}

/** Remember what this tab shows, so that a reload finds it again. */
export function remember(take: string): void {
  sessionStorage.setItem("manikin-take", take);
}

export function remembered(): string {
  return sessionStorage.getItem("manikin-take") ?? "";
}

export function socketAddress(): string {
  return withToken(`/ws?take=${encodeURIComponent(remembered())}`).replace(/^http/, "ws");
}

/** An address from a message, such as that of a model or a picture. */
export function given(path: string): string {
  return withToken(path);
}

export interface SceneCard {
  name: string;
  title: string;
  group: string;
  document: string;
  description: string;
  picture: string | null;
}

export async function fetchScenes(): Promise<SceneCard[]> {
  const answer = await fetch(withToken("/api/scenes"));
  if (!answer.ok) throw new Error(await reason(answer));
  const body = (await answer.json()) as SceneCard[] | { scenes: SceneCard[] };
  return Array.isArray(body) ? body : body.scenes;
}

/** Whether the server accepts this page; an unreachable server has not refused it. */
export async function isKnown(): Promise<boolean> {
  try {
    return ![401, 403].includes((await fetch(withToken("/api/takes"))).status);
  } catch {
    return true;
  }
}

/** Upload a recording (.npz) to the take folder. */
export async function upload(file: File): Promise<void> {
  const name = file.name.replace(/\.npz$/i, "");
  const answer = await fetch(withToken(`/api/takes?name=${encodeURIComponent(name)}`), { method: "POST", body: file });
  if (!answer.ok) throw new Error(await reason(answer));
}

export type ExportFormat = "glb" | "bvh" | "mp4" | "npz" | "toml";

export function exportAddress(take: string, format: ExportFormat): string {
  return withToken(`/api/takes/${encodeURIComponent(take)}/export.${format}`);
}

/** Fetch a take as a file and offer it as a download; throws what went wrong. */
export async function download(take: string, format: ExportFormat): Promise<string> {
  const answer = await fetch(exportAddress(take, format));
  if (!answer.ok) throw new Error(await reason(answer));
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? `take.${format}`;
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return name;
}

/** The server's error message, in one line. */
export async function reason(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const body = JSON.parse(text) as { error?: string; message?: string };
    return body.error ?? body.message ?? text;
  } catch {
    return text || `the server answered ${answer.status}`;
  }
}
