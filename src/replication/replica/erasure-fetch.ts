import { type BaseRecord, decodeRecordRows } from "../../core/log/base.ts";
import { decodeErase, ERASE } from "../../core/records/erase-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { asFatal } from "../as-fatal.ts";
import type { Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { Patience } from "../contents/patience.ts";

/** Asks for the erasures of one state of the origin, piece by piece. */
export class ErasureFetch {
  readonly #channel: Channel;
  readonly #sequence: number;
  readonly #patience: Patience;
  readonly #pieces: Buffer[] = [];
  readonly #result = Promise.withResolvers<readonly BaseRecord[]>();
  #isAsked = false;
  #isDone = false;
  /** Bytes that have come, and that are to come; `undefined`: no piece has come. */
  #held = 0;
  #total: number | undefined;

  /** `sequence`: the state that is asked about. */
  constructor(channel: Channel, sequence: number) {
    this.#channel = channel;
    this.#sequence = sequence;
    this.#patience = new Patience(channel);
    // A failure before anybody waits is told to whoever does.
    this.#result.promise.catch(() => undefined);
  }

  /**
   * The last event of each `erase:` record then, by ascending seq. Rejects with `UNAVAILABLE` where the conversation ends, with
   * `INTEGRITY_VIOLATION` or `LOG_DAMAGED` where what comes is none of that.
   */
  get(): Promise<readonly BaseRecord[]> {
    this.#isAsked = true;
    this.#ask();
    return this.#result.promise;
  }

  /** A piece has come. One that nobody waits for came twice. */
  took({ sequence, offset, total, rows }: MessageOf<"ErasuresResponse">): void {
    if (!this.#isWaiting || sequence !== this.#sequence || offset !== this.#held) return;
    this.#patience.heard();
    if (total !== (this.#total ??= total)) {
      return this.#endWith(new ChronicleError("INTEGRITY_VIOLATION", "the erasures have another length than was said"));
    }
    this.#pieces.push(Buffer.from(rows));
    this.#held += rows.length;
    if (this.#held < total) return this.#ask();
    try {
      this.#isDone = true;
      this.#result.resolve(erasuresIn(Buffer.concat(this.#pieces.splice(0)), this.#sequence));
    } catch (error) {
      this.#endWith(asFatal(error));
    }
  }

  /** Time has passed. */
  beat(): void {
    if (this.#patience.isOver() && this.#isWaiting) this.#ask();
  }

  /** Nothing comes any more. */
  end(): void {
    this.#endWith(new ChronicleError("UNAVAILABLE", "the connection ended before all erasures had come"));
  }

  get #isWaiting(): boolean {
    return this.#isAsked && !this.#isDone;
  }

  #ask(): void {
    const request = { type: "ErasuresRequest", sequence: this.#sequence, offset: this.#held } as const;
    this.#channel.send(request).catch((error: unknown) => this.#endWith(asFatal(error)));
  }

  #endWith(error: ChronicleError): void {
    this.#isDone = true;
    this.#result.reject(error);
  }
}

/** The records in such rows, held to what they are said to be. */
function erasuresIn(rows: Buffer, sequence: number): BaseRecord[] {
  const records = decodeRecordRows(rows);
  const ids = new Set<string>();
  let last = 0;
  for (const { recordId, seq, op, record } of records) {
    const isRight =
      recordId.startsWith(ERASE) && op === "upsert" && !ids.has(recordId) && seq > last && seq <= sequence;
    if (!isRight) {
      throw new ChronicleError("INTEGRITY_VIOLATION", `${recordId} of event ${seq} has no place among the erasures`);
    }
    // Throws for what is no such record.
    void decodeErase(record);
    ids.add(recordId);
    last = seq;
  }
  return records;
}
