// The state of the page: the last message of each kind, and the listeners for the next one.

import { Connection } from "./connection";
import type { PoseFrame } from "./frames";
import type {
  ClientMessage,
  InputMessage,
  KnobInfo,
  ModelMessage,
  PinsMessage,
  ServerMessage,
  StatusMessage,
  TakeInfo,
  WhyReportMessage,
} from "./messages";

type Of<K extends ServerMessage["kind"]> = Extract<ServerMessage, { kind: K }>;
export type Line = { text: string; level: "error" | "notice" };
export type Link = { state: "open" | "waiting" | "refused"; seconds: number };

export class Studio {
  model: ModelMessage | undefined;
  status: StatusMessage | undefined;
  why: WhyReportMessage | undefined;
  input: InputMessage | undefined;
  takes: TakeInfo[] = [];
  knobs: KnobInfo[] = [];
  /** Only for creatures under direct control. */
  pins: PinsMessage | undefined;
  frame: PoseFrame | undefined;
  link: Link = { state: "waiting", seconds: 0 };
  /** Name of the body that was pressed last. */
  selected = "";
  private readonly connection: Connection;
  private readonly listeners = new Map<string, ((message: never) => void)[]>();

  constructor() {
    this.connection = new Connection({
      message: (message) => this.receive(message),
      frame: (frame) => this.tell("frame", frame),
      state: (state, seconds) => {
        this.link = { state, seconds };
        // after a reconnect the server sends again what it shows, if anything
        if (state !== "open") this.model = this.status = this.input = this.why = this.frame = undefined;
        this.tell("link", this.link);
      },
    });
    this.listen("frame", (frame: PoseFrame) => {
      if (frame.kind === 1) this.frame = frame;
    });
  }

  send(message: ClientMessage): boolean {
    return this.connection.send(message);
  }

  on<K extends ServerMessage["kind"]>(kind: K, call: (message: Of<K>) => void): void {
    this.listen(kind, call);
  }

  onFrame(call: (frame: PoseFrame) => void): void {
    this.listen("frame", call);
  }

  onLink(call: (link: Link) => void): void {
    this.listen("link", call);
  }

  onLine(call: (line: Line) => void): void {
    this.listen("line", call);
  }

  /** Show the user one line of text. */
  say(text: string, level: Line["level"] = "notice"): void {
    this.tell("line", { text, level });
  }

  togglePlay(): void {
    this.send({ kind: this.status?.playing ? "pause" : "play" });
  }

  private receive(message: ServerMessage): void {
    switch (message.kind) {
      case "model":
        this.model = message;
        this.knobs = message.knobs;
        this.input = this.why = this.frame = this.pins = undefined;
        break;
      case "status":
        this.status = message;
        break;
      case "why_report":
        this.why = message;
        break;
      case "input":
        this.input = message;
        break;
      case "takes":
        this.takes = message.takes;
        break;
      case "knobs":
        this.knobs = message.knobs;
        break;
      case "pins":
        this.pins = message;
        break;
      case "notice":
      case "error":
        this.say(message.message, message.kind);
        break;
    }
    this.tell(message.kind, message);
  }

  private listen<M>(kind: string, call: (message: M) => void): void {
    this.listeners.set(kind, [...(this.listeners.get(kind) ?? []), call]);
  }

  private tell(kind: string, message: unknown): void {
    for (const call of this.listeners.get(kind) ?? []) (call as (message: unknown) => void)(message);
  }
}
