import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { sealEvents } from "../../src/core/log/chain.ts";
import { asCommit } from "../../src/core/log/commit-mark.ts";
import { type ActionRecord, encodeAction } from "../../src/core/records/action-record.ts";
import { coverageOf } from "../../src/core/records/coverage.ts";
import type { Entry } from "../../src/core/values/entry.ts";
import type { EventDraft, Head } from "../../src/core/values/event.ts";
import { encodeFile, fileRecordId } from "../../src/core/values/file-record.ts";
import { EMPTY_HASH, isHash, type Hash } from "../../src/core/values/hash.ts";
import { manifestRoot } from "../../src/core/tree/merkle.ts";
import { comparePaths, parsePath } from "../../src/core/values/path.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { openStore } from "../../src/open.ts";
import { FileEventLog } from "../../src/storage/files/file-event-log.ts";
import { storeLayout } from "../../src/storage/layout.ts";

const BATCH = 1_500;
const FILES = 200;
/** Each turn has so many actions. */
export const TURN = 8;

export interface Places {
  readonly home: string;
  readonly configFolder: string;
}

/**
 * Writes a history with this number of actions, in turns, of a tree of 200 files of about 3 KB. Each action changes one
 * of the first `changing` files.
 */
export async function makeLongHistory(options: Places, tree: string, actions: number, changing = FILES): Promise<void> {
  for (let file = 0; file < FILES; file++) writeFileSync(join(tree, nameOf(file)), textOf(file));
  const begun = await begin(options, tree);
  await fill(options.home, begun, { actions, changing });
}

interface Begun {
  readonly id: string;
  /** The contents of the files, by number. */
  readonly hashes: readonly Hash[];
}

async function begin(options: Places, tree: string): Promise<Begun> {
  const store = await openStore(options);
  const { workspace } = await store.init({ roots: [tree] });
  const hashes = await hashesOf(workspace);
  const { id } = workspace;
  await workspace.close();
  await store.close();
  return { id, hashes };
}

async function hashesOf(workspace: WorkspaceApi): Promise<Hash[]> {
  const hashes: Hash[] = [];
  for (let file = 0; file < FILES; file++) {
    const [row] = await workspace.history(nameOf(file));
    if (row !== undefined && isHash(row.hash)) hashes.push(row.hash);
  }
  if (hashes.length !== FILES) throw new Error("the baseline lacks files");
  return hashes;
}

interface Amounts {
  readonly actions: number;
  readonly changing: number;
}

interface Changed {
  readonly entry: Entry;
  readonly iteration: number;
}

/** Appends actions, with valid hashes and links. Each gives a file the content of another one. */
async function fill(home: string, { id, hashes }: Begun, { actions, changing }: Amounts): Promise<void> {
  const files = new Map(hashes.map((hash, file) => [nameOf(file), entryOf(file, hash)]));
  const log = new FileEventLog(new NodeDisk(), storeLayout(home).workspace(id));
  let head: Head = { seq: log.head.seq, hash: log.head.hash };
  for (let n = 0; n < actions;) {
    const drafts: EventDraft[] = [];
    for (; n < actions && drafts.length < BATCH; n++) {
      const entry = entryOf(n % changing, hashes[(n * 7 + Math.floor(n / FILES) + 1) % FILES] ?? EMPTY_HASH);
      files.set(entry.path, entry);
      drafts.push(...draftsOf(n, head.seq + drafts.length, { entry, iteration: Math.floor(n / changing) + 2 }));
    }
    const entries = [...files.values()].sort((a, b) => comparePaths(a.path, b.path));
    const { root } = manifestRoot(entries);
    const ts = new Date(1_790_000_000_000 + n * 1_000).toISOString();
    const sealed = sealEvents(head, asCommit(drafts, id, { first: head.seq + 1, root }), ts);
    await log.append(sealed);
    const last = sealed.at(-1);
    if (last !== undefined) head = { seq: last.seq, hash: last.hash };
  }
  await log.close();
}

/** Returns the three events of an action: its beginning, its change and its end. */
function draftsOf(n: number, fromSeq: number, { entry, iteration }: Changed): EventDraft[] {
  const { path } = entry;
  const action = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  const ts = new Date(1_790_000_000_000 + n * 1_000).toISOString();
  const open: ActionRecord = {
    ...{ state: "open", type: "write_file", summary: `write_file: ${path}`, scope: "paths", paths: [path] },
    files: [{ path, iteration: iteration - 1, absent: false }],
    ...{
      missing: [],
      outside: [],
      actor: "agent-of-the-bench",
      session: "bench",
      turn: `turn-${Math.floor(n / TURN)}`,
    },
    ...{ previous: "", pid: null, fromSeq, pinned: false, coverage: coverageOf([]) },
    ...{ started: ts, ended: null, changed: null, omittedChanges: [] },
  };
  const begun = { seq: fromSeq + 1, hash: EMPTY_HASH, ts, depth: 0 };
  const done: ActionRecord = { ...open, state: "done", begun, toSeq: fromSeq + 2, ended: ts, changed: 1 };
  const change = { entry, iteration, cause: "action", actor: open.actor, session: "bench", action } as const;
  return [
    { op: "upsert", recordId: `action:${action}`, record: encodeAction(open) },
    { op: "upsert", recordId: fileRecordId(path), record: encodeFile(change) },
    { op: "upsert", recordId: `action:${action}`, record: encodeAction(done) },
  ];
}

function entryOf(file: number, hash: Hash): Entry {
  const path = parsePath(nameOf(file));
  return { path, kind: "file", mode: 0o644, size: textOf(file).length, mtimeMs: 0, hash };
}

/** The name of one of the files. */
export const nameOf = (file: number): string => `file-${file}.ts`;

function textOf(file: number): string {
  return Array.from({ length: 60 }, (_, i) => `export const value${i} = ${1_000 + ((file + i) % 900)};\n`).join("");
}
