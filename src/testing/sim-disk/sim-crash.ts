import { contentOf, durableFile, replay, type FileChange, type SimFile } from "./sim-file.ts";
import { simRandom, type SimRandom } from "./sim-random.ts";
import { ROOT, slotKey, type NameChange, type SimNode, type SimState } from "./sim-state.ts";

/**
 * The fate of unsynced changes in a power loss.
 * - `forget`: nothing is left.
 * - `keep`: everything is left, as if all of it had been written out just in time.
 * - `seed`: in each folder, the operations up to a random one are left; in each file, the writes up to a random one,
 * which is torn at a random byte. Sometimes single sectors were never written (old bytes remain, or zeros where there
 * were none), and sometimes the length was written but not the bytes. Names and contents are independent: a new name
 * may come with no content.
 */
export type CrashFate = "forget" | "keep" | { readonly seed: number };

const SECTOR = 512;

/**
 * Returns the state found after a crash. Everything in it is durable, and no descriptor is open. Does not change
 * `state`.
 */
export function crashed(state: SimState, fate: CrashFate): SimState {
  const after = state.fork();
  restoreNames(after, survivors(after.pendingNames, fate));
  const reached = reachable(after);
  after.usedBytes = 0;
  for (const id of [...after.nodes.keys()]) {
    const links = reached.get(id);
    if (links === undefined) after.nodes.delete(id);
    else settle(after, id, links, fate);
  }
  return after;
}

/**
 * Returns the name operations that survive: in each folder those up to some point. An operation survives as a whole or
 * not at all.
 */
function survivors(pending: readonly NameChange[], fate: CrashFate): ReadonlySet<NameChange> {
  if (fate === "keep") return new Set(pending);
  if (fate === "forget" || pending.length === 0) return new Set();
  const random = simRandom(fate.seed);
  const folders = new Map<number, number>();
  for (const change of pending)
    for (const slot of change) folders.set(slot.folder, (folders.get(slot.folder) ?? 0) + 1);
  for (const [folder, count] of folders) folders.set(folder, random.below(count + 1));
  const kept = new Set<NameChange>();
  for (const change of pending) {
    const survives = change.every((slot) => (folders.get(slot.folder) ?? 0) > 0);
    for (const slot of change) folders.set(slot.folder, survives ? (folders.get(slot.folder) ?? 0) - 1 : 0);
    if (survives) kept.add(change);
  }
  return kept;
}

function restoreNames(state: SimState, kept: ReadonlySet<NameChange>): void {
  const found = new Map<string, { folder: number; name: string; id: number }>();
  for (const change of state.pendingNames) {
    for (const slot of change) {
      const key = slotKey(slot);
      const value = found.get(key) ?? { folder: slot.folder, name: slot.name, id: slot.before };
      found.set(key, value);
      if (kept.has(change)) value.id = slot.after;
    }
  }
  for (const { folder, name, id } of found.values()) {
    const names = state.own(folder).names;
    if (id === 0) names.delete(name);
    else names.set(name, id);
  }
  state.pendingNames = [];
}

/** Returns the nodes reachable from the root, each with its number of names. */
function reachable(state: SimState): ReadonlyMap<number, number> {
  const links = new Map<number, number>([[ROOT, 1]]);
  const folders = [ROOT];
  for (let id = folders.pop(); id !== undefined; id = folders.pop()) {
    for (const child of state.node(id).names.values()) {
      const known = links.get(child);
      links.set(child, (known ?? 0) + 1);
      if (known !== undefined || state.node(child).kind !== "dir") continue;
      if (state.node(child).parent !== id) state.own(child).parent = id;
      folders.push(child);
    }
  }
  return links;
}

function settle(state: SimState, id: number, links: number, fate: CrashFate): void {
  const node = state.node(id);
  if (node.nlink !== links || node.open !== 0) {
    const owned = state.own(id);
    owned.nlink = links;
    owned.open = 0;
  }
  if (isUnsaved(node)) decideNode(state.own(id), fate);
  state.usedBytes += state.node(id).charged;
}

function isUnsaved(node: SimNode): boolean {
  if (node.mode !== node.savedMode || node.mtimeNs !== node.savedMtimeNs) return true;
  return node.kind === "file" && node.file.pending.length > 0;
}

function decideNode(node: SimNode, fate: CrashFate): void {
  const random = typeof fate === "object" ? simRandom(fate.seed ^ Math.imul(node.id, 0x27d4eb2f)) : undefined;
  if (fate === "forget" || random?.below(2) === 0) {
    node.mode = node.savedMode;
    node.mtimeNs = node.savedMtimeNs;
  }
  node.savedMode = node.mode;
  node.savedMtimeNs = node.mtimeNs;
  if (node.kind !== "file" || node.file.pending.length === 0) return;
  node.file = durableFile(random === undefined ? contentAfter(node.file, fate) : randomContent(node.file, random));
  node.charged = Math.min(node.charged, node.file.size);
}

function contentAfter(file: SimFile, fate: CrashFate): Buffer {
  return fate === "keep" ? contentOf(file) : contentOf(replay(file.saved, []));
}

function randomContent(file: SimFile, random: SimRandom): Buffer {
  // Often nothing was written out yet. If the file was never synced, a new name then leads to an empty file.
  if (random.below(4) === 0) return contentAfter(file, "forget");
  const count = random.below(file.pending.length + 1);
  const kept: FileChange[] = file.pending.slice(0, count);
  const torn = file.pending[count];
  if (torn !== undefined && "bytes" in torn) {
    kept.push({ ...torn, bytes: torn.bytes.subarray(0, random.below(torn.bytes.length + 1)) });
  }
  const result = replay(file.saved, kept);
  const bytes = Buffer.from(contentOf(result));
  if (random.below(3) === 0) dropSectors(bytes, file.saved, kept, random);
  if (random.below(6) !== 0 || bytes.length >= file.size) return bytes;
  return Buffer.concat([bytes, Buffer.alloc(file.size - bytes.length)]);
}

/** Restores the earlier bytes in some of the sectors that the kept writes touched, within the written ranges. */
function dropSectors(bytes: Buffer, saved: SimFile["saved"], kept: readonly FileChange[], random: SimRandom): void {
  for (const change of kept) {
    if ("length" in change) continue;
    const end = Math.min(change.at + change.bytes.length, bytes.length);
    for (let at = change.at; at < end; at = (Math.floor(at / SECTOR) + 1) * SECTOR) {
      if (random.below(4) !== 0) continue;
      const stop = Math.min(end, (Math.floor(at / SECTOR) + 1) * SECTOR);
      bytes.fill(0, at, stop);
      if (at < saved.size) saved.bytes.copy(bytes, at, at, Math.min(stop, saved.size));
    }
  }
}
