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

/** Number of hashes that are remembered; the oldest are forgotten first. */
const MOST = 100_000;

/**
 * Contents that replicas need not send: those of the workspace, and those that they have already sent. A content that
 * the store holds only for others does not count: anybody who named its hash would get it, so they must have it first.
 * Secrets do not count either: otherwise anybody who knows a secret's hash from the log could read it under an ordinary
 * name.
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
    // A received content may have been freed again.
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

/** The workspace side of write-back: a session passes its replica's changes to it. */
export interface WriteBackTarget {
  /** Returns up to which entry a replica's changes are decided. */
  settled(replica: string): Promise<SettledWriteBack>;
  /** Throws `LIMIT_EXCEEDED` if the store may not take this many more bytes. */
  reserve(bytes: number): void;
  /** Returns why an entry is refused whatever its content is, so that it need not be fetched. */
  refusal(entry: WriteBackEntry): WriteBackReason | undefined;
  /**
   * Decides entries whose contents are in the store. Durable when it resolves. Throws `READ_ONLY` if nothing is taken;
   * `LOCKED` and others if it may succeed later.
   */
  decide(batch: WriteBackBatch): Promise<WriteBackAnswer>;
}

type WriteBack = MessageOf<"WriteBack">;

/** The parts that take what replicas write back. Shared by all sessions of a workspace. */
export interface WriteBackParts {
  readonly target: WriteBackTarget;
  readonly blobs: BlobStore;
  readonly received: ReceivedContents;
}

/** A replica sends one batch at a time, and again if it hears nothing. */
const MAX_WAITING = 16;

/** Number of heartbeats to wait for a requested content. While it waits, it keeps the store's collector out. */
const PATIENCE_BEATS = 75;

/** Errors that may pass (`NOT_FOUND`: the folder is away), and those that never do here. */
const AGAIN: ReadonlySet<string> = new Set(["LOCKED", "UNAVAILABLE", "LIMIT_EXCEEDED", "NOT_FOUND"]);
const NEVER: ReadonlySet<string> = new Set(["READ_ONLY", "FORBIDDEN"]);

/**
 * Takes what a replica writes back, one batch after the other, beside the loop that receives. Fetches the contents that
 * this side lacks, makes them durable, has the workspace decide, and answers once that is durable.
 */
export class WriteBackIntake {
  readonly #channel: Channel;
  readonly #parts: WriteBackParts;
  readonly #contents: ContentIntake;
  /** Returns the last event that was sent to the replica. */
  readonly #sent: () => number;
  readonly #waiting: WriteBack[] = [];
  #current: WriteBack | undefined;
  /** The replica's last decided entry, as far as this conversation knows. */
  #settled: number | undefined;
  #isRunning = false;
  #isFetching = false;
  #isEnded = false;
  #beats = 0;

  constructor(channel: Channel, parts: WriteBackParts, fetch: ContentFetch, sent: () => number) {
    this.#channel = channel;
    this.#parts = parts;
    this.#contents = new ContentIntake(parts.blobs, fetch, { held: parts.received, onJoining: () => this.heard() });
    this.#sent = sent;
  }

  /** Called when the replica was told that its entries are decided up to here. */
  begin(settled: number): void {
    this.#settled = settled;
  }

  /**
   * Queues a batch, unless it is already queued: a replica that waits for long sends it again. Throws `LIMIT_EXCEEDED`.
   */
  take(message: WriteBack): void {
    if ([this.#current, ...this.#waiting].some((one) => one !== undefined && isSame(one, message))) return;
    if (this.#waiting.length >= MAX_WAITING) {
      throw new ChronicleError("LIMIT_EXCEEDED", `more than ${MAX_WAITING} batches are written back at once`);
    }
    this.#waiting.push(message);
    if (!this.#isRunning) void this.#run();
  }

  /** Called when a content has come, or part of one. */
  heard(): void {
    this.#beats = 0;
  }

  /** Called with each heartbeat. */
  beat(): void {
    this.#beats = this.#isFetching ? this.#beats + 1 : 0;
    if (this.#beats > PATIENCE_BEATS)
      this.#channel.close(
        new ChronicleError("UNAVAILABLE", "the replica does not send the contents of what it writes"),
      );
  }

  /** Called at the end of the conversation: begins nothing more. */
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
      const asked = { replica, acknowledged: this.#sent(), entries, missing };
      const answer = await target.decide(after === undefined ? asked : { ...asked, after });
      this.#settled = Math.max(after ?? 0, entries.at(-1)?.localSeq ?? 0);
      return answer;
    } catch (error) {
      const reason = this.#isEnded ? undefined : reasonOf(error);
      if (reason === undefined) throw error;
      return { accepted: [], rejected: entries.map(({ localSeq }) => ({ localSeq, reason })) };
    }
  }

  /** Makes durable the contents of entries that may be taken. Returns those that the replica does not have. */
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
 * Another connection has had entries of this replica decided: its own, or that of a copy. Returns an error that makes
 * it connect again, since `HelloAck` tells the two apart.
 */
function comeAgain(error: unknown): ChronicleError | undefined {
  if (!(error instanceof ChronicleError) || error.code !== "ROLLBACK_DETECTED") return undefined;
  return new ChronicleError("UNAVAILABLE", `${error.message}: come again`, { cause: error });
}

function isSame(a: WriteBack, b: WriteBack): boolean {
  const [first, last] = [a.entries[0]?.local_seq, a.entries.at(-1)?.local_seq];
  return first === b.entries[0]?.local_seq && last === b.entries.at(-1)?.local_seq;
}

function reasonOf(error: unknown): WriteBackReason | undefined {
  if (!(error instanceof ChronicleError)) return undefined;
  if (NEVER.has(error.code)) return "read-only";
  return AGAIN.has(error.code) ? "unavailable" : undefined;
}
