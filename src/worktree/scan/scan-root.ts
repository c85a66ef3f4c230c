import type { Verdict } from "../../core/filter/filter.ts";
import type { NodeKind } from "../../disk/disk.ts";
import type { FolderRules } from "./folder-rules.ts";
import { type FolderWork, type Found, type RootScanParts, GITS_DETAIL, ScanLook, foundIn } from "./scan-look.ts";
import type { ExcludedName, KnownChild } from "./stat-cache.ts";
import type { Listing } from "./stat-table.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { foldsNames } from "../../core/tree/folder-traits.ts";
import { childOf, decodeName, pathInRoot, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { unitOf } from "../../core/tree/sqlite-unit.ts";
import { isStagingName, STAGING_FOLDER } from "../../core/tree/staging-folder.ts";
import { isRacy } from "../files/same-stat.ts";

/** Walks one root top-down, one folder per `step`, so that the caller can yield to other tasks between two steps. */
export class RootScan {
  readonly look: ScanLook;
  readonly #p: RootScanParts;

  constructor(parts: RootScanParts) {
    this.#p = parts;
    this.look = new ScanLook(parts);
  }

  /** Returns the `FolderWork` for the root's folder. `rules`: the rules for the contents of that folder. */
  rootWork(rules: FolderRules): FolderWork {
    const { root, stat, tally, cache } = this.#p;
    const path = pathInRoot(root.id, ROOT);
    return {
      path,
      inner: ROOT,
      stat,
      row: cache.rowOf(path),
      above: undefined,
      weight: tally.weigh(path, undefined),
      rules,
      tracked: true,
      named: false,
      unsettled: false,
      overLimit: 0,
    };
  }

  /** Walks the next folder. Returns false if no folder is left. */
  step(): boolean {
    const { folders } = this.look;
    const work = folders.pop();
    if (work === undefined) return this.#lookAtHeld();
    const depth = folders.length;
    this.#visit(work);
    this.tellOverLimit(work);
    // The newly found folders are reversed, because the last folder in the list is walked first.
    for (const next of folders.splice(depth).reverse()) folders.push(next);
    return true;
  }

  /**
   * Looks at the next folder that was held back. Requires that everything else has been walked. Then all repositories
   * are known, so it is clear whether the folder is a git folder. Returns false if no such folder is left.
   */
  #lookAtHeld(): boolean {
    const held = this.look.held.shift();
    if (held === undefined) return false;
    this.look.lookAtHeld(held);
    this.tellOverLimit(held.work);
    return true;
  }

  /**
   * Reports how many new paths in a folder the limits leave out. Must be called after all requested paths in the folder
   * were scanned.
   */
  tellOverLimit(work: FolderWork): void {
    if (work.overLimit > 0) this.look.omit(work.path, "over-limit", `${work.overLimit} new paths`);
    work.overLimit = 0;
  }

  /**
   * Looks at one name in a folder. If the name belongs to a folder to be walked, queues the folder and returns it.
   * `named`: true to take the name and everything in it, except git's own state, whatever the rules say.
   */
  lookFor(above: FolderWork, name: string, named = false): FolderWork | undefined {
    const { look } = this;
    const found = { ...foundIn(above, name, this.#p.cache.child(childOf(above.path, name))), named };
    const depth = look.folders.length;
    if (this.#isOther(found)) {
      look.missing(above, found.child);
      return undefined;
    }
    if (look.isKnown(found) || (named && !this.#isGits(above, name))) {
      look.look(above, found, false);
    } else if (named) {
      const isThere = look.statOf(above, found, false) !== undefined;
      if (isThere) look.omit(found.path, "excluded", detailOf(above.rules.scope.judge(name, true)));
    } else {
      const stat = look.statOf(above, found, false);
      if (stat === undefined) look.missing(above, found.child);
      else if (stat !== "omitted") this.#judge(above, found, stat.kind);
    }
    return look.folders.length > depth ? look.folders.at(-1) : undefined;
  }

  /**
   * Enters a folder on the way to a requested path, without walking the folder. Returns `undefined` if there is no such
   * folder, or if it is on another device, a folder of the store, or a git folder.
   */
  passThrough(above: FolderWork, name: string): FolderWork | undefined {
    const { look } = this;
    const found = foundIn(above, name, this.#p.cache.child(childOf(above.path, name)));
    const stat = this.#isOther(found) ? undefined : look.statOf(above, found, false);
    if (typeof stat !== "object" || stat.kind !== "dir" || !this.#isOwn(stat)) return undefined;
    if (look.isGits(above, found, stat)) {
      look.omit(found.path, "excluded", GITS_DETAIL);
      return undefined;
    }
    look.enter(above, found, stat, { tracked: false, named: false });
    return look.folders.pop();
  }

  /** True if the disk treats some different names as one, and the folder lists this name only in another spelling. */
  #isOther({ inner }: Found): boolean {
    return foldsNames(this.#p.traits) && !this.#p.fs.isNamedSo(inner);
  }

  isKeptOut(above: FolderWork, name: string): boolean {
    return this.#p.root.only === undefined && !above.rules.scope.judge(name, true).tracked;
  }

  isKnownFolder(work: Pick<FolderWork, "path">): boolean {
    const child = this.#p.cache.child(work.path);
    return child !== undefined && this.#p.cache.kindOf(child) === "dir";
  }

  #visit(work: FolderWork): void {
    const { root, cache, paranoid, traits } = this.#p;
    if (root.only !== undefined && work.above === undefined) {
      this.#visitOnly(work, root.only);
      return;
    }
    const children = cache.children(work.path, work.row);
    // On a disk without a reliable ctime, the times of a folder do not reveal new names.
    const listing = paranoid || work.named || !traits.ctime ? undefined : cache.listing(work.path, work.row);
    if (listing === undefined || !this.#isAsListed(work, listing, children) || this.#holdsTracked(work)) {
      this.#visitListed(work, children);
      return;
    }
    for (const { name, detail } of cache.excluded.get(work.path) ?? []) {
      this.look.omit(childOf(work.path, name), "excluded", detail);
    }
    for (const child of children) this.look.look(work, foundIn(work, child.name, child), true);
  }

  /**
   * Looks at the file of a single-file root. If that file is a database, also looks at the files that form one unit
   * with it.
   */
  #visitOnly(work: FolderWork, only: string): void {
    for (const name of unitOf(only as WorkspacePath)) {
      const found = foundIn(work, name, this.#p.cache.child(childOf(work.path, name)));
      if (name === only || this.look.isKnown(found)) this.look.look(work, found, false);
      else if (this.look.statOf(work, found, false) !== undefined && this.look.isOfUnit(work, name))
        this.look.look(work, { ...found, unlessInUnit: `only ${only} is tracked there` }, false);
    }
  }

  /**
   * True if git now tracks a name that an ignore file excludes in the folder, or may track something beneath such a
   * name. The folder's times do not reveal that, because a change of git's index does not change them.
   */
  #holdsTracked({ path, rules }: FolderWork): boolean {
    if (!rules.mayHoldTracked) return false;
    return (this.#p.cache.excluded.get(path) ?? []).some(({ name, isFolder, detail }) => {
      if (!detail.startsWith("gitignore")) return false;
      return rules.scope.tracks(name, isFolder) || (isFolder && rules.scope.walks(name));
    });
  }

  /**
   * True if the remembered names are certainly complete. This is so if the folder's stat, the rules, and the remembered
   * names are the same as when the folder was last listed.
   */
  #isAsListed(work: FolderWork, listing: Listing, children: readonly KnownChild[]): boolean {
    const { stat, rules } = work;
    const same =
      !listing.racy &&
      listing.mtimeNs === stat.mtimeNs &&
      listing.ctimeNs === stat.ctimeNs &&
      listing.ino === stat.ino &&
      listing.dev === stat.dev;
    if (!same || listing.marks[0] !== rules.marks[0] || listing.marks[1] !== rules.marks[1]) return false;
    const names = new NameMarks();
    for (const child of children) {
      if (this.#p.cache.kindOf(child) === undefined) return false;
      names.add(child.name);
    }
    return listing.marks[2] === names.sum && listing.marks[3] === names.mix;
  }

  #visitListed(work: FolderWork, children: readonly KnownChild[]): void {
    const items = this.#list(work);
    if (items === undefined) return;
    const known = new Map(children.map((child) => [child.name, child]));
    const names = new NameMarks();
    const excluded: ExcludedName[] = [];
    for (const { name, kind } of items) {
      const found = foundIn(work, name, known.get(name));
      known.delete(name);
      if (this.look.isKnown(found)) {
        names.add(name);
        this.look.look(work, found, true);
      } else if (isStagingName(name)) this.#noteStaging(work, found);
      else {
        const verdict = this.#judge(work, found, kind);
        if (verdict.tracked) names.add(name);
        else excluded.push({ name, detail: detailOf(verdict), isFolder: kind === "dir" });
      }
    }
    for (const child of known.values()) this.look.missing(work, child);
    this.#keepListing(work, names, excluded);
  }

  /**
   * Notes a staging folder in a folder that receives files. The receiving folder is listed again in each scan until the
   * staging folder is gone. The root's own staging folder (`STAGING_FOLDER`) is not noted.
   */
  #noteStaging(work: FolderWork, { name, path }: Found): void {
    if (name === STAGING_FOLDER) return;
    work.unsettled = true;
    this.look.staging.push(path);
  }

  /**
   * Judges a new name by the filter. Looks at the name if it is tracked or forms one unit with a database. Otherwise,
   * reports the name as excluded, but still enters a folder that may hold tracked paths.
   */
  #judge(work: FolderWork, found: Found, kind: NodeKind): Verdict {
    const { scope } = work.rules;
    const isFree = this.#p.root.only !== undefined || work.named;
    const verdict = isFree && !this.#isGits(work, found.name) ? WANTED : scope.judge(found.name, kind === "dir");
    if (verdict.tracked) {
      this.look.look(work, found, false);
      return verdict;
    }
    if (kind === "file" && this.look.isOfUnit(work, found.name)) {
      this.look.look(work, { ...found, unlessInUnit: detailOf(verdict) }, false);
      return WANTED;
    }
    if (work.tracked) this.look.omit(found.path, "excluded", detailOf(verdict));
    if (kind === "dir" && scope.walks(found.name)) {
      work.unsettled = true;
      const stat = this.look.statOf(work, found, false);
      const isWalked = typeof stat === "object" && stat.kind === "dir" && this.#isOwn(stat);
      if (isWalked && !this.look.isGits(work, found, stat))
        this.look.enter(work, found, stat, { tracked: false, named: false });
    }
    return verdict;
  }

  /** True if the name stands for git's own state. Git's own state is not taken even if a request names it. */
  #isGits(above: FolderWork, name: string): boolean {
    return this.#p.root.only === undefined && above.rules.scope.isGits(name);
  }

  #isOwn(stat: { readonly dev: bigint; readonly ino: bigint }): boolean {
    const { stat: root, store } = this.#p;
    return stat.dev === root.dev && !store.some((own) => own.ino === stat.ino && own.dev === stat.dev);
  }

  #keepListing(work: FolderWork, names: NameMarks, excluded: readonly ExcludedName[]): void {
    const { cache, startedAtNs } = this.#p;
    if (work.unsettled || work.overLimit > 0 || !work.tracked) return;
    const { mtimeNs, ctimeNs, ino, dev } = work.stat;
    const [first, second] = work.rules.marks;
    const marks = [first, second, names.sum, names.mix] as const;
    cache.putListing(work.path, { mtimeNs, ctimeNs, ino, dev, racy: isRacy(work.stat, startedAtNs), marks });
    if (excluded.length === 0) cache.excluded.delete(work.path);
    else if (JSON.stringify(cache.excluded.get(work.path)) !== JSON.stringify(excluded)) {
      cache.excluded.set(work.path, excluded);
    }
  }

  #list(work: FolderWork): { name: string; kind: NodeKind }[] | undefined {
    try {
      const items = this.#p.fs.list(work.inner).map((item) => ({ name: decodeName(item.name), kind: item.kind }));
      return items.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      if (errno === "ENOENT" || errno === "ENOTDIR" || errno === "ELOOP") this.#vanished(work, errno);
      else this.look.omit(work.path, "unreadable", errno);
      return undefined;
    }
  }

  /** Reports a folder that was removed or replaced after its stat was read. */
  #vanished(work: FolderWork, errno: string): void {
    const { above } = work;
    if (above === undefined || this.#p.fs.lstat(work.inner) !== undefined) {
      this.look.omit(work.path, "unstable", errno);
      return;
    }
    this.look.missing(above, this.#p.cache.child(work.path));
  }
}

const WANTED: Verdict = { tracked: true, rule: "default" };

/** Describes for people why a name is excluded. */
export function detailOf(verdict: Verdict): string {
  const where = verdict.source === undefined ? "" : ` (${verdict.source})`;
  return verdict.pattern === undefined ? verdict.rule : `${verdict.rule}: ${verdict.pattern}${where}`;
}

/** A fingerprint of a set of names in two 32-bit words, independent of the order of the names. */
class NameMarks {
  #sum = 0;
  #mix = 0;

  get sum(): number {
    return this.#sum;
  }

  get mix(): number {
    return this.#mix;
  }

  add(name: string): void {
    // The first word adds up the FNV-1a hashes over UTF-16 units. The second word adds up these hashes after
    // MurmurHash3's finaliser, which also takes in the length of the name.
    let hash = 0x811c9dc5;
    for (let i = 0; i < name.length; i += 1) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
    this.#sum = (this.#sum + (hash >>> 0)) >>> 0;
    let mixed = Math.imul(hash ^ (hash >>> 16) ^ name.length, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    this.#mix = (this.#mix + ((mixed ^ (mixed >>> 16)) >>> 0) + 1) >>> 0;
  }
}
