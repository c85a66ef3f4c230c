import type { Hash } from "../../core/values/hash.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import { type HeldContents, ContentIntake } from "../replica/content-intake.ts";
import type { WorkspaceContents } from "../contents/content-server.ts";
import type { SecretContents } from "../contents/session-contents.ts";
import type {
  SettledWriteBack,
  WriteBackAnswer,
  WriteBackBatch,
  WriteBackEntry,
  WriteBackReason,
} from "../../core/records/write-back.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { asFatal, type Channel } from "../channel.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { answerToWire, entryFromWire } from "../protocol/write-back-entries.ts";
import type { ContentFetch } from "../contents/content-fetch.ts";

type WriteBack = MessageOf<"WriteBack">;

/** The parts that all sessions of a workspace share. */
export interface WriteBackParts {
  readonly target: WriteBackTarget;
  readonly blobs: BlobStore;
  readonly received: ReceivedContents;
}

/**
 * The maximum number of queued batches. A correct replica sends a new batch only after the answer to the previous
 * batch, but may repeat a batch that has no answer yet.
 */
const MAX_WAITING = 16;

/**
 * The maximum number of consecutive heartbeats during which a fetch receives no data. The limit is necessary, because a
 * fetch holds a lease on the store, and the garbage collector frees nothing while a lease is held.
 */
const PATIENCE_BEATS = 75;

/**
 * The codes of temporary errors, after which a later attempt can succeed. `NOT_FOUND` means here that the workspace's
 * folder is missing.
 */
const PASSING: ReadonlySet<string> = new Set(["LOCKED", "UNAVAILABLE", "LIMIT_EXCEEDED", "NOT_FOUND"]);
/** The codes of permanent errors, after which the replica does not send the entries again. */
const LASTING: ReadonlySet<string> = new Set(["READ_ONLY", "FORBIDDEN"]);

/**
 * Processes the batches of entries that a replica writes back, one batch after the other, while the session goes on
 * receiving messages. For each batch, first fetches the missing contents, and makes all contents durable. Then the
 * workspace decides about the entries. The replica gets the answer once the decision is durable.
 */
export class WriteBackIntake {
  readonly #channel: Channel;
  readonly #parts: WriteBackParts;
  readonly #contents: ContentIntake;
  /** Returns the seq of the last event that the replica can have seen. */
  readonly #seen: () => number;
  readonly #waiting: WriteBack[] = [];
  #current: WriteBack | undefined;
  /** The `localSeq` of the last entry of the replica that is known to be decided; `undefined` before `begin`. */
  #settled: number | undefined;
  #isRunning = false;
  #isFetching = false;
  #isEnded = false;
  #beats = 0;

  constructor(channel: Channel, parts: WriteBackParts, fetch: ContentFetch, seen: () => number) {
    this.#channel = channel;
    this.#parts = parts;
    this.#contents = new ContentIntake(parts.blobs, fetch, { held: parts.received, onJoining: () => this.heard() });
    this.#seen = seen;
  }

  /** Sets the `localSeq` of the last decided entry, which `HelloAck` also states (`settled_local_seq`). */
  begin(settled: number): void {
    this.#settled = settled;
  }

