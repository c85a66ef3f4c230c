import type { FileShape } from "../file-api.ts";
import type { MeShape, Page, ReplyShapes } from "./reply-shapes.ts";

/**
 * The types of the table of routes, from which the server, the client, the OpenAPI document and its texts are made.
 *
 * A row has two halves. Its `Call` has the route's path and turns a call into a request: everything that a client
 * needs, without a schema. The other half says who may ask, what is accepted, and what is done. `workspaceRoute`,
 * `storeRoute` and `syncRoute` (`row.ts`) join the two, and the types ensure that they agree: the schema accepts what
 * `ask` makes, and the reply kind describes what `answer` returns.
 */

export type { Role } from "./role.ts";

export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** The kinds of reply. */
export type ReplyKind =
  /** JSON of this shape; with `orNull` also `null`. */
  | { readonly json: keyof ReplyShapes; readonly status?: 201; readonly orNull?: true }
  /** JSON `{ items: Shape[], next: string | null }`. `next` is the `cursor` of the next page. */
  | { readonly pageOf: keyof ReplyShapes }
  /** A content: bytes, with `ETag`, `Range`, `Content-Type`. */
  | { readonly content: true }
  /** Server-sent events. */
  | { readonly events: keyof ReplyShapes }
  /** 204. */
  | { readonly nothing: true };

/** The value that `answer` returns for a kind of reply. */
export type AnswerOf<Reply extends ReplyKind> = Reply extends { readonly json: infer K extends keyof ReplyShapes }
  ? ReplyShapes[K] | (Reply extends { readonly orNull: true } ? null : never)
  : Reply extends { readonly pageOf: infer K extends keyof ReplyShapes }
    ? Page<ReplyShapes[K]>
    : Reply extends { readonly events: infer K extends keyof ReplyShapes }
      ? EventsReply<ReplyShapes[K]>
      : Reply extends { readonly content: true }
        ? ContentReply
        : void;

/** A content, of a path or by its hash alone. */
export interface ContentReply {
  /** The ETag; empty for a folder. */
  readonly hash: string;
  /** The size in bytes. */
  readonly size: number;
  /** The file that has the content; absent if it was asked for by its hash. See `content-headers.ts`. */
  readonly file?: FileShape;
  /** The bytes from `start` to `end` (exclusive); default: all. */
  pieces(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

/** Events in order, each once. */
export interface EventsReply<Shape> {
  /**
   * Events begin after this seq. It is sent as the first `id:`, so that a client that is cut off before the first event
   * can resume.
   */
  readonly after: number;
  readonly events: AsyncIterable<Shape>;
}

/** A request as the client makes it. Undefined fields are left out. */
export interface Asking<Query, Body> {
  /** Values for the `{names}` of the path. The client of a workspace fills in `id`. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  /**
   * The maximum number of items that the caller of a list wants (default: all). The client requests as many pages as
   * that takes.
   */
  readonly most?: number | undefined;
  readonly body?: Body;
  /** A body of bytes. */
  readonly content?: Uint8Array | AsyncIterable<Uint8Array>;
  /** The hash or hashes (or `*`, `none`) for `If-Match`; see `WriteCondition`. */
  readonly ifMatch?: string | readonly string[] | undefined;
  /** The value for `Idempotency-Key`. If it is absent, the client makes a key, so that it may retry. */
  readonly requestId?: string | undefined;
  /** For `Last-Event-ID`. */
  readonly lastEventId?: number | undefined;
  /** Ends the request. */
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
  /** Returns the request. Throws `USAGE` for arguments that are only valid on the machine of the store. */
  ask(...args: Args): Asking<Query, Body>;
}

/** A validated request: the input of `answer`. */
export interface Asked<Query, Body> {
  /** Values of the `{names}` of the path. `id` is the workspace's whole id, even if it was asked for by name. */
  readonly params: Readonly<Record<string, string>>;
  /** The query, parsed by the row's schema. */
  readonly query: Query;
  /** The JSON body, parsed by the row's schema; `undefined` if the row has none. */
  readonly body: Body;
  /** The body, for routes that take bytes; empty for all others. */
  readonly content: AsyncIterable<Uint8Array>;
  /**
   * `ifMatch` and `requestId` if they were given, for spreading into options. `ifMatch`: the ETags, without quotes;
   * `none` for `If-None-Match: *`.
   */
  readonly condition: { readonly ifMatch?: string | readonly string[]; readonly requestId?: string };
  readonly lastEventId: number | undefined;
  /** The caller. */
  readonly me: MeShape;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
}

/** The answer of any route, for the server to send. */
export type Answer =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly value: unknown }
  | { readonly kind: "content"; readonly content: ContentReply }
  | { readonly kind: "events"; readonly after: number; readonly events: AsyncIterable<{ readonly seq: number }> }
  | { readonly kind: "nothing" };
