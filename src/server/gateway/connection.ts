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

/**
 * The maximum number of messages of one connection that are answered at the same time. Further messages wait, and
 * nothing is read from the connection until an answer was sent.
 */
const MOST_AT_ONCE = 8;

/** The maximum number of open subscriptions of one connection. */
const MOST_SUBSCRIPTIONS = 1_000;

interface ConnectionSetting extends ProblemSetting {
  readonly workspaces: OpenWorkspaces;
  readonly limits: ServerLimits;
  readonly caller: Caller;
  /**
   * Counts a message of the caller. Returns 0 if the message is within the rate limit, and otherwise the seconds to
   * wait.
   */
  readonly charge: () => number;
  /**
   * Takes a slot for a subscription. Returns `undefined` if the caller has reached its limit. If `slot` is absent,
   * there is no limit.
   */
  readonly slot?: () => Disposable | undefined;
}

type Message<Type extends GatewayMessage["type"]> = Extract<GatewayMessage, { readonly type: Type }>;

/**
 * The connection of one client. Answers are sent as they become known; their `request_id` identifies the message. While
 * a client does not read its answers, its messages are not read either. If this lasts too long, the connection is
 * closed.
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
    // `ws` has already sent a close frame for the error.
    socket.on("error", () => socket.terminate());
  }

  /** The time since the last message arrived; 0 while a message is being answered or a subscription is open. */
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
    // Several messages may wait, because a paused socket still emits messages that have already arrived.
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
      await this.#send({ type: "error", ...idsOf(given), ...this.#complaint(error) });
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
    await this.#send({ type: `${question.type}_result`, ...idsOf(question), ...answer });
  }

  #open(session: string): Promise<Lease> {
    return openFor(this.#setting.workspaces, this.#setting.caller, session);
  }

  /**
   * Takes a slot for a subscription, and releases it when the signal aborts. Throws `RATE_LIMITED` if the caller has
   * reached its limit.
   */
  #takeSlot(until: AbortSignal): void {
    const { slot: take } = this.#setting;
    if (take === undefined) return;
    const slot = take();
    if (slot === undefined) {
      throw new ChronicleError("RATE_LIMITED", "too many subscriptions at once with this token", {
        hint: "end some of them: one subscription is enough for all events of a workspace",
      });
    }
    until.addEventListener("abort", () => slot[Symbol.dispose]());
  }

  /**
   * Sends the seq after which the events begin. The events follow until the subscription ends. Throws `USAGE` if the
   * connection has a subscription with this `request_id`, and `LIMIT_EXCEEDED` or `RATE_LIMITED` if there are too many
   * subscriptions.
   */
  async #subscribe(message: Message<"subscribe_events">): Promise<void> {
    const { request_id: id, session_id: session } = message;
    if (this.#subscriptions.has(id))
      throw new ChronicleError("USAGE", "there is a subscription with this request_id already");
    if (this.#subscriptions.size >= MOST_SUBSCRIPTIONS) {
      throw new ChronicleError("LIMIT_EXCEEDED", `a connection has at most ${MOST_SUBSCRIPTIONS} subscriptions`);
    }
    const end = new AbortController();
    this.#takeSlot(end.signal);
    this.#subscriptions.set(id, end);
    try {
      const lease = await this.#open(session);
      try {
        const after = await eventStart(viewOf(lease), message.after);
        await this.#send({ type: "subscribe_events_result", ...idsOf(message), after });
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

  /** Sends the events of a subscription, each only after the previous event was sent. Never rejects. */
  async #follow(given: Lease, message: Message<"subscribe_events">, end: AbortController): Promise<void> {
    using lease = given;
    const ids = idsOf(message);
    const signal = AbortSignal.any([end.signal, lease.gone]);
    const { after, prefix } = message;
    try {
      const wanted = { ...optional({ after, prefix }) };
      for await (const event of viewOf(lease).events({ ...wanted, signal })) {
        if (!(await this.#send({ type: "event", ...ids, event }))) return;
      }
      await this.#send({ type: "events_end", ...ids });
    } catch (error) {
      await this.#send({ type: "error", ...ids, ...this.#complaint(error) });
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
    await this.#send({ type: "unsubscribe_events_result", ...idsOf(message) });
  }

  #complaint(error: unknown): Record<string, unknown> {
    const { code, detail, hint, data, id } = problemOf(error, this.#setting);
    const more = { ...optional({ hint, data }) };
    return { code, message: detail, ...more, ...optional({ id }) };
  }

  /**
   * Resolves to true once the message was passed to the operating system. Resolves to false if the client is gone, or
   * if the connection was closed because the client does not read.
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

/**
 * Returns the workspace with an agent's rights. These rights are sufficient, because no message of a client changes
 * anything.
 */
function viewOf({ workspace }: Lease): Lease["workspace"] {
  return workspace.as({ role: "agent" });
}

function parsed(data: RawData): unknown {
  try {
    // By default, `ws` passes each message as one buffer.
    return JSON.parse((data as Buffer).toString("utf8"));
  } catch {
    throw new ChronicleError("USAGE", "a message is one JSON object, as text", {
      hint: "docs/gateway.md describes the messages",
    });
  }
}

/** Returns the answer to a question, without `type`, `request_id` and `session_id`. */
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

/**
 * The maximum number of iterations in a history that is read as a file. If the history has more, the file has the
 * oldest ones, and `next` is set.
 */
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
  const { path, path_b64, kind, size, hash, permissions, mtime_ms, mtime_ns, iteration, seq } = file;
  if (kind === "dir") throw new ChronicleError("REFUSED", `${path} is a folder`, { hint: "list it with list_files" });
  const [exact, rest] = [withoutUndefined({ path_b64 }), withoutUndefined({ mtime_ns })];
  const shown = await shownContent(on.id, file);
  return { path, ...exact, kind, size, hash, permissions, mtime_ms, ...rest, iteration, seq, ...shown };
}

/** The maximum length of a content in one message, in bytes. Clients read the rest of a longer content over HTTP. */
export const MOST_CONTENT = 512 * 1024;

/** A content, or the beginning of a long one. `content` is text if the bytes are UTF-8, and Base64 otherwise. */
interface ShownContent {
  readonly encoding: "utf8" | "base64";
  readonly content: string;
  /** The URL and the `Range` header for the rest of the content. Absent if `content` is complete. */
  readonly rest?: { readonly url: string; readonly range: string };
}

/**
 * Returns the content of a file, or at most the first `MOST_CONTENT` bytes of a longer one. The bytes are returned only
 * after the content was compared with its hash.
 */
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

/** Returns the bytes without an incomplete UTF-8 character at their end. */
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

/** The maximum number of files or iterations in one answer. */
const MOST_ITEMS = 1_000;

const common = {
  /** The id of the message, which the answer repeats. */
  request_id: z.union([z.string().min(1).max(200), z.int()]),
  /** The whole id or exact name of a workspace. */
  session_id: z.string().min(1).max(200),
};

const count = z.int().min(0);
const limit = z.int().min(1).max(MOST_ITEMS).default(MOST_ITEMS);

/** The messages that a client can send. Each WebSocket message contains one of them as JSON. See docs/gateway.md. */
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
    /** The `request_id` of the `subscribe_events` message. */
    subscription: common.request_id,
  }),
] as const;

const MESSAGE = z.discriminatedUnion("type", MESSAGES);

type GatewayMessage = z.output<typeof MESSAGE>;

/** A message that gets exactly one answer. */
type Question = Exclude<GatewayMessage, { readonly type: "subscribe_events" | "unsubscribe_events" }>;

type RequestId = GatewayMessage["request_id"];

/** The maximum length of the complaint about an invalid message, in characters. */
const MOST_COMPLAINT = 300;

/** Throws `USAGE`, with the name of the invalid field, for an invalid message. */
function readMessage(given: unknown): GatewayMessage {
  const parsed = MESSAGE.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.map(String).join(".") ?? "";
  const what = `${field === "" ? "the message" : field}: ${issue?.message ?? "does not fit"}`;
  throw new ChronicleError("USAGE", what.slice(0, MOST_COMPLAINT), {
    hint: "docs/gateway.md describes the messages",
    data: { field },
  });
}

/** Returns the ids of a message, which the answer repeats. `request_id` is `null` if one of the ids is invalid. */
function idsOf(given: unknown): { readonly request_id: RequestId | null; readonly session_id?: string } {
  const ids = z.object({ request_id: common.request_id, session_id: common.session_id.optional() }).safeParse(given);
  if (!ids.success) return { request_id: null };
  const { request_id, session_id } = ids.data;
  return { request_id, ...optional({ session_id }) };
}
