import type { IncomingMessage, ServerResponse } from "node:http";
import { ACTING, HINTS_HEADER, WITH_COMMANDS } from "../api/routes/content-headers.ts";
import { meantByPath } from "../api/routes/meant-by-path.ts";
import type { MeShape } from "../api/routes/reply-shapes.ts";
import { mayDo, type Role } from "../api/routes/role.ts";
import type { Answer, Received } from "../api/routes/route.ts";
import type { Route } from "../api/routes/row.ts";
import type { SyncApi } from "../api/sync-api.ts";
import type { ActingAs, WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { withoutStoreSize } from "../core/text/store-full.ts";
import type { AdmittedRequest } from "./callers/admission.ts";
import type { Caller } from "./callers/caller.ts";
import { CallerStore, type StoreParts } from "./callers/caller-store.ts";
import { inWords, needsRole } from "./callers/forbidden-words.ts";
import { type HeldBody, heldBody } from "./answers/held-body.ts";
import { isReused, type NamedChange, onlyOnce, replyBefore, reused } from "./answers/idempotent.ts";
import type { ServerLimits } from "./limits/limits.ts";
import type { Lease } from "./callers/open-workspaces.ts";
import { undecodable } from "./path-pattern.ts";
import { type Problem, problemOf, type Report, withStatus } from "./answers/problem.ts";
import { conditionOf, idempotencyKey, refuseEncoded } from "./answers/received.ts";
import type { Refusals } from "./limits/refusals.ts";
import type { KeptReply, IdempotencyStore } from "./answers/idempotency-store.ts";
import type { FoundRow, RowGroup } from "./row-index.ts";
import { mustSee, openFor } from "./callers/scope.ts";
import type { HeavyReads } from "./callers/heavy-reads.ts";
import type { ConcurrencyLimit } from "./limits/concurrency-limit.ts";
import { sendContent } from "./answers/send-content.ts";
import { sendEvents } from "./answers/send-events.ts";
import { sendJson, sendNothing, sendProblem } from "./answers/send.ts";
import { discardRest, TooMuch, uploaded } from "./limits/slow-peer.ts";
import { withoutFolders } from "./answers/without-folders.ts";
import { optional } from "../util/optional.ts";

/** Everything needed to answer a request. */
export interface Answering extends StoreParts {
  readonly version: string;
  /** The workspace of the folder that the server was started in. */
  readonly defaultWorkspace: () => string | null;
  /** True while that is not known yet. Default: never. */
  readonly isStarting?: () => boolean;
  readonly replies: IdempotencyStore;
  /** Loads the code that runs syncs; absent: there is none. */
  readonly syncs?: () => Promise<SyncApi>;
  readonly limits: ServerLimits;
  /** Folders of this machine that no problem's body may name. */
  readonly hidden: readonly string[];
  /** Takes a line for the diagnostics. */
  readonly report: Report;
  /** Takes a line about an agent's refused call on the store as a whole. */
  readonly onRefused?: (line: string) => void;
  /** Aborted when the server is told to leave: then streams of events end. */
  readonly stopping: AbortSignal;
}

/** State shared by all requests of a server. */
export interface Shared extends Answering {
  readonly refusals: Refusals;
  /** Limits the streams of events of each caller. */
  readonly streams: ConcurrencyLimit;
  /** Queues the reads of whole histories. */
  readonly heavy: HeavyReads;
}

/** The signal of requests that wait for no events. */
const NEVER = new AbortController().signal;
const GONE = "the client is gone";

/** A request whose head has been read. */
export interface RequestHead {
  readonly request: IncomingMessage;
  readonly query: unknown;
  readonly visit: AdmittedRequest;
  readonly group: RowGroup;
}

/** These operations pass the key on: the log itself remembers it, also over a crash. */
const REMEMBERED_BY_LOG = new Set(["putFile", "makeFolder", "deleteFile", "moveFile"]);

/** One request on its way to its answer. */
export class RequestAnswer {
  readonly #head: RequestHead;
  readonly #with: Shared;
  readonly #found: FoundRow;
  #hidden: readonly string[];
  #timer: NodeJS.Timeout | undefined;

  private constructor(head: RequestHead, shared: Shared, found: FoundRow) {
    this.#head = head;
    this.#with = shared;
    this.#found = found;
    this.#hidden = shared.hidden;
  }

  /**
   * Begins a request whose body is yet to be read. Throws if the caller may not make it, or if its target does not
   * exist.
   */
  static async begin(head: RequestHead, shared: Shared): Promise<RequestAnswer> {
    const answer = new RequestAnswer(head, shared, findRow(head));
    await answer.#refuseRole();
    refuseEncoded(head.request.headers);
    if (answer.#found.row.bytes === undefined) answer.#expectBody();
    return answer;
  }

  #expectBody(): void {
    const { request } = this.#head;
    if (request.complete) return;
    this.#timer = setTimeout(() => request.complete || request.destroy(), this.#with.limits.bodyMs);
    request.once("close", () => clearTimeout(this.#timer));
  }

  /**
   * Throws if the caller's role does not suffice. An agent's attempt is written down where it was made: in the
   * workspace's log, or in the diagnostics beside the store.
   */
  async #refuseRole(): Promise<void> {
    const { caller } = this.#head.visit;
    const { row, params } = this.#found;
    const role = this.#roleFor(row);
    if (mayDo(role, row.role)) return;
    const { id } = params;
    const unlisted = role === "agent" ? this.#with.refusals.next(caller.id, Date.now()) : undefined;
    if (unlisted !== undefined && id === undefined) {
      const more = unlisted === 0 ? "" : `, after ${unlisted} more refusals`;
      this.#with.onRefused?.(`an agent may not do this: ${row.operation} (${caller.name})${more}`);
    } else if (unlisted !== undefined && id !== undefined) {
      using lease = await openFor(this.#with.workspaces, caller, id);
      await this.#viewOf(lease)
        .refuse?.(row.operation, unlisted)
        .catch((error: unknown) => {
          throw inWords(error, row, caller.role);
        });
    }
    throw needsRole(row, role);
  }

  /**
   * The role to check, lowered to agent for a call made on behalf of an agent. Calls on a workspace keep the token's
   * role here: the engine refuses them and writes that down.
   */
  #roleFor({ on }: Route): Role {
    const { role } = this.#head.visit.caller;
    const isForAgent = on !== "workspace" && this.#head.request.headers[ACTING.role] === "agent";
    return isForAgent && mayDo(role, "agent") ? "agent" : role;
  }

  /** Sends the answer, or the problem. `body`: parsed JSON. Never rejects. */
  async send(response: ServerResponse, body: unknown): Promise<void> {
    clearTimeout(this.#timer);
    const { request } = this.#head;
    // Signals are costly: only streams of events need one.
    const signal = "events" in this.#found.row.reply ? this.#whileThere(response) : NEVER;
    try {
      const before = this.#replyBefore(body);
      if (before !== undefined) return sendKept(response, before);
      if (this.#found.row.on === "store") await this.#askStore(response, { body, signal });
      else if (this.#found.row.on === "syncs") await this.#askSyncs(response, { body, signal });
      else await this.#askWorkspace(response, { body, signal });
    } catch (error) {
      // The client is gone.
      const isGone = response.destroyed || request.errored !== null;
      if (!isGone) sendProblem(response, this.#problem(error), retryHeaders(error));
    } finally {
      discardRest(request);
    }
  }

  #whileThere(response: ServerResponse): AbortSignal {
    const away = new AbortController();
    response.once("close", () => away.abort(GONE));
    return AbortSignal.any([away.signal, this.#with.stopping]);
  }

  async #askStore(response: ServerResponse, given: Given): Promise<void> {
    const { row, params } = this.#found;
    if (row.on !== "store") return;
    const { caller } = this.#head.visit;
    const asked = params["id"];
    const whole = asked === undefined ? {} : { id: await mustSee(this.#with.workspaces, caller, asked) };
    const store = new CallerStore(this.#with, caller);
    const received = this.#received({ ...params, ...whole }, given);
    await this.#reply(response, row, received, (asked) => row.answer(store, asked));
  }

  /** Throws unless the owner asks: no other caller may name folders of this machine. */
  async #askSyncs(response: ServerResponse, given: Given): Promise<void> {
    const { row, params } = this.#found;
    if (row.on !== "syncs") return;
    if (!this.#head.visit.caller.isOwner) {
      throw new ChronicleError("FORBIDDEN", "syncs are their owner's, on the Unix socket of the machine");
    }
    const { syncs } = this.#with;
    if (syncs === undefined) throw new ChronicleError("UNAVAILABLE", "this server runs no syncs");
    const received = this.#received(params, given);
    await this.#reply(response, row, received, async (asked) => row.answer(await syncs(), asked));
  }

  async #askWorkspace(response: ServerResponse, given: Given): Promise<void> {
    const { params } = this.#found;
    using lease = await openFor(this.#with.workspaces, this.#head.visit.caller, params["id"] ?? "");
    // Only operators see the paths of folders.
    const isOperator = mayDo(this.#head.visit.caller.role, "operator");
    if (!isOperator) this.#hidden = [...this.#hidden, ...lease.workspace.roots];
    const on = this.#viewOf(lease);
    const { row, params: meant } = await this.#meant(on);
    if (row.on !== "workspace") return;
    const signal = given.signal === NEVER ? NEVER : AbortSignal.any([given.signal, lease.gone]);
    const received = this.#received({ ...meant, id: lease.workspace.id }, { ...given, signal });
    const conditional =
      row.conditional === true ? { ...received, ...conditionOf(this.#head.request.headers) } : received;
    const done = async (asked: Received) => {
      using turn = row.heavy === true ? await this.#heavyTurn(response, lease.workspace.id) : undefined;
      if (turn !== undefined) await this.#mustStillHold();
      const answer = await row.answer(on, asked).finally(() => this.#after(row, lease.workspace.id));
      return isOperator ? answer : withoutFolders(row.operation, answer, this.#hidden);
    };
    await this.#reply(response, row, conditional, done);
  }

  async #heavyTurn(response: ServerResponse, workspace: string): Promise<Disposable> {
    const turn = await this.#with.heavy.turn(workspace, this.#head.visit.caller);
    if (!response.destroyed) return turn;
    turn[Symbol.dispose]();
    throw new ChronicleError("UNAVAILABLE", GONE);
  }

  /** An operator's call may change the settings that a workspace read when it was opened, so they are read again. */
  #after({ role }: Route, id: string): void {
    if (role === "operator") this.#with.workspaces.lookAgain(id);
  }

  /** The workspace on behalf of the caller. No token turns an agent into a person. */
  #viewOf({ workspace }: Lease): WorkspaceApi {
    const { caller } = this.#head.visit;
    const { headers } = this.#head.request;
    const isAgent = !mayDo(caller.role, "operator") || headers[ACTING.role] === "agent";
    const actor = wordIn(headers[ACTING.actor]);
    const client = wordIn(headers[ACTING.client]) ?? (caller.isOwner ? undefined : caller.name);
    const who: ActingAs = {
      ...(isAgent ? { role: "agent", actor: actor ?? "agent" } : actor === undefined ? {} : { actor }),
      ...optional({ client }),
      ...(caller.isOwner || (!isAgent && caller.workspaces === undefined) ? {} : { onlyInside: true }),
    };
    return workspace.as(who);
  }

  /** `files/x/history` may be the history of x, or a file of that name. */
  async #meant(on: WorkspaceApi): Promise<FoundRow> {
    const { group } = this.#head;
    const { params } = this.#found;
    if (group.method !== "GET" || group.named("readFile") === undefined) return this.#found;
    const rest = restOf(this.#found);
    const as = queryOf(this.#head.query)["as"];
    const { operation, params: own } = await meantByPath(on, rest, typeof as === "string" ? as : undefined);
    const row = group.named(operation);
    return row === undefined ? this.#found : { row, params: { ...params, ...own } };
  }

  #received(params: Readonly<Record<string, string>>, { body, signal }: Given): Received {
    const { request, query } = this.#head;
    const { row } = this.#found;
    const { headers } = request;
    const lastEventId = headers["last-event-id"];
    const key = row.method === "GET" ? undefined : idempotencyKey(headers);
    const { id } = this.#head.visit.caller;
    return {
      params,
      query: queryOf(query),
      ...optional({ body }),
      ...(row.bytes !== undefined
        ? { content: uploaded(request, this.#with.limits, () => this.#mustStillHold()) }
        : {}),
      // Two callers with the same key do not mean the same request.
      ...(key === undefined ? {} : { requestId: `${id} ${key}` }),
      ...(typeof lastEventId === "string" ? { lastEventId } : {}),
      me: this.#me(),
      signal,
    };
  }

  #me(): MeShape {
    const { caller } = this.#head.visit;
    const { role, name, workspaces, isOwner } = caller;
    return {
      version: this.#with.version,
      role,
      ...(isOwner ? {} : { name }),
      workspaces: workspaces === undefined ? null : [...workspaces],
      default_workspace: workspaces === undefined ? this.#with.defaultWorkspace() : null,
      ...(workspaces === undefined && this.#with.isStarting?.() === true ? { starting: true } : {}),
    };
  }

  /**
   * Throws if the token was revoked, has expired or lost rights while the request came in, or waited: then it changes
   * nothing.
   */
  async #mustStillHold(): Promise<void> {
    if (await this.#head.visit.isStillAdmitted()) return;
    throw new ChronicleError("UNAUTHENTICATED", "this token does not hold any more", { hint: "nothing was changed" });
  }

  /** The reply given earlier under this idempotency key, even if its workspace is gone by now. */
  #replyBefore(body: unknown): KeptReply | undefined {
    const { row } = this.#found;
    // A key is matched with the whole body, so a row that takes bytes is not looked up here.
    const change = row.bytes === undefined ? this.#namedChange(row, body) : undefined;
    return change === undefined ? undefined : replyBefore(this.#with.replies, change);
  }

  /** `undefined` if it has no key, or the log remembers it. */
  #namedChange({ method, operation }: Route, body: unknown): NamedChange | undefined {
    const { request, visit } = this.#head;
    const { url = "/", headers } = request;
    const key = method === "GET" || REMEMBERED_BY_LOG.has(operation) ? undefined : idempotencyKey(headers);
    if (key === undefined) return undefined;
    return { caller: visit.caller, key, method, url, ifMatch: headers["if-match"], body };
  }

  async #reply(
    response: ServerResponse,
    row: Route,
    received: Received,
    done: (asked: Received) => Promise<Answer>,
  ): Promise<void> {
    const work = async (asked: Received): Promise<Answer> => {
      if (row.method !== "GET") await this.#mustStillHold();
      return done(asked);
    };
    const named = this.#namedChange(row, received.body);
    if (named === undefined) return this.#send(response, await work(received));
    const held = await this.#held(row, received);
    const asked = held === undefined ? received : { ...received, content: held.content };
    const change = held === undefined ? named : { ...named, body: { bytes: held.hash } };
    sendKept(response, await onlyOnce(this.#with.replies, change, async () => kept(await work(asked))));
  }

  /** The body of a row that takes bytes; else `undefined`. */
  async #held({ bytes }: Route, { content }: Received): Promise<HeldBody | undefined> {
    if (bytes === undefined || content === undefined) return undefined;
    return heldBody(content, bytes === true ? this.#with.limits.uploadBytes : bytes.most);
  }

  async #send(response: ServerResponse, answer: Answer): Promise<void> {
    const { request } = this.#head;
    const { limits } = this.#with;
    switch (answer.kind) {
      case "json":
        return sendJson(response, answer.status, answer.value);
      case "nothing":
        return sendNothing(response);
      case "content":
        return sendContent(request, response, { content: answer.content, limits });
      case "events":
        return this.#sendEvents(response, answer);
    }
  }

  async #sendEvents(response: ServerResponse, { after, events }: Extract<Answer, { kind: "events" }>): Promise<void> {
    const { limits, stopping, streams } = this.#with;
    const { caller, isStillAdmitted } = this.#head.visit;
    using seat = streams.take(caller.id);
    if (seat === undefined) {
      throw new ChronicleError("RATE_LIMITED", `this token follows ${limits.streams} streams already`, {
        hint: "end one of them",
      });
    }
    await sendEvents(response, { after, events, limits, stopping, isStillAdmitted });
  }

  #problem(error: unknown): Problem {
    const { report } = this.#with;
    const hidden = this.#hidden;
    const commands = knowsCommands(this.#head.request);
    if (isReused(error)) return withStatus(problemOf(reused(), { hidden, report, commands }), 422);
    const known =
      error instanceof TooMuch
        ? new ChronicleError("LIMIT_EXCEEDED", error.message)
        : inWords(seenBy(this.#head.visit.caller, error), this.#found.row, this.#head.visit.caller.role);
    return problemOf(known, { hidden, report, commands });
  }
}

/** The parts of a request that are known once its body is read. */
interface Given {
  readonly body: unknown;
  readonly signal: AbortSignal;
}

function findRow({ request, group }: RequestHead): FoundRow {
  const [path = "/"] = (request.url ?? "/").split("?", 1);
  try {
    const found = group.find(path);
    if (found !== undefined) return found;
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw undecodable();
  }
  throw new ChronicleError("NOT_FOUND", "there is nothing here");
}

/** True if the client has the command line at hand. */
export function knowsCommands({ headers }: IncomingMessage): boolean {
  return headers[HINTS_HEADER] === WITH_COMMANDS;
}

/** Everything behind `files/`, as one path. */
function restOf({ row, params }: FoundRow): string {
  const { path = "", n } = params;
  if (row.operation === "fileHistory") return `${path}/history`;
  return row.operation === "fileAtIteration" ? `${path}/at/${n ?? ""}` : path;
}

/** Headers by which a client may retry: later, if the error passes; with another token, if this one is not accepted. */
function retryHeaders(error: unknown): Readonly<Record<string, string>> {
  if (error instanceof ChronicleError && error.code === "UNAUTHENTICATED") return { "www-authenticate": "Bearer" };
  const isPassing = error instanceof ChronicleError && (error.code === "LOCKED" || error.code === "RATE_LIMITED");
  return isPassing ? { "retry-after": "1" } : {};
}

function queryOf(query: unknown): Readonly<Record<string, string | readonly string[]>> {
  return { ...(query as Record<string, string | string[]>) };
}

function wordIn(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string" || header === "") return undefined;
  if (/^[\x20-\x7e]{1,100}$/.test(header)) return header;
  throw new ChronicleError("USAGE", "a Chronicle-* header takes up to 100 printable characters");
}

/** Hides facts about the whole store from callers who may see only some workspaces. */
function seenBy({ workspaces }: Caller, error: unknown): unknown {
  return workspaces === undefined ? error : withoutStoreSize(error);
}

function sendKept(response: ServerResponse, { status, value }: KeptReply): void {
  if (status === 204) sendNothing(response);
  else sendJson(response, status, value);
}

/** Keeps the answer of a change: JSON, or nothing. */
function kept(answer: Answer): KeptReply {
  if (answer.kind === "json") return { status: answer.status, value: answer.value };
  if (answer.kind === "nothing") return { status: 204, value: null };
  throw new Error(`a change answers no ${answer.kind}`);
}
