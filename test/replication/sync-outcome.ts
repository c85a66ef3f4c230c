import assert from "node:assert/strict";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { Entry } from "../../src/core/values/entry.ts";
import type { LogEvent } from "../../src/core/values/event.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../../src/core/values/file-record.ts";
import { isWithin, type WorkspacePath } from "../../src/core/values/path.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { decodeReplica, type ReplicaRecord } from "../../src/core/records/replica-record.ts";
import { parseLine } from "../../src/core/log/chain.ts";
import { openConflicts } from "../../src/engine/facts/open-conflicts.ts";
import type { OriginNode, ReplicaNode } from "../../src/testing/sync-nodes.ts";
import { filesOf, treeOf, type Tree } from "./folder-tree.ts";
import type { WrittenBytes } from "./written-bytes.ts";

/** What is looked at. */
export interface Synced {
  readonly origin: OriginNode;
  readonly replicas: readonly ReplicaNode[];
  readonly isHosted: boolean;
  /** Was the origin put back to an earlier state? Then it does not know any more what it has answered before. */
  readonly isOriginPutBack: boolean;
}

/** The event of an origin's baseline, whose states are no events of their own. */
const BASELINE = 3;

/**
 * What must hold in the end: trees that are equal but for listed conflicts; mirrors that are the origin's log, byte for byte,
 * as far as they were not begun anew behind what it has dropped;
 * each write that a replica was told of as taken, in the origin's history; no write there twice; and histories that verify.
 */
export async function checkOutcome(synced: Synced): Promise<void> {
  const { origin, replicas, isOriginPutBack } = synced;
  const log = linesIn(origin.machine.disk, `/store/workspaces/${origin.id}`);
  const events = parsed(log);
  checkOnce(events);
  for (const [i, replica] of replicas.entries()) {
    const name = `replica ${i + 1}`;
    const shape = replica.sync.shape;
    assert.equal(shape.state, "in-sync", `${name} is ${shape.state}: ${shape.reason ?? ""}`);
    checkMirror(name, replica, { log, isOriginPutBack });
    // Of what an origin has dropped nobody can say that it never was there.
    if (events[0]?.seq === 1 && !isOriginPutBack) await checkWrites(name, replica, events);
  }
  const differing = await differences(synced);
  assert.equal(differing.join("\n"), "", "trees differ where there is no conflict");
  await verified("the origin", origin, !synced.isHosted);
  for (const [i, replica] of replicas.entries()) await verified(`replica ${i + 1}`, replica, true);
}

/** Nothing that somebody has written is lost, of all machines, and what nobody has deleted is everywhere. */
export function checkWritten({ origin, replicas, isHosted }: Synced, written: WrittenBytes): void {
  written.check([origin, ...replicas]);
  for (const node of isHosted ? replicas : [origin, ...replicas]) {
    const files = filesOf(node.machine.disk);
    const name = node === origin ? "the origin" : `replica ${replicas.indexOf(node as ReplicaNode) + 1}`;
    for (const [path, text] of written.lasting)
      assert.equal(files.get(path), text, `nobody has deleted ${path}, and ${name} does not have it`);
  }
}

/** Where the trees differ, and no open conflict says so. */
export async function differences({ origin, replicas, isHosted }: Omit<Synced, "isOriginPutBack">): Promise<string[]> {
  const wanted = isHosted ? await recordedTree(origin.workspace) : treeOf(origin.machine.disk);
  const shown: string[] = [];
  for (const [i, { hold, machine, sync }] of replicas.entries()) {
    const found = treeOf(machine.disk);
    const held = (await openConflicts(hold.context)).map(({ record }) => record.path);
    for (const path of new Set([...Object.keys(wanted), ...Object.keys(found)])) {
      if (isFiltered(path, sync.record)) continue;
      if (wanted[path] === found[path] || held.some((one) => isWithin(path as WorkspacePath, one))) continue;
      shown.push(`${path}: ${wanted[path] ?? "absent"} | ${found[path] ?? "absent"} at replica ${i + 1}`);
    }
  }
  return shown;
}

