import { type BaseRecord, decodeRecordRows } from "../../core/log/base.ts";
import { decodeErase, ERASE } from "../../core/records/erase-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { asFatal, type Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { Patience } from "../contents/patience.ts";

/**
 * Fetches the erasures of the origin that a full reconciliation needs. A full reconciliation ends at an event, and the
 * erasures are the `erase:` records of the origin's state after that event. The erasures arrive as one list of rows, in
 * pieces.
 */
export class ErasureFetch {
  readonly #channel: Channel;
  readonly #sequence: number;
  readonly #patience: Patience;
  readonly #pieces: Buffer[] = [];
  readonly #result = Promise.withResolvers<readonly BaseRecord[]>();
  #isAsked = false;
  #isDone = false;
  #held = 0;
  /** `undefined` before the first piece. */
  #total: number | undefined;

  /** `sequence` is the seq of the event at which the reconciliation ends. */
  constructor(channel: Channel, sequence: number) {
    this.#channel = channel;
    this.#sequence = sequence;
    this.#patience = new Patience(channel);
    // Handle the rejection here, because the promise can reject before `get` is called. `get` reports the error.
    this.#result.promise.catch(() => undefined);
  }

  /**
   * Requests the first piece. Resolves to the `erase:` records of the state after event `sequence` (see the
   * constructor), by ascending seq. Each record has the content that its last event up to `sequence` gave it. If all
   * records together are too large (`MAX_ERASURES_BYTES`), the origin leaves out the earliest records. Rejects with
   * `UNAVAILABLE` if the connection ends before all pieces have arrived. Rejects with `INTEGRITY_VIOLATION` if the
   * pieces contradict each other. Rejects with `INTEGRITY_VIOLATION` or `LOG_DAMAGED` if the received rows are invalid.
   */
  get(): Promise<readonly BaseRecord[]> {
    this.#isAsked = true;
    this.#ask();
    return this.#result.promise;
  }

  /**
   * Called with each answer. Stores the piece that begins where the previous piece ended, and requests the next piece.
   * Ignores all other pieces, because a repeated request (see `beat`) can be answered twice. Also ignores pieces of
   * another `sequence`, and pieces that arrive before `get` is called or after the fetch has ended.
   */
  took({ sequence, offset, total, rows }: MessageOf<"ErasuresResponse">): void {
    if (!this.#isWaiting || sequence !== this.#sequence || offset !== this.#held) return;
    this.#patience.heard();
    if (total !== (this.#total ??= total)) {
      return this.#endWith(
        new ChronicleError("INTEGRITY_VIOLATION", "the pieces of the erasures state different total lengths"),
      );
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

  /** Called with each heartbeat. Repeats an overdue request. */
  beat(): void {
    if (this.#patience.isOver() && this.#isWaiting) this.#ask();
  }

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

function erasuresIn(rows: Buffer, sequence: number): BaseRecord[] {
  const records = decodeRecordRows(rows);
  const ids = new Set<string>();
  let last = 0;
  for (const { recordId, seq, op, record } of records) {
    const isRight =
      recordId.startsWith(ERASE) && op === "upsert" && !ids.has(recordId) && seq > last && seq <= sequence;
    if (!isRight) {
      throw new ChronicleError(
        "INTEGRITY_VIOLATION",
        `${recordId} of event ${seq} is invalid among the erasures, or not in order`,
      );
    }
    // Throws for an invalid record.
    void decodeErase(record);
    ids.add(recordId);
    last = seq;
  }
  return records;
}
