import { checkLine } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { EventLog, LogPosition } from "../../storage/event-log.ts";

/** The damaged lines that were cut off when an upstream log was opened after a crash. */
export interface UpstreamCut {
  /** The first event that was cut off. */
  readonly seq: number;
  /** The name of the cut-off part in the log's quarantine. */
  readonly quarantine: string;
}

export interface UpstreamLines {
  /** The last event that is held durably. */
  readonly head: Head;
  /** Returns the hash of an event; `undefined` if the event is not held. */
  hashAt(seq: number): Promise<Hash | undefined>;
  /** Appends checked events that follow `head`, durably. */
  append(events: readonly SealedEvent[]): Promise<void>;
}

/**
 * The origin's lines in one log, byte for byte, for a replica that cannot reconcile in full (see `ReplicaSession`).
 * `open` checks every hash and link. `append` checks the links. Only the session of the replica, which holds the
 * replica's lock, may write.
 */
export class Upstream implements UpstreamLines {
  /** The lines that `open` has cut off, or `undefined`. The origin sends these lines again. */
  readonly cut: UpstreamCut | undefined;
  readonly #log: EventLog;
  readonly #hashes: Hash[];

  /**
   * Moves the bytes that a crash left after the last sound line into quarantine. Throws `LOG_DAMAGED` if a sound line
   * follows a bad one, or if a sound line does not continue the chain. A crash causes neither of these. In both cases,
   * cutting lines off could drop acknowledged events.
   */
  static async open(log: EventLog): Promise<Upstream> {
    const { tornBytes, bytes } = await log.refresh();
    const { hashes, bad } = await readChain(log);
    const torn = tornBytes > 0 ? { seq: hashes.length + 1, offset: bytes } : undefined;
    const from = bad ?? torn;
    const cut = from === undefined ? undefined : { seq: from.seq, quarantine: await log.quarantine(from) };
    // Sync the lines, because an earlier session may have ended before it synced them.
    await log.sync();
    return new Upstream(log, hashes, cut);
  }

  private constructor(log: EventLog, hashes: Hash[], cut: UpstreamCut | undefined) {
    this.#log = log;
    this.#hashes = hashes;
    this.cut = cut;
  }

  get head(): Head {
    const hash = this.#hashes.at(-1);
    return hash === undefined ? EMPTY_HEAD : { seq: this.#hashes.length, hash };
  }

  async hashAt(seq: number): Promise<Hash | undefined> {
    return this.#hashes[seq - 1];
  }

  async append(events: readonly SealedEvent[]): Promise<void> {
    await this.#log.append(events);
    for (const { hash } of events) this.#hashes.push(hash);
  }
}

/**
 * Returns the hashes of the sound lines, and the position of the first bad one. Throws `LOG_DAMAGED` as `open` does.
 */
async function readChain(log: EventLog): Promise<{ readonly hashes: Hash[]; readonly bad: LogPosition | undefined }> {
  const hashes: Hash[] = [];
  let head: Head = EMPTY_HEAD;
  let bad: LogPosition | undefined;
  for await (const lines of log.read()) {
    for (const { bytes, offset } of lines) {
      const result = checkLine(bytes, head);
      if ("fault" in result) {
        if (result.fault.event !== undefined) throw damaged(head.seq + 1, result.fault.detail);
        bad ??= { seq: head.seq + 1, offset };
      } else if (bad !== undefined) throw damaged(bad.seq, "sound lines follow a bad one");
      else {
        head = { seq: result.event.seq, hash: result.event.hash };
        hashes.push(result.event.hash);
      }
    }
  }
  return { hashes, bad };
}

function damaged(seq: number, detail: string): ChronicleError {
  return new ChronicleError(
    "LOG_DAMAGED",
    `this replica's copy of the origin's log is damaged at event ${seq}: ${detail}`,
    {
      hint: "move the replica's upstream.wal away and connect again: it is then fetched again",
      data: { seq },
    },
  );
}
