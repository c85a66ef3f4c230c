import type * as z from "zod";
import type { StoreApi } from "../store-api.ts";
import type { SyncApi } from "../sync-api.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import type { Role } from "./role.ts";
import type { Answer, Asked, Method, ReplyKind } from "./route.ts";

/**
 * The server's half of a route, with its schemas. It is separate from the client's half (`route.ts`), because the
 * published types of the client must need no package that is not installed with it.
 */

/** The parts of a route that describe it to people. */
export interface RouteText {
  /** The least role that may use the route. A lesser role is refused. */
  readonly role: Role;
  readonly summary: string;
  readonly description?: string;
  /** The group, such as `files`, `history`, `actions`. */
  readonly tag: string;
  /** The route reads a whole history. A server limits how many such requests run at once. */
  readonly heavy?: true;
}

/** The input of a request. Queries are flat; a body is JSON, or bytes of any length. */
export interface RouteInput<Query extends z.ZodObject = z.ZodObject, Body extends z.ZodType = z.ZodType> {
  readonly query?: Query;
  readonly body?: Body;
  /** The body is bytes (`Asked.content`): of any length, or at most `most` bytes, which are held in memory. */
  readonly bytes?: true | { readonly most: number };
  /** True if the route honours `If-Match`. */
  readonly conditional?: true;
}

interface Row<On> extends RouteText, RouteInput {
  readonly operation: string;
  readonly method: Method;
  readonly path: string;
  readonly reply: ReplyKind;
  /** Performs the request, whose query and body are parsed by the row's schemas. Throws `ChronicleError`. */
  answer(on: On, asked: Asked<unknown, unknown>): Promise<Answer>;
}

/** A route about one workspace: `/v1/workspaces/{id}/…`. */
export type WorkspaceRoute = Row<WorkspaceApi> & { readonly on: "workspace" };

/**
 * A route about the store, as the caller sees it. If the path has `{id}`, the server has checked that this caller may
 * see that workspace.
 */
export type StoreRoute = Row<StoreApi> & { readonly on: "store" };

/**
 * A route about folders of the server's machine that follow other stores. Only the machine's owner may use it, on the
 * Unix socket.
 */
export type SyncRoute = Row<SyncApi> & { readonly on: "syncs" };

export type Route = WorkspaceRoute | StoreRoute | SyncRoute;
