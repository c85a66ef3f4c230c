import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";
import { sha256 } from "../../core/values/hash.ts";
import {
  checkAppend,
  tornTail,
  type ArchivedLog,
  type EventLog,
  type LogEnd,
  type LogPosition,
  type QuarantinedPart,
  type RawLine,
} from "../event-log.ts";

const EMPTY_END: LogEnd = { ...EMPTY_HEAD, bytes: 0, tornBytes: 0 };
const BATCH_LINES = 1_000;

interface MemoryLine {
  readonly head: Head;
  readonly offset: number;
  readonly bytes: Buffer;
}

/** The state of a log in memory. Logs that share a state act as one log opened by several processes. */
export interface MemoryLogState {
  lines: MemoryLine[];
  /** The bytes after the last whole line. */
  torn: Buffer;
  readonly sealed: { readonly name: string; readonly lines: readonly MemoryLine[] }[];
  readonly quarantined: Map<string, Buffer>;
}

export function emptyMemoryLog(): MemoryLogState {
  return { lines: [], torn: Buffer.alloc(0), sealed: [], quarantined: new Map() };
}

function endOf(state: MemoryLogState, start: Head): LogEnd {
  const last = state.lines.at(-1);
  const tornBytes = state.torn.length;
  return last === undefined
    ? { ...EMPTY_END, seq: start.seq, hash: start.hash, tornBytes }
    : { ...last.head, bytes: offsetBehind(last), tornBytes };
}

function offsetBehind(line: MemoryLine | undefined): number {
  return line === undefined ? 0 : line.offset + line.bytes.length + 1;
}

export interface MemoryLogOptions {
  /** True for a copy of another store's history, which may end in the middle of a commit. */
  readonly isCopy?: boolean;
  /** For a log that does not begin at event 1: the event right before its first line. */
  readonly after?: Head | undefined;
  /** Called after `append` or `rotate` has added lines, but not after `quarantine`. Default: nothing is called. */
  readonly onChange?: () => void;
}

interface MemoryFile {
  readonly name?: string;
  readonly lines: readonly MemoryLine[];
}

async function* batches({ name, lines }: MemoryFile, offset = 0): AsyncGenerator<readonly RawLine[]> {
  const file = name ?? "events.wal";
  const numbered = lines.map((line, at) => ({ file, offset: line.offset, lineNumber: at + 1, bytes: line.bytes }));
  const first = numbered.findIndex((line) => line.offset >= offset);
  if (first < 0) return;
  for (let at = first; at < numbered.length; at += BATCH_LINES) yield numbered.slice(at, at + BATCH_LINES);
}

async function* history(files: readonly MemoryFile[], from: LogPosition): AsyncGenerator<readonly RawLine[]> {
  for (const file of files) {
    const [first, last] = [file.lines[0], file.lines.at(-1)];
    if (first === undefined || last === undefined) continue;
    const isLive = file === files.at(-1);
    if (last.head.seq >= from.seq || isLive) yield* batches(file, first.head.seq < from.seq ? from.offset : 0);
  }
}

/** A log in memory. It lives as long as its state. */
export class MemoryEventLog implements EventLog {
  readonly #state: MemoryLogState;
  readonly #isCopy: boolean;
  readonly #start: Head;
  readonly #onChange: (() => void) | undefined;
  #end: LogEnd;
  #closed = false;

  constructor(state: MemoryLogState = emptyMemoryLog(), how: MemoryLogOptions = {}) {
    this.#state = state;
    this.#isCopy = how.isCopy === true;
    this.#start = how.after ?? EMPTY_HEAD;
    this.#onChange = how.onChange;
    this.#end = endOf(state, this.#start);
  }

  get head(): LogEnd {
    return this.#end;
  }

  get firstSeq(): number {
    return this.#state.lines[0]?.head.seq ?? this.#start.seq + 1;
  }

  async refresh(): Promise<LogEnd> {
    this.#mustBeOpen();
    this.#end = endOf(this.#state, this.#start);
    return this.#end;
  }

  async append(events: readonly SealedEvent[]): Promise<void> {
    this.#mustBeSound();
    checkAppend(this.#end, events, this.#isCopy);
    this.#add(events);
  }

  async sync(): Promise<void> {
    this.#mustBeOpen();
  }

  read(from?: LogPosition): AsyncIterable<readonly RawLine[]> {
    this.#mustBeOpen();
    const live = { lines: [...this.#state.lines] };
    return from === undefined ? batches(live) : history([...this.#state.sealed, live], from);
  }

  async quarantined(name: string): Promise<QuarantinedPart | undefined> {
    const bytes = this.#state.quarantined.get(name);
    return bytes === undefined ? undefined : { bytes: bytes.length, hash: sha256(bytes) };
  }

  async quarantine(from: LogPosition): Promise<string> {
    this.#mustBeOpen();
    const { lines, torn, quarantined } = this.#state;
    const kept = lines.filter((line) => line.offset < from.offset);
    const cutsAtLine = offsetBehind(kept.at(-1)) === from.offset;
    const pieces = lines.slice(kept.length).flatMap((line) => [line.bytes, Buffer.from("\n")]);
    const bytes = Buffer.concat([...pieces, torn]);
    if (!cutsAtLine || bytes.length === 0) {
      throw new ChronicleError("USAGE", `no line of the log begins at byte ${from.offset}`, { data: { ...from } });
    }
    const name = `${from.seq}-${from.offset}.${quarantined.size + 1}.part`;
    quarantined.set(name, bytes);
    this.#state.lines = kept;
    this.#state.torn = Buffer.alloc(0);
    this.#end = endOf(this.#state, this.#start);
    return name;
  }

  async rotate(first: SealedEvent): Promise<void> {
    this.#mustBeSound();
    const before = this.#state.lines[0];
    if (before === undefined) throw new ChronicleError("USAGE", "an empty log cannot be sealed");
    checkAppend(this.#end, [first], this.#isCopy);
    this.#state.sealed.push({ name: `${before.head.seq}-${this.#end.seq}.wal`, lines: this.#state.lines });
    this.#state.lines = [];
    this.#add([first]);
  }

  async archived(): Promise<readonly ArchivedLog[]> {
    this.#mustBeOpen();
    return this.#state.sealed.map(({ name, lines }) => {
      const [first = 0, last = 0] = [lines[0]?.head.seq, lines.at(-1)?.head.seq];
      return { name, first, last, bytes: offsetBehind(lines.at(-1)), read: () => batches({ name, lines }) };
    });
  }

  async dropArchive(): Promise<void> {
    this.#mustBeSound();
    this.#state.sealed.length = 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #add(events: readonly SealedEvent[]): void {
    for (const { seq, hash, line } of events) {
      const offset = offsetBehind(this.#state.lines.at(-1));
      this.#state.lines.push({ head: { seq, hash }, offset, bytes: Buffer.from(line) });
    }
    this.#end = endOf(this.#state, this.#start);
    if (events.length > 0) this.#onChange?.();
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new ChronicleError("IO", "the log has been closed");
  }

  #mustBeSound(): void {
    this.#mustBeOpen();
    if (this.#state.torn.length > 0) throw tornTail("the log", this.#state.torn.length);
    if (this.#end.bytes === endOf(this.#state, this.#start).bytes) return;
    throw new ChronicleError("INTEGRITY_VIOLATION", "the log has grown since it was last looked at", {
      hint: "hold the workspace's lock, refresh the log and try again",
    });
  }
}
