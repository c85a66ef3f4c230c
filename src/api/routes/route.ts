import type { FileShape } from "../file-api.ts";
import type { MeShape, Page, ReplyShapes } from "./reply-shapes.ts";

// This file has the types of the table of routes. The server, the client and the OpenAPI document use this table.
//
// A row has two halves. Its `Call` has the route's path, and turns the arguments of a call into a request. A client
// needs only this half. The server's half has the required role, the schemas, and the function that answers the
// request. `workspaceRoute`, `storeRoute` and `syncRoute` (`row.ts`) join the halves. The types ensure that the halves
// agree: the schema accepts the result of `ask`, and the reply kind describes the result of `answer`.

export type { Role } from "./role.ts";

export type Method = "GET" | "PUT" | "POST" | "DELETE";

export type ReplyKind =
  /** JSON of this shape; with `orNull`, the reply may also be `null`. */
  | { readonly json: keyof ReplyShapes; readonly status?: 201; readonly orNull?: true }
  /** JSON `{ items: Shape[], next: string | null }`. `next` is the `cursor` of the next page. */
  | { readonly pageOf: keyof ReplyShapes }
  /** A content: bytes, with `ETag`, `Range`, `Content-Type`. */
  | { readonly content: true }
  /**
   * Server-sent events. With `ends`, they are the steps of some work, and end with it. If that work fails, the last
   * event has the type `problem`, and its data is the problem.
   */
  | { readonly events: keyof ReplyShapes; readonly ends?: true }
  /** No content (status 204). */
  | { readonly nothing: true };

/** The type of the value that `answer` returns for a kind of reply. */
export type AnswerOf<Reply extends ReplyKind> = Reply extends { readonly json: infer K extends keyof ReplyShapes }
  ? ReplyShapes[K] | (Reply extends { readonly orNull: true } ? null : never)
  : Reply extends { readonly pageOf: infer K extends keyof ReplyShapes }
    ? Page<ReplyShapes[K]>
    : Reply extends { readonly events: infer K extends keyof ReplyShapes }
      ? EventsReply<ReplyShapes[K]>
      : Reply extends { readonly content: true }
        ? ContentReply
        : void;

/** A content that was requested by a path or by its hash. */
export interface ContentReply {
  /** The content's hash. It becomes the `ETag`. */
  readonly hash: string;
  readonly size: number;
  /**
   * The file that has the content, for the headers (see `content-headers.ts`). Absent if the content was requested by
   * its hash.
   */
  readonly file?: FileShape;
  /** The bytes from `start` to `end` (exclusive); default: all. */
  pieces(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

/** A stream of events in order, each once. */
export interface EventsReply<Shape> {
  /**
   * The stream begins after this seq. The seq is sent as the first `id:`, so that a client can resume even if its
   * connection ends before the first event.
   */
  readonly after: number;
  readonly events: AsyncIterable<Shape>;
}

/** A request as the client makes it. Fields that are `undefined` are not sent. */
export interface Asking<Query, Body> {
  /** Values for the `{names}` in the route's path. The client of a workspace adds `id`. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  /**
   * Fields of the query that a server of an earlier version may not know, and that only add details to the answer. If
   * the server refuses them, the client sends the request without them.
   */
  readonly detailFields?: readonly string[];
  /**
   * For a list, the maximum number of items that the caller wants (default: all). The client requests as many pages as
   * it needs for this number.
   */
  readonly most?: number | undefined;
  readonly body?: Body;
  /** The body, if it is bytes and not JSON. */
  readonly content?: Uint8Array | AsyncIterable<Uint8Array>;
  /** The condition of the request, as in `WriteCondition`. The client sends it as `If-Match` or `If-None-Match`. */
  readonly ifMatch?: string | readonly string[] | undefined;
  /**
   * The value for `Idempotency-Key`. Without it, the client makes a key, so that a retry does not repeat the operation.
   */
  readonly requestId?: string | undefined;
  readonly lastEventId?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The half of a row that a client needs. */
export interface Call<Args extends readonly unknown[], Query, Body, Reply extends ReplyKind> {
  /** The unique name of the operation: its `operationId` in the OpenAPI document. */
  readonly operation: string;
  readonly method: Method;
  /**
   * The path with `{names}` for parameters, as in OpenAPI: `/v1/workspaces/{id}/files/{path}/history`. Only the value
   * of `{path}` may contain slashes.
   */
  readonly path: string;
  readonly reply: Reply;
  /** Returns the request. Throws `USAGE` for arguments that are only valid on the machine of the store. */
  ask(...args: Args): Asking<Query, Body>;
}

/** A validated request: the input of `answer`. */
export interface Asked<Query, Body> {
  /**
   * Values of the `{names}` in the route's path. `id` is the workspace's whole id, even if the request has its name.
   */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  /** The parsed JSON body; `undefined` if the row has no JSON body. */
  readonly body: Body;
  /** The body of a route whose body is bytes; empty for all other routes. */
  readonly content: AsyncIterable<Uint8Array>;
  /**
   * Options for the operation: `ifMatch` and `requestId`, each only if the request has it. `ifMatch` has the ETags
   * without their quotes, or `none` for `If-None-Match: *`.
   */
  readonly condition: { readonly ifMatch?: string | readonly string[]; readonly requestId?: string };
  readonly lastEventId: number | undefined;
  readonly me: MeShape;
  /** Aborts when the caller's connection closes. */
  readonly signal: AbortSignal;
}

/** The answer of any route, in the form that the server sends. */
export type Answer =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly value: unknown }
  | { readonly kind: "content"; readonly content: ContentReply }
  | { readonly kind: "events"; readonly after: number; readonly events: AsyncIterable<{ readonly seq: number }> }
  | { readonly kind: "nothing" };
