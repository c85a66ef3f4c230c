import { ChronicleError } from "../../core/values/errors.ts";
import type { Message, MessageType } from "./messages.ts";

/**
 * An addition to the protocol that needs no new protocol version. A capability is used only if both sides have named it
 * (docs/protocol.md, "Versions").
 */
export type Capability =
  | "rename"
  | "tree"
  | "erasures"
  | "witness"
  | "folder"
  | "blocks"
  | "read-only"
  | "protected"
  | "ahead"
  | "times";

/** Maps a message type to the capability that every message of this type needs. */
const OF_MESSAGE: Readonly<Partial<Record<MessageType, Capability>>> = {
  Rename: "rename",
  TreeRequest: "tree",
  TreeResponse: "tree",
  ErasuresRequest: "erasures",
  ErasuresResponse: "erasures",
  HeadWitness: "witness",
  BlocksRequest: "blocks",
  BlocksResponse: "blocks",
  ContentAhead: "ahead",
};

export function agreedOn(theirs: readonly string[], ours: readonly Capability[]): ReadonlySet<Capability> {
  return new Set(ours.filter((one) => theirs.includes(one)));
}

/**
 * Returns the capability `times` if the message has a time with nanoseconds (`mtime_ns`); `undefined` otherwise.
 */
function neededByFields(message: Message): Capability | undefined {
  const isExact = ({ mtime_ns }: { readonly mtime_ns?: number | undefined }): boolean => mtime_ns !== undefined;
  if (message.type === "WriteBack") return message.entries.some(isExact) ? "times" : undefined;
  if (message.type !== "TreeResponse") return undefined;
  return message.folders.some(({ children }) => children.some(isExact)) ? "times" : undefined;
}

/**
 * Returns the capability that a message needs because of its type, or because of its field `folder_away_since` or
 * `anchor`. Returns `undefined` if neither needs a capability.
 */
function neededBy(message: Message): Capability | undefined {
  if (message.type === "Heartbeat") return message.folder_away_since === undefined ? undefined : "folder";
  if (message.type === "FullResyncRequired") return message.anchor === undefined ? undefined : "tree";
  return OF_MESSAGE[message.type];
}

/** Throws `USAGE` if a message uses a capability that was not agreed on. */
export function refuseUnagreed(message: Message, agreed: ReadonlySet<Capability>): void {
  const needed = [neededBy(message), neededByFields(message)].find((one) => one !== undefined && !agreed.has(one));
  if (needed === undefined) return;
  throw new ChronicleError("USAGE", `${message.type} uses the capability ${needed}, which was not agreed on`);
}
