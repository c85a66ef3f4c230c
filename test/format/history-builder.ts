import { encodeBase } from "../../src/core/log/base.ts";
import type { BaseEntry, BaseRecord } from "../../src/core/log/base.ts";
import { canonicalJson } from "../../src/core/values/canonical-json.ts";
import type { Entry } from "../../src/core/values/entry.ts";
import {
  EMPTY_HEAD,
  type EventDraft,
  type Head,
  type Json,
  type RecordBody,
  type SealedEvent,
} from "../../src/core/values/event.ts";
import { fileRecordId } from "../../src/core/values/file-record.ts";
import { EMPTY_HASH, type Hash, sha256 } from "../../src/core/values/hash.ts";
import { sealEvents } from "../../src/core/log/chain.ts";
import { LogTree } from "../../src/core/log/log-tree.ts";
import { manifestRoot } from "../../src/core/tree/merkle.ts";
import { comparePaths, parsePath, pathInRoot, ROOT, type WorkspacePath } from "../../src/core/values/path.ts";

/**
 * A small history that is made line by line as `docs/format.md` says, so that a case can break a single rule of that
 * page.
 */

export const WORKSPACE = "11111111-1111-4111-8111-111111111111";
export const TS = "2026-01-31T09:30:00.000Z";
/** The public key of RFC 8032, section 7.1, test 1, as in `vectors/signed-head.json`. */
export const KEY = "chronicle/01JABCDEFGHJKMNPQRSTVWXYZ0+fcdc392b+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea";
/** The id of the further root of the history. */
export const FURTHER = "lib";

/** One commit: its drafts, and whether its last event states the Merkle root. */
export interface Commit {
  readonly drafts: readonly EventDraft[];
  readonly root?: true;
}

export function inRoot(path: string, root?: string): WorkspacePath {
  return pathInRoot(root, parsePath(path));
}

/** Returns the draft of an event that sets a record. */
export function upsert(recordId: string, record: RecordBody): EventDraft {
  return { op: "upsert", recordId, record };
}

/** Fields that replace those of a record. `undefined` removes a field. */
export type Changed = Readonly<Record<string, Json | undefined>>;

export function withFields(record: RecordBody, changed: Changed = {}): RecordBody {
  const all = Object.entries({ ...record, ...changed });
  return Object.fromEntries(all.filter((one): one is [string, Json] => one[1] !== undefined));
}

/** Returns the content of a file with this text. */
export const contentOf = (text: string): Buffer => Buffer.from(`${text}\n`);

const FIELDS: Readonly<Record<string, RecordBody>> = {
  dir: { kind: "dir", mode: 0o755, size: 0, mtime_ms: 0 },
  file: { kind: "file", mode: 0o644, size: 4, mtime_ms: 0, hash: sha256(contentOf("one")) },
  symlink: { kind: "symlink", mode: 0o777, size: 4, mtime_ms: 0, hash: sha256(contentOf("one")) },
  absent: { kind: "absent" },
};

/** Returns the draft of an iteration of a path. `changed`: fields that a case changes. */
export function iteration(
  path: WorkspacePath,
  kind: keyof typeof FIELDS,
  number: number,
  changed?: Changed,
): EventDraft {
  const record = { ...FIELDS[kind], iteration: number, cause: "write", actor: "a" };
  return upsert(fileRecordId(path), withFields(record, changed));
}

function entryOf(path: WorkspacePath, { kind, mode, hash }: RecordBody): Entry | undefined {
  if (kind === "absent" || typeof mode !== "number") return undefined;
  const entry = { path, kind: kind as Entry["kind"], mode, size: 0, mtimeMs: 0 };
  return { ...entry, hash: kind === "dir" ? undefined : (hash as Hash) };
}

/**
 * Builds a history commit by commit, and keeps the state that it has reached: lines, contents, files, head and log
 * tree.
 */
export class HistoryBuilder {
  readonly contents = new Map<Hash, Buffer>();
  readonly lines: string[] = [];
  readonly #entries = new Map<WorkspacePath, Entry>();
  #head: Head = EMPTY_HEAD;
  #tree = new LogTree();

  get head(): Head {
    return this.#head;
  }

  get frontier(): readonly Hash[] {
    return this.#tree.frontier();
  }

