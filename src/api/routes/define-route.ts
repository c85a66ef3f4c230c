import type * as z from "zod";
import type { StoreApi } from "../store-api.ts";
import type { SyncApi } from "../sync-api.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import type { Answer, AnswerOf, Asked, Call, ContentReply, EventsReply, ReplyKind } from "./route.ts";
import type { RouteInput, RouteText, StoreRoute, SyncRoute, WorkspaceRoute } from "./row.ts";

/** A query or body as a client makes it: absent fields are left out. */
type Sent<T> = T extends readonly (infer Item)[]
  ? readonly Sent<Item>[]
  : T extends object
    ? { readonly [K in keyof T]?: Sent<T[K]> | undefined }
    : T;

/** A schema's output: optional fields are present or absent, and never `undefined`. */
type Given<T> = T extends (infer Item)[]
  ? Given<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: Given<Exclude<T[K], undefined>> }
    : T;

/** The server's half of a row: who may ask, what is accepted, what is done. */
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

/** Joins the halves of a row about one workspace. */
export function workspaceRoute<
  const Reply extends ReplyKind,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
>(call: CallFor<Query, Body, Reply>, handling: Handling<WorkspaceApi, Query, Body, Reply>): WorkspaceRoute {
  return { ...joined(call, handling), on: "workspace" };
}

/** Joins the halves of a row about the store. */
export function storeRoute<
  const Reply extends ReplyKind,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
>(call: CallFor<Query, Body, Reply>, handling: Handling<StoreApi, Query, Body, Reply>): StoreRoute {
  return { ...joined(call, handling), on: "store" };
}

/** Joins the halves of a row about syncs. */
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