/** Is it what a filter keeps apart? Those of a simulation name whole folders. */
function isFiltered(path: string, { filterTo, filterFrom }: ReplicaRecord): boolean {
  return [...filterTo, ...filterFrom].some((filter) => `/${path}/`.startsWith(filter));
}

/** Each line that is held, or ever was, is the origin's, and none is missing since the mirror was begun. */
function checkMirror(
  name: string,
  { machine, id, hold }: ReplicaNode,
  { log, isOriginPutBack }: { readonly log: ReadonlyMap<number, string>; readonly isOriginPutBack: boolean },
): void {
  const folder = `/store/workspaces/${id}/upstream`;
  // What the origin has lost lies beside what it has.
  const mirror = linesIn(machine.disk, folder, !isOriginPutBack);
  for (const [seq, line] of log) {
    const held = mirror.get(seq);
    const isRight = held === line || (held === undefined && seq <= hold.mirror.start);
    assert.ok(isRight, `event ${seq} of the mirror of ${name} is not the origin's log: ${held}`);
  }
  const [first, last] = [Math.min(...log.keys()), Math.max(...log.keys())];
  const strange = [...mirror.keys()].filter((seq) => seq > last || (first === 1 && !log.has(seq)));
  assert.deepEqual(strange, [], `the mirror of ${name} is not the origin's log`);
}

/** No entry of a replica is recorded twice, or behind a later one of the same file, and each path's iterations go up by one. */
function checkOnce(events: readonly LogEvent[]): void {
  const seen = new Map<string, string>();
  const latest = new Map<string, number>();
  const iterations = new Map<string, number>();
  for (const { record, path, seq } of fileEvents(events)) {
    // The baseline, which is no event of it, may have had its first one; what was dropped, any.
    const isWhole = events[0]?.seq === 1;
    const last = iterations.get(path) ?? (!isWhole ? record.iteration - 1 : record.iteration === 2 ? 1 : 0);
    assert.equal(record.iteration, last + 1, `event ${seq}: ${path} has iteration ${record.iteration} after ${last}`);
    iterations.set(path, record.iteration);
    if (record.replica === undefined) continue;
    // Folders that were missing on the way have the number of what lies in them.
    const key = `${record.replica.id} ${record.replica.localSeq} ${path}`;
    const told = `${seq} (${path}, ${stateOf(record.entry)})`;
    assert.ok(!seen.has(key), `entry ${key} was recorded twice: by event ${seen.get(key)}, and by ${told}`);
    seen.set(key, told);
    const { id, localSeq } = record.replica;
    const own = `${id} ${path}`;
    const later = latest.get(own) ?? 0;
    const isFile = record.entry?.kind === "file";
    assert.ok(!isFile || later < localSeq, `entry ${key} was recorded behind ${later}: by event ${told}`);
    latest.set(own, Math.max(later, localSeq));
  }
}

/** What the origin has answered is in its history: as an event, as a state that was there already, or as a version. */
async function checkWrites(name: string, replica: ReplicaNode, events: readonly LogEvent[]): Promise<void> {
  const { settled, mode } = replica.sync.record;
  const kept = new Set(
    events.filter(({ recordId }) => recordId.startsWith("version:")).map(({ recordId }) => recordId),
  );
  const states = new Map<string, Set<string>>();
  for (const { path, record } of fileEvents(events)) {
    states.set(path, (states.get(path) ?? new Set()).add(stateOf(record.entry)));
  }
  for await (const rows of replica.hold.mirror.entriesAt(BASELINE)) {
    for (const { path, entry } of rows) states.set(path, (states.get(path) ?? new Set()).add(stateOf(entry)));
  }
  const own = parsed(linesIn(replica.machine.disk, `/store/workspaces/${replica.id}`));
  const { sandboxId } = replica.sync.record;
  for (const { path, record, seq } of fileEvents(own.slice(begunAt(own, sandboxId)))) {
    // A deletion loses nothing: whether it has come is seen in the trees.
    if (record.cause === "replica" || seq > settled || record.entry === undefined) continue;
    if (mode === "one-way-replica" || isFiltered(path, replica.sync.record)) continue;
    const isThere = states.get(path)?.has(stateOf(record.entry)) === true;
    const isKept = kept.has(`version:${sandboxId}:${seq}`);
    assert.ok(isThere || isKept, `what ${name} wrote as event ${seq} (${path}) is nowhere at the origin`);
  }
}

