import { freeBytes } from "../../util/free-bytes.ts";
import { checkStart, decodeFrame, decodeHeader, HEADER_BYTES, type Frame, type FrameHeader } from "./frame.ts";

const NOTHING = Buffer.alloc(0);
const LEAST_CAPACITY = 4096;

/**
 * Reads frames from bytes that come in pieces of any size: a socket's, or a WebSocket's messages. Checks a header as
 * soon as it is complete. Holds at most twice the bytes that have come, whatever the header announces.
 */
export class FrameReader {
  #held = NOTHING;
  #length = 0;
  /** The header of the frame that is being read, once it is complete. */
  #header: FrameHeader | undefined;
  #failure: unknown;

  /** True between two frames. A stream that ends elsewhere was cut. */
  get isBetween(): boolean {
    return this.#length === 0;
  }

  /**
   * Yields the frames that are complete with this piece; their bytes may be views of it. Throws as `decodeHeader` and
   * `decodeFrame`, and then for every further piece too, since the start of the next frame is unknown.
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

  /** Continues the partial frame; returns the rest of the piece. */
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
    // The frame has views of these bytes.
    this.#held = NOTHING;
    this.#length = 0;
    this.#header = undefined;
    yield frame;
    return rest;
  }

  /** Holds bytes up to a total; returns the rest of the piece. */
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
      // Nobody has a view of a partial frame.
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
