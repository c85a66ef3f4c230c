import type { StoreApi } from "../store-api.ts";
import type { SyncApi } from "../sync-api.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import { type Role, mayDo } from "./role.ts";
import type { Answer, Asked, Method, ReplyKind, AnswerOf, Call, ContentReply, EventsReply } from "./route.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { MeShape } from "./reply-shapes.ts";
import type * as z from "zod";

// This file describes routes with their schemas. A row of the table of routes has two halves: the client's and the
// server's. The types of the client's half are in `route.ts`, because the published types of the client must not import
// the package of the schemas, `zod`. That package is not installed along with the client.

/**
 * A kind of request that takes long. Each kind has its own queue, because the durations differ. A large answer takes
 * seconds, and the reading of a whole history takes minutes.
 */
export type Heavy = "history" | "answer" | "scan";

interface RouteText {
  /** The least powerful role that may use the route. */
  readonly role: Role;
  readonly summary: string;
  readonly description?: string;
  /** The group, such as `files`, `history`, `actions`. */
  readonly tag: string;
  /**
   * The reason why the route takes long: it reads a whole history (`history`), makes a large answer (`answer`), or
   * scans the disk (`scan`). A server limits how many such requests run at once.
   */
  readonly heavy?: Heavy;
  /**
   * The names of flags in the query. Only requests in which one of these flags is true are heavy. Absent: every request
   * of a route with `heavy` is heavy.
   */
  readonly heavyWith?: readonly string[];
  /** Present if the reply may name folders of the server's machine. A server shows such folders only to operators. */
  readonly namesFolders?: true;
}

/** The schemas of a request's query and body. A query is flat. A body is JSON (`body`) or bytes (`bytes`). */
interface RouteInput<Query extends z.ZodObject = z.ZodObject, Body extends z.ZodType = z.ZodType> {
  readonly query?: Query;
  readonly body?: Body;
  /**
   * Present if the body is bytes (`Asked.content`). `true`: the body may have any length. `most`: the maximum length of
   * a body that is collected in memory.
   */
  readonly bytes?: true | { readonly most: number };
  /** True if the route supports `If-Match` and `If-None-Match`. */
  readonly conditional?: true;
}

interface Row<On> extends RouteText, RouteInput {
  readonly operation: string;
  readonly method: Method;
  readonly path: string;
  readonly reply: ReplyKind;
  /**
   * Performs a request. The row's schemas have already parsed the query and the body of the request. Throws
   * `ChronicleError`.
   */
  answer(on: On, asked: Asked<unknown, unknown>): Promise<Answer>;
}

/** A route about one workspace: `/v1/workspaces/{id}/…`. */
export type WorkspaceRoute = Row<WorkspaceApi> & { readonly on: "workspace" };

/**
 * A route about the part of the store that the caller may see. If the path has `{id}`, the server checks first that the
 * caller may see that workspace.
 */
export type StoreRoute = Row<StoreApi> & { readonly on: "store" };

/**
 * A route about syncs: folders of the server's machine that follow origins. Only the server's owner may use it, on the
 * Unix socket or the owner's page. On the page, `start` is not allowed.
 */
export type SyncRoute = Row<SyncApi> & { readonly on: "syncs" };

export type Route = WorkspaceRoute | StoreRoute | SyncRoute;

/** The type of a query or body as a client makes it. Fields that are `undefined` are not sent. */
type Sent<T> = T extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Sent<T[K]> | undefined }
    : T;

/** The type of a schema's output without `undefined`: an optional field is either absent or has a value. */
type Given<T> = T extends (infer Item)[]
  ? Given<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Given<Exclude<T[K], undefined>> }
    : T;

/** The server's half of a row: the texts, the role, the schemas, and the function that answers. */
interface Handling<On, Query extends z.ZodObject, Body extends z.ZodType, Reply extends ReplyKind>
  extends RouteText, RouteInput<Query, Body> {
  answer(on: On, asked: Asked<Given<z.output<Query>>, Given<z.output<Body>>>): Promise<AnswerOf<Reply>>;
}

