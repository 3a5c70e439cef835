// Where the goals were. A recording does not hold them, so the page remembers those that it has seen.

import type { Marker, StatusMessage } from "./messages";

interface Seen {
  time: number;
  markers: Marker[];
}

// moments are rounded to the length of a frame [s]
const SLACK = 0.03;
// changes kept per take: an hour of dragging a goal
const MOST = 20_000;

export class Goals {
  private takes = new Map<string, Seen[]>();
  private take = "";

  /** Another scene: forget everything. */
  forget(): void {
    this.takes.clear();
    this.take = "";
  }

  /** Remember the present goals. */
  note(status: StatusMessage): void {
    if (status.seeking) return;
    const seen = this.of(status);
    while (seen.length && seen.at(-1)!.time > status.time) seen.pop();
    const markers = status.markers.filter((marker) => marker.active);
    if (seen.length < MOST && !same(seen.at(-1)?.markers, markers)) seen.push({ time: status.time, markers });
  }

  /** The goals at the moment that is shown; undefined where this page has not seen them. */
  then(status: StatusMessage): Marker[] | undefined {
    const seen = this.takes.get(status.take) ?? [];
    let k = seen.length - 1;
    while (k >= 0 && seen[k]!.time > status.time + SLACK) k--;
    return seen[k]?.markers;
  }

  /** What was seen of a take. A take that continues another shares its beginning. */
  private of(status: StatusMessage): Seen[] {
    let seen = this.takes.get(status.take);
    if (!seen) {
      const before = status.time > 0 ? this.takes.get(this.take) : undefined;
      this.takes.set(status.take, (seen = before?.filter((s) => s.time <= status.time) ?? []));
    }
    this.take = status.take;
    return seen;
  }
}

function same(a: Marker[] | undefined, b: Marker[]): boolean {
  const place = (m: Marker) => [m.name, ...m.place.map((v) => v.toFixed(4))].join();
  return a !== undefined && a.length === b.length && a.every((m, k) => place(m) === place(b[k]!));
}
