import * as z from "zod";
import { ChronicleError } from "../../core/values/errors.ts";
import { blocksRequest, blocksResponse } from "./block-messages.ts";
import { contentAhead, contentFetchRequest, contentFetchResponse, contentNotFound } from "./content-messages.ts";
import { erasuresRequest, erasuresResponse } from "./erasure-messages.ts";
import {
  ack,
  barrierConfirmation,
  barrierRequest,
  catchupRequest,
  events,
  fullResyncRequired,
  notification,
  rename,
} from "./push-messages.ts";
import { credit, error, headWitness, heartbeat, hello, helloAck, sandboxHeartbeat } from "./session-messages.ts";
import { treeRequest, treeResponse } from "./tree-messages.ts";
import { writeBack, writeBackResult } from "./write-back-messages.ts";

/**
 * All messages. The twelve original ones keep their names and the names of their fields; docs/protocol.md has the
 * table. A message is a plain object as in its JSON, except for its bytes.
 */
export const MESSAGE = z.discriminatedUnion("type", [
  notification,
  heartbeat,
  writeBack,
  writeBackResult,
  barrierRequest,
  barrierConfirmation,
  ack,
  contentFetchRequest,
  contentFetchResponse,
  contentNotFound,
  catchupRequest,
  fullResyncRequired,
  hello,
  helloAck,
  sandboxHeartbeat,
  rename,
  events,
  headWitness,
  error,
  credit,
  treeRequest,
  treeResponse,
  blocksRequest,
  blocksResponse,
  contentAhead,
  erasuresRequest,
  erasuresResponse,
]);

export type Message = z.output<typeof MESSAGE>;

export type MessageType = Message["type"];

/** The message of a type. */
export type MessageOf<Type extends MessageType> = Extract<Message, { readonly type: Type }>;

/**
 * Messages that wait for credit: those that carry lines, contents or listings. All others are small, answer or govern
 * the conversation, and overtake these.
 */
const CREDITED: ReadonlySet<MessageType> = new Set<MessageType>([
  "Notification",
  "Rename",
  "Events",
  "ContentFetchResponse",
  "WriteBack",
  "TreeResponse",
  "BlocksResponse",
  "ContentAhead",
  "ErasuresResponse",
]);

/** True if a message of this type waits for credit. */
export function isCredited(type: MessageType): boolean {
  return CREDITED.has(type);
}

/** Returns the name of the byte field in the objects of a message. */
export function bytesFieldOf(type: unknown): string | undefined {
  if (type === "Notification" || type === "WriteBack") return "inline_content";
  if (type === "ContentFetchResponse" || type === "ContentAhead") return "content";
  if (type === "BlocksRequest") return "hashes";
  if (type === "BlocksResponse") return "blocks";
  if (type === "ErasuresResponse") return "rows";
  return type === "Events" ? "lines" : undefined;
}

const MOST_COMPLAINT = 300;

/** Validates a message. Throws `USAGE` with the field that is invalid, and `PATH_INVALID` for a refused path. */
export function checkMessage(given: unknown): Message {
  const parsed = MESSAGE.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.map(String).join(".") ?? "";
  const what = `${field === "" ? "the message" : field}: ${issue?.message ?? "does not fit"}`;
  throw new ChronicleError("USAGE", what.slice(0, MOST_COMPLAINT), { data: { field: field.slice(0, MOST_COMPLAINT) } });
}
