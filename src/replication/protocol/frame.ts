import { crc32 } from "node:zlib";
import { ChronicleError } from "../../core/values/errors.ts";
import { MAX_FRAME_BYTES, MAX_HEAD_BYTES, PROTOCOL_VERSION } from "./limits.ts";

/**
 * A frame: a header of 28 bytes, the head (one JSON object), the body (bytes, in content frames only). Big-endian.
 *
 *     0   3  "CHR"
 *     3   1  version of the protocol: 2
 *     4   1  kind: 1 control, 2 content
 *     5   3  zero
 *     8   4  length of the head
 *     12  4  length of the body
 *     16  8  how many bytes of credited frames the sender has sent on this connection, this one included
 *     24  4  CRC-32 (IEEE, as in gzip) of bytes 0 to 23, the head and the body
 */
export const HEADER_BYTES = 28;

const MAGIC = 0x434852;
const CRC_AT = 24;

/** A control frame has no body; a content frame has one, which may be empty. */
export type FrameKind = "control" | "content";

/** A decoded header. */
export interface FrameHeader {
  /** Protocol version, to be trusted once the checksum is correct. */
  readonly version: number;
  readonly kind: FrameKind;
  readonly headBytes: number;
  readonly bodyBytes: number;
  readonly sent: number;
  readonly crc: number;
}

/** The contents of a frame. */
export interface FramePayload {
  readonly head: Uint8Array;
  /** Undefined in a control frame. */
  readonly body: Uint8Array | undefined;
}

/** A frame that was read. */
export interface Frame extends FramePayload {
  readonly sent: number;
  /** Its length with the header, in bytes. */
  readonly bytes: number;
}

/** Returns the length of a frame in bytes. */
export function frameBytes({ head, body }: FramePayload): number {
  return HEADER_BYTES + head.length + (body?.length ?? 0);
}

/** Encodes a frame. Throws `LIMIT_EXCEEDED` if it is too long. */
export function encodeFrame(payload: FramePayload, sent: number): Buffer {
  const { head, body } = payload;
  checkLengths(head.length, body?.length ?? 0);
  const frame = Buffer.allocUnsafe(frameBytes(payload));
  frame.writeUIntBE(MAGIC, 0, 3);
  frame[3] = PROTOCOL_VERSION;
  frame[4] = body === undefined ? 1 : 2;
  frame.fill(0, 5, 8);
  frame.writeUInt32BE(head.length, 8);
  frame.writeUInt32BE(body?.length ?? 0, 12);
  frame.writeBigUInt64BE(BigInt(sent), 16);
  frame.set(head, HEADER_BYTES);
  if (body !== undefined) frame.set(body, HEADER_BYTES + head.length);
  frame.writeUInt32BE(crcOf(frame), CRC_AT);
  return frame;
}

/**
 * Throws `INTEGRITY_VIOLATION` if fewer bytes than a header cannot become one, so that a peer that speaks HTTP is told
 * at once.
 */
export function checkStart(bytes: Buffer): void {
  const known = Math.min(bytes.length, 3);
  if (known > 0 && bytes.readUIntBE(0, known) !== MAGIC >>> (8 * (3 - known))) broken("it does not begin with CHR");
}

/**
 * Decodes the header at the beginning of at least `HEADER_BYTES` bytes. Throws `INTEGRITY_VIOLATION` for an invalid
 * header, `LIMIT_EXCEEDED` for lengths over the limits.
 */
export function decodeHeader(bytes: Buffer): FrameHeader {
  checkStart(bytes);
  const version = bytes.readUInt8(3);
  const kind = bytes[4];
  if ((kind !== 1 && kind !== 2) || bytes.readUIntBE(5, 3) !== 0) broken("its kind is unknown");
  const headBytes = bytes.readUInt32BE(8);
  const bodyBytes = bytes.readUInt32BE(12);
  checkLengths(headBytes, bodyBytes);
  if (kind === 1 && bodyBytes > 0) broken("a control frame has no body");
  const sent = Number(bytes.readBigUInt64BE(16));
  if (!Number.isSafeInteger(sent)) broken("its count of bytes is too large");
  const crc = bytes.readUInt32BE(CRC_AT);
  return { version, kind: kind === 1 ? "control" : "content", headBytes, bodyBytes, sent, crc };
}

/**
 * Decodes a frame from exactly its bytes. Head and body are views. Throws `INTEGRITY_VIOLATION` for a wrong checksum,
 * and `FORMAT_UNSUPPORTED` for another version. The checksum is checked first: another version in a damaged frame may
 * be just a damaged byte.
 */
export function decodeFrame(bytes: Buffer, header: FrameHeader): Frame {
  if (crcOf(bytes) !== header.crc) broken("its checksum differs: it was damaged on its way");
  if (header.version !== PROTOCOL_VERSION) {
    const why = `the other side speaks version ${header.version} of the protocol, this one ${PROTOCOL_VERSION}`;
    throw new ChronicleError("FORMAT_UNSUPPORTED", why, { hint: "use the same version of chronicle on both sides" });
  }
  const bodyAt = HEADER_BYTES + header.headBytes;
  const body = header.kind === "control" ? undefined : bytes.subarray(bodyAt);
  return { head: bytes.subarray(HEADER_BYTES, bodyAt), body, sent: header.sent, bytes: bytes.length };
}

function crcOf(frame: Buffer): number {
  return crc32(frame.subarray(HEADER_BYTES), crc32(frame.subarray(0, CRC_AT)));
}

function checkLengths(head: number, body: number): void {
  if (head > MAX_HEAD_BYTES || HEADER_BYTES + head + body > MAX_FRAME_BYTES) {
    const caps = `${MAX_HEAD_BYTES} bytes of JSON, ${MAX_FRAME_BYTES} bytes in all`;
    throw new ChronicleError("LIMIT_EXCEEDED", `a frame is too large (${head} and ${body} bytes): at most ${caps}`);
  }
}

function broken(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `not a frame: ${reason}`);
}
