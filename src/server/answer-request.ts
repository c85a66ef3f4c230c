import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { TooMuch, discardRest, uploaded } from "./limits/slow-peer.ts";
import type { Answer, Asked } from "../api/routes/route.ts";
import { hide, hiddenIn, formProblem, type Problem, problemOf, type Report, withStatus } from "./answers/problem.ts";
import { ACTING, HINTS_HEADER, WITH_COMMANDS } from "../api/routes/content-headers.ts";
import { recording, status } from "../api/routes/calls/history-calls.ts";
import { startSync } from "../api/routes/calls/sync-calls.ts";
import { meantByPath } from "../api/routes/meant-by-path.ts";
import type { MeShape } from "../api/routes/reply-shapes.ts";
import { mayDo, type Role } from "../api/routes/role.ts";
import type { Heavy, Route } from "../api/routes/row.ts";
import { NO_QUERY, validate } from "../api/routes/validate.ts";
import { withSync } from "../api/recording.ts";
import type { RecordingShape, StatusShape } from "../api/shapes.ts";
import type { SyncApi, SyncShape } from "../api/sync-api.ts";
import type { ActingAs, WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { withoutStoreSize } from "../core/text/store-full.ts";
import type { AdmittedRequest } from "./callers/admission.ts";
import { type Caller, personOf } from "./callers/caller.ts";
import { CallerStore, type StoreParts, inWords, needsRole } from "./callers/caller-store.ts";
import {
  isReused,
  type NamedChange,
  onlyOnce,
  replyBefore,
  reused,
  type KeptReply,
  type IdempotencyStore,
} from "./answers/idempotent.ts";
import type { ServerLimits } from "./limits/limits.ts";
import type { Lease } from "./callers/open-workspaces.ts";
import { conditionOf, eventIdIn, idempotencyKey, refuseEncoded } from "./answers/received.ts";
import type { Refusals } from "./limits/refusals.ts";
import { mustSee, openFor } from "./callers/scope.ts";
import type { HeavyReads } from "./callers/heavy-reads.ts";
import type { ConcurrencyLimit } from "./limits/concurrency-limit.ts";
import { sendContent } from "./answers/send-content.ts";
import { sendEvents } from "./answers/send-events.ts";
import { SAFE_HEADERS, replyProblem } from "./answers/send.ts";
import { optional } from "../util/optional.ts";

/** The parts and settings of a server that are needed to answer a request. */
export interface Answering extends StoreParts {
  readonly version: string;
  /**
   * Returns the id of the workspace of the folder in which the server was started; `null` if there is none, or if the
   * workspace is not known yet.
   */
  readonly defaultWorkspace: () => string | null;
  /** True while the default workspace is not known yet. If `isStarting` is absent, the default workspace is known. */
  readonly isStarting?: () => boolean;
  /** The replies to changes with an idempotency key. A repeated request gets the stored reply. */
  readonly replies: IdempotencyStore;
  /** Loads the code that runs syncs. If absent, the server runs no syncs. */
  readonly syncs?: () => Promise<SyncApi>;
  /** Resolves to the sync of a workspace's folder, if there is one. Absent if the server runs no syncs. */
  readonly syncOf?: (workspace: string) => Promise<SyncShape | undefined>;
  readonly limits: ServerLimits;
  /** Folders of this machine that no problem may name. */
  readonly hidden: readonly string[];
  readonly report: Report;
  /**
   * Called with a line for the diagnostics when an agent's call that names no workspace is refused. `Refusals` limits
   * how often this happens. Default: no line is written.
   */
  readonly onRefused?: (line: string) => void;
  /** Aborts when the server is told to end. Event streams then end. */
  readonly stopping: AbortSignal;
}

/** The parts that all requests of a server share. */
export interface Shared extends Answering {
  readonly refusals: Refusals;
  /** Limits the number of event streams of each caller. */
  readonly streams: ConcurrencyLimit;
  /** Maps a kind of heavy request to the queue of such requests. */
  readonly heavy: Readonly<Record<Heavy, HeavyReads>>;
}

/** A signal that never aborts, for requests that are not streams of events. */
const NEVER = new AbortController().signal;
const GONE = "the client is gone";

/** The (empty) content of a request whose row takes no bytes. */
const NOTHING: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => nothing() };

