import type { Change } from "../../core/values/change.ts";
import type { EventDraft, Head } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { ApplyReport, ContentReader } from "../../worktree/worktree.ts";
import type { Commit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { announceContent } from "./announce-content.ts";
import { closing, fileDraft, opening } from "../commit/operation-drafts.ts";
import type { ReadyWrite } from "./ready-write.ts";
import type { PlannedWrite } from "./write-batch.ts";

/** A write that is alone in its commit. */
interface LoneWrite {
  readonly planned: PlannedWrite;
  /** Open. */
  readonly intent: IntentRecord;
  /** Resolves when its content is durable. */
  readonly kept: Promise<void>;
}

/**
 * Carries out a write that is alone in its commit: what is new is staged while one append says what is to be done and, already,
 * what the files are then. From there on it is decided: copies elsewhere may have it while it is put into the folder here.
 * Killed anywhere behind that, `settle` finishes it; before it, nothing has happened. What cannot be put into place after all
 * (somebody was faster by a hair) is taken back by events of its own, as far as it was not done.
 */
export async function applyLoneWrite(
  context: Context,
  commit: Commit,
  { planned, intent, kept }: LoneWrite,
): Promise<ApplyReport> {
  const { id, write, changes, drafts } = planned;
  await announceContent(context, write);
  let isDecided = false;
  const report = await context.worktree.apply({
    token: id,
    changes,
    contents: (hashes) => contentsOf(context, write, hashes),
    onBlocked: "fail",
    begin: async () => {
      await kept;
      isDecided = true;
      // Between the event that opens the intent and the one that closes it stand those of the files.
      await commit.decide([opening(id, intent), ...drafts.slice(1, -1)]);
    },
  });
  // It was said before it was made that a folder has not the setgid bit which it has got: the next look records that.
  context.worktree.forget((report.inherited ?? []).map(({ path }) => path));
  if (isDecided) await commit.append(await ending(context, commit, { planned, intent, report }));
  await context.worktree.cleanUp(id);
  return report;
}

interface Ending {
  readonly planned: PlannedWrite;
  readonly intent: IntentRecord;
  readonly report: ApplyReport;
}

async function ending(context: Context, commit: Commit, { planned, intent, report }: Ending): Promise<EventDraft[]> {
  const { id, changes } = planned;
  const applied = new Set(report.applied);
  const undone = changes.filter(({ path }) => !applied.has(path));
  const state = applied.size === 0 ? "abandoned" : "done";
  const head = undone.length === 0 ? undefined : await commit.head();
  return [
    ...(head === undefined ? [] : await takenBack(context, head, { of: { id, intent }, undone: undone.toReversed() })),
    closing(id, { ...intent, state }, report.blocked),
  ];
}

/** As it was before: what lies in a folder that was not made goes before it. */
async function takenBack(
  { index }: Context,
  { seq }: Head,
  { of, undone }: { readonly of: Pick<Ending, "intent"> & { readonly id: string }; readonly undone: readonly Change[] },
): Promise<EventDraft[]> {
  const rows = await index.iterationsAt(
    undone.map(({ path }) => path),
    seq,
  );
  return undone.flatMap(({ path, before, after }, i) => {
    const back = changeBetween(path, after, before);
    return back === undefined ? [] : [fileDraft(of, back, (rows[i]?.iteration ?? 0) + 1)];
  });
}

/** Yields the contents; those that the write has brought along need not be read from where they were just put. */
async function* contentsOf(
  context: Context,
  write: ReadyWrite,
  hashes: Iterable<Hash>,
): AsyncGenerator<readonly [Hash, ContentReader | undefined]> {
  const own = write.kind === "put" ? write.content : undefined;
  const others: Hash[] = [];
  for (const hash of hashes) {
    if (own?.bytes !== undefined && own.hash === hash) yield [hash, readerOf(own.bytes)];
    else others.push(hash);
  }
  if (others.length > 0) yield* context.blobs.readMany(others);
}

function readerOf(bytes: Uint8Array): ContentReader {
  return {
    size: bytes.length,
    async *pieces() {
      yield bytes;
    },
  };
}
