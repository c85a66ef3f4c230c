import { movedFolder } from "../../core/tree/moved-folder.ts";
import { type Context, type HistoryContext, isHosted } from "../log/context.ts";
import { workspaceRecord } from "../log/own-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { decodeWorkspace } from "../../core/records/workspace-record.ts";
import { readEvent } from "../log/read-events.ts";
import { memoKey } from "../log/memo.ts";
import { notePrivates } from "../log/private-room.ts";
import { sealEvents } from "../../core/log/chain.ts";
import { asCommit, type CommitMark } from "../../core/log/commit-mark.ts";
import type { EventDraft, Head, SealedEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { StoredTree, IndexHead } from "../../storage/index-store.ts";
import { catchUp, refill } from "../log/catch-up.ts";
import { classedDrafts } from "../state/protected.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { isRootDue, mustStateRoot, pendingChanges, statedRoot } from "../state/commit-root.ts";
import { project, type BasesAtHand, type PlacedEvent, type ProjectOptions } from "../log/project.ts";
import { rootBehind, type RootBehind } from "../state/root-to-state.ts";

/**
 * Commits the events that this process records in the history of a workspace.
 *
 * The order of a commit:
 *
 * 1. The caller makes the contents durable.
 * 2. The lines of the log are made durable.
 * 3. The index gets the events. Events of `begin` and `decide` reach the index only with the next `append` or `head`.
 * 4. The promise that the caller waits for resolves.
 *
 * If the index cannot be updated, it is rebuilt from the log.
 */

interface HowToAppend {
  /** Bases whose entries are already in memory. */
  readonly atHand?: BasesAtHand;
  /** Receives the events in their final form, right before they are written to the log. */
  readonly onSealed?: (sealed: readonly SealedEvent[]) => void;
}

/** The operations that are allowed while the workspace's lock is held. */
export interface Commit {
  /** Returns the head. Adds the outstanding events of `begin` and `decide` to the index first. */
  head(): Promise<IndexHead>;
  /** Appends events. When the promise resolves, the events are durable, and the index has them. */
  append(drafts: readonly EventDraft[], how?: HowToAppend): Promise<readonly SealedEvent[]>;
  /**
   * Appends the first events of an operation, durably. The index gets these events with the `append` or `head` that
   * must follow.
   */
  begin(drafts: readonly EventDraft[]): Promise<readonly SealedEvent[]>;
  /** Like `begin`. Also emits all events of the commit so far on `Context.decided`, because these events are final. */
  decide(drafts: readonly EventDraft[]): Promise<readonly SealedEvent[]>;
  /** Moves the log into the archive. The event of the draft begins the next log. */
  seal(draft: EventDraft): Promise<SealedEvent>;
  /** Removes the sealed logs for good. After that, the history begins on the base of the present log. */
  dropArchive(): Promise<void>;
}

/** Throws `READ_ONLY` if the workspace was opened for reading only. */
export function refuseReadOnly(context: Context): void {
  if (!context.readOnly) return;
  if (context.isCopy === true) {
    throw new ChronicleError("READ_ONLY", "this is a copy of the origin's history, which can only be read", {
      hint: "change the files here or at the origin: this copy receives what the origin records",
    });
  }
  throw new ChronicleError("READ_ONLY", "this workspace was opened for reading only", {
    hint: "open it without `readOnly` to change something",
  });
}

/**
 * `archivedToo`: true for the few changes that are allowed in an archived workspace: unarchiving, accepting the head,
 * and recording that an imported history has no folder. Default: false.
 */
interface CommitOptions {
  readonly archivedToo?: boolean;
}

/**
 * Lets `work` append, with the workspace's lock held and the index up to date. A torn tail of the log is cut off first.
 *
 * - Throws `READ_ONLY` if the workspace is archived or was opened for reading only.
 * - Throws `NOT_FOUND` if the folder was moved since the workspace was opened.
 * - Throws `LOCKED` if the lock is not free within `Context.waitMs`.
 * - If the log is damaged, throws the error of the damage.
 */
export async function withCommit<T>(
  context: Context,
  work: (commit: Commit) => Promise<T>,
  { archivedToo = false }: CommitOptions = {},
): Promise<T> {
  refuseReadOnly(context);
  const events: SealedEvent[] = [];
  try {
    using _held = await context.lock.exclusive(context.waitMs);
    await catchUp(context, { recover: true });
    if (!archivedToo) await refuseArchived(context);
    await refuseMoved(context);
    await using appender = new Appender(context);
    const result = await work(commitFor(context, appender, events));
    if (events.length > 0) await context.headFollower.committed();
    return result;
  } finally {
    // The events are emitted after the index got them and the lock was released, because a listener may read the events
    // at once. Durable events are emitted even if a later step failed.
    if (events.length > 0) context.recorded.emit({ events });
  }
}

/** Returns the operations of a commit. `events` collects the recorded events. */
function commitFor(context: Context, appender: Appender, events: SealedEvent[]): Commit {
  const noted = <T extends readonly SealedEvent[]>(sealed: T): T => {
    for (const event of sealed) events.push(event);
    return sealed;
  };
  return {
    head: () => appender.head(),
    append: async (drafts, how) => ofDrafts(noted(await appender.append(drafts, how)), drafts),
    begin: async (drafts) => ofDrafts(noted(await appender.begin(drafts)), drafts),
    decide: async (drafts) => {
      const sealed = noted(await appender.begin(drafts));
      context.decided.emit({ events: [...events] });
      // Lets the listeners send their messages before this thread is busy again.
      await yieldToEventLoop();
      return ofDrafts(sealed, drafts);
    },
    seal: async (draft) => {
      const event = await seal(context, await appender.head(), draft);
      noted([event]);
      return event;
    },
    dropArchive: async () => {
      await context.log.dropArchive();
      await catchUp(context, { recover: false, locked: true });
    },
  };
}

/** Returns the events of the drafts. Leaves out an event that `asCommit` added only to end the commit. */
function ofDrafts(sealed: readonly SealedEvent[], drafts: readonly EventDraft[]): readonly SealedEvent[] {
  return sealed.length === drafts.length ? sealed : sealed.slice(0, drafts.length);
}

class Appender implements AsyncDisposable {
  readonly #context: Context;
  /** Events that are durable and not in the index yet. */
  #behind: readonly PlacedEvent[] = [];

  constructor(context: Context) {
    this.#context = context;
  }

  async head(): Promise<IndexHead> {
    if (this.#behind.length > 0) await this.#follow([]);
    return this.#context.index.head();
  }

  async begin(drafts: readonly EventDraft[]): Promise<readonly SealedEvent[]> {
    if (drafts.length === 0) return [];
    const { sealed, placed } = await this.#write(drafts);
    this.#behind = [...this.#behind, ...placed];
    return sealed;
  }

  async append(drafts: readonly EventDraft[], { atHand, onSealed }: HowToAppend = {}): Promise<readonly SealedEvent[]> {
    if (drafts.length === 0) return [];
    const { sealed, placed, tree } = await this.#write(drafts, onSealed);
    await this.#follow(placed, { atHand, tree });
    return sealed;
  }

  /**
   * Adds outstanding events of `begin` and `decide` to the index, for example if the work failed before `append` or
   * `head` added them. If the index cannot take these events now, the next `catchUp` adds them.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#behind.length > 0) await this.#follow([]).catch(() => undefined);
  }

  async #follow(placed: readonly PlacedEvent[], how: ProjectOptions = {}): Promise<void> {
    const all = [...this.#behind, ...placed];
    this.#behind = [];
    await follow(this.#context, all, how);
  }

  async #write(given: readonly EventDraft[], onSealed?: HowToAppend["onSealed"]): Promise<Written> {
    const context = this.#context;
    const drafts = await classedDrafts(context, given);
    const { seq, hash, offset: from } = await this.#end();
    const { mark, behind } = await this.#mark(seq, drafts);
    const commit = asCommit(drafts, context.workspaceId, mark);
    const sealed = sealEvents({ seq, hash }, commit, timestamp(context));
    onSealed?.(sealed);
    await appendDurably(context, sealed);
    notePrivates(context, drafts);
    let offset = from;
    const placed = sealed.map((event) => {
      const length = Buffer.byteLength(event.line);
      const one = { event, offset, length };
      offset += length + 1;
      return one;
    });
    const last = sealed.at(-1);
    if (last !== undefined) behind?.settle({ seq: last.seq, hash: last.hash, next: { seq: last.seq + 1, offset } });
    return { sealed, placed, tree: behind?.tree };
  }

  /**
   * Returns the mark of the commit: its first seq, and the Merkle root if the commit must state one. If the last draft
   * states the root, the mark gets this root. If not, the root is computed from the index and from the changes of
   * events that the index does not have yet.
   */
  async #mark(seq: number, drafts: readonly EventDraft[]): Promise<MarkedCommit> {
    const context = this.#context;
    const first = seq + 1;
    if (!mustStateRoot(drafts) && !(await isRootDue(context, seq + drafts.length))) return { mark: { first } };
    const stated = this.#behind.length === 0 ? statedRoot(drafts) : undefined;
    if (stated !== undefined) return { mark: markAt(first, stated) };
    const behind = await this.#rootBehind(drafts);
    return { mark: markAt(first, behind.root), behind };
  }

  async #rootBehind(drafts: readonly EventDraft[]): Promise<RootBehind> {
    const pending = pendingChanges([...this.#behind.map(({ event }) => event), ...drafts]);
    return rootBehind(this.#context, (await this.#context.index.head()).seq, pending);
  }

  /** Returns the last event, and the offset of the line after it. */
  async #end(): Promise<Head & Pick<IndexHead, "offset">> {
    const last = this.#behind.at(-1);
    if (last === undefined) return this.#context.index.head();
    const { seq, hash } = last.event;
    return { seq, hash, offset: last.offset + last.length + 1 };
  }
}

interface MarkedCommit {
  readonly mark: CommitMark;
  readonly behind?: RootBehind;
}

function markAt(first: number, root: Hash | undefined): CommitMark {
  return root === undefined ? { first } : { first, root };
}

interface Written {
  readonly sealed: readonly SealedEvent[];
  readonly placed: readonly PlacedEvent[];
  readonly tree: StoredTree | undefined;
}

/**
 * Adds durable events to the index. If a reader has already added some of these events, only the others are added. If
 * the index cannot take the events for another reason, it is rebuilt from the log.
 */
async function follow(context: Context, placed: readonly PlacedEvent[], how: ProjectOptions = {}): Promise<void> {
  const last = placed.at(-1)?.event.seq;
  if (last === undefined) return;
  for (let rest = placed; ;) {
    try {
      if (rest.length > 0) await project(context, rest, how);
      // Another process may have added all events to the index, but not the folder hashes, which only this process has.
      else if (how.tree !== undefined) await context.index.putTreeHashes(last, how.tree);
      return;
    } catch {
      const left = await notInIndex(context, rest);
      if (left.length === rest.length) {
        await refill(context);
        return;
      }
      rest = left;
    }
  }
}

/** Returns the events that the index does not know. A reader may have added some or all of them already. */
async function notInIndex({ index }: Context, placed: readonly PlacedEvent[]): Promise<readonly PlacedEvent[]> {
  try {
    index.fresh();
    const head = await index.head();
    return placed.slice(placed.findIndex(({ event }) => event.seq === head.seq && event.hash === head.hash) + 1);
  } catch (error) {
    if (error instanceof ChronicleError) return placed;
    throw error;
  }
}

async function seal(context: Context, head: IndexHead, draft: EventDraft): Promise<SealedEvent> {
  const commit = asCommit([draft], context.workspaceId, markAt(head.seq + 1, statedRoot([draft])));
  const [event] = sealEvents({ seq: head.seq, hash: head.hash }, commit, timestamp(context));
  if (event === undefined) throw new ChronicleError("IO", "the event was not sealed");
  await context.log.rotate(event);
  await follow(context, [{ event, offset: 0, length: Buffer.byteLength(event.line) }]);
  return event;
}

/**
 * Appends lines. If the append fails, the log cuts the lines off. A reader may have added the lines to the index before
 * they were cut off. The index is then ahead of the log, and is reset.
 */
async function appendDurably(context: Context, sealed: readonly SealedEvent[]): Promise<void> {
  try {
    await context.log.append(sealed);
  } catch (error) {
    context.index.fresh();
    if ((await context.index.head()).seq > context.log.head.seq) await context.index.reset();
    throw error;
  }
}

/**
 * Returns the present time in ISO 8601 UTC. This time can be earlier than that of the last event, because only the seqs
 * order the events.
 */
function timestamp({ now }: Context): string {
  return new Date(now()).toISOString();
}

/**
 * Throws `NOT_FOUND` if a root was opened at another place than the recorded one. Reads nothing at the old place,
 * because another project may be there by now.
 */
export async function refuseMoved(context: Context): Promise<void> {
  const { index, worktree, workspaceId, recordedAt } = context;
  if (isHosted(worktree.roots) || (await index.record(`workspace:${workspaceId}`)) === undefined) return;
  const { roots } = await workspaceRecord(context);
  for (const { id, folder } of worktree.roots) {
    const recorded = roots.find((one) => (one.id ?? undefined) === id)?.folder ?? folder;
    // A root that was opened through a bind mount is also at the recorded place.
    const isKnown = recorded === folder || (id === undefined && recorded === recordedAt);
    if (!isKnown) throw movedFolder(folder, recorded);
  }
}

interface Known {
  readonly seq: number;
  readonly since: string | undefined;
}

const known = memoKey<Known>("archived since");

/**
 * Returns the time since which the workspace has been archived, according to the index; `undefined` if the workspace is
 * not archived.
 */
export async function archivedSince(context: HistoryContext): Promise<string | undefined> {
  const { index, memo, workspaceId } = context;
  const row = await index.record(`workspace:${workspaceId}`);
  if (row === undefined) return undefined;
  const last = memo.get(known);
  if (last?.seq === row.seq) return last.since;
  const { archived } = decodeWorkspace((await readEvent(context, row)).record);
  memo.set(known, { seq: row.seq, since: archived });
  return archived;
}

/** Throws `READ_ONLY` for an archived workspace. */
export async function refuseArchived(context: HistoryContext): Promise<void> {
  const since = await archivedSince(context);
  if (since === undefined) return;
  throw new ChronicleError("READ_ONLY", `this workspace has been archived since ${since}, and can only be read`, {
    hint: `to change it again: \`chronicle workspaces unarchive ${context.workspaceId}\``,
    data: { workspace: context.workspaceId, archived: since },
  });
}
