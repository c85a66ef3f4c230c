const MAGIC = 0xfd2fb528;
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
/** Bytes of the content-size field, by its flag. 0 means one byte if the frame is one segment. */
const LENGTH_BYTES = [0, 2, 4, 8];
const RLE = 1;
const RESERVED = 3;

/**
 * True if the bytes are exactly one zstd frame (RFC 8878, section 3.1.1), from the first to the last, that needs no
 * dictionary, needs at most 8 MiB to unpack, and states no other length than this one. Its content is not checked.
 *
 * Libraries stop after the first frame, skip frames that call themselves skippable, and allocate the memory that a
 * header asks for. Bytes from others are therefore checked against the format before any library sees them.
 */
export function isOneFrame(bytes: Uint8Array, rawLength: number): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 6 || view.getUint32(0, true) !== MAGIC) return false;
  const descriptor = view.getUint8(4);
  const isSingle = (descriptor & 0x20) !== 0;
  const isPlain = (descriptor & 0x08) === 0 && (descriptor & 0x03) === 0;
  if (!isPlain || (!isSingle && windowBytes(view.getUint8(5)) > MAX_WINDOW_BYTES)) return false;
  const flag = descriptor >> 6;
  const lengthBytes = flag === 0 && isSingle ? 1 : (LENGTH_BYTES[flag] ?? 0);
  const lengthAt = isSingle ? 5 : 6;
  const blocksAt = lengthAt + lengthBytes;
  if (blocksAt > bytes.length || (lengthBytes > 0 && saidLength(view, lengthAt, lengthBytes) !== rawLength))
    return false;
  const end = endOfBlocks(view, blocksAt);
  return end !== undefined && end + ((descriptor & 0x04) === 0 ? 0 : 4) === bytes.length;
}

function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function saidLength(view: DataView, at: number, bytes: number): number {
  if (bytes === 1) return view.getUint8(at);
  if (bytes === 2) return view.getUint16(at, true) + 256;
  return bytes === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true));
}

/** Returns the offset after the last block; `undefined` if the bytes end before it. */
function endOfBlocks(view: DataView, from: number): number | undefined {
  for (let at = from; at + 3 <= view.byteLength;) {
    const head = view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
    const kind = (head >> 1) & 3;
    if (kind === RESERVED) return undefined;
    at += 3 + (kind === RLE ? 1 : head >> 3);
    if ((head & 1) === 1) return at <= view.byteLength ? at : undefined;
  }
  return undefined;
}
