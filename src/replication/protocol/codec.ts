import { isUtf8 } from "node:buffer";
import { ChronicleError } from "../../core/values/errors.ts";
import { MAX_JSON_DEPTH, MAX_JSON_PARTS } from "./limits.ts";
import type { FramePayload } from "./frame.ts";
import { bytesFieldOf, checkMessage, type Message } from "./messages.ts";

/**
 * Encodes a message as a head and a body. The head is the message as JSON, with the length in place of the bytes of
 * each byte field. The body is the bytes of all byte fields, concatenated in the order of the head. Throws `USAGE`,
 * `PATH_INVALID` or `LIMIT_EXCEEDED` for a message that the other side would refuse.
 */
export function encodeMessage(message: Message): FramePayload {
  const checked = checkMessage(message);
  const pieces: Uint8Array[] = [];
  const head = Buffer.from(JSON.stringify(detached(checked, pieces)));
  // A notification needs no check, because `checkMessage` allows only flat notifications with at most a dozen fields.
  if (checked.type !== "Notification") checkJson(head);
  const hasBody = pieces.length > 0;
  return { head, body: hasBody ? concatenated(pieces) : undefined };
}

function concatenated(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

/** Returns the message with a length in place of each byte field, and adds the bytes to `pieces`. */
function detached(message: Message, pieces: Uint8Array[]): object {
  const field = bytesFieldOf(message.type);
  if (field === undefined) return message;
  const detach = (holder: object): object => {
    const bytes: unknown = (holder as Record<string, unknown>)[field];
    if (!(bytes instanceof Uint8Array)) return holder;
    pieces.push(bytes);
    return { ...holder, [field]: bytes.length };
  };
  return message.type === "WriteBack" ? { ...message, entries: message.entries.map(detach) } : detach(message);
}

/**
 * Decodes a message. Its byte fields are views of the payload. Throws `USAGE` for an invalid message, `PATH_INVALID`
 * for a refused path, and `LIMIT_EXCEEDED` for a head that is nested too deeply or has too many parts.
 */
export function decodeMessage({ head, body }: FramePayload): Message {
  checkJson(head);
  if (!isUtf8(head)) refuse("its head is not UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("utf8"));
  } catch {
    refuse("its head is not JSON");
  }
  if (!isObject(value)) refuse("its head is no object");
  if (body !== undefined) attach(value, body);
  return checkMessage(value);
}

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/**
 * Replaces the lengths in the head by the bytes of the body. Checks each length, because the head is not validated yet.
 */
function attach(head: Fields, body: Uint8Array): void {
  const field = bytesFieldOf(head["type"]);
  if (field === undefined) refuse("its type has no bytes");
  const entries = head["entries"];
  const holders: unknown[] = head["type"] !== "WriteBack" ? [head] : Array.isArray(entries) ? entries : [];
  let at = 0;
  for (const holder of holders) {
    if (!isObject(holder) || !Object.hasOwn(holder, field)) continue;
    const length = holder[field];
    if (!Number.isSafeInteger(length) || (length as number) < 0 || (length as number) > body.length - at) {
      refuse(`the length of ${field} is not that of its bytes`);
    }
    holder[field] = body.subarray(at, (at += length as number));
  }
  if (at !== body.length) refuse("there are bytes that belong to no field");
}

function refuse(reason: string): never {
  throw new ChronicleError("USAGE", `a message is refused: ${reason}`);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Throws `LIMIT_EXCEEDED` if a JSON text is nested too deeply, or has too many commas and colons. Must be called before
 * the text is parsed, because even the value of a short text can need much memory. Does not check whether the text is
 * JSON.
 */
function checkJson(text: Uint8Array): void {
  let depth = 0;
  let parts = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at];
    if (inString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) refuseJson(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    else if (byte === 0x2c || byte === 0x3a) {
      parts += 1;
      if (parts > MAX_JSON_PARTS) refuseJson(`it has more than ${MAX_JSON_PARTS} parts`);
    }
  }
}

function refuseJson(reason: string): never {
  throw new ChronicleError("LIMIT_EXCEEDED", `a message is refused: ${reason}`);
}
