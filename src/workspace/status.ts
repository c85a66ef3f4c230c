import type { StatusShape } from "../api/shapes.ts";
import type { ProgressOptions } from "../api/workspace-api.ts";
import { coverageOf } from "../core/coverage.ts";
import { quoteCommand } from "../core/quote-command.ts";
import { compare, readDisk } from "./capture.ts";
import { catchUp } from "./catch-up.ts";
import type { Context } from "./context.ts";
import { foldersOf } from "./hosted.ts";
import { openIntents } from "./operate.ts";
import { archivedSince } from "./refuse-archived.ts";
import { listSessions, wordlessEnd } from "./session.ts";
import { changeShape, coverageShape } from "./shape.ts";
import { latestSnapshot } from "./snapshot.ts";
import { orphanNotes } from "./transactions.ts";
import { rootAtHead } from "./tree.ts";

/** Where things stand; records nothing. */
export async function statusOf(context: Context, options: ProgressOptions = {}): Promise<StatusShape> {
  const { head, damage } = await catchUp(context, { recover: false });
  const reading = await readDisk(context, { hashOnly: true, ...options });
  const { changes } = await compare(context, reading);
  const latest = await latestSnapshot(context);
  return {
    workspace: context.workspaceId,
    path: context.worktree.roots[0]?.folder ?? "",
    roots: foldersOf(context.worktree.roots).map((root) => ({
      id: root.id ?? null,
      path: root.folder,
      ...(root.only === undefined ? {} : { only: root.only }),
    })),
    root: damage === undefined ? await rootAtHead(context, head.seq) : (latest?.root ?? ""),
    seq: head.seq,
    head: { seq: head.seq, hash: head.hash },
    changes: changes.map(changeShape),
    coverage: coverageShape(coverageOf(reading.omitted)),
    snapshots: latest === undefined ? 0 : latest.number + 1,
    latest_snapshot: latest?.number ?? null,
    entries: reading.report.entries,
    bytes: reading.report.bytes,
    read_only: damage !== undefined,
    notes: await notesOf(context, damage),
  };
}

async function notesOf(context: Context, damage: Error | undefined): Promise<string[]> {
  const notes: string[] = [];
  if (damage !== undefined) notes.push(damage.message);
  const archived = await archivedSince(context);
  if (archived !== undefined) {
    notes.push(`archived since ${archived}: it is only read; \`chronicle workspaces unarchive\` takes it up again`);
  }
  for (const { intent } of await openIntents(context)) {
    notes.push(
      `interrupted half-way: ${intent.summary} (${intent.paths} paths); changes here may be its own; the next command that changes something finishes it`,
    );
  }
  notes.push(...(await orphanNotes(context)));
  const conflicts = (await context.index.openRecords("conflict:")).length;
  if (conflicts > 0) {
    const what = conflicts === 1 ? "1 conflict of an undo waits" : `${conflicts} conflicts of undos wait`;
    notes.push(`${what} for a decision: \`chronicle conflicts\` shows both sides`);
  }
  for (const session of await listSessions(context)) {
    if (session.unclosed === true) notes.push(wordlessEnd(session));
    if (session.state !== "running") continue;
    if (session.kind === "agent") notes.push(`an agent's session is open: ${session.id} (${session.actor})`);
    else notes.push(`recording: ${quoteCommand(session.command) || "watch"} (process ${session.pid})`);
  }
  return notes;
}
