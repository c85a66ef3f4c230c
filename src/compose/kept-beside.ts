import type { KeptBesideShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Hash } from "../core/values/hash.ts";
import type { PrivateKind } from "../engine/log/history-needs.ts";
import { aliveContents } from "../engine/upkeep/alive.ts";
import type { StoreParts } from "./open-context.ts";
import { historiesOf, type MarkedHistory } from "./open-mirror.ts";
import { givenUpForGood, isThere, ofForgotten, workspaceIds } from "./store-tasks.ts";

interface Found {
  /** The contents that some history needs, also without what is kept beside it. */
  readonly needed: Set<Hash>;
  readonly kinds: Map<Hash, PrivateKind>;
}

/**
 * Returns the sizes of what is kept beside the histories of a store, forgotten ones included. A content counts once, and
 * not if a history needs it anyway. Reads all logs. A history that cannot be read is only counted (`unread`).
 */
export async function keptBeside(parts: StoreParts): Promise<KeptBesideShape> {
  const found: Found = { needed: new Set(), kinds: new Map() };
  let unread = 0;
  for (const at of [parts, ofForgotten(parts)]) {
    for (const id of workspaceIds(at)) {
      try {
        for (const history of historiesOf(at, id)) await readHistory(parts, history, found);
      } catch (error) {
        if (!(error instanceof ChronicleError)) throw error;
        if (isThere(at, id)) unread += 1;
      }
    }
  }
  return { ...(await sizesOf(parts, found)), ...(unread === 0 ? {} : { unread }) };
}

async function readHistory(parts: StoreParts, history: MarkedHistory, { needed, kinds }: Found): Promise<void> {
  const log = await history.openLog();
  try {
    const workspaceId = await history.workspaceOf(log);
    if (workspaceId === undefined) return;
    const now = parts.backends.now();
    const onPrivate = (hash: Hash, kind: PrivateKind): void => {
      if (!kinds.has(hash)) kinds.set(hash, kind);
    };
    const givenUp = await givenUpForGood(log, workspaceId, now);
    const options = { anchors: [], ...givenUp, anchor: history.anchor, now, onPrivate };
    for await (const hash of aliveContents(log, parts.blobs, options)) needed.add(hash);
  } finally {
    await log.close();
  }
}

async function sizesOf(parts: StoreParts, { needed, kinds }: Found): Promise<KeptBesideShape> {
  const sizes = { prompt: none(), git: none(), aside: none() };
  for await (const { hash, storedBytes } of parts.blobs.list()) {
    const kind = needed.has(hash) ? undefined : kinds.get(hash);
    if (kind === undefined) continue;
    sizes[kind].count += 1;
    sizes[kind].stored_bytes += storedBytes;
  }
  // Round the sums, because a blob's share of its block is a fraction.
  for (const size of Object.values(sizes)) size.stored_bytes = Math.round(size.stored_bytes);
  return { prompts: sizes.prompt, git: sizes.git, aside: sizes.aside };
}

function none(): KeptBesideShape["git"] {
  return { count: 0, stored_bytes: 0 };
}
