import type * as z from "zod";
import type { FileContent } from "../file-api.ts";
import type { StoreApi } from "../store-api.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import type { ReplyShapes } from "./reply-shapes.ts";

/**
 * One row of the table of routes, from which the server, the client, the OpenAPI document and its texts are made.
 * It knows both ways: how a call becomes a request (`ask`, in the client), and what a request does (`answer`, in the server).
 */

/**
 * Who may ask: a `reader` looks; an `agent` works, but cannot give up, free or administer; an `operator` may do everything.
 * Each may what the one before may.
 */
export type Role = "reader" | "agent" | "operator";

export type Method = "GET" | "PUT" | "POST" | "DELETE";

/** A request as the client makes it: what of it is undefined is left out. */
export interface Asking<Query, Body> {
  /** For the `{names}` of the path but `id`. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly body?: Body;
  /** The hash (or `*`, `none`) for `If-Match`; see `WriteCondition`. */
  readonly ifMatch?: string | undefined;
  /** For `Idempotency-Key`; the client makes one where there is none, so that it may try again. */
  readonly requestId?: string | undefined;
}

/** A request as the server hands it over: checked and decoded, once. */
export interface Asked<Query, Body> {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly ifMatch?: string;
  readonly requestId?: string;
  /** Of a caller that went away. */
  readonly signal: AbortSignal;
}

/** What every route says of itself. */
export interface RouteText {
  /** The name of the operation: of the client's method, and in OpenAPI. Unique. */
  readonly operation: string;
  readonly method: Method;
  /** As in OpenAPI: `/v1/workspaces/{id}/files/{path}/history`. Only `{path}` may hold slashes. */
  readonly path: string;
  readonly role: Role;
  readonly summary: string;
  readonly description?: string;
  /** For grouping: `files`, `history`, `actions` … */
  readonly tag: string;
}

/** What is sent back. */
export type ReplyKind =
  /** JSON of this shape. */
  | { readonly json: keyof ReplyShapes; readonly status?: 200 | 201 }
  /** JSON `{ items: Shape[], next: string | null }`: the answer is the whole list, which is cut into pages by `key`. */
  | { readonly pageOf: keyof ReplyShapes; readonly key: (item: never) => string }
  /** A content: bytes, with `ETag`, `Range`, `Content-Type`. */
  | { readonly content: true }
  /** Server-sent events. */
  | { readonly events: keyof ReplyShapes }
  /** 204. */
  | { readonly nothing: true };

/** What is taken in. Queries are flat; a body is JSON, or bytes of any length. */
export interface RouteInput<Query extends z.ZodObject, Body extends z.ZodType> {
  readonly query?: Query;
  readonly body?: Body;
  readonly bytes?: true;
}

interface RouteOf<On, Args extends readonly unknown[], Result, Query, Body> {
  ask(...args: Args): Asking<Query, Body>;
  answer(on: On, asked: Asked<Query, Body>): Promise<Result>;
}

/** A route about one workspace: `/v1/workspaces/{id}/…`. */
export type WorkspaceRoute<Args extends readonly unknown[] = never, Result = unknown> = RouteText &
  RouteInput<z.ZodObject, z.ZodType> & { readonly reply: ReplyKind } & RouteOf<
    WorkspaceApi,
    Args,
    Result,
    never,
    never
  >;

/** A route about the whole store: `/v1/workspaces`. */
export type StoreRoute<Args extends readonly unknown[] = never, Result = unknown> = RouteText &
  RouteInput<z.ZodObject, z.ZodType> & { readonly reply: ReplyKind } & RouteOf<StoreApi, Args, Result, never, never>;

/** What a route of contents answers. */
export type ContentReply = Omit<FileContent, "path" | "path_b64"> & { readonly path: string };
