import { join } from "node:path";
import { openContext } from "../../src/compose/open-context.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";
import { parsePath } from "../../src/core/values/path.ts";
import { acceptWriteBack } from "../../src/engine/replica/accept-write-back.ts";
import type { Sandbox } from "../cli/sandbox.ts";
import { storeParts } from "./store-parts.ts";

/** The id of a replica that does not exist. */
export const REPLICA = "0fd1a2b3-0000-4000-8000-000000000000";
/** The content that the replica has written. */
export const LOST = "what the replica had made of it\n";

/**
 * Hands in a write of the replica, as if it knew of no file at the path. If there is a file, the origin keeps the
 * written content as a version, and the file stays.
 */
export async function lose(
  sandbox: Sandbox,
  workspace: string,
  { name = "notes.txt", content = LOST, localSeq = 17 } = {},
): Promise<void> {
  const parts = await storeParts(sandbox.store, join(sandbox.folder, "config", "chronicle"));
  const { context, close } = await openContext(parts, workspace, { tasks: storeTasks(parts, workspace) });
  const batch = await context.blobs.batch();
  const hash = await batch.put(Buffer.from(content));
  await batch.commit();
  const path = parsePath(name);
  const entry = { path, kind: "file", mode: 0o644, size: content.length, mtimeMs: 0, hash } as const;
  const { seq } = await context.index.head();
  const written = { localSeq, path, entry, seen: 0, actor: "mina", session: "s-42" };
  await acceptWriteBack(context, { replica: REPLICA, acknowledged: seq, entries: [written] });
  await close();
  await parts.blobs.close();
}
