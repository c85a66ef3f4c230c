import { WebSocket } from "ws";
import { OPERATOR, type Serving } from "./serving.ts";

/** A message of the server. */
export interface GatewayAnswer {
  readonly type: string;
  readonly request_id: string | number | null;
  readonly [member: string]: unknown;
}

export interface ConnectOptions {
  /** `null`: none. Default: the operator's. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
  /** By the Unix socket, as its owner. */
  readonly bySocket?: boolean;
}

/** Speaks the messages as a gateway does: many questions at once, over one connection. */
export class GatewayClient implements AsyncDisposable {
  /** Events that came. */
  readonly events: GatewayAnswer[] = [];
  /** Resolves to the code with which the connection was closed. */
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  readonly #kept: GatewayAnswer[] = [];
  readonly #listeners = new Set<(answer: GatewayAnswer) => void>();
  #asked = 0;
  #answers = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    socket.on("message", (data: Buffer) => {
      this.#answers += 1;
      const answer = JSON.parse(data.toString("utf8")) as GatewayAnswer;
      if (answer.type === "event") this.events.push(answer);
      this.#kept.push(answer);
      for (const listener of this.#listeners) listener(answer);
    });
  }

  static connect(serving: Serving, options: ConnectOptions = {}): Promise<GatewayClient> {
    const { headers = {}, path = "/v1/gateway", bySocket = false } = options;
    const { token = bySocket ? null : OPERATOR } = options;
    const bearer = token === null ? {} : { authorization: `Bearer ${token}` };
    const place = bySocket ? `ws+unix:${serving.run.socket}:` : `ws://127.0.0.1:${serving.port}`;
    const socket = new WebSocket(`${place}${path}`, { headers: { ...bearer, ...headers } });
    const client = new GatewayClient(socket);
    return new Promise((resolve, reject) => {
      socket.once("open", () => resolve(client));
      socket.once("error", reject);
    });
  }

  /** How many messages have come. */
  get answers(): number {
    return this.#answers;
  }

  raw(text: string): void {
    this.#socket.send(text);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Asks, and resolves to the answer to this. */
  ask(message: Readonly<Record<string, unknown>>): Promise<GatewayAnswer> {
    const id = message["request_id"] ?? `r${(this.#asked += 1)}`;
    const answer = this.#when((one) => one.request_id === id && one.type !== "event" && one.type !== "events_end", []);
    this.raw(JSON.stringify({ ...message, request_id: id }));
    return answer;
  }

  /** The first message like this, also one that came already. */
  next(wanted: (answer: GatewayAnswer) => boolean): Promise<GatewayAnswer> {
    return this.#when(wanted, this.#kept);
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #when(wanted: (answer: GatewayAnswer) => boolean, kept: readonly GatewayAnswer[]): Promise<GatewayAnswer> {
    const there = kept.find(wanted);
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve) => {
      const listener = (answer: GatewayAnswer): void => {
        if (!wanted(answer)) return;
        this.#listeners.delete(listener);
        resolve(answer);
      };
      this.#listeners.add(listener);
    });
  }
}
