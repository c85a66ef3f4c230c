import { join } from "node:path";
import { openContext } from "../../src/compose/open-context.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";
import { parsePath } from "../../src/core/values/path.ts";
import { acceptWriteBack } from "../../src/engine/replica/accept-write-back.ts";
import type { Sandbox } from "../cli/sandbox.ts";
import { storeParts } from "./store-parts.ts";

/** A replica that never was. */
export const REPLICA = "0fd1a2b3-0000-4000-8000-000000000000";
/** The content that it wrote. */
export const LOST = "what the replica had made of it\n";

/** Has a replica write a file as if it knew of none there: if there is one, the written version is lost. */
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
