import { type Aside, ASIDE_MS, decodeAside, isKeptAt } from "../../core/records/aside.ts";
import type { BaseBatch, BaseRecord } from "../../core/log/base.ts";
import { contentsOfConflict, decodeConflict, type ConflictRecord } from "../../core/records/conflict-record.ts";
import { ERASE } from "../../core/records/erase-record.ts";
import { Erasures } from "../../core/records/erasures.ts";
import type { Json, LogEvent } from "../../core/values/event.ts";
import { fileRecordId } from "../../core/values/file-record.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import { keepsSpan, keepsState, NeededContents, type KeptStates } from "../../core/tree/kept-states.ts";
import { decodeKeptPrompt, type KeptPrompt } from "../../core/records/turn-record.ts";
import { displayPath, type WorkspacePath } from "../../core/values/path.ts";
import { blobsOfGit, GIT } from "../../core/records/git-record.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { decodePrune, type GivenUpPrivates } from "../../core/records/prune-record.ts";
import { decodeIntent } from "../../core/records/records.ts";
import { decodeWorkspace } from "../../core/records/workspace-record.ts";
import { contentsOfVersion, decodeVersion } from "../../core/records/write-back.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import { baseOf } from "./project.ts";

const VERSION = "version:";
const PRUNE = "prune:";

/** The prefixes of the ids of records that can name private contents. */
export const PRIVATE_PREFIXES: readonly string[] = ["session:", "action:", "intent:", "turn:", GIT];

/** The fields with which such records name private contents. */
const PRIVATE_FIELDS = ["aside", "git", "prompt", "omitted_before"];

/** True if a record names private contents. */
export function namesPrivate({ recordId, record }: RecordEvent): boolean {
  if (!PRIVATE_PREFIXES.some((prefix) => recordId.startsWith(prefix))) return false;
  return PRIVATE_FIELDS.some((field) => record[field] !== undefined);
}

type RecordEvent = Pick<LogEvent, "recordId" | "record">;

function hashIn(value: Json | undefined): Hash[] {
  return typeof value === "string" && isHash(value) ? [value] : [];
}

/**
 * Returns the contents that a record needs until a later event replaces the record: those of a file, an outside path or
 * an open conflict. Returns `undefined` for any other kind of record.
 */
function contentsInForce({ recordId, record }: RecordEvent): Named[] | undefined {
  if (recordId.startsWith("file") || recordId.startsWith("outside")) return hashIn(record["hash"]).map(named);
  if (recordId.startsWith("conflict:")) return record["state"] === "open" ? ofConflict(decodeConflict(record)) : [];
  return undefined;
}

/** A content that a record names. `isUpstream`: see `NeededContent`. */
type Named = Pick<NeededContent, "hash" | "isUpstream">;

function named(hash: Hash): Named {
  return { hash, isUpstream: false };
}

function ofConflict(conflict: ConflictRecord): Named[] {
  const own = conflict.current?.hash;
  return contentsOfConflict(conflict).map((hash) => ({
    hash,
    isUpstream: conflict.sync !== undefined && hash !== own,
  }));
}

/**
 * Returns the time (ms since the epoch) until which the lists of the paths that were omitted before an action are kept;
 * `undefined` while the action is open.
 *
 * A tool may report its end after its action was closed as denied or abandoned, and this report needs the lists. The
 * lists are therefore kept for `ASIDE_MS` after the action was closed. The lists are not kept for ever, because most
 * such tools never report their end.
 */
function listsUntil({ ended }: LogEvent["record"]): number | undefined {
  return typeof ended === "string" ? Date.parse(ended) + ASIDE_MS : undefined;
}

/**
 * Returns the contents that an operation needs while it is open: its plan, the contents that it writes, and both sides
 * of its conflicts. Returns none for an operation that is not open.
 */
function contentsOfIntent(record: LogEvent["record"]): Named[] {
  if (record["state"] !== "open") return [];
  const { plan, contents = [], conflicts = [], changes = [] } = decodeIntent(record);
  return [
    ...(plan === undefined ? [] : [named(plan)]),
    ...contents.map(named),
    ...changes.flatMap(({ after }) => (after?.hash === undefined ? [] : [named(after.hash)])),
    ...conflicts.flatMap((one) => ofConflict(one.record)),
  ];
}