interface RequestHead {
  readonly request: FastifyRequest;
  readonly visit: AdmittedRequest;
  readonly route: MountedRoute;
}

/** A route of the router: a URL and the row that answers its requests. */
export interface MountedRoute {
  /** The URL in the router's form: `/v1/workspaces/:id/files/*`. */
  readonly url: string;
  readonly row: Route;
  /**
   * Other rows with the same URL in the router. The paths of these rows continue after `{path}`, and the router cannot
   * tell where `{path}` ends (see `meant-by-path.ts`). In most cases, there are none.
   */
  readonly others: readonly Route[];
}

/**
 * The operations for which the log records the idempotency key and everything that the reply says. The replies of these
 * operations survive a crash, although they are not kept in `Answering.replies`.
 */
const REMEMBERED_BY_LOG = new Set(["putFile", "makeFolder", "deleteFile", "moveFile"]);
/**
 * The operations for which the log records the idempotency key if they changed something. The replies of these
 * operations are also kept in `Answering.replies`, because the log does not record everything that these replies say.
 */
const KNOWN_TO_LOG = new Set(["restore", "rollback", "undo", "redo", "takeSnapshot"]);

/**
 * Answers one request. The app calls `begin`, `takeBody` (not for a GET) and `send`, in this order, and `fail` if an
 * error occurs.
 */
export class RequestAnswer {
  readonly #request: FastifyRequest;
  readonly #visit: AdmittedRequest;
  readonly #others: readonly Route[];
  readonly #with: Shared;
  #row: Route;
  #params: Readonly<Record<string, string>>;
  #hidden: readonly string[];
  /** The JSON body as it was sent, if any. */
  #body: unknown;
  #timer: NodeJS.Timeout | undefined;

  constructor({ request, visit, route: { row, others } }: RequestHead, shared: Shared) {
    this.#request = request;
    this.#visit = visit;
    this.#row = row;
    this.#others = others;
    this.#params = paramsOf(request);
    this.#with = shared;
    this.#hidden = shared.hidden;
  }

