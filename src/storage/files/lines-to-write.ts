import type { SealedEvent } from "../../core/event.ts";

/** Text of this many UTF-16 units at most goes into one write. */
const WRITE_UNITS = 64 * 1024 * 1024;

/** The lines of events as they stand in the file, in as few pieces as memory allows. */
export function* linesToWrite(events: readonly SealedEvent[]): Generator<Buffer> {
  let text = "";
  for (const event of events) {
    if (text !== "" && text.length + event.line.length > WRITE_UNITS) {
      yield Buffer.from(text);
      text = "";
    }
    text += `${event.line}\n`;
  }
  yield Buffer.from(text);
}
