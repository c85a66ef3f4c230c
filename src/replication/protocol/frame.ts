import { crc32 } from "node:zlib";
import { ChronicleError } from "../../core/values/errors.ts";
import { MAX_FRAME_BYTES, MAX_HEAD_BYTES, PROTOCOL_VERSION } from "./limits.ts";
import { notOffered } from "./wire-errors.ts";
import { freeBytes } from "../../util/free-bytes.ts";

/**
 * A frame has a header of 28 bytes, the head (one JSON object), and, in content frames only, the body (bytes). Numbers
 * are big-endian. A frame is credited if its message needs credit (`isCredited`).
 *
 *     0   3  "CHR"
 *     3   1  version of the protocol: 2
 *     4   1  kind: 1 control, 2 content
 *     5   3  zero
 *     8   4  length of the head
 *     12  4  length of the body
 *     16  8  bytes of credited frames that the sender has sent on this connection, including this one if it is credited
 *     24  4  CRC-32 (IEEE, as in gzip) of bytes 0 to 23, the head and the body
 */
const HEADER_BYTES = 28;

const MAGIC = 0x434852;
const CRC_AT = 24;

/** A control frame has no body. A content frame has a body, which can be empty. */
type FrameKind = "control" | "content";

interface FrameHeader {
  /** Must not be trusted before the checksum is verified. */
  readonly version: number;
  readonly kind: FrameKind;
  readonly headBytes: number;
  readonly bodyBytes: number;
  readonly sent: number;
  readonly crc: number;
}

export interface FramePayload {
  readonly head: Uint8Array;
  /** `undefined` in a control frame. */
  readonly body: Uint8Array | undefined;
}

/** A received frame. `sent` is the number at byte 16 of its header. */
export interface Frame extends FramePayload {
  readonly sent: number;
  /** The length of the frame with its header, in bytes. */
  readonly bytes: number;
}

export function frameBytes({ head, body }: FramePayload): number {
  return HEADER_BYTES + head.length + (body?.length ?? 0);
}

/** Throws `LIMIT_EXCEEDED` if the frame would be too long. */
export function checkFrame({ head, body }: FramePayload): void {
  checkLengths(head.length, body?.length ?? 0);
}

/** Throws `LIMIT_EXCEEDED` if the frame is too long. */
export function encodeFrame(payload: FramePayload, sent: number): Buffer {
  checkFrame(payload);
  const { head, body } = payload;
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

const HTTP = Buffer.from("HTTP/");

/**
 * Checks the first bytes of a frame. Throws `UNAVAILABLE` if an HTTP answer can begin with these bytes, and
 * `INTEGRITY_VIOLATION` if neither an HTTP answer nor a header can begin with them. The bytes need not be a whole
 * header, so that a peer that speaks HTTP is detected at once.
 */
function checkStart(bytes: Buffer): void {
  const answer = bytes.subarray(0, HTTP.length);
  if (answer.length > 0 && answer.equals(HTTP.subarray(0, answer.length))) throw notOffered();
  const known = Math.min(bytes.length, 3);
  if (known > 0 && bytes.readUIntBE(0, known) !== MAGIC >>> (8 * (3 - known))) broken("it does not begin with CHR");
}

/**
 * Decodes the header at the beginning of `bytes`, which must have at least `HEADER_BYTES` bytes. Throws
 * `INTEGRITY_VIOLATION` for an invalid header, `UNAVAILABLE` for an HTTP answer, and `LIMIT_EXCEEDED` for lengths over
 * the limits.
 */
export function decodeHeader(bytes: Buffer): FrameHeader {
  checkStart(bytes);
  const version = bytes.readUInt8(3);
  const kind = bytes[4];
  if ((kind !== 1 && kind !== 2) || bytes.readUIntBE(5, 3) !== 0) broken("bytes 4 to 7 are no known kind");
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
 * Decodes a frame. `bytes` must be exactly the frame. Head and body are views of `bytes`. Throws `INTEGRITY_VIOLATION`
 * for a wrong checksum, and `FORMAT_UNSUPPORTED` for another version of the protocol. The checksum is checked first,
 * because a damaged byte can look like another version.
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

const NOTHING = Buffer.alloc(0);
const LEAST_CAPACITY = 4096;

/**
 * Reads frames from pieces of any size, for instance the messages of a WebSocket. Checks a header as soon as it is
 * complete. The buffer of an incomplete frame has at most 4 KiB, or twice the bytes that have arrived if this is more.
 * The length that a header announces does not make the buffer grow.
 */
export class FrameReader {
  #held = NOTHING;
  #length = 0;
  #header: FrameHeader | undefined;
  #failure: unknown;

  /** True if the next byte begins a new frame. If false at the end of the stream, the stream was cut off. */
  get isBetween(): boolean {
    return this.#length === 0;
  }

  /**
   * Yields the frames that are complete with this piece. Their bytes can be views of the piece. Throws as
   * `decodeHeader` and `decodeFrame` do. Throws the same error again for every further piece, because the start of the
   * next frame is unknown.
   */
  *push(piece: Uint8Array): Generator<Frame, void> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      yield* this.#read(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    } catch (error) {
      this.#failure = error;
      this.#held = NOTHING;
      throw error;
    }
  }

  *#read(piece: Buffer): Generator<Frame, void> {
    let rest = this.#length > 0 ? yield* this.#complete(piece) : piece;
    while (rest.length >= HEADER_BYTES) {
      const header = decodeHeader(rest);
      const total = lengthOf(header);
      if (rest.length < total) break;
      yield decodeFrame(rest.subarray(0, total), header);
      rest = rest.subarray(total);
    }
    if (rest.length > 0) this.#hold(rest);
  }

  /** Completes the buffered frame, and yields it once it is complete. Returns the remaining bytes of the piece. */
  *#complete(piece: Buffer): Generator<Frame, Buffer> {
    let rest = piece;
    if (this.#header === undefined) {
      rest = this.#take(rest, HEADER_BYTES);
      if (this.#length < HEADER_BYTES) return rest;
      this.#header = decodeHeader(this.#held);
    }
    const total = lengthOf(this.#header);
    rest = this.#take(rest, total);
    if (this.#length < total) return rest;
    const frame = decodeFrame(this.#held.subarray(0, total), this.#header);
    // The buffer must not be used again, because the frame has views of it.
    this.#held = NOTHING;
    this.#length = 0;
    this.#header = undefined;
    yield frame;
    return rest;
  }

  /** Buffers bytes of the piece until `total` bytes are buffered. Returns the remaining bytes. */
  #take(piece: Buffer, total: number): Buffer {
    const wanted = Math.min(Math.max(total - this.#length, 0), piece.length);
    this.#hold(piece.subarray(0, wanted));
    return piece.subarray(wanted);
  }

  #hold(piece: Buffer): void {
    const needed = this.#length + piece.length;
    if (needed > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(LEAST_CAPACITY, needed, this.#held.length * 2));
      this.#held.copy(larger, 0, 0, this.#length);
      // The old buffer can be freed, because no frame with views of it was yielded.
      freeBytes(this.#held);
      this.#held = larger;
    }
    piece.copy(this.#held, this.#length);
    this.#length = needed;
    checkStart(this.#held.subarray(0, needed));
  }
}

function lengthOf({ headBytes, bodyBytes }: FrameHeader): number {
  return HEADER_BYTES + headBytes + bodyBytes;
}