type CallFor<Query extends z.ZodObject, Body extends z.ZodType, Reply extends ReplyKind> = Call<
  never,
  Sent<z.output<Query>>,
  Sent<z.output<Body>>,
  Reply
>;

/** Joins the halves of a row (see `route.ts`). */
export function workspaceRoute<
  const Reply extends ReplyKind,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
>(call: CallFor<Query, Body, Reply>, handling: Handling<WorkspaceApi, Query, Body, Reply>): WorkspaceRoute {
  return { ...joined(call, handling), on: "workspace" };
}

export function storeRoute<
  const Reply extends ReplyKind,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
>(call: CallFor<Query, Body, Reply>, handling: Handling<StoreApi, Query, Body, Reply>): StoreRoute {
  return { ...joined(call, handling), on: "store" };
}

export function syncRoute<
  const Reply extends ReplyKind,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
>(call: CallFor<Query, Body, Reply>, handling: Handling<SyncApi, Query, Body, Reply>): SyncRoute {
  return { ...joined(call, handling), on: "syncs" };
}

function joined<On, Query extends z.ZodObject, Body extends z.ZodType, Reply extends ReplyKind>(
  { operation, method, path, reply }: CallFor<Query, Body, Reply>,
  handling: Handling<On, Query, Body, Reply>,
): Omit<WorkspaceRoute, "on" | "answer"> & { answer(on: On, asked: Asked<unknown, unknown>): Promise<Answer> } {
  return {
    ...handling,
    operation,
    method,
    path,
    reply,
    answer: async (on, asked) =>
      answerOf(reply, await handling.answer(on, asked as Asked<Given<z.output<Query>>, Given<z.output<Body>>>)),
  };
}

function answerOf(reply: ReplyKind, value: unknown): Answer {
  if ("json" in reply) return { kind: "json", status: reply.status ?? 200, value };
  if ("pageOf" in reply) return { kind: "json", status: 200, value };
  if ("content" in reply) return { kind: "content", content: value as ContentReply };
  if ("nothing" in reply) return { kind: "nothing" };
  const { after, events } = value as EventsReply<{ readonly seq: number }>;
  return { kind: "events", after, events };
}

export const WORKSPACE = "/v1/workspaces/{id}";

/** Returns the client's half of a row, with its exact types. */
export function defineCall<
  const Args extends readonly unknown[],
  const Reply extends ReplyKind,
  Query = Record<never, never>,
  Body = undefined,
>(call: Call<Args, Query, Body, Reply>): Call<Args, Query, Body, Reply> {
  return call;
}

/**
 * Returns the `USAGE` error for an operation that a client cannot request, because the operation needs the library on
 * the machine of the store. `what`: the operation as a noun or gerund, such as `running a command`.
 */
export function elsewhere(what: string): ChronicleError {
  return new ChronicleError("USAGE", `through a server, ${what} is not possible`, {
    hint: "use `chronicle` or the library on the machine of the store",
  });
}

/**
 * Throws `FORBIDDEN` if the caller may see only some workspaces. Must be called before an operation on the whole store.
 */
export function needsWholeStore({ workspaces }: MeShape): void {
  if (workspaces === null) return;
  throw new ChronicleError(
    "FORBIDDEN",
    "this token is for certain workspaces only, but this request concerns the whole store",
  );
}

/**
 * Throws `FORBIDDEN` if the caller is no operator of the whole store. Must be called before an operation on paths
 * outside of every workspace.
 */
export function needsMachine({ role, workspaces }: MeShape): void {
  if (mayDo(role, "operator") && workspaces === null) return;
  throw new ChronicleError(
    "FORBIDDEN",
    "only an operator of the whole store may do this: these paths lie outside of every workspace",
  );
}

/** Returns a copy of an object without the members whose value is `undefined`. */
export function withoutUndefined<T extends object>(given: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const members = Object.entries(given).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
