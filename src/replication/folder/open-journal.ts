import type { ReplicaRecord } from "../../core/replica-record.ts";
import type { Context } from "../../workspace/context.ts";
import { hasWritten, isStillHeld, readJournal } from "../../workspace/replica/journal.ts";
import type { Mirror } from "../replica/mirror.ts";
import type { EditorFiles } from "./editor-files.ts";
import { FolderJournal } from "./folder-journal.ts";
import type { ReplicatedPaths } from "./replicated-paths.ts";
import type { SharedNames } from "./shared-names.ts";

/** What a journal is read from. */
export interface JournalParts {
  readonly context: Context;
  readonly mirror: Mirror;
  readonly rules: ReplicatedPaths;
  readonly names: SharedNames;
  readonly editorFiles: EditorFiles;
  /** The origin's workspace, once it is known. */
  readonly origin: () => string;
}

/** The journal of a folder, as its own log has it. */
export function openJournal(
  { context, mirror, rules, names, editorFiles, origin }: JournalParts,
  { settled }: Pick<ReplicaRecord, "settled">,
): FolderJournal {
  return new FolderJournal({
    read: (after, limit) =>
      readJournal(context, (path, seq) => mirror.iterationAt(path, seq), { origin: origin(), after, limit }),
    before: async (path) => (await mirror.iterationAt(path, mirror.head.seq))?.entry,
    open: (hash) => context.blobs.open(hash),
    isStillHeld: (seq, hash) => isStillHeld(context, seq, hash),
    hasWritten: (seq, path) => hasWritten(context, seq, path),
    rules,
    names,
    keepsHere: (path, entry) => editorFiles.keepsHere(path, entry),
    settled,
    head: () => mirror.head.seq,
  });
}