  /**
   * Called before the body is read. If the caller's role is not sufficient, returns a promise that rejects (see
   * `#refuse`). Throws `Encoded` if the body has a content encoding. Otherwise returns `undefined`. From then on, the
   * time until a JSON body has arrived is limited.
   */
  begin(): Promise<never> | undefined {
    const role = this.#roleFor(this.#row);
    if (!mayDo(role, this.#row.role)) return this.#refuse(role);
    refuseEncoded(this.#request.headers);
    if (this.#row.bytes === undefined) this.#expectBody();
    return undefined;
  }

  /**
   * Called before the body is validated. Remembers the body as it was sent. If the row has a schema for the body, an
   * empty object takes the place of a missing body.
   */
  takeBody(): void {
    const { body } = this.#request;
    this.#body = body;
    if (body === undefined && this.#row.body !== undefined) this.#request.body = {};
  }

  /** Closes the connection if the body has not arrived within `limits.bodyMs`. */
  #expectBody(): void {
    const request = this.#request.raw;
    if (request.complete) return;
    this.#timer = setTimeout(() => request.complete || request.destroy(), this.#with.limits.bodyMs);
    request.once("close", () => clearTimeout(this.#timer));
  }

  /**
   * Rejects with `FORBIDDEN`. Before that, records an agent's attempt, unless the agent has had too many refusals (see
   * `Refusals`). The record is in the log of the workspace that the call names, or in the diagnostics if the call names
   * no workspace. Rejects with another error if the workspace cannot be opened, or if the record cannot be written. For
   * example, a workspace that the agent may not see gives `NOT_FOUND`.
   */
  async #refuse(role: Role): Promise<never> {
    const { caller } = this.#visit;
    const row = this.#row;
    const { id } = this.#params;
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
   * Returns the role that is checked: the caller's role, but at most `agent` for a call on behalf of an agent. A call
   * on a workspace is always checked with the caller's role. For such a call, the engine itself refuses an agent's
   * attempt and records the refusal.
   */
  #roleFor({ on }: Route): Role {
    const { role } = this.#visit.caller;
    return on !== "workspace" && this.#isForAgent && mayDo(role, "agent") ? "agent" : role;
  }

  /** True if the caller acts on behalf of an agent, as the headers say. */
  get #isForAgent(): boolean {
    return this.#request.headers[ACTING.role] === "agent";
  }

  /**
   * Answers the request. If an error occurs before sending has begun, rejects with the error, and the app passes it to
   * `fail`. If an error occurs later, `send` calls `fail` itself, and resolves.
   */
  async send(reply: FastifyReply): Promise<void> {
    clearTimeout(this.#timer);
    const { raw: response } = reply;
    // Only event streams get a signal that can abort, because such a signal is expensive to make.
    const signal = "events" in this.#row.reply ? this.#whileConnected(response) : NEVER;
    try {
      const before = this.#replyBefore();
      if (before !== undefined) sendKept(reply, before);
      else if (this.#row.on === "store") await this.#askStore(reply, signal);
      else if (this.#row.on === "syncs") await this.#askSyncs(reply, signal);
      else await this.#askWorkspace(reply, signal);
      discardRest(this.#request.raw);
    } catch (error) {
      // Fastify ignores an error that is thrown after the reply was sent or hijacked.
      if (!reply.sent) throw error;
      this.fail(reply, error);
    }
  }

  /**
   * Sends the problem for an error; closes the connection instead if an answer has begun. If the client is gone or the
   * request is broken off, sends only a problem of `formProblem`. Discards the rest of the request.
   */
  fail(reply: FastifyReply, error: unknown): void {
    const { raw } = this.#request;
    const formal = formProblem(error);
    const isGone = reply.raw.destroyed || raw.errored !== null;
    if (formal !== undefined) replyProblem(reply, formal);
    else if (!isGone) replyProblem(reply, this.#problem(error), retryHeaders(error));
    discardRest(raw);
  }

  #whileConnected(response: ServerResponse): AbortSignal {
    const away = new AbortController();
    response.once("close", () => away.abort(GONE));
    return AbortSignal.any([away.signal, this.#with.stopping]);
  }

  async #askStore(reply: FastifyReply, signal: AbortSignal): Promise<void> {
    const row = this.#row;
    if (row.on !== "store") return;
    const { caller } = this.#visit;
    const { id } = this.#params;
    if (id !== undefined) this.#params = { ...this.#params, id: await mustSee(this.#with.workspaces, caller, id) };
    const store = new CallerStore(this.#with, caller, personOf(caller, this.#isForAgent));
    await this.#reply(reply, this.#asked(signal), (asked) => row.answer(store, this.#fitting(asked)));
  }

  /**
   * Answers a request about syncs. Throws `FORBIDDEN` for any caller except the owner and the owner's page. Only the
   * owner may start a sync, because the start of a sync names a folder of this machine. Throws `UNAVAILABLE` if this
   * server runs no syncs.
   */
  async #askSyncs(reply: FastifyReply, signal: AbortSignal): Promise<void> {
    const row = this.#row;
    if (row.on !== "syncs") return;
    const { isOwner, isOfPage = false } = this.#visit.caller;
    if (!isOwner && (!isOfPage || row.operation === startSync.operation)) {
      throw new ChronicleError(
        "FORBIDDEN",
        "only the owner of the store may manage syncs, on its Unix socket or its page",
      );
    }
    const { syncs } = this.#with;
    if (syncs === undefined) throw new ChronicleError("UNAVAILABLE", "this server runs no syncs");
    await this.#reply(reply, this.#asked(signal), async (asked) => row.answer(await syncs(), this.#fitting(asked)));
  }

  async #askWorkspace(reply: FastifyReply, signal: AbortSignal): Promise<void> {
    using lease = await openFor(this.#with.workspaces, this.#visit.caller, this.#params["id"] ?? "");
    // Only operators see the paths of folders.
    const isOperator = mayDo(this.#visit.caller.role, "operator");
    if (!isOperator) this.#hidden = [...this.#hidden, ...lease.workspace.roots];
    const on = this.#viewOf(lease);
    if (this.#others.length > 0) await this.#findMeant(on);
    const { id } = lease.workspace;
    this.#params = { ...this.#params, id };
    const row = this.#row;
    if (row.on !== "workspace") return;
    const asked = this.#asked(signal === NEVER ? NEVER : AbortSignal.any([signal, lease.gone]));
    const begin = async (asked: Asked<unknown, unknown>): Promise<Disposable | undefined> => {
      const turn = await this.#heavyTurn(reply.raw, asked);
      if (turn !== undefined) await this.#mustStillHold();
      return turn;
    };
    const done = async (asked: Asked<unknown, unknown>) => {
      // A stream begins its work when its first event is read, and has its turn until it ends.
      const isStream = "events" in row.reply;
      using _turn = isStream ? undefined : await begin(asked);
      const answer = await this.#withSync(await this.#answered(() => row.answer(on, this.#fitting(asked)), id), id);
      const shown = isOperator ? answer : withoutFolders(row, answer, this.#hidden);
      return shown.kind === "events" ? { ...shown, events: inTurn(() => begin(asked), shown.events) } : shown;
    };
    await this.#reply(reply, asked, done);
  }

  /** Adds the folder's sync to an answer about who records, because the workspace itself does not know its sync. */
  async #withSync(answer: Answer, id: string): Promise<Answer> {
    const isStatus = this.#row.operation === status.operation;
    if (answer.kind !== "json" || !(isStatus || this.#row.operation === recording.operation)) return answer;
    const sync = await this.#with.syncOf?.(id);
    if (!isStatus) return { ...answer, value: withSync(answer.value as RecordingShape, sync, null) };
    const shape = answer.value as StatusShape;
    return { ...answer, value: { ...shape, recording: withSync(shape.recording, sync, null) } };
  }

  /**
   * Waits for the turn of a heavy request. The caller must dispose of the result when the request is answered. Returns
   * `undefined` without waiting if the request is not heavy. Throws `UNAVAILABLE` if the client is gone when the turn
   * comes, and the errors of `HeavyReads.turn`.
   */
  async #heavyTurn(response: ServerResponse, asked: Asked<unknown, unknown>): Promise<Disposable | undefined> {
    const { heavy, heavyWith } = this.#row;
    if (heavy === undefined) return undefined;
    if (heavyWith !== undefined) {
      const query = this.#fitting(asked).query as Readonly<Record<string, unknown>>;
      if (!heavyWith.some((flag) => query[flag] === true)) return undefined;
    }
    const turn = await this.#with.heavy[heavy].turn(asked.params["id"] ?? "", this.#visit.caller);
    if (!response.destroyed) return turn;
    turn[Symbol.dispose]();
    throw new ChronicleError("UNAVAILABLE", GONE);
  }

  /**
   * Calls `work`. A row for operators may change the workspace's settings. The next request then checks the settings
   * again.
   */
  async #answered(work: () => Promise<Answer>, id: string): Promise<Answer> {
    try {
      return await work();
    } finally {
      if (this.#row.role === "operator") this.#with.workspaces.lookAgain(id);
    }
  }

  /**
   * Returns the view of the workspace on which the request is carried out. The view has a person's rights only if the
   * caller is an operator and does not act for an agent. Every other view has an agent's rights. Throws `USAGE` for an
   * invalid `Chronicle-*` header.
   */
  #viewOf({ workspace }: Lease): WorkspaceApi {
    const { caller } = this.#visit;
    const { headers } = this.#request;
    const isAgent = !mayDo(caller.role, "operator") || headers[ACTING.role] === "agent";
    const actor = wordIn(headers[ACTING.actor]);
    const client = wordIn(headers[ACTING.client]) ?? (caller.isOwner ? undefined : caller.name);
    const requestId = KNOWN_TO_LOG.has(this.#row.operation) ? this.#requestId : undefined;
    const who: ActingAs = {
      ...(isAgent ? { role: "agent", actor: actor ?? "agent" } : actor === undefined ? {} : { actor }),
      ...optional({ client, requestId }),
      ...(caller.isOwner || (!isAgent && caller.workspaces === undefined) ? {} : { onlyInside: true }),
    };
    return workspace.as(who);
  }

  /**
   * Finds the row and the path that the request means: `files/x/history` can be the history of `x` or the content of
   * the file `x/history`.
   */
  async #findMeant(on: WorkspaceApi): Promise<void> {
    const { path = "", ...named } = this.#params;
    const { as } = this.#query;
    const { operation, params } = await meantByPath(on, path, typeof as === "string" ? as : undefined);
    this.#row = this.#others.find((row) => row.operation === operation) ?? this.#row;
    this.#params = { ...named, ...params };
  }

  /**
   * The id of the request: the caller's id and the idempotency key. So two callers can use the same key for different
   * requests. `undefined` for a GET or a request without a key.
   */
  get #requestId(): string | undefined {
    const key = this.#row.method === "GET" ? undefined : idempotencyKey(this.#request.headers);
    return key === undefined ? undefined : `${this.#visit.caller.id} ${key}`;
  }

  get #query(): Readonly<Record<string, unknown>> {
    return this.#request.query as Readonly<Record<string, unknown>>;
  }

  /** Returns the request, which is not validated yet. */
  #asked(signal: AbortSignal): Asked<unknown, unknown> {
    const { headers, raw, query, body } = this.#request;
    const { bytes, conditional } = this.#row;
    return {
      params: this.#params,
      query,
      body,
      content: bytes === undefined ? NOTHING : uploaded(raw, this.#with.limits, () => this.#mustStillHold()),
      condition: {
        ...optional({ requestId: this.#requestId }),
        ...(conditional === true ? conditionOf(headers) : {}),
      },
      lastEventId: undefined,
      me: this.#me(),
      signal,
    };
  }

  /**
   * Returns the request with its validated query. Throws `USAGE` if the request does not match the schemas of the row.
   * Must be called after the target was found, so that a missing target is reported first.
   */
  #fitting(asked: Asked<unknown, unknown>): Asked<unknown, unknown> {
    const { bytes, body, query = NO_QUERY } = this.#row;
    if (bytes === undefined && body === undefined && this.#body !== undefined) {
      throw new ChronicleError("USAGE", "this request takes no body");
    }
    const { validationError } = this.#request;
    const isUnknown = this.#others.length > 0 || validationError !== undefined;
    // Fastify has not validated the query if several rows share the URL, or if the body is invalid. Validate the query
    // here, because errors in the query are reported before errors in the body.
    const validated = isUnknown ? validate(query, asked.query, "query") : { value: asked.query };
    if ("error" in validated) throw validated.error;
    if (validationError !== undefined) throw validationError;
    return { ...asked, query: validated.value, lastEventId: eventIdIn(this.#request.headers) };
  }

  #me(): MeShape {
    const { caller } = this.#visit;
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
   * Throws `UNAUTHENTICATED` if the token was revoked, has expired, or has other rights than when the request was
   * admitted.
   */
  async #mustStillHold(): Promise<void> {
    if (await this.#visit.isStillAdmitted()) return;
    throw new ChronicleError("UNAUTHENTICATED", "this token is not valid any more", { hint: "nothing was changed" });
  }

  /**
   * Returns the earlier reply to this idempotency key, if any, even if the workspace no longer exists. Throws the
   * errors of `replyBefore`.
   */
  #replyBefore(): KeptReply | undefined {
    // A repeated request must have the same key and the same body. A body of bytes has not been read at this point.
    // Therefore, `#reply` looks up the key of a request with such a body.
    const change = this.#row.bytes === undefined ? this.#namedChange() : undefined;
    return change === undefined ? undefined : replyBefore(this.#with.replies, change);
  }

  /**
   * Returns the request as a change whose reply is kept under its idempotency key. Returns `undefined` for a GET, a
   * request without a key, and an operation whose reply the log has (`REMEMBERED_BY_LOG`).
   */
  #namedChange(): NamedChange | undefined {
    const { method, operation } = this.#row;
    const { raw, headers } = this.#request;
    const key = method === "GET" || REMEMBERED_BY_LOG.has(operation) ? undefined : idempotencyKey(headers);
    if (key === undefined) return undefined;
    const { url = "/" } = raw;
    const isInLog = KNOWN_TO_LOG.has(operation);
    return { caller: this.#visit.caller, key, method, url, ifMatch: headers["if-match"], body: this.#body, isInLog };
  }

  async #reply(
    reply: FastifyReply,
    asked: Asked<unknown, unknown>,
    done: (asked: Asked<unknown, unknown>) => Promise<Answer>,
  ): Promise<void> {
    const work = async (asked: Asked<unknown, unknown>): Promise<Answer> => {
      if (this.#row.method !== "GET") await this.#mustStillHold();
      return done(asked);
    };
    const named = this.#namedChange();
    if (named === undefined) return this.#send(reply, await work(asked));
    const held = await this.#held(asked);
    const whole = held === undefined ? asked : { ...asked, content: held.content };
    const change = held === undefined ? named : { ...named, body: { bytes: held.hash } };
    sendKept(reply, await onlyOnce(this.#with.replies, change, async () => kept(await work(whole))));
  }

  async #held({ content }: Asked<unknown, unknown>): Promise<HeldBody | undefined> {
    const { bytes } = this.#row;
    if (bytes === undefined) return undefined;
    return heldBody(content, bytes === true ? this.#with.limits.uploadBytes : bytes.most);
  }

  async #send(reply: FastifyReply, answer: Answer): Promise<void> {
    switch (answer.kind) {
      case "json":
        reply.code(answer.status).headers(SAFE_HEADERS).send(answer.value);
        return;
      case "nothing":
        reply.code(204).headers(SAFE_HEADERS).send();
        return;
      case "content":
        return sendContent(reply, answer.content, this.#with.limits);
      case "events":
        return this.#sendEvents(reply, answer);
    }
  }

  async #sendEvents(reply: FastifyReply, { after, events }: Extract<Answer, { kind: "events" }>): Promise<void> {
    const { limits, stopping, streams } = this.#with;
    const { caller, isStillAdmitted } = this.#visit;
    using slot = streams.take(caller.id);
    if (slot === undefined) {
      const who = caller.isOwner ? "the owner of the store" : "this token";
      throw new ChronicleError("RATE_LIMITED", `${who} follows ${limits.streams} streams already`, {
        hint: "end one of them",
      });
    }
    const { reply: kind } = this.#row;
    const problemOf = "events" in kind && kind.ends === true ? (error: unknown) => this.#problem(error) : undefined;
    const sending = { after, events, limits, stopping, isStillAdmitted, ...optional({ problemOf }) };
    await sendEvents(reply.hijack().raw, sending);
  }

  #problem(error: unknown): Problem {
    const { report } = this.#with;
    const isOperator = mayDo(this.#visit.caller.role, "operator");
    const hidden = isOperator ? this.#hidden : hiddenIn(error, this.#hidden);
    const commands = knowsCommands(this.#request);
    if (isReused(error)) return withStatus(problemOf(reused(), { hidden, report, commands }), 422);
    const known =
      error instanceof TooMuch
        ? new ChronicleError("LIMIT_EXCEEDED", error.message)
        : inWords(seenBy(this.#visit.caller, error), this.#row, this.#visit.caller.role);
    return problemOf(known, { hidden, report, commands });
  }
}

/** Returns the parameters in the URL. The router's wildcard `*` becomes the parameter `path`. */
function paramsOf({ params }: FastifyRequest): Readonly<Record<string, string>> {
  const named = params as Readonly<Record<string, string>>;
  if (named["*"] === undefined) return named;
  const { "*": path, ...others } = named;
  return { ...others, path };
}

/** True if the request comes from the command line. Only then may hints name commands. */
export function knowsCommands({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers[HINTS_HEADER] === WITH_COMMANDS;
}

/**
 * Returns `Retry-After` for `LOCKED` and `RATE_LIMITED`, and `WWW-Authenticate` for `UNAUTHENTICATED`. Returns no
 * header for other errors.
 */
function retryHeaders(error: unknown): Readonly<Record<string, string>> {
  if (error instanceof ChronicleError && error.code === "UNAUTHENTICATED") return { "www-authenticate": "Bearer" };
  const mayPass = error instanceof ChronicleError && (error.code === "LOCKED" || error.code === "RATE_LIMITED");
  return mayPass ? { "retry-after": "1" } : {};
}

function wordIn(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string" || header === "") return undefined;
  if (/^[\x20-\x7e]{1,100}$/.test(header)) return header;
  throw new ChronicleError("USAGE", "a Chronicle-* header takes up to 100 printable characters");
}

/** Returns the error without the size of the store if the caller may see only some workspaces. */
function seenBy({ workspaces }: Caller, error: unknown): unknown {
  return workspaces === undefined ? error : withoutStoreSize(error);
}

function sendKept(reply: FastifyReply, { status, value }: KeptReply): void {
  reply
    .code(status)
    .headers(SAFE_HEADERS)
    .send(status === 204 ? undefined : value);
}

/** Yields the items from the time on at which `begin` resolves. Disposes of its result after the last item. */
async function* inTurn<T>(begin: () => Promise<Disposable | undefined>, items: AsyncIterable<T>): AsyncIterable<T> {
  using _turn = await begin();
  yield* items;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function kept(answer: Answer): KeptReply {
  if (answer.kind === "json") return { status: answer.status, value: answer.value };
  if (answer.kind === "nothing") return { status: 204, value: null };
  throw new Error(`a change answers no ${answer.kind}`);
}

interface HeldBody {
  readonly content: AsyncIterable<Uint8Array>;
  readonly hash: string;
}

/** Reads a body into memory, and hashes it. Throws `TooMuch` if the body has more than `most` bytes. */
async function heldBody(body: AsyncIterable<Uint8Array>, most: number): Promise<HeldBody> {
  const pieces: Uint8Array[] = [];
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > most) throw new TooMuch(`at most ${most} bytes are accepted`);
    hash.update(piece);
    pieces.push(piece);
  }
  return { content: again(pieces), hash: hash.digest("base64url") };
}

async function* again(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* pieces;
}

/** The fields with paths on the server's machine. A field may be a path, or a list or object with paths. */
const PATH_FIELDS: ReadonlySet<string> = new Set(["path", "tracked_paths", "source", "sources"]);

/**
 * Removes folders of the server's machine, for a caller who must not learn them. Absolute paths in `PATH_FIELDS` become
 * empty, and `…` replaces the `hidden` folders in all other texts. If the row has no `namesFolders`, only the coverage
 * is changed. The row of the log has no `namesFolders`, because a caller could not verify the hash of a changed event.
 */
function withoutFolders({ namesFolders }: Route, answer: Answer, hidden: readonly string[]): Answer {
  if (answer.kind === "events" && namesFolders === true)
    return { ...answer, events: cleanedEvents(answer.events, hidden) };
  if (answer.kind !== "json") return answer;
  const value = namesFolders === true ? cleaned(answer.value, hidden, false) : cleanedCoverage(answer.value, hidden);
  return { ...answer, value };
}

async function* cleanedEvents<T>(events: AsyncIterable<T>, hidden: readonly string[]): AsyncIterable<T> {
  // A cleaned value has the same fields.
  for await (const event of events) yield cleaned(event, hidden, false) as T;
}

/**
 * Cleans the coverage of an answer, or of each item of a page. A coverage names the files with ignore rules, and these
 * may lie outside of the workspace. Everything else, such as the text of a patch, must stay unchanged.
 */
function cleanedCoverage(value: unknown, hidden: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("coverage" in value) return { ...value, coverage: cleaned(value.coverage, hidden, false) };
  if (!("items" in value) || !Array.isArray(value.items)) return value;
  return { ...value, items: value.items.map((one) => cleanedCoverage(one, hidden)) };
}

function cleaned(value: unknown, hidden: readonly string[], isPath: boolean): unknown {
  if (typeof value === "string") return isPath && value.startsWith("/") ? "" : hide(value, hidden);
  if (Array.isArray(value)) return value.map((one) => cleaned(one, hidden, isPath));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, cleaned(one, hidden, isPath || PATH_FIELDS.has(key))]),
  );
}