export interface NeededContent {
  readonly hash: Hash;
  readonly seq: number;
  /** The place in the history that names the content, for people. */
  readonly where: string;
  /** The size in bytes; `undefined` if the record does not name the size. */
  readonly size: number | undefined;
  /**
   * True if a conflict of a sync names the content, and the content is not the one in the folder. Such a content may be
   * missing in this store, because the origin may have freed the content before sending it.
   */
  readonly isUpstream: boolean;
}

export interface GivenUp {
  readonly pruning?: KeptStates | undefined;
  readonly erasures?: Erasures | undefined;
}

/** The private contents that the last event of a record names. */
export interface PrivateContents {
  /** The plan of the files that were kept aside. */
  readonly aside: Aside | undefined;
  /** The plan with the states or changes of git repositories. */
  readonly git: Aside | undefined;
  /** The person's message of a turn. */
  readonly prompt: KeptPrompt | undefined;
  /** The blobs that list the paths omitted before an action. */
  readonly lists: readonly Hash[];
  /** The time (ms since the epoch) until which `lists` are kept; `undefined`: as long as the record names them. */
  readonly listsUntil: number | undefined;
  /**
   * True if `gc` may have freed `aside` and `git`, because keeping files aside may have been off for some time after
   * the record was written.
   */
  readonly isAsideFreed: boolean;
  /**
   * True if a pruning may have given up `aside`, `git` and `prompt`. This is uncertain only for a record that a base
   * repeats, because the lines before the base are gone.
   */
  readonly mayBeGivenUp: boolean;
  readonly where: string;
  readonly seq: number;
}

/**
 * A private content that is kept. `path`: the path of the file that was kept aside; absent for lists, prompts, plans
 * and the state of git. `mayBeGone`: true if the content may be missing, because keeping files aside was off for some
 * time, or because a pruning may have given the content up. Always true for a prompt, because no other content depends
 * on a prompt.
 */
interface PrivateContent extends Pick<NeededContent, "hash" | "where" | "seq"> {
  readonly path?: WorkspacePath;
  readonly mayBeGone: boolean;
  /**
   * True for a list of omitted paths. A list is never given up, because the report at the end of an action is made from
   * the list.
   */
  readonly isList?: true;
  readonly kind: PrivateKind;
}

/**
 * The kind of a private content. `git`: a state or objects of git. `aside`: a file that was kept aside, a plan of such
 * files, or a list of omitted paths.
 */
export type PrivateKind = "prompt" | "git" | "aside";

/** Yields the same contents as `privateContents`, except missing contents that are marked `mayBeGone`. */
export async function* privateContentsLeft(
  blobs: Pick<BlobStore, "get" | "has">,
  needs: Pick<HistoryNeeds, "privates" | "erasures">,
  now: number,
): AsyncGenerator<PrivateContent> {
  for await (const one of privateContents(blobs, needs, now))
    if (!one.mayBeGone || (await blobs.has([one.hash])).has(one.hash)) yield one;
}

/**
 * Yields all private contents that are kept at time `now` (ms since the epoch): lists, prompts, plans, and the contents
 * that plans name.
 */
export async function* privateContents(
  blobs: PrivateBlobs,
  { privates, erasures }: Pick<HistoryNeeds, "privates" | "erasures">,
  now: number,
): AsyncGenerator<PrivateContent> {
  for (const { aside, git, prompt, lists, listsUntil, isAsideFreed, mayBeGivenUp, where, seq } of privates) {
    const place = { where, seq, mayBeGone: isAsideFreed || mayBeGivenUp };
    if (listsUntil === undefined || listsUntil > now)
      for (const hash of lists) yield { ...place, hash, mayBeGone: false, isList: true, kind: "aside" };
    if (prompt !== undefined && Date.parse(prompt.until) > now)
      yield { ...place, hash: prompt.content, mayBeGone: true, kind: "prompt" };
    if (git !== undefined && isKeptAt(git, now)) {
      for (const hash of [git.plan, ...(await namedByGit(blobs, git.plan))])
        if (!erasures.license(hash, seq)) yield { ...place, hash, kind: "git" };
    }
    if (aside !== undefined && isKeptAt(aside, now)) yield* keptAside(blobs, aside, { erasures, place });
  }
}

