import type * as z from "zod";
import { ChronicleError } from "../../core/values/errors.ts";
import type { StoreApi } from "../store-api.ts";
import type { SyncApi } from "../sync-api.ts";
import type { WorkspaceApi } from "../workspace-api.ts";
import { complaintOf } from "./complaint.ts";
import type { Answer, AnswerOf, Asked, Call, ContentReply, EventsReply, Received, ReplyKind } from "./route.ts";
import type { RouteInput, RouteText, StoreRoute, SyncRoute, WorkspaceRoute } from "./row.ts";
import { optional } from "../../util/optional.ts";

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
): Omit<WorkspaceRoute, "on" | "answer"> & { answer(on: On, received: Received): Promise<Answer> } {
  return {
    ...handling,
    operation,
    method,
    path,
    reply,
    answer: async (on, received) => answerOf(reply, await handling.answer(on, checked(handling, received))),
  };
}

/** Validates the request by the row's schemas. */
function checked<Query extends z.ZodObject, Body extends z.ZodType>(
  { query, body, bytes }: RouteInput<Query, Body>,
  received: Received,
): Asked<Given<z.output<Query>>, Given<z.output<Body>>> {
  const { params, me, signal, ifMatch, requestId, lastEventId } = received;
  if (bytes === undefined && body === undefined && received.body !== undefined) {
    throw new ChronicleError("USAGE", "this request takes no body");
  }
  return {
    params,
    query: fitting(query, received.query, "query") as Given<z.output<Query>>,
    body: fitting(body, received.body, "body") as Given<z.output<Body>>,
    content: received.content ?? nothing(),
    condition: { ...optional({ ifMatch, requestId }) },
    lastEventId: lastEventId === undefined ? undefined : eventId(lastEventId),
    me,
    signal,
  };
}

async function* nothing(): AsyncIterable<Uint8Array> {}

/** Parses the input by the schema. A row without a schema accepts nothing. */
function fitting(schema: z.ZodType | undefined, given: unknown, where: "query" | "body"): unknown {
  if (schema === undefined) return where === "query" ? nothingIn(given) : undefined;
  const parsed = schema.safeParse(where === "body" && given === undefined ? {} : given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = [where, ...(issue?.path ?? [])].map(String).join(".");
  throw new ChronicleError(
    "USAGE",
    `${field}: ${shortened(issue === undefined ? "does not fit" : complaintOf(issue))}`,
    {
      hint: "/v1/openapi.json says what each request takes",
      data: { field },
    },
  );
}

function nothingIn(query: unknown): Record<never, never> {
  const [first] = Object.keys(query ?? {});
  if (first === undefined) return {};
  throw new ChronicleError("USAGE", `query: ${shortened(first)} is not known here`, { data: { field: "query" } });
}

const MAX_COMPLAINT = 300;

function shortened(text: string): string {
  return text.length > MAX_COMPLAINT ? `${text.slice(0, MAX_COMPLAINT)}…` : text;
}

function eventId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new ChronicleError("USAGE", "Last-Event-ID is not the seq of an event", { data: { field: "Last-Event-ID" } });
}

function answerOf(reply: ReplyKind, value: unknown): Answer {
  if ("json" in reply) return { kind: "json", status: reply.status ?? 200, value };
  if ("pageOf" in reply) return { kind: "json", status: 200, value };
  if ("content" in reply) return { kind: "content", content: value as ContentReply };
  if ("nothing" in reply) return { kind: "nothing" };
  const { after, events } = value as EventsReply<{ readonly seq: number }>;
  return { kind: "events", after, events };
}
