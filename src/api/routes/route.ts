import type { FileShape } from "../file-api.ts";
import type { MeShape, Page, ReplyShapes } from "./reply-shapes.ts";

/**
 * The one table of routes, from which the server, the client, the OpenAPI document and its texts are made.
 *
 * A row has two halves. Its `Call` says where it is and how a call becomes a request: all that a client needs, without
 * a schema. Its other half says who may ask, what is taken in, and what is done. `workspaceRoute` and `storeRoute`
 * (`define-route.ts`) join the two, and the types hold them together: what `ask` makes is what the schema takes in, and
 * what `answer` gives is what the reply says.
 */

export type { Role } from "./role.ts";

export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** What is sent back. */
export type ReplyKind =
  /** JSON of this shape; with `orNull` also `null`. */
  | { readonly json: keyof ReplyShapes; readonly status?: 201; readonly orNull?: true }
  /** JSON `{ items: Shape[], next: string | null }`: `next` is the `cursor` of those that follow. */
  | { readonly pageOf: keyof ReplyShapes }
  /** A content: bytes, with `ETag`, `Range`, `Content-Type`. */
  | { readonly content: true }
  /** Server-sent events. */
  | { readonly events: keyof ReplyShapes }
  /** 204. */
  | { readonly nothing: true };

/** What `answer` gives for a kind of reply. */
export type AnswerOf<Reply extends ReplyKind> = Reply extends { readonly json: infer K extends keyof ReplyShapes }
  ? ReplyShapes[K] | (Reply extends { readonly orNull: true } ? null : never)
  : Reply extends { readonly pageOf: infer K extends keyof ReplyShapes }
    ? Page<ReplyShapes[K]>
    : Reply extends { readonly events: infer K extends keyof ReplyShapes }
      ? EventsReply<ReplyShapes[K]>
      : Reply extends { readonly content: true }
        ? ContentReply
        : void;

/** A content: of a path, or by its hash alone. */
export interface ContentReply {
  /** The ETag: empty for a folder. */
  readonly hash: string;
  /** Bytes. */
  readonly size: number;
  /** Whose content it is; absent where it was asked for by its hash. See `content-headers.ts`. */
  readonly file?: FileShape;
  /** The bytes from `start` to `end` (exclusive); default: all. */
  pieces(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

/** Events in their order, each once. */
export interface EventsReply<Shape> {
  /** They begin after this seq: sent as the first `id:`, so that also who is cut off before the first can resume. */
  readonly after: number;
  readonly events: AsyncIterable<Shape>;
}

/** A request as the client makes it. What of it is undefined is left out. */
export interface Asking<Query, Body> {
  /** For the `{names}` of the path. `id` is filled in by the client of a workspace. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: Body;
  /** A body of bytes. */
  readonly content?: Uint8Array | AsyncIterable<Uint8Array>;
  /** The hash, or several (or `*`, `none`) for `If-Match`; see `WriteCondition`. */
  readonly ifMatch?: string | readonly string[] | undefined;
  /** For `Idempotency-Key`; the client makes one where there is none, so that it may try again. */
  readonly requestId?: string | undefined;
  /** For `Last-Event-ID`. */
  readonly lastEventId?: number | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
}

/** The half of a row that a client needs. */
export interface Call<Args extends readonly unknown[], Query, Body, Reply extends ReplyKind> {
  /** The name of the operation, in OpenAPI too. Unique. */
  readonly operation: string;
  readonly method: Method;
  /** As in OpenAPI: `/v1/workspaces/{id}/files/{path}/history`. Only `{path}` may hold slashes. */
  readonly path: string;
  readonly reply: Reply;
  ask(...args: Args): Asking<Query, Body>;
}

/** A request as the server hands it over: decoded once (the path's escapes are undone), nothing of it checked yet. */
export interface Received {
  /** What stands at the `{names}` of the path; `id` is the whole id of the workspace, whatever it was asked by. */
  readonly params: Readonly<Record<string, string>>;
  /** A key that stands there more than once has a list. */
  readonly query: Readonly<Record<string, string | readonly string[]>>;
  /** Parsed JSON; `undefined`: there was none. */
  readonly body?: unknown;
  /** For routes that take bytes. */
  readonly content?: AsyncIterable<Uint8Array>;
  /** Without the quotes of an ETag; `none` for `If-None-Match: *`. */
  readonly ifMatch?: string | readonly string[];
  readonly requestId?: string;
  /** As the header gives it. */
  readonly lastEventId?: string;
  /** Who asks. */
  readonly me: MeShape;
  /** Of a caller that went away. */
  readonly signal: AbortSignal;
}

/** A request that was checked: what `answer` works on. */
export interface Asked<Query, Body> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly content: AsyncIterable<Uint8Array>;
  /** `ifMatch` and `requestId` where they were given: to be spread into options. */
  readonly condition: { readonly ifMatch?: string | readonly string[]; readonly requestId?: string };
  readonly lastEventId: number | undefined;
  readonly me: MeShape;
  readonly signal: AbortSignal;
}

/** What a route of any kind answers, for the server to send. */
export type Answer =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly value: unknown }
  | { readonly kind: "content"; readonly content: ContentReply }
  | { readonly kind: "events"; readonly after: number; readonly events: AsyncIterable<{ readonly seq: number }> }
  | { readonly kind: "nothing" };