/** The store, and optionally a faster way to the blobs that a plan of git names (see `blobsNamedByGit`). */
interface PrivateBlobs extends Pick<BlobStore, "get"> {
  readonly namedByGit?: (plan: Hash) => Promise<readonly Hash[]>;
}

async function namedByGit(blobs: PrivateBlobs, plan: Hash): Promise<readonly Hash[]> {
  if (blobs.namedByGit !== undefined) return blobs.namedByGit(plan);
  const bytes = await blobs.get(plan);
  return bytes === undefined ? [] : blobsOfGit(bytes);
}

/** Yields the plan of kept-aside files, and the contents that the plan names and that are not erased. */
async function* keptAside(
  blobs: Pick<BlobStore, "get">,
  { plan }: Aside,
  {
    erasures,
    place,
  }: Pick<HistoryNeeds, "erasures"> & { readonly place: Pick<PrivateContent, "where" | "seq" | "mayBeGone"> },
): AsyncGenerator<PrivateContent> {
  yield { ...place, hash: plan, kind: "aside" };
  const bytes = await blobs.get(plan);
  const left = bytes === undefined ? [] : erasures.leftAside(plan, decodePlan(bytes));
  for (const { path, before, after } of left) {
    for (const hash of [before?.hash, after?.hash])
      if (hash !== undefined && !erasures.license(hash, place.seq)) yield { ...place, hash, path, kind: "aside" };
  }
}

/** The private contents that were noted for a record. */
interface NotedPrivates extends Omit<PrivateContents, "isAsideFreed" | "mayBeGivenUp"> {
  /** True if a base repeats the record. */
  readonly isOfBase: boolean;
}

/**
 * Finds which contents a history needs, event by event. `gc` frees the contents that no history needs, and `verify`
 * reports needed contents that are missing.
 *
 * - The content of a file is needed as long as a state with this content is kept.
 * - The base of a history, and the filters that snapshots and coverages name, are always needed.
 * - The plan of an operation is needed until the operation is done.
 * - An event does not need a content that was erased after the event.
 */
export class HistoryNeeds {
  readonly #pruning: KeptStates | undefined;
  readonly #need: (content: NeededContent) => void;
  /** Reports contents that the history itself depends on. Even if such a content was erased, its absence is damage. */
  readonly #always: (content: NeededContent) => void;
  readonly #contents: NeededContents<readonly NeededContent[]>;
  /**
   * Versions that bases repeat. `finish` decides whether their contents are needed, by the pruning that was passed to
   * the constructor. If no pruning was passed, because the line of the pruning was dropped with an archive, `finish`
   * uses the last pruning that a base repeats. This pruning is known only at the end.
   */
  readonly #versions: { readonly record: BaseRecord; readonly where: string }[] = [];
  /** The last pruning that a base repeats. */
  #earlier: KeptStates | undefined;
  /** Maps the record id of each open operation to the contents that the operation needs. */
  readonly #plans = new Map<string, readonly NeededContent[]>();
  readonly #privates = new Map<string, NotedPrivates>();
  /**
   * Maps a record id to the given-up plans and prompts that the record has named. A later event of the same record can
   * name them again: for example, an action can report its end after it was closed.
   */
  readonly #givenUp = new Map<string, ReadonlySet<Hash>>();
  #givenUpPrivates: GivenUpPrivates | undefined;
  /**
   * The last pruning of private contents that a base repeats. Records of the base can come before or after this
   * pruning, so the pruning is applied to all of them.
   */
  #givenUpInBase: KeptStates | undefined;
  #keepsAside = true;
  /** The seq of an event. Contents that were kept aside before this event may have been freed. */
  #asideFreed = 0;
  #recordsPrompts = true;
  /**
   * The contents that the rows of a base name, while the base is read; otherwise `undefined`. These contents are
   * reported at the end of the base, because a later row can be the erasure of a content.
   */
  #ofBase: NeededContent[] | undefined;
  readonly erasures: Erasures;

