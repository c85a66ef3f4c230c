import type { RawData, WebSocket } from "ws";
import { eventStart } from "../../api/routes/event-start.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Caller } from "../callers/caller.ts";
import type { ServerLimits } from "../limits/limits.ts";
import type { Lease, OpenWorkspaces } from "../callers/open-workspaces.ts";
import { problemOf, type ProblemSetting } from "../answers/problem.ts";
import { openFor } from "../callers/scope.ts";
import { answerQuestion } from "./answer-question.ts";
import { type GatewayMessage, marksOf, type Question, readMessage, type RequestId } from "./messages.ts";
import { optional } from "../../util/optional.ts";

/**
 * Messages of one connection that are worked on at once. The others wait, and nothing more is read of the connection
 * meanwhile.
 */
const MOST_AT_ONCE = 8;
/** Largest number of subscriptions of one connection. */
const MOST_SUBSCRIPTIONS = 1_000;

/** The parts that a connection works with. */
export interface ConnectionSetting extends ProblemSetting {
  readonly workspaces: OpenWorkspaces;
  readonly limits: ServerLimits;
  readonly caller: Caller;
  /** Returns 0 if the caller may ask, else the number of seconds to wait. */
  readonly charge: () => number;
  /** Takes a place for one more subscription; returns `undefined` if the caller is at its limit. Default: no limit. */
  readonly slot?: () => Disposable | undefined;
}

type Message<Type extends GatewayMessage["type"]> = Extract<GatewayMessage, { readonly type: Type }>;

/**
 * One client of the gateway. Messages are answered as they are done, not in their order: `request_id` tells which is
 * which. If a client does not read its answers, no more of its messages are read: only those in progress are buffered,
 * and in the end the connection is cut.
 */
export class GatewayConnection {
  readonly #socket: WebSocket;
  readonly #setting: ConnectionSetting;
  readonly #waiting: RawData[] = [];
  readonly #subscriptions = new Map<RequestId, AbortController>();
  #working = 0;
  #lastAsked = performance.now();

