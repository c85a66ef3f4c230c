import * as z from "zod";
import { moment, path } from "../../api/routes/fields.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { optional } from "../../util/optional.ts";

/** The messages that a gateway's client sends: JSON, one in each WebSocket message. docs/gateway.md has the table. */

/** Largest number of files or iterations in one answer. */
const MOST_ITEMS = 1_000;

const common = {
  /** Comes back in the answer. */
  request_id: z.union([z.string().min(1).max(200), z.int()]),
  /** A workspace's whole id or exact name. */
  session_id: z.string().min(1).max(200),
};

const count = z.int().min(0);
const limit = z.int().min(1).max(MOST_ITEMS).default(MOST_ITEMS);

const MESSAGES = [
  z.strictObject({
    ...common,
    type: z.literal("list_files"),
    path: path("").optional(),
    depth: z.int().min(1).optional(),
    at: moment("").optional(),
    limit,
    after: path("").optional(),
  }),
  z.strictObject({ ...common, type: z.literal("read_file"), path: path(""), at: moment("").optional() }),
  z.strictObject({ ...common, type: z.literal("file_history"), path: path(""), limit, after: count.optional() }),
  z.strictObject({
    ...common,
    type: z.literal("file_at_iteration"),
    path: path(""),
    iteration: z.union([z.int().min(1), z.literal("last")]),
  }),
  z.strictObject({
    ...common,
    type: z.literal("subscribe_events"),
    after: count.optional(),
    prefix: z.string().max(1_200).optional(),
  }),
  z.strictObject({
    ...common,
    type: z.literal("unsubscribe_events"),
    /** The `request_id` with which it was subscribed. */
    subscription: common.request_id,
  }),
] as const;

const MESSAGE = z.discriminatedUnion("type", MESSAGES);

export type GatewayMessage = z.output<typeof MESSAGE>;

/** A message that gets exactly one answer. */
export type Question = Exclude<GatewayMessage, { readonly type: "subscribe_events" | "unsubscribe_events" }>;

export type RequestId = GatewayMessage["request_id"];

const MOST_COMPLAINT = 300;

/** Checks a message. Throws `USAGE` with the field that does not fit. */
export function readMessage(given: unknown): GatewayMessage {
  const parsed = MESSAGE.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.map(String).join(".") ?? "";
  const what = `${field === "" ? "the message" : field}: ${issue?.message ?? "does not fit"}`;
  throw new ChronicleError("USAGE", what.slice(0, MOST_COMPLAINT), {
    hint: "docs/gateway.md has the messages",
    data: { field },
  });
}

/** The marks of the answer to a message, as far as they can be read from it. */
export function marksOf(given: unknown): { readonly request_id: RequestId | null; readonly session_id?: string } {
  const marks = z.object({ request_id: common.request_id, session_id: common.session_id.optional() }).safeParse(given);
  if (!marks.success) return { request_id: null };
  const { request_id, session_id } = marks.data;
  return { request_id, ...optional({ session_id }) };
}
