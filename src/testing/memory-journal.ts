import assert from "node:assert/strict";
import { sha256, type Hash } from "../core/values/hash.ts";
import { parsePath, type WorkspacePath } from "../core/values/path.ts";
import type { AcceptedEntry, RejectedEntry, WriteBackAnswer, WriteBackEntry } from "../core/records/write-back.ts";
import type { JournalPage, WriteJournal } from "../replication/replica/write-journal.ts";
import type { BlobReader, BlobStore } from "../storage/blob-store.ts";
import { MemoryBlobStore } from "../storage/memory/memory-blob-store.ts";
import { Signal } from "../util/signal.ts";

/** A journal in memory. It checks that each of its entries is answered once, in order, and finally. */
export class MemoryJournal implements WriteJournal {
  readonly changed = new Signal<void>();
  readonly entries: WriteBackEntry[] = [];
  readonly answers = new Map<number, AcceptedEntry | RejectedEntry>();
  readonly contents = new Map<Hash, Buffer>();
  /** Contents that were asked for. */
  readonly opened: Hash[] = [];
  settledTo = 0;
  readonly #blobs: BlobStore = new MemoryBlobStore({ contents: this.contents });
  #head = 0;

  /** The seq of the last own event. */
  get head(): number {
    return this.#head;
  }

  /** Writes a file, or deletes it (`undefined`). */
  write(path: string, text: string | undefined, seen = 0): WriteBackEntry {
    const at = parsePath(path);
    const bytes = Buffer.from(text ?? "");
    const hash = sha256(bytes);
    if (text !== undefined) this.contents.set(hash, bytes);
    const entry = { path: at, kind: "file", mode: 0o644, size: bytes.length, mtimeMs: 1, hash } as const;
    return this.add(at, { entry: text === undefined ? undefined : entry, seen });
  }

  add(path: WorkspacePath, { entry, seen }: Pick<WriteBackEntry, "entry" | "seen">): WriteBackEntry {
    // Not every event of a log is an entry.
    this.#head += this.#head % 3 === 0 ? 2 : 1;
    const eventHash = sha256(`${this.#head} ${path} ${entry?.hash ?? "absent"}`);
    const added = { localSeq: this.#head, eventHash, path, entry, seen, actor: "agent", session: "s" };
    this.entries.push(added);
    this.changed.emit();
    return added;
  }

  /** Each entry is identified by its number and path. */
  async isStillHeld(localSeq: number, hash: Hash | undefined): Promise<boolean> {
    const entry = this.entries.find((one) => one.localSeq === localSeq);
    return hash === undefined || (entry !== undefined && entry.eventHash === hash);
  }

  async next(after: number, limit: number): Promise<JournalPage> {
    const all = this.entries.filter(({ localSeq }) => localSeq > after);
    const entries = all.slice(0, limit);
    return { entries, upTo: all.length > limit ? (entries.at(-1)?.localSeq ?? after) : this.#head };
  }

  /** Always true, because nobody else writes as this replica. */
  async hasWritten(): Promise<boolean> {
    return true;
  }

  /** Checks nothing, because the holder of this journal sends everything after what the origin remembers. */
  remembered(): void {}

  async settled(upTo: number, { accepted, rejected }: WriteBackAnswer): Promise<void> {
    assert.ok(upTo >= this.settledTo, "what is settled only grows");
    this.settledTo = upTo;
    for (const answer of [...accepted, ...rejected]) {
      const before = this.answers.get(answer.localSeq);
      if (before !== undefined) assert.deepEqual(answer, before, `entry ${answer.localSeq} was answered twice`);
      assert.notEqual((answer as RejectedEntry).reason, "unavailable", "`unavailable` does not settle an entry");
      this.answers.set(answer.localSeq, answer);
    }
  }

  /** Simulates a new process that remembers none of its answers. */
  forget(): void {
    this.settledTo = 0;
    this.answers.clear();
  }

  async open(hash: Hash): Promise<BlobReader | undefined> {
    this.opened.push(hash);
    return this.#blobs.open(hash);
  }
}