/**
 * What was there before it had met its origin (until then the record names none), or before it went on as another replica, is proposed
 * as it was then, not change by change: that is over where a record says that all of it is settled.
 */
function begunAt(own: readonly LogEvent[], sandboxId: string): number {
  const records = own.flatMap(({ recordId, record, seq }, at) =>
    recordId.startsWith("replica:") ? [{ at, seq, record: decodeReplica(record) }] : [],
  );
  const former = records.findLast(({ record }) => record.sandboxId !== sandboxId);
  const begun =
    former === undefined
      ? records.find(({ record }) => record.origin !== "")
      : records.find(({ at, record }) => at > former.at && record.settled > former.seq);
  return begun?.at ?? own.length;
}

function stateOf(entry: Entry | undefined): string {
  return entry === undefined ? "absent" : `${entry.kind} ${entry.hash ?? ""}`;
}

function* fileEvents(
  events: readonly LogEvent[],
): Generator<{ readonly path: WorkspacePath; readonly record: FileRecord; readonly seq: number }> {
  for (const { op, recordId, record, seq } of events) {
    const path = op === "upsert" ? pathOfRecordId(recordId) : undefined;
    if (path !== undefined) yield { path, record: decodeFile(path, record), seq };
  }
}

function parsed(log: ReadonlyMap<number, string>): LogEvent[] {
  return [...log.values()].map((line) => parseLine(Buffer.from(line)));
}

/** All lines of a log by seq, in their order, with those in its archive, and those of mirrors that were begun anew. */
function linesIn(disk: SimDisk, folder: string, isWithFormer = true): Map<number, string> {
  const places = disk.list(folder).map(({ name }) => name.toString());
  const beside = places.filter(
    (name) => name === "archive" || (isWithFormer && name === "former") || name.startsWith("from-"),
  );
  const files = beside.flatMap((name) => disk.list(`${folder}/${name}`).map((one) => `${name}/${one.name.toString()}`));
  const lines = ["events.wal", ...files.filter((name) => name.endsWith(".wal"))].flatMap((name) => {
    const text = disk.content(`${folder}/${name}`)?.toString() ?? "";
    // Of a copy that was given up right after a disk had failed there may be half a line: it is none.
    const whole = name.startsWith("former/") ? text.slice(0, text.lastIndexOf("\n") + 1) : text;
    return whole.split("\n").filter((line) => line !== "");
  });
  const bySeq = lines.map((line) => [parseLine(Buffer.from(line)).seq, line] as const);
  return new Map(bySeq.toSorted(([a], [b]) => a - b));
}

/** Its history verifies, and what is recorded of a folder is what lies there. */
async function verified(
  name: string,
  { machine, id }: Pick<OriginNode, "machine" | "id">,
  hasFolder: boolean,
): Promise<void> {
  const store = await machine.open();
  try {
    const workspace = await store.openById(id, { readOnly: true });
    const { problems } = await workspace.verify();
    assert.deepEqual(problems, [], `${name} does not verify`);
    if (hasFolder)
      assert.deepEqual(await recordedTree(workspace), treeOf(machine.disk), `${name} has recorded what is not so`);
    await workspace.close();
  } finally {
    await store.close();
  }
}

async function recordedTree(workspace: WorkspaceApi): Promise<Tree> {
  const found: Record<string, string> = {};
  for (const { path, kind, permissions } of (await workspace.files()).files) {
    const content = kind === "file" ? Buffer.concat(await Array.fromAsync((await workspace.file(path)).pieces())) : "";
    found[path] = `${kind} ${permissions} ${content.toString()}`;
  }
  return found;
}