  constructor({ pruning, erasures = new Erasures() }: GivenUp, need: (content: NeededContent) => void) {
    this.#pruning = pruning;
    this.erasures = erasures;
    this.#always = need;
    this.#need = (content) => {
      if (this.#ofBase !== undefined) this.#ofBase.push(content);
      else if (!erasures.license(content.hash, content.seq)) need(content);
    };
    this.#contents = new NeededContents(pruning, (all) => {
      for (const one of all) this.#need(one);
    });
  }

  event(event: LogEvent, where: string): void {
    this.#endBase();
    this.#record(event, event.seq, where);
    const base = baseOf(event);
    if (base !== undefined) this.#always({ ...named(base), seq: event.seq, where, size: undefined });
  }

  /**
   * Adds rows of the base that the last event names. A snapshot among these rows can name an earlier base. That earlier
   * base is not needed, because the compaction has replaced it.
   */
  rows(
    { entries = [], records = [] }: BaseBatch,
    { seq }: Pick<LogEvent, "seq">,
    where: string,
    whereOf?: (path: WorkspacePath) => string,
  ): void {
    this.#ofBase ??= [];
    for (const { path, iteration, entry, seq: recorded } of entries) {
      // Places are built only for callers that need them, because a base can have hundreds of thousands of rows.
      const place =
        whereOf !== undefined ? whereOf(path) : where === "" ? "" : `${where}: ${displayPath(path)}@${iteration}`;
      const content = { where: place, size: entry?.size, seq: recorded };
      this.#contents.set(fileRecordId(path), seq, entry?.hash && [{ ...named(entry.hash), ...content }]);
    }
    for (const record of records) {
      if (record.recordId.startsWith(PRUNE)) this.#earlier = decodePrune(record.record);
      if (record.recordId.startsWith(ERASE)) this.erasures.add(record.recordId, record.seq, record.record);
      // A version is judged by the seq of its own event, because a pruning before the base may have freed its contents.
      // All other records of a base are judged by the seq of the event that names the base.
      if (record.recordId.startsWith(VERSION)) this.#versions.push({ record, where });
      else this.#record(record, seq, where, record.seq);
    }
  }

  #endBase(): void {
    const held = this.#ofBase;
    this.#ofBase = undefined;
    for (const one of held ?? []) this.#need(one);
  }

  /** Reports the remaining needed contents. Must be called at the end of the history. */
  finish(): void {
    this.#endBase();
    this.#contents.finish();
    for (const { record, where } of this.#versions) this.#version(record, this.#pruning ?? this.#earlier, where);
    for (const contents of this.#plans.values()) for (const one of contents) this.#always(one);
  }

  /**
   * The private contents that may still be kept. These contents are never reported as needed contents, so that no
   * replica gets them. The plans in `aside` and `git` name further contents, which are kept as long as the plan.
   *
   * If the workspace keeps nothing aside, `aside` and `git` are `undefined`. If the workspace records no prompts,
   * `prompt` is `undefined`. If one of these settings was off and is on again, `gc` may have freed contents in between.
   * Contents that a pruning gave up, because they exceeded the budget, are left out.
   */
  get privates(): readonly PrivateContents[] {
    return [...this.#privates.values()].map(({ isOfBase, ...one }) => ({
      ...one,
      aside: this.#keepsAside ? one.aside : undefined,
      git: this.#keepsAside ? one.git : undefined,
      prompt: this.#recordsPrompts ? one.prompt : undefined,
      isAsideFreed: one.seq < this.#asideFreed,
      mayBeGivenUp: isOfBase && this.#givenUpInBase !== undefined,
    }));
  }

  /**
   * Adds a record. `own` is the seq of the record's own event. `seq` is the same, or, for a record that a base repeats,
   * the seq of the event that names the base.
   */
  #record({ recordId, record }: RecordEvent, seq: number, where: string, own = seq): void {
    this.#note({ recordId, record }, { seq: own, where }, own !== seq);
    const inForce = contentsInForce({ recordId, record });
    if (inForce !== undefined) {
      const size = typeof record["size"] === "number" ? record["size"] : undefined;
      const contents = inForce.map((one) => ({ ...one, seq: own, where, size }));
      this.#contents.set(recordId, seq, contents.length === 0 ? undefined : contents);
    } else if (recordId.startsWith(VERSION)) {
      this.#version({ record, seq }, this.#pruning, where);
    } else if (recordId.startsWith("snapshot:") || recordId.startsWith("coverage:")) {
      for (const hash of hashIn(record["filter"])) this.#always({ ...named(hash), seq, where, size: undefined });
    } else if (recordId.startsWith("intent:")) {
      const place = { seq, where: `plan of ${recordId}`, size: undefined };
      const contents = contentsOfIntent(record).map((one) => ({ ...one, ...place }));
      if (contents.length === 0) this.#plans.delete(recordId);
      else this.#plans.set(recordId, contents);
    }
  }

  /**
   * Notes the settings and the private contents of a record. `isOfBase`: true if a base repeats the record. A base has
   * only the last record of the workspace, so earlier settings are not known.
   */
  #note({ recordId, record }: RecordEvent, place: Pick<PrivateContents, "seq" | "where">, isOfBase: boolean): void {
    if (recordId.startsWith("workspace:")) {
      const { keepsAside, recordsPrompts } = decodeWorkspace(record);
      this.#keepsAside = keepsAside !== false;
      if (!this.#keepsAside || isOfBase) this.#asideFreed = place.seq;
      this.#recordsPrompts = recordsPrompts !== false;
    }
    if (recordId.startsWith(PRUNE)) this.#noteGivenUp(decodePrune(record).privates, isOfBase);
    if (!PRIVATE_PREFIXES.some((prefix) => recordId.startsWith(prefix))) return;
    const aside = decodeAside(record);
    const git = decodeAside(record, "git");
    const prompt = recordId.startsWith("turn:") ? decodeKeptPrompt(record) : undefined;
    const lists = hashIn(record["omitted_before"]);
    this.#setPrivates(recordId, { aside, git, prompt, lists, listsUntil: listsUntil(record), isOfBase, ...place });
    if (isOfBase && this.#givenUpInBase !== undefined) this.#giveUp(this.#givenUpInBase, recordId);
  }

  #setPrivates(recordId: string, { aside, git, prompt, ...more }: NotedPrivates): void {
    const lost = this.#givenUp.get(recordId);
    const isKept = (hash: Hash | undefined): boolean => hash !== undefined && lost?.has(hash) !== true;
    const left = {
      aside: isKept(aside?.plan) ? aside : undefined,
      git: isKept(git?.plan) ? git : undefined,
      prompt: isKept(prompt?.content) ? prompt : undefined,
    };
    const isNone = Object.values(left).every((one) => one === undefined) && more.lists.length === 0;
    if (isNone) this.#privates.delete(recordId);
    else this.#privates.set(recordId, { ...left, ...more });
  }

  /**
   * The private contents that were given up so far, according to the last pruning that names any; `undefined` if none
   * does.
   */
  get givenUpPrivates(): GivenUpPrivates | undefined {
    return this.#givenUpPrivates;
  }

  #noteGivenUp(privates: GivenUpPrivates | undefined, isOfBase: boolean): void {
    if (privates === undefined) return;
    this.#givenUpPrivates = privates;
    if (isOfBase) this.#givenUpInBase = privates;
    for (const recordId of this.#privates.keys()) this.#giveUp(privates, recordId);
  }

  #giveUp(privates: KeptStates, recordId: string): void {
    const one = this.#privates.get(recordId);
    if (one === undefined || keepsState(privates, one.seq)) return;
    const lost = [one.aside?.plan, one.git?.plan, one.prompt?.content].filter((hash) => hash !== undefined);
    this.#givenUp.set(recordId, new Set([...(this.#givenUp.get(recordId) ?? []), ...lost]));
    this.#setPrivates(recordId, one);
  }

  #version({ record, seq }: Pick<LogEvent, "record" | "seq">, pruning: KeptStates | undefined, where: string): void {
    // An empty record stands for a deleted version, which the replica has resolved.
    if (Object.keys(record).length === 0) return;
    // A version was never the state of its path. A version is judged like an iteration that the next event has
    // replaced.
    if (!keepsSpan(pruning, seq, seq + 1)) return;
    for (const hash of contentsOfVersion(decodeVersion(record)))
      this.#need({ ...named(hash), seq, where, size: undefined });
  }
}
