// The one connection to the server: text messages both ways, pose frames in; it reconnects when it is lost.

import { isKnown, socketAddress } from "./addresses";
import { parseFrame, type PoseFrame } from "./frames";
import type { ClientMessage, ServerMessage } from "./messages";

export interface Listener {
  message(message: ServerMessage): void;
  frame(frame: PoseFrame): void;
  /** state: open; waiting to try again in so many seconds; or refused for good. */
  state(state: "open" | "waiting" | "refused", seconds: number): void;
}

export class Connection {
  private socket: WebSocket | undefined;
  private tries = 0;

  constructor(private readonly listener: Listener) {
    this.connect();
    window.addEventListener("online", () => this.connect());
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Send, or drop if there is no connection: old messages would only confuse the next one. */
  send(message: ClientMessage): boolean {
    if (!this.isOpen) return false;
    this.socket!.send(JSON.stringify(message));
    return true;
  }

  private connect(): void {
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
    const socket = new WebSocket(socketAddress());
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => this.listener.state("open", 0);
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      this.tries = 0;
      if (typeof event.data === "string") this.listener.message(JSON.parse(event.data) as ServerMessage);
      else this.listener.frame(parseFrame(event.data));
    };
    let opened = false;
    socket.addEventListener("open", () => (opened = true));
    socket.onclose = async () => {
      // a browser does not report why a connection was refused
      if (!opened && !(await isKnown())) return this.listener.state("refused", 0);
      const seconds = Math.min(8, 0.5 * 2 ** this.tries++);
      this.listener.state("waiting", seconds);
      window.setTimeout(() => this.connect(), 1000 * seconds);
    };
  }
}
