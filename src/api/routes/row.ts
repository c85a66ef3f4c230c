import type * as z from "zod";
import type { StoreApi } from "../store-api.ts";
import type { SyncApi } from "../sync-api.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import type { Role } from "./role.ts";
import type { Answer, Method, Received, ReplyKind } from "./route.ts";

/**
 * The server's half of a route, with its schemas. It is apart from the client's half (`route.ts`): the types of the client, which are
 * published, must need no package that is not installed with it.
 */

/** The parts of a row that describe it to people. */
export interface RouteText {
  /** A reader's asking for what only an agent may is refused, and so on upwards. */
  readonly role: Role;
  readonly summary: string;
  readonly description?: string;
  /** For grouping: `files`, `history`, `actions` … */
  readonly tag: string;
  /** It goes through a whole history: a server does few of these at once. */
  readonly heavy?: true;
}

/** The input of a request. Queries are flat; a body is JSON, or bytes of any length. */
export interface RouteInput<Query extends z.ZodObject = z.ZodObject, Body extends z.ZodType = z.ZodType> {
  readonly query?: Query;
  readonly body?: Body;
  /** The body is bytes, `Asked.content`: of any length, or held in memory with `most` of them at most. */
  readonly bytes?: true | { readonly most: number };
  /** `If-Match` means something here. */
  readonly conditional?: true;
}

interface Row<On> extends RouteText, RouteInput {
  readonly operation: string;
  readonly method: Method;
  readonly path: string;
  readonly reply: ReplyKind;
  /** Checks the request and does it. Throws `ChronicleError`: `USAGE` names the field that does not fit. */
  answer(on: On, received: Received): Promise<Answer>;
}

/** A route about one workspace: `/v1/workspaces/{id}/…`. */
export type WorkspaceRoute = Row<WorkspaceApi> & { readonly on: "workspace" };

/** A route about the store, as the caller sees it. Where the path has `{id}`, the server has looked whether this caller may see it. */
export type StoreRoute = Row<StoreApi> & { readonly on: "store" };

/** A route about folders of the server's machine that follow other stores: for its owner alone, on the Unix socket. */
export type SyncRoute = Row<SyncApi> & { readonly on: "syncs" };

export type Route = WorkspaceRoute | StoreRoute | SyncRoute;
