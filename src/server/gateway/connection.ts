import { isUtf8 } from "node:buffer";
import type { RawData, WebSocket } from "ws";
import { moment, path } from "../../api/routes/fields.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { optional } from "../../util/optional.ts";
import type { FileContent } from "../../api/file-api.ts";
import { givenOfShown } from "../../core/text/shown-path.ts";
import { pageWithMore, eventStart } from "../../api/routes/pages.ts";
import { virtualPath } from "../../api/routes/meant-by-path.ts";
import { withoutUndefined } from "../../api/routes/row.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { Caller } from "../callers/caller.ts";
import type { ServerLimits } from "../limits/limits.ts";
import type { Lease, OpenWorkspaces } from "../callers/open-workspaces.ts";
import { problemOf, type ProblemSetting } from "../answers/problem.ts";
import { openFor } from "../callers/scope.ts";
import * as z from "zod";

/** The messages that a gateway's client sends: JSON, one in each WebSocket message. docs/gateway.md has the table. */

/** Largest number of files or iterations in one answer. */
const MOST_ITEMS = 1_000;

const common = {
  /** Comes back in the answer. */
  request_id: z.union([z.string().min(1).max(200), z.int()]),
  /** A workspace's whole id or exact name. */
  session_id: z.string().min(1).max(200),
};

const count = z.int().min(0);
const limit = z.int().min(1).max(MOST_ITEMS).default(MOST_ITEMS);

const MESSAGES = [
  z.strictObject({
    ...common,
    type: z.literal("list_files"),
    path: path("").optional(),
    depth: z.int().min(1).optional(),
    at: moment("").optional(),
    limit,
    after: path("").optional(),
  }),
  z.strictObject({ ...common, type: z.literal("read_file"), path: path(""), at: moment("").optional() }),
  z.strictObject({ ...common, type: z.literal("file_history"), path: path(""), limit, after: count.optional() }),
  z.strictObject({
    ...common,
    type: z.literal("file_at_iteration"),
    path: path(""),
    iteration: z.union([z.int().min(1), z.literal("last")]),
  }),
  z.strictObject({
    ...common,
    type: z.literal("subscribe_events"),
    after: count.optional(),
    prefix: z.string().max(1_200).optional(),
  }),
  z.strictObject({
    ...common,
    type: z.literal("unsubscribe_events"),
    /** The `request_id` with which it was subscribed. */
    subscription: common.request_id,
  }),
] as const;

const MESSAGE = z.discriminatedUnion("type", MESSAGES);

type GatewayMessage = z.output<typeof MESSAGE>;

/** A message that gets exactly one answer. */
type Question = Exclude<GatewayMessage, { readonly type: "subscribe_events" | "unsubscribe_events" }>;

type RequestId = GatewayMessage["request_id"];

const MOST_COMPLAINT = 300;

/** Checks a message. Throws `USAGE` with the field that does not fit. */
function readMessage(given: unknown): GatewayMessage {
  const parsed = MESSAGE.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.map(String).join(".") ?? "";
  const what = `${field === "" ? "the message" : field}: ${issue?.message ?? "does not fit"}`;
  throw new ChronicleError("USAGE", what.slice(0, MOST_COMPLAINT), {
    hint: "docs/gateway.md has the messages",
    data: { field },
  });
}

/** The marks of the answer to a message, as far as they can be read from it. */
function marksOf(given: unknown): { readonly request_id: RequestId | null; readonly session_id?: string } {
  const marks = z.object({ request_id: common.request_id, session_id: common.session_id.optional() }).safeParse(given);
  if (!marks.success) return { request_id: null };
  const { request_id, session_id } = marks.data;
  return { request_id, ...optional({ session_id }) };
}

/** Largest content in one message, in bytes; more is read over HTTP. */
export const MOST_CONTENT = 512 * 1024;

/** A content in JSON: text as it is, else base64. */
interface ShownContent {
  readonly encoding: "utf8" | "base64";
  readonly content: string;
  /** Absent if this is the whole content. Else the rest, to be fetched with this `Range`. */
  readonly rest?: { readonly url: string; readonly range: string };
}