  /**
   * Queues a batch. Ignores a batch that is already queued or being decided, because a replica repeats a batch that has
   * no answer yet. Throws `LIMIT_EXCEEDED` if too many batches wait.
   */
  take(message: WriteBack): void {
    if ([this.#current, ...this.#waiting].some((one) => one !== undefined && isSame(one, message))) return;
    if (this.#waiting.length >= MAX_WAITING) {
      throw new ChronicleError("LIMIT_EXCEEDED", `more than ${MAX_WAITING} write-back batches are waiting`);
    }
    this.#waiting.push(message);
    if (!this.#isRunning) void this.#run();
  }

  /** Must be called when a fetch has made progress: a piece of a content has arrived, or a fetched chunk was joined. */
  heard(): void {
    this.#beats = 0;
  }

  /**
   * Must be called with each heartbeat. Closes the channel if a fetch receives nothing for more than `PATIENCE_BEATS`
   * heartbeats.
   */
  beat(): void {
    this.#beats = this.#isFetching ? this.#beats + 1 : 0;
    if (this.#beats > PATIENCE_BEATS)
      this.#channel.close(
        new ChronicleError("UNAVAILABLE", "the replica does not send the contents of what it writes"),
      );
  }

  /** Drops the batches that wait. The current batch can still be decided. */
  end(): void {
    this.#isEnded = true;
    this.#waiting.length = 0;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.#current = next;
        const answer = await this.#decide(next);
        this.#current = undefined;
        if (!this.#isEnded) await this.#channel.send(answerToWire(answer));
      }
    } catch (error) {
      if (!this.#isEnded) this.#channel.close(comeAgain(error) ?? asFatal(error));
    } finally {
      this.#current = undefined;
      this.#isRunning = false;
    }
  }

  async #decide({ sandbox_id: replica, entries: wired }: WriteBack): Promise<WriteBackAnswer> {
    const { target, blobs } = this.#parts;
    const entries = wired.map(entryFromWire);
    try {
      using _lease = await blobs.lease();
      const missing = await this.#ensure(replica, wired, entries);
      const after = this.#settled;
      const asked = { replica, acknowledged: this.#seen(), entries, missing };
      const answer = await target.decide(after === undefined ? asked : { ...asked, after });
      this.#settled = Math.max(after ?? 0, entries.at(-1)?.localSeq ?? 0);
      return answer;
    } catch (error) {
      const reason = this.#isEnded ? undefined : reasonOf(error);
      if (reason === undefined) throw error;
      return { accepted: [], rejected: entries.map(({ localSeq }) => ({ localSeq, reason })) };
    }
  }

  /**
   * Durably stores the contents of the entries. Skips entries that were decided earlier, and entries that `refusal`
   * refuses. Returns the hashes of the contents that neither this workspace nor the replica has.
   */
  async #ensure(replica: string, wired: WriteBack["entries"], entries: readonly WriteBackEntry[]): Promise<Set<Hash>> {
    const { target } = this.#parts;
    const { upTo } = await target.settled(replica);
    const inline = new Map<Hash, Uint8Array>();
    const sizes = new Map<Hash, number>();
    for (const [i, one] of entries.entries()) {
      const hash = one.entry?.hash;
      if (hash === undefined || one.localSeq <= upTo || target.refusal(one) !== undefined) continue;
      sizes.set(hash, one.entry?.size ?? 0);
      const bytes = wired[i]?.inline_content;
      if (bytes !== undefined) inline.set(hash, bytes);
    }
    target.reserve([...sizes.values()].reduce((sum, size) => sum + size, 0));
    this.#isFetching = true;
    try {
      return new Set(await this.#contents.ensure({ hashes: [...sizes.keys()], inline, sizes }));
    } finally {
      this.#isFetching = false;
    }
  }
}

/**
 * Returns an error that makes the replica connect again; `undefined` if `error` is not `ROLLBACK_DETECTED`. This code
 * means that entries under the replica's id were decided over another connection, perhaps entries of a copy of the
 * replica. The replica finds this out from the next `HelloAck`.
 */
function comeAgain(error: unknown): ChronicleError | undefined {
  if (!(error instanceof ChronicleError) || error.code !== "ROLLBACK_DETECTED") return undefined;
  return new ChronicleError("UNAVAILABLE", `${error.message}: connect again`, { cause: error });
}

function isSame(a: WriteBack, b: WriteBack): boolean {
  const [first, last] = [a.entries[0]?.local_seq, a.entries.at(-1)?.local_seq];
  return first === b.entries[0]?.local_seq && last === b.entries.at(-1)?.local_seq;
}

function reasonOf(error: unknown): WriteBackReason | undefined {
  if (!(error instanceof ChronicleError)) return undefined;
  if (LASTING.has(error.code)) return "read-only";
  return PASSING.has(error.code) ? "unavailable" : undefined;
}

/**
 * The maximum number of hashes that `ReceivedContents` remembers. The hash that was added least recently is forgotten
 * first.
 */
const MOST = 100_000;

/**
 * The contents that replicas need not send: contents of the workspace, and contents that a replica has already sent.
 * Two kinds of contents must always be sent, so that nobody can read a content by knowing only its hash:
 * - A content that the store holds only for other workspaces.
 * - A secret, even a secret of this workspace. A client that knows the secret's hash from the log could otherwise write
 *   the secret back under an ordinary name, and then read the secret.
 */
export class ReceivedContents implements HeldContents {
  readonly #blobs: BlobStore;
  readonly #contents: WorkspaceContents & Partial<SecretContents>;
  readonly #received = new Set<Hash>();

  constructor(blobs: BlobStore, contents: WorkspaceContents & Partial<SecretContents>) {
    this.#blobs = blobs;
    this.#contents = contents;
  }

  async has(hashes: readonly Hash[], inline?: ReadonlyMap<Hash, Uint8Array>): Promise<ReadonlySet<Hash>> {
    const asked = inline === undefined ? hashes : hashes.filter((hash) => !inline.has(hash));
    const held = new Set<Hash>();
    const secrets = (await this.#contents.secrets?.(asked)) ?? new Set<Hash>();
    // The store must still have the content, because garbage collection may have freed a received content.
    for (const hash of await this.#blobs.sound(asked)) {
      if (secrets.has(hash)) continue;
      if (this.#received.has(hash) || (await this.#contents.open(hash)) !== undefined) held.add(hash);
    }
    return held;
  }

  add(hash: Hash): void {
    this.#received.delete(hash);
    this.#received.add(hash);
    const [first] = this.#received;
    if (this.#received.size > MOST && first !== undefined) this.#received.delete(first);
  }
}

export interface WriteBackTarget {
  settled(replica: string): Promise<SettledWriteBack>;
  /** Throws `LIMIT_EXCEEDED` if the store would exceed its size limit with `bytes` more bytes. */
  reserve(bytes: number): void;
  /**
   * Returns the reason to refuse an entry regardless of its content; `undefined` if there is none. The content of a
   * refused entry is not fetched.
   */
  refusal(entry: WriteBackEntry): WriteBackReason | undefined;
  /**
   * Durably decides about entries whose contents are in the store. Throws `READ_ONLY` if this workspace accepts no
   * changes, and `LOCKED` or another temporary error if a later call can succeed.
   */
  decide(batch: WriteBackBatch): Promise<WriteBackAnswer>;
}
