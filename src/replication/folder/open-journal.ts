import type { WorkspacePath } from "../../core/path.ts";
import type { ReplicaRecord } from "../../core/replica-record.ts";
import type { Context } from "../../workspace/context.ts";
import { hasWritten, isStillHeld, readJournal } from "../../workspace/replica/journal.ts";
import type { Mirror } from "../replica/mirror.ts";
import type { EditorFiles } from "./editor-files.ts";
import { FolderJournal } from "./folder-journal.ts";
import type { NotHeldPaths } from "./not-held-paths.ts";
import type { ReplicatedPaths } from "./replicated-paths.ts";
import type { SharedNames } from "./shared-names.ts";

/** What a journal is read from. */
export interface JournalParts {
  readonly context: Context;
  readonly mirror: Mirror;
  readonly rules: ReplicatedPaths;
  readonly names: SharedNames;
  readonly editorFiles: EditorFiles;
  readonly notHeld: NotHeldPaths;
  /** The origin's workspace, once it is known. */
  readonly origin: () => string;
}

/** The journal of a folder, as its own log has it. */
export function openJournal(
  { context, mirror, rules, names, editorFiles, notHeld, origin }: JournalParts,
  { settled }: Pick<ReplicaRecord, "settled">,
): FolderJournal {
  const remoteOf = async (path: WorkspacePath) => (await mirror.iterationAt(path, mirror.head.seq))?.entry;
  return new FolderJournal({
    read: (after, limit) =>
      readJournal(context, (path, seq) => mirror.iterationAt(path, seq), { origin: origin(), after, limit }),
    before: remoteOf,
    open: (hash) => context.blobs.open(hash),
    isStillHeld: (seq, hash) => isStillHeld(context, seq, hash),
    hasWritten: (seq, path) => hasWritten(context, seq, path),
    rules,
    names,
    keepsHere: async (path, entry) => (await notHeld.keepsHere(path, remoteOf)) || editorFiles.keepsHere(path, entry),
    settled,
    head: () => mirror.head.seq,
  });
}
