import type { SealedEvent } from "../../core/values/event.ts";

/** Most bytes in one write, unless one line alone is longer. */
const WRITE_BYTES = 64 * 1024 * 1024;

/** Yields the lines of events in their file form, in as few pieces as memory allows. */
export function* linesToWrite(events: readonly SealedEvent[]): Generator<Buffer> {
  let first = 0;
  let bytes = 0;
  for (let at = 0; at < events.length; at += 1) {
    const more = Buffer.byteLength((events[at] as SealedEvent).line) + 1;
    if (bytes > 0 && bytes + more > WRITE_BYTES) {
      yield joined(events.slice(first, at), bytes);
      first = at;
      bytes = 0;
    }
    bytes += more;
  }
  yield joined(events.slice(first), bytes);
}

/** Writes each line directly to its place: joining many as text first would copy them twice. */
function joined(events: readonly SealedEvent[], length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { line } of events) {
    at += bytes.write(line, at);
    bytes[at] = 0x0a;
    at += 1;
  }
  return bytes;
}