  /** Returns a builder that continues from the present state, with no lines of its own yet. */
  copy(): HistoryBuilder {
    const other = new HistoryBuilder();
    for (const [hash, bytes] of this.contents) other.contents.set(hash, bytes);
    for (const [path, entry] of this.#entries) other.#entries.set(path, entry);
    other.#head = this.#head;
    other.#tree = new LogTree(this.#tree.frontier(), this.#head.seq);
    return other;
  }

  content(bytes: Buffer): Hash {
    const hash = sha256(bytes);
    this.contents.set(hash, bytes);
    return hash;
  }

  json(value: Json): Hash {
    return this.content(Buffer.from(canonicalJson(value)));
  }

  /** Returns the Merkle root of the present files, or of the files after these drafts. */
  root(drafts: readonly EventDraft[] = []): Hash {
    const entries = new Map(this.#entries);
    applyTo(entries, drafts);
    return manifestRoot(sorted(entries), [FURTHER]).root;
  }

  /**
   * Stores a base of the present files, each as iteration 1 of event 3. A case can change the rows by `row`, and add
   * `records`. Returns the hash of the base, and the Merkle root of the files.
   */
  base({ row = (one: BaseEntry): BaseEntry => one, records = [] as readonly BaseRecord[] } = {}): {
    base: Hash;
    root: Hash;
  } {
    const all = sorted(this.#entries);
    const { root, folders } = manifestRoot(all, [FURTHER]);
    const rows = all.map((entry) => {
      const folderHash = folders.get(entry.path);
      const one = { path: entry.path, iteration: 1, seq: 3, entry };
      return row(folderHash === undefined ? one : { ...one, folderHash });
    });
    const roots = ["", FURTHER].map((id) => {
      return { id, hash: folders.get(pathInRoot(id === "" ? undefined : id, ROOT)) ?? EMPTY_HASH };
    });
    const counts = { entries: rows.length, records: records.length };
    const bytes = Buffer.concat([...encodeBase({ root, roots, entries: rows, records, counts })]);
    return { base: this.content(bytes), root };
  }

  /** Adds files that only a base has, not an event. */
  place(paths: readonly EventDraft[]): void {
    applyTo(this.#entries, paths);
  }

  /** Continues after events that are no longer in the log. */
  startBehind({ head, frontier }: { readonly head: Head; readonly frontier: readonly Hash[] }): void {
    this.#head = head;
    this.#tree = new LogTree(frontier, head.seq);
    this.lines.length = 0;
  }

  commit({ drafts, root }: Commit): readonly SealedEvent[] {
    const first = this.#head.seq + 1;
    const mark = root === undefined ? { first } : { first, root: this.root(drafts) };
    const last = drafts.at(-1) as EventDraft;
    // If a case has set the mark of the commit, it is kept.
    const commit = last.record["commit"] ?? mark;
    const isUsers = last.op === "delete" || last.recordId.startsWith("user:");
    const all = isUsers
      ? [...drafts, upsert(`commit:${WORKSPACE}`, { commit: mark })]
      : drafts.with(-1, { ...last, record: { ...last.record, commit } });
    const sealed = sealEvents(this.#head, all, TS);
    applyTo(this.#entries, drafts);
    for (const { seq, hash, line } of sealed) {
      this.#head = { seq, hash };
      this.#tree.append(hash);
      this.lines.push(line);
    }
    return sealed;
  }
}

function sorted(entries: ReadonlyMap<WorkspacePath, Entry>): Entry[] {
  return [...entries.values()].sort((a, b) => comparePaths(a.path, b.path));
}

/** Applies drafts to the files as a verifier does. Records that the format does not allow change no file. */
function applyTo(entries: Map<WorkspacePath, Entry>, drafts: readonly EventDraft[]): void {
  for (const { recordId, record } of drafts) {
    const match = /^file(?:@([a-z]+))?:([^/]+(?:\/[^/]+)*)$/.exec(recordId);
    if (match === null || match[2]?.includes("..") === true) continue;
    const path = inRoot(match[2] ?? "", match[1]);
    const entry = entryOf(path, record);
    if (entry === undefined) entries.delete(path);
    else entries.set(path, entry);
  }
}