  constructor(socket: WebSocket, setting: ConnectionSetting) {
    this.#socket = socket;
    this.#setting = setting;
    socket.on("message", (data) => this.#take(data));
    socket.on("close", () => this.#end());
    // The protocol tells the client of the error; then the connection is closed.
    socket.on("error", () => socket.terminate());
  }

  /** Milliseconds since the last message; 0 while one is in progress, or while there are subscriptions. */
  get idleMs(): number {
    const isAtWork = this.#working > 0 || this.#subscriptions.size > 0;
    return isAtWork ? 0 : performance.now() - this.#lastAsked;
  }

  get subscriptions(): number {
    return this.#subscriptions.size;
  }

  #take(data: RawData): void {
    this.#lastAsked = performance.now();
    this.#waiting.push(data);
    // One received piece may hold many messages: those that have arrived wait here.
    if (this.#working >= MOST_AT_ONCE) this.#socket.pause();
    else this.#work();
  }

  #work(): void {
    while (this.#working < MOST_AT_ONCE) {
      const data = this.#waiting.shift();
      if (data === undefined) return this.#socket.resume();
      this.#working += 1;
      void this.#answer(data).finally(() => {
        this.#working -= 1;
        this.#work();
      });
    }
  }

  async #answer(data: RawData): Promise<void> {
    let given: unknown;
    try {
      this.#charge();
      given = parsed(data);
      await this.#do(readMessage(given));
    } catch (error) {
      await this.#send({ type: "error", ...marksOf(given), ...this.#complaint(error) });
    }
  }

  #charge(): void {
    const wait = this.#setting.charge();
    if (wait === 0) return;
    throw new ChronicleError("RATE_LIMITED", "too many messages", { hint: `try again in ${wait} s`, data: { wait } });
  }

  async #do(message: GatewayMessage): Promise<void> {
    if (message.type === "subscribe_events") await this.#subscribe(message);
    else if (message.type === "unsubscribe_events") await this.#unsubscribe(message);
    else await this.#ask(message);
  }

  async #ask(question: Question): Promise<void> {
    using lease = await this.#open(question.session_id);
    const answer = await answerQuestion(viewOf(lease), question);
    await this.#send({ type: `${question.type}_result`, ...marksOf(question), ...answer });
  }

  #open(session: string): Promise<Lease> {
    return openFor(this.#setting.workspaces, this.#setting.caller, session);
  }

  /** Takes a place until the signal. Throws `RATE_LIMITED`. */
  #takeSeat(until: AbortSignal): void {
    const { slot: take } = this.#setting;
    if (take === undefined) return;
    const slot = take();
    if (slot === undefined) {
      throw new ChronicleError("RATE_LIMITED", "too many subscriptions at once with this token", {
        hint: "end some of them: one subscription takes all events of a workspace",
      });
    }
    until.addEventListener("abort", () => slot[Symbol.dispose]());
  }

  /** Answers once the position of the first event is known; from then on events are sent. */
  async #subscribe(message: Message<"subscribe_events">): Promise<void> {
    const { request_id: id, session_id: session } = message;
    if (this.#subscriptions.has(id)) throw new ChronicleError("USAGE", "there is a subscription with this request_id");
    if (this.#subscriptions.size >= MOST_SUBSCRIPTIONS) {
      throw new ChronicleError("LIMIT_EXCEEDED", `a connection has at most ${MOST_SUBSCRIPTIONS} subscriptions`);
    }
    const end = new AbortController();
    this.#takeSeat(end.signal);
    this.#subscriptions.set(id, end);
    try {
      const lease = await this.#open(session);
      try {
        const after = await eventStart(viewOf(lease), message.after);
        await this.#send({ type: "subscribe_events_result", ...marksOf(message), after });
        void this.#follow(lease, { ...message, after }, end);
      } catch (error) {
        lease[Symbol.dispose]();
        throw error;
      }
    } catch (error) {
      this.#subscriptions.delete(id);
      end.abort();
      throw error;
    }
  }

  /** Sends each event once the one before it was taken. Never rejects. */
  async #follow(given: Lease, message: Message<"subscribe_events">, end: AbortController): Promise<void> {
    using lease = given;
    const marks = marksOf(message);
    const signal = AbortSignal.any([end.signal, lease.gone]);
    const { after, prefix } = message;
    try {
      const wanted = { ...optional({ after, prefix }) };
      for await (const event of viewOf(lease).events({ ...wanted, signal })) {
        if (!(await this.#send({ type: "event", ...marks, event }))) return;
      }
      await this.#send({ type: "events_end", ...marks });
    } catch (error) {
      await this.#send({ type: "error", ...marks, ...this.#complaint(error) });
    } finally {
      if (this.#subscriptions.get(message.request_id) === end) this.#subscriptions.delete(message.request_id);
      end.abort();
    }
  }

  async #unsubscribe(message: Message<"unsubscribe_events">): Promise<void> {
    const end = this.#subscriptions.get(message.subscription);
    if (end === undefined) throw new ChronicleError("NOT_FOUND", "there is no such subscription");
    this.#subscriptions.delete(message.subscription);
    end.abort();
    await this.#send({ type: "unsubscribe_events_result", ...marksOf(message) });
  }

  #complaint(error: unknown): Record<string, unknown> {
    const { code, detail, hint, data, id } = problemOf(error, this.#setting);
    const more = { ...optional({ hint, data }) };
    return { code, message: detail, ...more, ...optional({ id }) };
  }

  /**
   * Resolves once the system has taken the message; to false if the client is gone, or was cut off for reading nothing.
   */
  #send(message: Readonly<Record<string, unknown>>): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => this.#socket.terminate(), this.#setting.limits.slowMs);
    this.#socket.send(JSON.stringify(message), (error) => {
      clearTimeout(timer);
      resolve(error === undefined || error === null);
    });
    return promise;
  }

  #end(): void {
    this.#waiting.length = 0;
    for (const end of this.#subscriptions.values()) end.abort();
  }
}

/** The messages only read, so an agent's view suffices. */
function viewOf({ workspace }: Lease): Lease["workspace"] {
  return workspace.as({ role: "agent" });
}

function parsed(data: RawData): unknown {
  try {
    // `ws` gives a single buffer by default.
    return JSON.parse((data as Buffer).toString("utf8"));
  } catch {
    throw new ChronicleError("USAGE", "a message is one JSON object, as text", {
      hint: "docs/gateway.md has the messages",
    });
  }
}