/** The content, or its beginning. A whole one is checked against its hash. */
export async function shownContent(workspace: string, file: FileContent): Promise<ShownContent> {
  const isWhole = file.size <= MOST_CONTENT;
  const pieces: Uint8Array[] = [];
  for await (const piece of isWhole ? file.pieces() : file.pieces({ start: 0, end: MOST_CONTENT })) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  if (isWhole) return shown(bytes);
  const text = wholeCharacters(bytes);
  const given = isUtf8(text) ? text : bytes;
  const url = `/v1/workspaces/${workspace}/files/${urlPath(file)}/at/${file.iteration}?as=iteration`;
  return { ...shown(given), rest: { url, range: `bytes=${given.length}-` } };
}

function shown(bytes: Buffer): ShownContent {
  return isUtf8(bytes)
    ? { encoding: "utf8", content: bytes.toString("utf8") }
    : { encoding: "base64", content: bytes.toString("base64") };
}

/** Drops a character that is cut in two at the end: UTF-8 has at most three bytes behind a leading one. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function urlPath({ path, path_b64: exact }: FileContent): string {
  if (exact === undefined) return path.split("/").map(encodeURIComponent).join("/");
  const given = givenOfShown({ path, path_b64: exact });
  return encodeURIComponent(given.replaceAll("+", "-").replaceAll("/", "_"));
}

/** Returns the answer to a question, without its marks. */
async function answerQuestion(on: WorkspaceApi, question: Question): Promise<Record<string, unknown>> {
  switch (question.type) {
    case "list_files": {
      const { path, depth, at, limit, after } = question;
      return { ...(await on.files({ limit, ...withoutUndefined({ path, depth, at, after }) })) };
    }
    case "read_file":
      return readFile(on, question.path, question.at);
    case "file_history":
      return historyOf(on, question.path, question);
    case "file_at_iteration":
      return atIteration(on, question.path, question.iteration);
  }
}

async function readFile(on: WorkspaceApi, path: string, at: string | undefined): Promise<Record<string, unknown>> {
  const virtual = virtualPath(path);
  if (virtual?.kind === "iteration") return atIteration(on, virtual.path, virtual.iteration);
  if (virtual?.kind === "history") return historyAsFile(on, path, virtual.path);
  return contentOf(on, await on.file(path, withoutUndefined({ at })));
}

interface HistoryPage {
  readonly limit: number;
  readonly after?: number | undefined;
}

async function historyOf(on: WorkspaceApi, path: string, { limit, after }: HistoryPage) {
  const found = await on.history(path, { limit: limit + 1, ...withoutUndefined({ after }) });
  const { items, next } = pageWithMore(found, limit, ({ iteration }) => String(iteration));
  return { path, iterations: items, next: next === null ? null : Number(next) };
}

/** Largest number of iterations in such a file, the oldest first; `next` says whether there are more. */
const MOST_IN_FILE = 1_000;

async function historyAsFile(on: WorkspaceApi, path: string, asked: string) {
  const { iterations, next } = await historyOf(on, asked, { limit: MOST_IN_FILE });
  return { path, kind: "file", encoding: "utf8", content: JSON.stringify(iterations), next };
}

async function atIteration(on: WorkspaceApi, path: string, asked: number | "last") {
  const iteration = asked === "last" ? (await on.cat(path)).iteration : asked;
  return contentOf(on, await on.file(path, { iteration }));
}

async function contentOf(on: WorkspaceApi, file: FileContent): Promise<Record<string, unknown>> {
  const { path, path_b64, kind, size, hash, permissions, mtime_ms, iteration, seq } = file;
  if (kind === "dir") throw new ChronicleError("REFUSED", `${path} is a folder`, { hint: "ask for it by list_files" });
  const exact = withoutUndefined({ path_b64 });
  const shown = await shownContent(on.id, file);
  return { path, ...exact, kind, size, hash, permissions, mtime_ms, iteration, seq, ...shown };
}

/**
 * Messages of one connection that are worked on at once. The others wait, and nothing more is read of the connection
 * meanwhile.
 */
const MOST_AT_ONCE = 8;
/** Largest number of subscriptions of one connection. */
const MOST_SUBSCRIPTIONS = 1_000;

/** The parts that a connection works with. */
interface ConnectionSetting extends ProblemSetting {
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
