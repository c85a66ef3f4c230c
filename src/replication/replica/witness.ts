import { ChronicleError } from "../../core/values/errors.ts";
import type { Head } from "../../core/values/event.ts";
import { parseSignedHead, verifySignedHead } from "../../core/log/signed-head.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { UpstreamLines } from "./upstream.ts";
import { witnessed, type WitnessNotes } from "./witness-notes.ts";

/** Input and storage of a witness. */
export interface WitnessOptions {
  readonly upstream: UpstreamLines;
  readonly notes: WitnessNotes;
  readonly vkey?: string;
}

type Told = MessageOf<"HelloAck">["head"];

/**
 * Compares what the origin says with what this replica holds. Each method stores a note and then throws
 * `INTEGRITY_VIOLATION` for a history that contradicts it.
 */
export class Witness {
  readonly #options: WitnessOptions;
  #workspace = "";
  /** A head whose event this replica does not hold yet. */
  #ahead: Told | undefined;

  constructor(options: WitnessOptions) {
    this.#options = options;
  }

  /** Checks the head that the origin named with its workspace. */
  async met(workspace: string, head: Told): Promise<void> {
    this.#workspace = workspace;
    const held = this.#options.upstream.head;
    if (head.sequence < held.seq) this.#contradicts(held, "", `its log ends at event ${head.sequence}`);
    await this.#compare(head);
  }

  /** Checks a head that the origin vouches for. With a verifier key, its signature must be valid. */
  async heard({ workspace, sequence, head_hash, signature }: MessageOf<"HeadWitness">): Promise<void> {
    if (workspace !== this.#workspace) violated("HeadWitness is about another workspace");
    const { vkey } = this.#options;
    if (signature !== undefined) {
      if (vkey !== undefined && !verifySignedHead(signature, vkey))
        violated("a head is not signed by the origin's key");
      const signed = parseSignedHead(signature).content;
      const isSame = signed.workspace === workspace && signed.seq === sequence && signed.hash === head_hash;
      if (!isSame) violated("HeadWitness says other things than the signed head");
    }
    await this.#compare({ sequence, hash: head_hash });
  }

  /** Called when this replica holds more events than before. */
  async grown(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead !== undefined) await this.#compare(ahead);
  }

  /** Called when the origin says that it does not know the head of this replica. */
  diverged(): never {
    return this.#contradicts(this.#options.upstream.head, "", "its log does not hold that event");
  }

  /**
   * Runs the check of a line that should follow `tail`. A line that is valid by itself but follows another event is a
   * contradiction.
   */
  watch<Result>(tail: Head, check: () => Result): Result {
    try {
      return check();
    } catch (error) {
      const isOther = error instanceof ChronicleError && error.data["kind"] === "bad-prev";
      return isOther
        ? this.#contradicts(tail, "", `what it sends as event ${tail.seq + 1} follows another event`)
        : raise(error);
    }
  }

  async #compare({ sequence, hash }: Told): Promise<void> {
    const { upstream } = this.#options;
    if (sequence > upstream.head.seq) {
      this.#ahead = { sequence, hash };
      return;
    }
    const held = sequence === 0 ? "" : await upstream.hashAt(sequence);
    // Nothing is known of the events before the state on which this replica started.
    if (held === undefined || held === hash) return;
    this.#contradicts({ seq: sequence, hash: held }, hash, `its event ${sequence} is another one`);
  }

  #contradicts({ seq: sequence, hash: held }: Head, told: string, reason: string): never {
    const note = { workspace: this.#workspace, sequence, held, told, reason };
    this.#options.notes.keep(note);
    throw witnessed(note);
  }
}

function raise(error: unknown): never {
  throw error;
}

function violated(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}
