import type { WorkspacePath } from "../../../core/values/path.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Context } from "../../../engine/log/context.ts";
import { hasWritten, isStillHeld, readJournal, type JournalEntry } from "../../../engine/replica/journal.ts";
import type { Mirror } from "../../replica/mirror.ts";
import { hasHadSeen } from "../ground/common-ground.ts";
import type { EditorFiles } from "../paths/editor-files.ts";
import { FolderJournal } from "./folder-journal.ts";
import type { NotHeldPaths } from "../paths/not-held-paths.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import type { SharedNames } from "../paths/shared-names.ts";
import { StoodOn } from "../ground/stood-on.ts";

/** The parts that a journal is read from. */
export interface JournalParts {
  readonly context: Context;
  readonly mirror: Mirror;
  readonly rules: ReplicatedPaths;
  readonly names: SharedNames;
  readonly editorFiles: EditorFiles;
  readonly notHeld: NotHeldPaths;
  /** The state of the sync. */
  readonly record: () => Pick<ReplicaRecord, "origin" | "sandboxId">;
}

/** Opens the journal of a folder over its own log. */
export function openJournal(parts: JournalParts, { settled }: Pick<ReplicaRecord, "settled">): FolderJournal {
  const { context, mirror, rules, names, editorFiles, notHeld, record } = parts;
  const remoteOf = async (path: WorkspacePath) => (await mirror.iterationAt(path, mirror.head.seq))?.entry;
  const isWithheld = rules.isWithheldBy.bind(rules);
  return new FolderJournal({
    read: (after, limit) => {
      const query = { origin: record().origin, after, limit, isWithheld };
      return readJournal(context, (path, seq) => mirror.iterationAt(path, seq), query);
    },
    there: remoteOf,
    open: (hash) => context.blobs.open(hash),
    isStillHeld: (seq, hash) => isStillHeld(context, seq, hash),
    hasWritten: (seq, path) => hasWritten(context, seq, path),
    rules,
    names,
    keepsHere: async (path, entry) => (await notHeld.keepsHere(path, remoteOf)) || editorFiles.keepsHere(path, entry),
    isLeftToStep: leftToStep(parts),
    settled,
    head: () => mirror.head.seq,
  });
}

function leftToStep({ context, mirror, rules, record }: JournalParts) {
  const stoodOn = new StoodOn({ context, mirror, origin: () => record().origin });
  const isOwn = async (seq: number): Promise<boolean> => (await mirror.record(seq))?.replica?.id === record().sandboxId;
  const sides = { mirror, own: context.index, stoodOn, isOwn, rules };
  return async (entry: JournalEntry): Promise<boolean> =>
    (await stoodOn.isOvertaken(entry)) || !(await hasHadSeen(entry, sides));
}
